//! The wire form of an AdmissionRequest. What Kubernetes' Go types leave out when it is empty is left out here:
//! policies see what they see under Gatekeeper, also in a request that was written by hand.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// `admission.k8s.io/v1`, with the objects as text.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct AdmissionRequest {
    #[serde(deserialize_with = "or_default")]
    uid: String,
    #[serde(deserialize_with = "or_default")]
    kind: Kind,
    #[serde(deserialize_with = "or_default")]
    resource: Resource,
    #[serde(deserialize_with = "or_default")]
    sub_resource: String,
    request_kind: Option<Kind>,
    request_resource: Option<Resource>,
    #[serde(deserialize_with = "or_default")]
    request_sub_resource: String,
    #[serde(deserialize_with = "or_default")]
    name: String,
    #[serde(deserialize_with = "or_default")]
    namespace: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) operation: String,
    #[serde(deserialize_with = "or_default")]
    user_info: User,
    pub(super) object: Option<Box<RawValue>>,
    pub(super) old_object: Option<Box<RawValue>>,
    dry_run: Option<bool>,
    options: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Kind {
    group: String,
    version: String,
    kind: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Resource {
    group: String,
    version: String,
    resource: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct User {
    username: String,
    uid: String,
    #[serde(deserialize_with = "or_default")]
    groups: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    extra: BTreeMap<String, Value>,
}

impl AdmissionRequest {
    /// Returns the fields that policies see beside the objects and the operation. A Namespace is in no namespace, whatever
    /// the request says, see <https://github.com/open-policy-agent/gatekeeper/issues/792>.
    pub(super) fn into_attributes(self) -> Map<String, Value> {
        let is_namespace = self.kind.kind == "Namespace" && self.kind.group.is_empty();
        let namespace = if is_namespace { String::new() } else { self.namespace };
        let mut attributes = strings([
            ("subResource", self.sub_resource),
            ("requestSubResource", self.request_sub_resource),
            ("name", self.name),
            ("namespace", namespace),
        ]);
        let others = [
            ("uid", Some(self.uid.into())),
            ("kind", Some(self.kind.into())),
            ("resource", Some(self.resource.into())),
            ("requestKind", self.request_kind.map(Value::from)),
            ("requestResource", self.request_resource.map(Value::from)),
            ("userInfo", Some(self.user_info.into())),
            ("dryRun", self.dry_run.map(Value::Bool)),
            ("options", Some(self.options)),
        ];
        attributes.extend(others.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        attributes
    }
}

impl From<Kind> for Value {
    fn from(Kind { group, version, kind }: Kind) -> Self {
        object([("group", group), ("version", version), ("kind", kind)])
    }
}

impl From<Resource> for Value {
    fn from(Resource { group, version, resource }: Resource) -> Self {
        object([("group", group), ("version", version), ("resource", resource)])
    }
}

impl From<User> for Value {
    fn from(user: User) -> Self {
        let mut fields = strings([("username", user.username), ("uid", user.uid)]);
        if !user.groups.is_empty() {
            fields.insert("groups".to_owned(), user.groups.into());
        }
        if !user.extra.is_empty() {
            fields.insert("extra".to_owned(), user.extra.into_iter().collect());
        }
        Self::Object(fields)
    }
}

/// Returns an object of these strings, empty ones too.
fn object<const N: usize>(fields: [(&str, String); N]) -> Value {
    Value::Object(fields.map(|(name, value)| (name.to_owned(), Value::String(value))).into_iter().collect())
}

/// Returns the strings that are not empty.
fn strings<const N: usize>(fields: [(&str, String); N]) -> Map<String, Value> {
    let fields = fields.into_iter().filter(|(_, value)| !value.is_empty());
    fields.map(|(name, value)| (name.to_owned(), Value::String(value))).collect()
}

/// Reads `null` as the default, as Go does.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(reader: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(reader)?.unwrap_or_default())
}
