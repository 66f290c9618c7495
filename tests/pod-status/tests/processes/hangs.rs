//! Requests that are left unanswered although their caller waits for half a minute: one of each kind in a test.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use http::Method;
use http::request::Parts;

/// The ordinal of the request that is not answered: the processes have begun to work by then. Each of them, and the
/// aggregator, opens a watch of the reports, and not many more in half a minute.
fn ordinal(kind: &str) -> u64 {
    if kind.starts_with("WATCH") { 6 } else { 10 }
}

/// The number of requests of each kind by all processes of a test.
#[derive(Clone, Default)]
pub struct Hangs(Arc<Mutex<BTreeMap<String, u64>>>);

impl Hangs {
    /// Counts one request. Returns whether it is not to be answered.
    pub fn takes(&self, kind: &str) -> bool {
        let mut counts = self.0.lock().unwrap();
        let count = counts.entry(kind.to_owned()).or_default();
        *count += 1;
        *count == ordinal(kind)
    }

    /// The kinds of which one was not answered.
    pub fn kinds(&self) -> Vec<String> {
        let counts = self.0.lock().unwrap();
        counts.iter().filter(|(kind, count)| **count >= ordinal(kind)).map(|(kind, _)| kind.clone()).collect()
    }
}

/// The kind of a request, such as `LIST pods` or `PATCH policies/status`.
pub fn kind(request: &Parts) -> String {
    let path = request.uri.path();
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    // `/api/v1/…` or `/apis/group/version/…`, then perhaps `namespaces/name`.
    let skipped = if segments.first() == Some(&"api") { 2 } else { 3 };
    let rest = segments.get(skipped..).unwrap_or_default();
    let rest = if rest.first() == Some(&"namespaces") { rest.get(2..).unwrap_or_default() } else { rest };
    let verb = match (&request.method, rest.len()) {
        (&Method::GET, _) if request.uri.query().is_some_and(|query| query.contains("watch=")) => "WATCH",
        (&Method::GET, 1) => "LIST",
        (method, _) => method.as_str(),
    };
    let subresource = rest.get(2).map(|name| format!("/{name}")).unwrap_or_default();
    format!("{verb} {}{subresource}", rest.first().unwrap_or(&path))
}

#[test]
fn requests_are_told_apart() {
    let kind = |method: Method, uri: &str| {
        let (parts, ()) = http::Request::builder().method(method).uri(uri).body(()).unwrap().into_parts();
        kind(&parts)
    };
    assert_eq!(kind(Method::GET, "/api/v1/namespaces/n/pods?limit=5"), "LIST pods");
    assert_eq!(kind(Method::GET, "/api/v1/namespaces/n/pods?&watch=true"), "WATCH pods");
    assert_eq!(kind(Method::GET, "/apis/test.webtroller.dev/v1/policies/p0"), "GET policies");
    assert_eq!(
        kind(Method::PATCH, "/apis/test.webtroller.dev/v1/policies/p0/status?force=true"),
        "PATCH policies/status"
    );
    assert_eq!(kind(Method::PUT, "/apis/coordination.k8s.io/v1/namespaces/n/leases/l"), "PUT leases");
}
