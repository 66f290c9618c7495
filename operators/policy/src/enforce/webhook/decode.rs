//! From the bytes of a request to an AdmissionReview of a known version.

use serde::Deserialize;
use serde_json::value::RawValue;

/// The largest body that is read. The API server limits a request to 3 MiB, and a review holds the object and
/// the old one.
pub const MAX_BODY_BYTES: usize = 7 * 1024 * 1024;

const VERSIONS: [&str; 2] = ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"];

/// Why a body is no AdmissionReview.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// Not JSON, or JSON of another shape.
    #[error("the body is not an AdmissionReview: {0}")]
    Malformed(#[source] serde_json::Error),
    /// Another kind or version.
    #[error(
        "{api_version:?} {kind:?} is not served: send an AdmissionReview of admission.k8s.io/v1 or v1beta1"
    )]
    UnknownVersion {
        /// `apiVersion` of the body.
        api_version: String,
        /// `kind` of the body.
        kind: String,
    },
    /// An AdmissionReview without a request.
    #[error("the AdmissionReview holds no request")]
    NoRequest,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AdmissionReview {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    request: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct RequestHead {
    #[serde(default)]
    uid: String,
    namespace: Option<String>,
    kind: Option<RequestKind>,
}

#[derive(Deserialize)]
struct RequestKind {
    #[serde(default)]
    group: String,
    #[serde(default)]
    kind: String,
}

/// A decoded admission request: what an answer needs, and the text that becomes a review.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) api_version: String,
    pub(super) uid: String,
    pub(super) json: Box<RawValue>,
    namespace: Option<String>,
}

impl Request {
    pub(super) fn decode(body: &[u8]) -> Result<Self, DecodeError> {
        let review: AdmissionReview = serde_json::from_slice(body).map_err(DecodeError::Malformed)?;
        if review.kind != "AdmissionReview" || !VERSIONS.contains(&review.api_version.as_str()) {
            return Err(DecodeError::UnknownVersion { api_version: review.api_version, kind: review.kind });
        }
        let json = review.request.ok_or(DecodeError::NoRequest)?;
        let head: RequestHead = serde_json::from_str(json.get()).map_err(DecodeError::Malformed)?;
        let is_namespace = head.kind.is_some_and(|kind| kind.kind == "Namespace" && kind.group.is_empty());
        let namespace = head.namespace.filter(|name| !name.is_empty() && !is_namespace);
        Ok(Self { api_version: review.api_version, uid: head.uid, json, namespace })
    }

    /// The namespace whose object policies may ask about; a Namespace has none but itself.
    pub(super) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn decode(body: &Value) -> Result<Request, DecodeError> {
        Request::decode(body.to_string().as_bytes())
    }

    fn review(version: &str) -> Value {
        json!({"apiVersion": version, "kind": "AdmissionReview", "request": {
            "uid": "u", "namespace": "shop", "kind": {"group": "", "version": "v1", "kind": "Pod"}
        }})
    }

    #[test]
    fn both_versions_are_read() {
        for version in VERSIONS {
            let request = decode(&review(version)).unwrap();
            assert_eq!((request.api_version.as_str(), request.uid.as_str()), (version, "u"));
            assert_eq!(request.namespace(), Some("shop"));
        }
    }

    #[test]
    fn a_namespace_lies_in_no_namespace() {
        let mut body = review("admission.k8s.io/v1");
        body["request"]["kind"]["kind"] = json!("Namespace");
        assert_eq!(decode(&body).unwrap().namespace(), None);
    }

    #[test]
    fn every_other_body_is_refused_with_its_reason() {
        assert!(matches!(Request::decode(b"not json"), Err(DecodeError::Malformed(_))));
        assert!(matches!(decode(&json!([])), Err(DecodeError::Malformed(_))));
        assert!(matches!(decode(&review("admission.k8s.io/v2")), Err(DecodeError::UnknownVersion { .. })));
        assert!(matches!(decode(&json!({})), Err(DecodeError::UnknownVersion { .. })));
        let bare = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"});
        assert!(matches!(decode(&bare), Err(DecodeError::NoRequest)));
    }
}
