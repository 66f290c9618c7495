//! Everything that happens to a request is answered, as a review where there is one.

use admission_server::Limits;
use hyper::{Request, StatusCode};
use serde_json::{Value, json};

use crate::client::{post, review, routes, start, start_with};

#[tokio::test]
async fn verdicts_panics_and_deadlines_are_reviews() {
    let running = start(Limits::default()).await;
    let mut client = running.client().await;
    let cases = [
        ("/validate", "good", true, 200, None),
        ("/validate", "bad", false, 403, Some("bad is forbidden")),
        ("/validate", "panic", false, 500, Some("the handler failed")),
        ("/never?timeout=200ms", "a", false, 504, Some("the request was not judged in time")),
    ];
    for (path, name, allowed, code, message) in cases {
        let (status, body) = client.ask(path, &review("u1", name)).await;
        let response = &body["response"];
        assert_eq!((status, &response["uid"]), (StatusCode::OK, &json!("u1")), "{body}");
        assert_eq!(
            (&response["allowed"], &response["status"]["code"]),
            (&json!(allowed), &json!(code)),
            "{body}"
        );
        assert_eq!(response["status"]["message"].as_str(), message);
        assert_eq!(body["apiVersion"], "admission.k8s.io/v1");
    }
    let old = review("u2", "good").replace("admission.k8s.io/v1", "admission.k8s.io/v1beta1");
    let (_, body) = client.ask("/validate", &old).await;
    assert_eq!(
        (&body["apiVersion"], &body["response"]["uid"]),
        (&json!("admission.k8s.io/v1beta1"), &json!("u2"))
    );
}

#[tokio::test]
async fn a_change_is_answered_as_a_patch() {
    let running = start(Limits::default()).await;
    let (_, body) = running.client().await.ask("/mutate", &review("u", "a")).await;
    assert_eq!(body["response"]["patchType"], "JSONPatch");
    // [{"op":"add","path":"/metadata/labels/team","value":"shop"}]
    let patch = "W3sib3AiOiJhZGQiLCJwYXRoIjoiL21ldGFkYXRhL2xhYmVscy90ZWFtIiwidmFsdWUiOiJzaG9wIn1d";
    assert_eq!(body["response"]["patch"], patch);
}

#[tokio::test]
async fn what_is_not_a_review_is_refused_with_its_reason() {
    let running = start(Limits::default()).await;
    let good = review("u", "good");
    let text = Request::post("/validate").header("host", "a").header("content-type", "text/plain");
    let cases = [
        (post("/validate", "not json"), 400, "not an AdmissionReview"),
        (post("/validate", good.replace("io/v1", "io/v9")), 400, "is not served"),
        (text.body(good.into()).unwrap(), 415, "application/json"),
        (post("/validate", vec![b' '; 8 << 20]), 413, "larger than 7340032 bytes"),
        (Request::get("/validate").header("host", "a").body(Default::default()).unwrap(), 405, "post an"),
        (post("/nowhere", "{}"), 404, "/mutate or /never or /validate"),
    ];
    for (request, code, message) in cases {
        let (status, body) = running.client().await.send(request).await.unwrap();
        assert_eq!((status.as_u16(), &body["response"]["allowed"]), (code, &Value::Bool(false)), "{body}");
        assert!(body["response"]["status"]["message"].as_str().unwrap().contains(message), "{body}");
    }
}

#[tokio::test]
async fn nothing_is_judged_before_readiness() {
    let routes = routes().with_readiness(|| Err(vec!["not ready: reading policies".to_owned()].into()));
    let running = start_with(Limits::default(), Default::default(), routes).await;
    let (status, body) = running.client().await.ask("/validate", &review("u", "good")).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(body["response"]["status"]["message"], "not ready: reading policies");
}
