//! HTTP answers: those that hold an AdmissionReview, and those to requests that are not AdmissionReviews.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use serde_json::json;

/// A complete HTTP answer.
pub type Answer = Response<Full<Bytes>>;

/// An answer whose body is JSON text.
pub(crate) fn json_answer(status: StatusCode, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// The answer to a request that is not an AdmissionReview: readable by people and by clients that expect a review.
pub(crate) fn refusal(status: StatusCode, message: &str) -> Answer {
    let reason = status.canonical_reason().unwrap_or_default().replace(' ', "");
    let review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {
            "uid": "", "allowed": false,
            "status": {"code": status.as_u16(), "reason": reason, "message": message}
        }
    });
    json_answer(status, review.to_string())
}

/// The answer of a server that has no room.
pub(crate) fn overloaded(message: &str) -> Answer {
    let mut answer = refusal(StatusCode::SERVICE_UNAVAILABLE, message);
    answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    answer
}
