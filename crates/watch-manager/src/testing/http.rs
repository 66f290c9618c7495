//! The server in memory as a `kube::Client`: discovery, and list, watch, get, create, replace, patch and delete of
//! objects and their status, so that a controller that writes can be tested.
//!
//! Strategic merge patches and server-side apply are treated like merge patches: fields have no owners. Validation, defaults
//! and admission do not exist.

mod path;
mod write;

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use kube::client::Body;
use serde_json::{Value, json};

use self::path::{Resource, Route};
use super::fault::{BY_ORDER, Failed, Fault, SourceCall};
use super::{FakeApi, key};
use crate::event::Verb;
use crate::interest::Selection;
use crate::source::{Page, SourceError, SourceEvent, WatchTarget};

/// The type of a discovery answer for all groups at once.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

type Reply = UnsyncBoxBody<Bytes, std::io::Error>;

// === impl FakeApi: the client ===

impl FakeApi {
    /// Returns a client of this server. Its requests meet the faults of their [`SourceCall`], as status codes and bodies, and are counted; those of
    /// discovery meet none. After [`Fault::Truncated`] a write has been made, and its answer is lost.
    pub fn client(&self) -> kube::Client {
        let api = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let api = api.clone();
            async move { Ok::<_, Infallible>(api.respond(request).await) }
        });
        kube::Client::new(service, "default")
    }

    async fn respond(&self, request: Request<Body>) -> Response<Reply> {
        let (parts, body) = request.into_parts();
        let Some(route) = Route::parse(&parts) else { return failure(404, "no such path") };
        let body = body.collect_bytes().await.unwrap_or_default();
        let is_discovery = matches!(route, Route::Core | Route::Groups);
        let answer = match route {
            Route::Core => Ok(self.core_groups()),
            Route::Groups => Ok(self.groups()),
            Route::Version { group, version } => Ok(self.resources(&group, &version)),
            Route::List(resource) => return self.list_objects(&resource).await,
            Route::Watch(resource, version, timeout) => {
                return self.watch_objects(&resource, &version, timeout).await;
            }
            // As a server that lacks them answers; clients list then.
            Route::StreamingList => Err((422, "sendInitialEvents: Forbidden".to_owned())),
            Route::Get(resource, name) => match self.meet(&resource, SourceCall::Get).await {
                Some(fault) => return refusal(Failed::ByOrder(fault)),
                None => self.get_object(&resource, &name),
            },
            Route::Write(resource, write) => match self.meet(&resource, SourceCall::Write).await {
                Some(Fault::Truncated) => {
                    let _lost = self.write(&resource, write, &body);
                    return refusal(Failed::ByOrder(Fault::Truncated));
                }
                Some(fault) => return refusal(Failed::ByOrder(fault)),
                None => self.write(&resource, write, &body),
            },
        };
        match answer {
            Ok(value) if is_discovery => typed_reply(200, AGGREGATED, &value),
            Ok(value) => reply(200, &value),
            Err((code, message)) => failure(code, &message),
        }
    }

    /// Counts a request for objects; returns the fault that it meets, if any.
    async fn meet(&self, resource: &Resource, call: SourceCall) -> Option<Fault> {
        let (target, _) = self.target(resource).ok()?;
        self.request(&super::gvk_of(&target.resource), call).await
    }

    async fn list_objects(&self, resource: &Resource) -> Response<Reply> {
        let (target, page) = match self.target(resource) {
            Ok(found) => found,
            Err((code, message)) => return failure(code, &message),
        };
        let listed = match self.list_or_fail(&target, &page).await {
            Ok(listed) => listed,
            Err(failed) => return refusal(failed),
        };
        let gvk = resource.gvk(&target.resource.kind);
        let items: Vec<Value> =
            listed.items.iter().filter_map(|raw| serde_json::from_str(raw.get()).ok()).collect();
        let list = json!({
            "apiVersion": gvk.api_version(), "kind": format!("{}List", gvk.kind), "items": items,
            "metadata": {"resourceVersion": listed.resource_version,
                "continue": listed.continue_token.unwrap_or_default()},
        });
        reply(200, &list)
    }

    async fn watch_objects(&self, resource: &Resource, version: &str, timeout: Duration) -> Response<Reply> {
        let (target, _) = match self.target(resource) {
            Ok(target) => target,
            Err((code, message)) => return failure(code, &message),
        };
        let events = match self.watch_or_fail(&target, version, timeout).await {
            Ok(events) => events,
            Err(failed) => return refusal(failed),
        };
        let api_version = target.resource.api_version.clone();
        let kind = target.resource.kind.clone();
        stream_reply(events.map(move |event| line(&api_version, &kind, event)))
    }

    fn get_object(&self, resource: &Resource, name: &str) -> Result<Value, (u16, String)> {
        let (target, _) = self.target(resource)?;
        let state = self.lock();
        let kind = state.kinds.get(&key(&super::gvk_of(&target.resource)));
        let object = kind.and_then(|kind| kind.get(target.namespace.as_deref(), name));
        let object = object.ok_or_else(|| not_found(resource, name))?;
        Ok(stamped(&object, &target.resource.api_version, &target.resource.kind))
    }

    /// The target of a request, with its page.
    fn target(&self, resource: &Resource) -> Result<(WatchTarget, Page), (u16, String)> {
        let state = self.lock();
        let mut kinds = state.kinds.iter();
        let found = kinds.find(|((group, _), kind)| {
            *group == resource.group
                && kind.resource.plural == resource.plural
                && kind.versions.contains(&resource.version)
        });
        let ((_, kind), _) = found.ok_or_else(|| not_found(resource, ""))?;
        let gvk = resource.gvk(kind);
        let selection = Selection {
            labels: resource.labels.clone(),
            fields: resource.fields.clone(),
            metadata_only: resource.metadata_only,
        };
        let api_resource = kube::core::ApiResource::from_gvk_with_plural(&gvk, &resource.plural);
        let target = WatchTarget {
            namespace: resource.namespace.clone(),
            selection,
            ..WatchTarget::all(api_resource)
        };
        Ok((target, resource.page.clone()))
    }
}

// === impl FakeApi: discovery ===

impl FakeApi {
    fn core_groups(&self) -> Value {
        json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2",
            "items": self.discovery(|group| group.is_empty())})
    }

    fn groups(&self) -> Value {
        json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2",
            "items": self.discovery(|group| !group.is_empty())})
    }

    /// The groups in the aggregated format.
    fn discovery(&self, wanted: impl Fn(&str) -> bool) -> Vec<Value> {
        let state = self.lock();
        let mut groups: std::collections::BTreeMap<&str, Vec<(&str, Value)>> = Default::default();
        for ((group, kind), served) in state.kinds.iter().filter(|((group, _), _)| wanted(group)) {
            for version in &served.versions {
                let resource = json!({"resource": served.resource.plural,
                    "responseKind": {"group": group, "version": version, "kind": kind},
                    "scope": if served.namespaced { "Namespaced" } else { "Cluster" },
                    "singularResource": kind.to_lowercase(), "verbs": served.verbs()});
                groups.entry(group).or_default().push((version, resource));
            }
        }
        let group = |(group, resources): (&str, Vec<(&str, Value)>)| {
            let mut versions: Vec<&str> = Vec::new();
            for (version, _) in &resources {
                if !versions.contains(version) {
                    versions.push(version);
                }
            }
            let versions = versions.into_iter().map(|version| {
                let of_version = resources.iter().filter(|(other, _)| *other == version);
                let of_version: Vec<_> = of_version.map(|(_, resource)| resource).collect();
                json!({"version": version, "freshness": "Current", "resources": of_version})
            });
            json!({"metadata": {"name": group}, "versions": versions.collect::<Vec<_>>()})
        };
        groups.into_iter().map(group).collect()
    }

    /// The resources of a group version.
    fn resources(&self, group: &str, version: &str) -> Value {
        let state = self.lock();
        let of_version = state.kinds.iter().filter(|((other, _), kind)| {
            other == group && kind.versions.iter().any(|served| served == version)
        });
        let resources = of_version.map(|((_, kind), served)| {
            json!({"name": served.resource.plural, "singularName": "", "namespaced": served.namespaced,
                "kind": kind, "verbs": served.verbs()})
        });
        let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        json!({"kind": "APIResourceList", "groupVersion": group_version,
            "resources": resources.collect::<Vec<_>>()})
    }
}

impl super::kind::Kind {
    fn verbs(&self) -> Vec<&'static str> {
        let verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
        let missing = |verb: &&str| match self.missing {
            Some(Verb::List) => *verb != "list",
            Some(Verb::Watch) => *verb != "watch",
            _ => true,
        };
        verbs.into_iter().filter(missing).collect()
    }
}

/// One line of a watch.
fn line(
    api_version: &str,
    kind: &str,
    event: Result<SourceEvent, SourceError>,
) -> Result<Frame<Bytes>, std::io::Error> {
    let parsed =
        |raw: &serde_json::value::RawValue| serde_json::from_str::<Value>(raw.get()).unwrap_or_default();
    let (event, object) = match event {
        Ok(SourceEvent::Applied(raw)) => ("MODIFIED", stamped(&parsed(&raw), api_version, kind)),
        Ok(SourceEvent::Deleted(raw)) => ("DELETED", stamped(&parsed(&raw), api_version, kind)),
        Ok(SourceEvent::Bookmark(version)) => {
            let metadata = json!({"resourceVersion": version});
            ("BOOKMARK", json!({"apiVersion": api_version, "kind": kind, "metadata": metadata}))
        }
        Err(SourceError::Unavailable(message)) => return Err(std::io::Error::other(message)),
        Err(error) => {
            let (code, message) = status_of(error);
            ("ERROR", status(code, &message))
        }
    };
    // API servers write the type first, and there are clients that need it so.
    Ok(Frame::data(Bytes::from(format!("{{\"type\":\"{event}\",\"object\":{object}}}\n"))))
}

/// The object with its kind, unless it has one.
fn stamped(object: &Value, api_version: &str, kind: &str) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.entry("apiVersion").or_insert_with(|| api_version.into());
        fields.entry("kind").or_insert_with(|| kind.into());
    }
    object
}

fn status_of(error: SourceError) -> (u16, String) {
    let code = match &error {
        SourceError::NotServed => 404,
        SourceError::Forbidden(_) => 403,
        SourceError::Expired => 410,
        SourceError::Busy { .. } => 429,
        SourceError::Undecodable(_) | SourceError::Rejected(_) => 500,
        SourceError::Unavailable(_) => 503,
    };
    (code, error.to_string())
}

fn not_found(resource: &Resource, name: &str) -> (u16, String) {
    (404, format!("{}.{} \"{name}\" not found", resource.plural, resource.group))
}

fn status(code: u16, message: &str) -> Value {
    let reason = StatusCode::from_u16(code).ok().and_then(|code| code.canonical_reason()).unwrap_or_default();
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message,
        "reason": reason.replace(' ', ""), "code": code})
}

/// The answer to a request that fails: the status code of a fault is the one that the test ordered.
fn refusal(failed: Failed) -> Response<Reply> {
    let fault = match failed {
        Failed::ByOrder(Fault::Truncated) => {
            return stream_reply(stream::iter([Ok(Frame::data(Bytes::from_static(b"{\"kind\":")))]));
        }
        Failed::ByOrder(fault) => fault,
        Failed::Truthfully(error) => {
            let (code, message) = status_of(error);
            return failure(code, &message);
        }
    };
    let code = fault.code().unwrap_or(503);
    let mut body = status(code, BY_ORDER);
    let Some(seconds) = fault.retry_after() else { return reply(code, &body) };
    if let Some(fields) = body.as_object_mut() {
        fields.insert("details".to_owned(), json!({"retryAfterSeconds": seconds}));
    }
    let mut response = reply(code, &body);
    response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    response
}

fn failure(code: u16, message: &str) -> Response<Reply> {
    reply(code, &status(code, message))
}

fn reply(code: u16, value: &Value) -> Response<Reply> {
    typed_reply(code, "application/json", value)
}

fn typed_reply(code: u16, content_type: &'static str, value: &Value) -> Response<Reply> {
    let body = Full::new(Bytes::from(value.to_string())).map_err(|never| match never {});
    let mut response = Response::new(body.boxed_unsync());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

fn stream_reply(
    frames: impl Stream<Item = Result<Frame<Bytes>, std::io::Error>> + Send + 'static,
) -> Response<Reply> {
    Response::new(BodyExt::boxed_unsync(StreamBody::new(frames)))
}
