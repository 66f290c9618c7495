//! The wire form of an AdmissionRequest. What Kubernetes' Go types leave out when it is empty is left out here:
//! policies see what they see under Gatekeeper, also in a request that was written by hand.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// `admission.k8s.io/v1`, with the objects as text.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct AdmissionRequest {
    #[serde(deserialize_with = "or_default")]
    uid: String,
    #[serde(deserialize_with = "or_default")]
    kind: Kind,
    #[serde(deserialize_with = "or_default")]
    resource: Resource,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    sub_resource: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_kind: Option<Kind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_resource: Option<Resource>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    request_sub_resource: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    namespace: String,
    #[serde(deserialize_with = "or_default", skip_serializing)]
    pub(super) operation: String,
    #[serde(deserialize_with = "or_default")]
    user_info: User,
    #[serde(skip_serializing)]
    pub(super) object: Option<Box<RawValue>>,
    #[serde(skip_serializing)]
    pub(super) old_object: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
    options: Value,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Kind {
    group: String,
    version: String,
    kind: String,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Resource {
    group: String,
    version: String,
    resource: String,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct User {
    #[serde(skip_serializing_if = "String::is_empty")]
    username: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    uid: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    groups: Vec<String>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    extra: BTreeMap<String, Value>,
}

impl AdmissionRequest {
    /// Returns the fields that policies see beside the objects and the operation. A Namespace is in no namespace, whatever
    /// the request says, see <https://github.com/open-policy-agent/gatekeeper/issues/792>.
    ///
    /// # Errors
    /// The fields have no JSON form: a policy that saw none of them would take the request for one without a user.
    pub(super) fn into_attributes(mut self) -> Result<Map<String, Value>, serde_json::Error> {
        if self.kind.kind == "Namespace" && self.kind.group.is_empty() {
            self.namespace.clear();
        }
        match serde_json::to_value(self)? {
            Value::Object(attributes) => Ok(attributes),
            other => Err(serde::ser::Error::custom(format!("a request is a JSON object, not {other}"))),
        }
    }
}

/// Reads `null` as the default, as Go does.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(reader: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(reader)?.unwrap_or_default())
}
