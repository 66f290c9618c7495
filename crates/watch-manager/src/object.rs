//! One object as the API server sent it: JSON text with its identity beside it. Everything else is parsed
//! when somebody asks, because a watch keeps many more objects than its readers look at.
//! `store` keeps these by key; this file knows nothing about who reads them.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{DynamicObject, GroupVersionKind};
use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A watched object. Cheap to share (`Arc`), expensive to parse: keep the parsed form if you need it twice.
///
/// Its text is complete: `apiVersion` and `kind` come from the watch that brought it, because the API
/// server leaves them out of the items of a list
/// (<https://github.com/kubernetes/kubernetes/issues/80609>).
pub struct WatchedObject {
    gvk: Arc<GroupVersionKind>,
    key: Arc<ObjectKey>,
    uid: Box<str>,
    resource_version: Box<str>,
    json: Box<str>,
    metadata: OnceLock<Box<ObjectMeta>>,
}

/// Which object of a kind: namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    namespace: Box<str>,
    name: Box<str>,
}

/// What is kept of an object's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Everything,
    /// `metadata.managedFields` is left out. It is often the largest part of an object.
    WithoutManagedFields,
}

// === impl ObjectKey ===

impl ObjectKey {
    /// `namespace` is `None` for a cluster-scoped object.
    pub fn new(namespace: Option<&str>, name: &str) -> Self {
        Self { namespace: namespace.unwrap_or_default().into(), name: name.into() }
    }

    /// The namespace, or `None` for a cluster-scoped object.
    pub fn namespace(&self) -> Option<&str> {
        (!self.namespace.is_empty()).then_some(&*self.namespace)
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace() {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

// === impl WatchedObject ===

impl WatchedObject {
    /// Makes an object of kind `gvk` from its JSON, as the manager itself does. For tests of code that
    /// consumes events.
    ///
    /// # Errors
    /// When `json` is not an object, or `metadata.name` is missing.
    pub fn from_value(gvk: &GroupVersionKind, json: &serde_json::Value) -> Result<Self, serde_json::Error> {
        let raw = serde_json::value::to_raw_value(json)?;
        Self::seal(&Arc::new(gvk.clone()), &raw, Keep::Everything)
    }

    /// Reads the identity and completes the text with the kind of the watch.
    pub(crate) fn seal(
        gvk: &Arc<GroupVersionKind>,
        raw: &RawValue,
        keep: Keep,
    ) -> Result<Self, serde_json::Error> {
        let fields: Fields<'_> = serde_json::from_str(raw.get())?;
        let metadata = fields.last("metadata").ok_or_else(|| serde_json::Error::missing_field("metadata"))?;
        let identity: Identity<'_> = serde_json::from_str(metadata.get())?;
        Ok(Self {
            gvk: Arc::clone(gvk),
            key: Arc::new(ObjectKey::new(identity.namespace.as_deref(), &identity.name)),
            uid: identity.uid.into(),
            resource_version: identity.resource_version.into(),
            json: complete(gvk, &fields, raw.get().len(), keep)?.into(),
            metadata: OnceLock::new(),
        })
    }

    /// The kind of the watch that brought this object.
    pub fn gvk(&self) -> &GroupVersionKind {
        &self.gvk
    }

    /// Namespace and name.
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }

    pub(crate) fn shared_key(&self) -> Arc<ObjectKey> {
        Arc::clone(&self.key)
    }

    /// `metadata.name`.
    pub fn name(&self) -> &str {
        self.key.name()
    }

    /// `metadata.namespace`; `None` for a cluster-scoped object.
    pub fn namespace(&self) -> Option<&str> {
        self.key.namespace()
    }

    /// `metadata.uid`; empty if the server sent none.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// `metadata.resourceVersion`: compare it for equality only.
    pub fn resource_version(&self) -> &str {
        &self.resource_version
    }

    /// All metadata, parsed on the first call and then kept.
    ///
    /// A field of a type that Kubernetes does not allow (no API server sends one) leaves everything but the
    /// identity empty; [`parse`](Self::parse) tells why.
    pub fn metadata(&self) -> &ObjectMeta {
        self.metadata.get_or_init(|| Box::new(self.parse_metadata()))
    }

    fn parse_metadata(&self) -> ObjectMeta {
        match serde_json::from_str::<MetadataOnly>(&self.json) {
            Ok(object) => object.metadata,
            Err(_) => ObjectMeta {
                name: Some(self.name().to_owned()),
                namespace: self.namespace().map(ToOwned::to_owned),
                uid: Some(self.uid.to_string()),
                resource_version: Some(self.resource_version.to_string()),
                ..ObjectMeta::default()
            },
        }
    }

    /// The complete compact JSON text, `apiVersion` and `kind` first.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The object as a `K`: a type of `k8s_openapi`, a derived custom resource, or any part of the object.
    ///
    /// # Errors
    /// When the object does not have the shape of `K`.
    pub fn parse<K: DeserializeOwned>(&self) -> Result<K, serde_json::Error> {
        serde_json::from_str(&self.json)
    }

    /// The object as a tree, complete with `apiVersion` and `kind`.
    ///
    /// # Errors
    /// When the object is nested deeper than `serde_json` parses (128 levels).
    pub fn to_value(&self) -> Result<serde_json::Value, serde_json::Error> {
        self.parse()
    }

    /// The object as kube's dynamic type.
    ///
    /// # Errors
    /// As [`to_value`](Self::to_value).
    pub fn to_dynamic(&self) -> Result<DynamicObject, serde_json::Error> {
        self.parse()
    }
}

/// Identity only: an object may be a Secret, and this text ends in logs.
impl fmt::Debug for WatchedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchedObject")
            .field("kind", &self.gvk.kind)
            .field("key", &format_args!("{}", self.key))
            .field("uid", &self.uid)
            .field("resource_version", &self.resource_version)
            .finish_non_exhaustive()
    }
}

/// Two objects are equal when kind and text are.
impl PartialEq for WatchedObject {
    fn eq(&self, other: &Self) -> bool {
        self.gvk == other.gvk && self.json == other.json
    }
}

impl Eq for WatchedObject {}

#[derive(Deserialize)]
struct MetadataOnly {
    metadata: ObjectMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Identity<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    uid: Cow<'a, str>,
    #[serde(borrow, default)]
    resource_version: Cow<'a, str>,
}

/// One level of a JSON object, keys and values as their text.
struct Fields<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// The value of `name`. JSON readers take the last of several, and so do we.
    fn last(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(key, _)| is_key(key, name)).map(|(_, value)| *value)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;
        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(FieldsVisitor)
    }
}

/// Whether the JSON text of a key means `name`. A key may be written with escapes.
fn is_key(key: &RawValue, name: &str) -> bool {
    let text = key.get();
    if text.contains('\\') {
        return serde_json::from_str::<String>(text).is_ok_and(|decoded| decoded == name);
    }
    text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) == Some(name)
}

/// The text of the object with the kind of the watch in front and without what is not kept.
fn complete(
    gvk: &GroupVersionKind,
    fields: &Fields<'_>,
    size: usize,
    keep: Keep,
) -> Result<String, serde_json::Error> {
    let mut text = String::with_capacity(size.saturating_add(64));
    text.push_str("{\"apiVersion\":");
    text.push_str(&serde_json::to_string(&gvk.api_version())?);
    text.push_str(",\"kind\":");
    text.push_str(&serde_json::to_string(&gvk.kind)?);
    for (key, value) in &fields.0 {
        if is_key(key, "apiVersion") || is_key(key, "kind") {
            continue;
        }
        text.push(',');
        text.push_str(key.get());
        text.push(':');
        if keep == Keep::WithoutManagedFields && is_key(key, "metadata") {
            without_managed_fields(&mut text, value)?;
        } else {
            text.push_str(value.get());
        }
    }
    text.push('}');
    Ok(text)
}

fn without_managed_fields(text: &mut String, metadata: &RawValue) -> Result<(), serde_json::Error> {
    let fields: Fields<'_> = serde_json::from_str(metadata.get())?;
    text.push('{');
    let kept = fields.0.iter().filter(|(key, _)| !is_key(key, "managedFields"));
    for (position, (key, value)) in kept.enumerate() {
        if position > 0 {
            text.push(',');
        }
        text.push_str(key.get());
        text.push(':');
        text.push_str(value.get());
    }
    text.push('}');
    Ok(())
}

#[cfg(test)]
mod tests;
