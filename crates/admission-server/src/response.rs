//! Responses: the AdmissionReview that answers a request. Codes are those of Kubernetes' own admission code.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::Value;

use crate::request::AdmissionRequest;

/// An answer to an admission request.
#[derive(Clone, Debug, PartialEq)]
pub struct AdmissionResponse {
    allowed: bool,
    code: u16,
    reason: &'static str,
    message: String,
    warnings: Vec<String>,
    audit_annotations: BTreeMap<String, String>,
    patch: Option<String>,
    unavailable: bool,
}

/// A patch could not be computed.
#[derive(Debug, thiserror::Error)]
#[error("the patch could not be written: {0}")]
pub struct PatchError(#[from] serde_json::Error);

impl AdmissionResponse {
    /// Admits the request.
    #[must_use]
    pub const fn allow() -> Self {
        Self {
            allowed: true,
            code: 200,
            reason: "",
            message: String::new(),
            warnings: Vec::new(),
            audit_annotations: BTreeMap::new(),
            patch: None,
            unavailable: false,
        }
    }

    /// Refuses the request as forbidden (403).
    #[must_use]
    pub fn deny(message: impl Into<String>) -> Self {
        Self::refused(403, "Forbidden", message)
    }

    /// Refuses the object as invalid (422).
    #[must_use]
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::refused(422, "Invalid", message)
    }

    /// Reports that the webhook has failed (500). The request is refused, whatever its `failurePolicy` is.
    #[must_use]
    pub fn error(message: impl Into<String>) -> Self {
        Self::refused(500, "InternalError", message)
    }

    /// Reports that the request was not judged in time (504). It is refused, whatever the `failurePolicy` is.
    #[must_use]
    pub fn timeout(message: impl Into<String>) -> Self {
        Self::refused(504, "Timeout", message)
    }

    /// Reports that the request was not judged. The answer is HTTP 503, so that the webhook's `failurePolicy` decides.
    #[must_use]
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self { unavailable: true, ..Self::refused(503, "ServiceUnavailable", message) }
    }

    /// Adds warnings, which `kubectl` prints.
    #[must_use]
    pub fn with_warnings(mut self, warnings: impl IntoIterator<Item = String>) -> Self {
        self.warnings.extend(warnings);
        self
    }

    /// Sets the message of an admission or a refusal.
    #[must_use]
    pub fn with_message(self, message: impl Into<String>) -> Self {
        Self { message: message.into(), ..self }
    }

    /// Adds an annotation for the API server's audit log.
    #[must_use]
    pub fn with_audit_annotation(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.audit_annotations.insert(key.into(), value.into());
        self
    }

    /// Adds the JSON patch that turns one object into the other; none where they are equal.
    ///
    /// # Errors
    /// When the patch cannot be written.
    pub fn with_changes(self, before: &Value, after: &Value) -> Result<Self, PatchError> {
        let patch = json_patch::diff(before, after);
        let patch = match patch.0.is_empty() {
            true => None,
            false => Some(STANDARD.encode(serde_json::to_vec(&patch)?)),
        };
        Ok(Self { patch, ..self })
    }

    /// Returns whether the request is admitted.
    pub const fn is_allowed(&self) -> bool {
        self.allowed
    }

    /// Returns the code of the answer's status, such as 200 or 403.
    pub const fn code(&self) -> u16 {
        self.code
    }

    fn refused(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { allowed: false, code, reason, message: message.into(), ..Self::allow() }
    }

    pub(crate) const fn is_unavailable(&self) -> bool {
        self.unavailable
    }

    /// The AdmissionReview as JSON text, with the request's uid and version.
    pub(crate) fn body(&self, request: &AdmissionRequest) -> Vec<u8> {
        // Texts, numbers and maps of texts: there is nothing in it that cannot be written.
        serde_json::to_vec(&self.review(request.api_version(), &request.uid)).unwrap_or_default()
    }

    fn review<'r>(&'r self, api_version: &'r str, uid: &'r str) -> Review<'r> {
        // 299 is HTTP's "miscellaneous warning"; Gatekeeper and its users' tests know it.
        let code = if self.code == 200 && !self.warnings.is_empty() { 299 } else { self.code };
        let patch = self.patch.as_deref().filter(|_| self.allowed);
        let response = Response {
            allowed: self.allowed,
            audit_annotations: &self.audit_annotations,
            patch,
            patch_type: patch.map(|_| "JSONPatch"),
            status: Status { code, message: &self.message, reason: self.reason },
            uid,
            warnings: &self.warnings,
        };
        Review { api_version, kind: "AdmissionReview", response }
    }
}

/// An AdmissionReview as it is written: straight into the bytes of the answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Review<'r> {
    api_version: &'r str,
    kind: &'static str,
    response: Response<'r>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'r> {
    allowed: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    audit_annotations: &'r BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    status: Status<'r>,
    uid: &'r str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'r [String],
}

#[derive(Serialize)]
struct Status<'r> {
    code: u16,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'r str,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn review(response: &AdmissionResponse) -> Value {
        serde_json::to_value(response.review("admission.k8s.io/v1beta1", "u")).unwrap()
    }

    fn wire(response: &AdmissionResponse) -> Value {
        review(response)["response"].clone()
    }

    #[test]
    fn uid_version_codes_and_warnings_are_on_the_wire() {
        let review = review(&AdmissionResponse::allow());
        assert_eq!(review["apiVersion"], "admission.k8s.io/v1beta1");
        assert_eq!(review["response"], json!({"uid": "u", "allowed": true, "status": {"code": 200}}));
        let warned = wire(&AdmissionResponse::allow().with_warnings(["w".to_owned()]));
        assert_eq!((&warned["status"]["code"], &warned["warnings"]), (&json!(299), &json!(["w"])));
        let denied = wire(&AdmissionResponse::deny("no").with_warnings(["w".to_owned()]));
        assert_eq!(denied["status"], json!({"code": 403, "reason": "Forbidden", "message": "no"}));
        assert_eq!((&denied["allowed"], &denied["warnings"]), (&json!(false), &json!(["w"])));
        let noted = wire(&AdmissionResponse::allow().with_audit_annotation("k", "v"));
        assert_eq!(noted["auditAnnotations"], json!({"k": "v"}));
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-c/~]{0,3}".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-c/~]{0,2}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// Decoding the patch of a response and applying it gives the changed object.
        #[test]
        fn the_patch_turns_one_object_into_the_other(before in json_value(), after in json_value()) {
            let response = wire(&AdmissionResponse::allow().with_changes(&before, &after).unwrap());
            let mut patched = before.clone();
            match response.get("patch") {
                None => prop_assert_eq!(&before, &after),
                Some(patch) => {
                    prop_assert_eq!(&response["patchType"], "JSONPatch");
                    let text = STANDARD.decode(patch.as_str().unwrap()).unwrap();
                    let patch: json_patch::Patch = serde_json::from_slice(&text).unwrap();
                    json_patch::patch(&mut patched, &patch).unwrap();
                }
            }
            prop_assert_eq!(patched, after);
        }
    }
}
