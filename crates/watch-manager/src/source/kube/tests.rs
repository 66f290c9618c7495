//! Tests of `source/kube`: which requests are sent, and what each answer is taken for. The server is a
//! function; how a real one behaves is tested in `control_plane`.

use std::sync::{Arc, Mutex};

use futures::{StreamExt, TryStreamExt};
use http::{Request, Response, StatusCode};
use kube::client::Body;
use serde_json::json;

use super::*;
use crate::source::SourceEvent;

/// A source whose server gives this answer to every request, and the requests it got.
fn answering(status: u16, body: &str) -> (KubeSource, Arc<Mutex<Vec<String>>>) {
    let requests: Arc<Mutex<Vec<String>>> = Arc::default();
    let (seen, body) = (Arc::clone(&requests), body.to_owned());
    let service = tower::service_fn(move |request: Request<Body>| {
        seen.lock().unwrap().push(request.uri().to_string());
        let response = Response::builder().status(StatusCode::from_u16(status).unwrap());
        let response = response.body(Body::from(body.clone().into_bytes())).unwrap();
        async move { Ok::<_, std::convert::Infallible>(response) }
    });
    (KubeSource::new(Client::new(service, "default")), requests)
}

fn gadgets() -> WatchTarget {
    WatchTarget::all(ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk("example.com", "v1", "Gadget"),
        "gadgets",
    ))
}

fn status(code: u16, message: &str) -> String {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code})
        .to_string()
}

async fn list(code: u16, body: &str) -> Result<Listed, SourceError> {
    answering(code, body).0.list(&gadgets(), &Page::default()).await
}

#[tokio::test]
async fn a_list_is_paged_and_its_items_are_left_as_they_are() {
    let body = r#"{"kind":"GadgetList","apiVersion":"example.com/v1",
        "metadata":{"resourceVersion":"7","continue":"more"},
        "items":[{"metadata":{"name":"a"},"spec":{"n":1.50}}]}"#;
    let (source, requests) = answering(200, body);
    let page = Page { limit: Some(500), continue_token: Some("to ken".to_owned()) };
    let listed = source.list(&gadgets(), &page).await.unwrap();
    assert_eq!(listed.items[0].get(), r#"{"metadata":{"name":"a"},"spec":{"n":1.50}}"#);
    assert_eq!((listed.resource_version.as_str(), listed.continue_token.as_deref()), ("7", Some("more")));
    let requests = requests.lock().unwrap();
    assert!(requests[0].starts_with("/apis/example.com/v1/gadgets?"), "{requests:?}");
    assert!(requests[0].contains("limit=500") && requests[0].contains("continue=to+ken"), "{requests:?}");
}

#[tokio::test]
async fn the_last_page_has_an_empty_token_or_none() {
    for metadata in [r#"{"resourceVersion":"7","continue":""}"#, r#"{"resourceVersion":"7"}"#] {
        let body = format!(r#"{{"kind":"List","apiVersion":"v1","metadata":{metadata},"items":null}}"#);
        let listed = list(200, &body).await.unwrap();
        assert_eq!((listed.items.len(), listed.continue_token), (0, None));
    }
}

#[tokio::test]
async fn answers_are_told_apart_by_what_to_do_about_them() {
    assert!(matches!(list(404, "404 page not found\n").await, Err(SourceError::NotServed)));
    assert!(matches!(list(404, &status(404, "gone")).await, Err(SourceError::NotServed)));
    assert!(matches!(list(410, &status(410, "too old")).await, Err(SourceError::Expired)));
    let forbidden = list(403, &status(403, "user x cannot list")).await.unwrap_err();
    assert!(matches!(&forbidden, SourceError::Forbidden(message) if message == "user x cannot list"));
    let unavailable = list(503, &status(503, "starting")).await.unwrap_err();
    assert_eq!(unavailable.to_string(), "starting (HTTP 503)");
}

/// As proxies answer, and servers that end in the middle. A list without resourceVersion is one that failed: see
/// `machine::on_page`.
#[tokio::test]
async fn an_odd_answer_is_never_a_complete_list() {
    let half = r#"{"kind":"GadgetList","metadata":{"resourceVersion":"7"},"items":[{"metadata"#;
    let odd = [(200, "{}"), (200, ""), (200, half), (200, "<html></html>"), (204, ""), (302, "")];
    for (code, body) in odd.into_iter().chain([(200, status(410, "too old").as_str())]) {
        match list(code, body).await {
            Ok(listed) => assert_eq!(listed.resource_version, "", "{code} {body}"),
            Err(error) => assert!(!matches!(error, SourceError::NotServed), "{code} {body}: {error}"),
        }
    }
}

#[tokio::test]
async fn a_busy_server_may_name_the_seconds_or_not() {
    let seconds =
        json!({"kind": "Status", "code": 429, "status": "Failure", "details": {"retryAfterSeconds": 3600}});
    for (body, expected) in [(seconds.to_string(), 3_600), (status(429, "later"), 0), ("later".to_owned(), 0)]
    {
        let Err(SourceError::Busy { retry_after, .. }) = list(429, &body).await else { panic!("{body}") };
        assert_eq!(retry_after, Duration::from_secs(expected), "{body}");
    }
}

#[tokio::test]
async fn a_kind_that_its_group_lacks_is_not_served() {
    let body = r#"{"kind":"APIResourceList","groupVersion":"example.com/v1","resources":[]}"#;
    let (source, _) = answering(200, body);
    let resolved =
        source.resolve(&GroupVersionKind::gvk("example.com", "v1", "Gadget"), Freshness::Now).await;
    assert!(matches!(resolved, Err(SourceError::NotServed)), "{resolved:?}");
}

#[tokio::test]
async fn a_kind_is_resolved_with_its_plural_and_what_it_lacks() {
    let body = r#"{"kind":"APIResourceList","groupVersion":"example.com/v1","resources":[
        {"name":"gadgetoj","singularName":"gadget","namespaced":true,"kind":"Gadget","verbs":["get","list"]},
        {"name":"gadgetoj/status","singularName":"","namespaced":true,"kind":"Gadget","verbs":["get"]}]}"#;
    let (source, _) = answering(200, body);
    let served =
        source.resolve(&GroupVersionKind::gvk("example.com", "v1", "Gadget"), Freshness::Now).await.unwrap();
    assert_eq!((served.resource.plural.as_str(), served.missing), ("gadgetoj", Some(Verb::Watch)));
}

#[tokio::test]
async fn a_watch_begins_where_it_is_told_and_survives_nonsense() {
    let body = [
        r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#,
        r#"{"type":"BOOKMARK","object":{"kind":"Gadget","apiVersion":"example.com/v1","metadata":{"resourceVersion":"9"}}}"#,
        r#"{"type":"DIAGONAL","object":{}}"#,
        r#"{"type":"BOOKMARK","object":{"kind":"Gadget","apiVersion":"example.com/v1","metadata":{}}}"#,
        r#"{"type":"DELETED","object":{"metadata":{"name":"a"}}}"#,
        &format!(r#"{{"type":"ERROR","object":{}}}"#, status(410, "too old")),
        "",
    ]
    .join("\n");
    let (source, requests) = answering(200, &body);
    let frames = source.watch(&gadgets(), "7", Duration::from_secs(290)).await.unwrap();
    let seen: Vec<String> = frames
        .map(|frame| match frame {
            Ok(SourceEvent::Applied(raw)) => format!("apply {raw}"),
            Ok(SourceEvent::Deleted(raw)) => format!("delete {raw}"),
            Ok(SourceEvent::Bookmark(version)) => format!("bookmark {version}"),
            Err(SourceError::Undecodable(_)) => "nonsense".to_owned(),
            Err(SourceError::Expired) => "expired".to_owned(),
            Err(other) => format!("{other:?}"),
        })
        .collect()
        .await;
    assert_eq!(
        seen,
        [
            r#"apply {"metadata":{"name":"a"}}"#,
            "bookmark 9",
            "nonsense",
            "nonsense",
            r#"delete {"metadata":{"name":"a"}}"#,
            "expired"
        ]
    );
    let requests = requests.lock().unwrap();
    for part in ["watch=true", "resourceVersion=7", "timeoutSeconds=290", "allowWatchBookmarks=true"] {
        assert!(requests[0].contains(part), "{part} is missing in {requests:?}");
    }
}

#[tokio::test]
async fn a_watch_that_may_not_open_says_why() {
    let opened =
        answering(410, &status(410, "too old")).0.watch(&gadgets(), "1", Duration::from_secs(1)).await;
    assert!(matches!(opened.map(|frames| frames.into_stream().boxed()), Err(SourceError::Expired)));
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_said_in_words() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut config = kube::Config::new(format!("http://{free}").parse().unwrap());
    config.default_retry = false;
    let source = KubeSource::new(Client::try_from(config).unwrap());
    let error = source.list(&gadgets(), &Page::default()).await.unwrap_err().to_string();
    assert!(error.starts_with("cannot reach the API server: "), "{error}");
    assert!(error.contains("onnection refused") && !error.contains("ServiceError"), "{error}");
}
