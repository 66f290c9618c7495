//! Requests: from the bytes of a body to an AdmissionReview of a known version.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::body::ReceivedBody;
use crate::in_flight::Reservation;

const VERSIONS: [&str; 2] = ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"];

/// The reason for which a body is not an AdmissionReview.
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

/// A kind, as in `request.kind`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct GroupVersionKind {
    /// API group; empty for the core group.
    pub group: String,
    /// Version of the API, such as `v1beta1`.
    pub version: String,
    /// Kind, such as `Pod`.
    pub kind: String,
}

/// A resource, as in `request.resource`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct GroupVersionResource {
    /// API group; empty for the core group.
    pub group: String,
    /// Version of the API, such as `v1beta1`.
    pub version: String,
    /// Plural name, such as `pods`.
    pub resource: String,
}

/// The user who made a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct User {
    /// User name, such as `system:serviceaccount:shop:deployer`.
    pub username: String,
    /// Unique id, which differs between users that had one name at different times. Empty if the authenticator gives none.
    pub uid: String,
    /// The groups that the user is in, such as `system:authenticated`.
    pub groups: Vec<String>,
    /// Attributes that the authenticator adds.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// The fields of a request. `null` stands for the default, as for Go.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Fields {
    uid: Option<String>,
    kind: Option<GroupVersionKind>,
    resource: Option<GroupVersionResource>,
    sub_resource: Option<String>,
    name: Option<String>,
    namespace: Option<String>,
    operation: Option<String>,
    user_info: Option<User>,
    dry_run: Option<bool>,
    object: Option<Box<RawValue>>,
    old_object: Option<Box<RawValue>>,
}

/// A decoded admission request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AdmissionRequest {
    /// Identifies the request; the answer repeats it.
    pub uid: String,
    /// The kind of the object.
    pub kind: GroupVersionKind,
    /// The resource that is written.
    pub resource: GroupVersionResource,
    /// The subresource, such as `scale`, or empty.
    pub sub_resource: String,
    /// The object's name; empty where the API server generates it, and for collections.
    pub name: String,
    /// The object's namespace, or empty.
    pub namespace: String,
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    pub operation: String,
    /// The user who made the request.
    pub user_info: User,
    /// True for a dry run: nothing will be stored.
    pub dry_run: bool,
    /// The time at which the answer must be there. Later the API server no longer waits for it.
    pub deadline: Instant,
    api_version: Arc<str>,
    json: Arc<RawValue>,
    object: Option<Arc<RawValue>>,
    old_object: Option<Arc<RawValue>>,
    /// Keeps the bytes counted while a thread works on the request, even after its client has gone.
    _held: Arc<Reservation>,
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

impl AdmissionRequest {
    /// Decodes a body.
    ///
    /// # Errors
    /// See [`DecodeError`].
    pub(crate) fn decode(body: ReceivedBody, deadline: Instant) -> Result<Self, DecodeError> {
        let ReceivedBody { bytes, reservation } = body;
        let review: AdmissionReview = serde_json::from_slice(&bytes).map_err(DecodeError::Malformed)?;
        drop(bytes);
        if review.kind != "AdmissionReview" || !VERSIONS.contains(&review.api_version.as_str()) {
            return Err(DecodeError::UnknownVersion { api_version: review.api_version, kind: review.kind });
        }
        let json = review.request.ok_or(DecodeError::NoRequest)?;
        let fields: Fields = serde_json::from_str(json.get()).map_err(DecodeError::Malformed)?;
        Ok(Self {
            uid: fields.uid.unwrap_or_default(),
            kind: fields.kind.unwrap_or_default(),
            resource: fields.resource.unwrap_or_default(),
            sub_resource: fields.sub_resource.unwrap_or_default(),
            name: fields.name.unwrap_or_default(),
            namespace: fields.namespace.unwrap_or_default(),
            operation: fields.operation.unwrap_or_default(),
            user_info: fields.user_info.unwrap_or_default(),
            dry_run: fields.dry_run.unwrap_or_default(),
            deadline,
            api_version: review.api_version.into(),
            json: json.into(),
            object: fields.object.map(Arc::from),
            old_object: fields.old_object.map(Arc::from),
            _held: Arc::new(reservation),
        })
    }

    /// Returns the JSON text of `request`, as the API server sent it.
    pub fn json(&self) -> &str {
        self.json.get()
    }

    /// Returns the JSON text of the object; `None` for `DELETE` and where it is `null`.
    pub fn object_json(&self) -> Option<&str> {
        self.object.as_deref().map(RawValue::get)
    }

    /// Returns the JSON text of the object before the request; `None` for `CREATE`.
    pub fn old_object_json(&self) -> Option<&str> {
        self.old_object.as_deref().map(RawValue::get)
    }

    /// Deserializes the object.
    ///
    /// # Errors
    /// If it does not have the shape of `T`.
    pub fn object<T: DeserializeOwned>(&self) -> Result<Option<T>, serde_json::Error> {
        self.object_json().map(serde_json::from_str).transpose()
    }

    /// Deserializes the object as it was before the request.
    ///
    /// # Errors
    /// If it does not have the shape of `T`.
    pub fn old_object<T: DeserializeOwned>(&self) -> Result<Option<T>, serde_json::Error> {
        self.old_object_json().map(serde_json::from_str).transpose()
    }

    /// The `apiVersion` of the review, which its answer repeats.
    pub(crate) fn api_version(&self) -> &str {
        &self.api_version
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::in_flight::InFlight;

    pub(crate) fn decode(body: &[u8]) -> Result<AdmissionRequest, DecodeError> {
        let peer = std::net::IpAddr::from([127, 0, 0, 1]).into();
        let reservation = InFlight::new(0).reserve(peer);
        AdmissionRequest::decode(ReceivedBody { bytes: body.to_vec(), reservation }, Instant::now())
    }

    fn review(version: &str) -> Value {
        json!({"apiVersion": version, "kind": "AdmissionReview", "request": {
            "uid": "u", "namespace": "shop", "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "operation": "UPDATE", "dryRun": true, "userInfo": {"username": "ann", "groups": ["g"]},
            "object": {"spec": 1}, "oldObject": null, "name": "p"
        }})
    }

    #[test]
    fn both_versions_are_read() {
        for version in VERSIONS {
            let request = decode(review(version).to_string().as_bytes()).unwrap();
            assert_eq!((request.api_version(), request.uid.as_str()), (version, "u"));
            assert_eq!((request.namespace.as_str(), request.name.as_str()), ("shop", "p"));
            assert_eq!((request.operation.as_str(), request.dry_run), ("UPDATE", true));
            assert_eq!((request.kind.kind.as_str(), request.user_info.username.as_str()), ("Pod", "ann"));
            assert_eq!(request.object::<Value>().unwrap(), Some(json!({"spec": 1})));
            assert_eq!(request.old_object::<Value>().unwrap(), None);
            assert!(request.json().contains("\"uid\""));
        }
    }

    #[test]
    fn every_other_body_is_refused_with_its_reason() {
        let refused = |value: &Value| decode(value.to_string().as_bytes());
        assert!(matches!(decode(b"not json"), Err(DecodeError::Malformed(_))));
        assert!(matches!(refused(&json!([])), Err(DecodeError::Malformed(_))));
        assert!(matches!(refused(&review("admission.k8s.io/v2")), Err(DecodeError::UnknownVersion { .. })));
        assert!(matches!(refused(&json!({})), Err(DecodeError::UnknownVersion { .. })));
        let bare = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"});
        assert!(matches!(refused(&bare), Err(DecodeError::NoRequest)));
        let mut odd = review("admission.k8s.io/v1");
        odd["request"]["userInfo"] = json!(3);
        assert!(matches!(refused(&odd), Err(DecodeError::Malformed(_))));
    }
}
