//! One object as the API server sent it: JSON text with its identity beside it. Everything else is parsed
//! on demand, because a watch keeps many more objects than its readers look at.
//! `store` keeps these by key; this file knows nothing about who reads them.

mod decoder;
mod identity;
mod json;
mod labels;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{DynamicObject, Expression, GroupVersionKind};
use serde::de::{DeserializeOwned, Error as _};
use serde_json::value::RawValue;

pub(crate) use self::decoder::Decoder;
pub(crate) use self::identity::Remains;
use self::identity::{Escaped, Identity};
use self::json::{Fields, is_key, write_object};

/// The annotation in which `kubectl apply` keeps the object as it was applied.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Changes each object before it is stored; see [`Builder::transform`](crate::Builder::transform).
pub(crate) type Transform = Arc<dyn Fn(&GroupVersionKind, &mut serde_json::Value) + Send + Sync>;

/// A watched object. Cheap to share (`Arc`), expensive to parse: keep the parsed form if you need it twice.
///
/// Its text is complete: `apiVersion` and `kind` come from the watch that brought it, because the API
/// server leaves them out of the items of a list
/// (<https://github.com/kubernetes/kubernetes/issues/80609>).
pub struct WatchedObject {
    gvk: Arc<GroupVersionKind>,
    key: Arc<ObjectKey>,
    json: Box<str>,
    places: Places,
    /// Only where the text has escapes in them, which no API server writes.
    escaped: Option<Box<Escaped>>,
    /// Zero if there is none: the server counts from 1.
    generation: i64,
    deleting: bool,
    /// Only the metadata was asked for.
    partial: bool,
}

/// The places of parts of an object in its text; empty if they are missing.
#[derive(Debug, Clone, Copy, Default)]
struct Places {
    metadata: (u32, u32),
    labels: (u32, u32),
    uid: (u32, u32),
    resource_version: (u32, u32),
}

/// Namespace and name of an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    namespace: Box<str>,
    name: Box<str>,
}

/// The parts of an object's text that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Keep {
    /// `metadata.managedFields`. It is often the largest part of an object.
    pub(crate) managed_fields: bool,
    pub(crate) last_applied: bool,
    /// Everything but uid, version and labels.
    pub(crate) rest: bool,
}

impl Keep {
    pub(crate) const EVERYTHING: Self = Self { managed_fields: true, last_applied: true, rest: true };

    fn skips(self, key: &RawValue) -> bool {
        let is_identity = || ["uid", "resourceVersion", "labels"].iter().any(|name| is_key(key, name));
        (!self.managed_fields && is_key(key, "managedFields")) || (!self.rest && !is_identity())
    }
}

// === impl ObjectKey ===

impl ObjectKey {
    /// Creates a key; `namespace` is `None` for a cluster-scoped object.
    pub fn new(namespace: Option<&str>, name: &str) -> Self {
        Self { namespace: namespace.unwrap_or_default().into(), name: name.into() }
    }

    /// Returns the namespace, or `None` for a cluster-scoped object.
    pub fn namespace(&self) -> Option<&str> {
        (!self.namespace.is_empty()).then_some(&*self.namespace)
    }

    /// Returns the name.
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
        Self::from_raw(&Arc::new(gvk.clone()), &raw, Keep::EVERYTHING)
    }

    /// Reads the identity and completes the text with the kind of the watch.
    pub(crate) fn from_raw(
        gvk: &Arc<GroupVersionKind>,
        raw: &RawValue,
        keep: Keep,
    ) -> Result<Self, serde_json::Error> {
        let fields = Fields::parse(raw.get())?;
        let metadata = fields.last("metadata").ok_or_else(|| serde_json::Error::missing_field("metadata"))?;
        let identity: Identity<'_> = serde_json::from_str(metadata.get())?;
        let (json, places) = complete(gvk, &fields, raw.get().len(), keep)?;
        Ok(Self {
            gvk: Arc::clone(gvk),
            key: Arc::new(ObjectKey::new(identity.namespace.as_deref(), &identity.name)),
            // A copy: an allocation that shrinks keeps its place, and an object of a list may be small.
            json: Box::from(json.as_str()),
            places,
            generation: identity.generation.and_then(|raw| raw.get().parse().ok()).unwrap_or_default(),
            deleting: identity.deletion_timestamp.is_some(),
            partial: false,
            escaped: identity.escaped(),
        })
    }

    /// Returns the kind of the watch that brought this object.
    pub fn gvk(&self) -> &GroupVersionKind {
        &self.gvk
    }

    /// Returns namespace and name.
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// Returns namespace and name, shared with the object.
    pub fn shared_key(&self) -> Arc<ObjectKey> {
        Arc::clone(&self.key)
    }

    /// Returns `metadata.name`.
    pub fn name(&self) -> &str {
        self.key.name()
    }

    /// Returns `metadata.namespace`; `None` for a cluster-scoped object.
    pub fn namespace(&self) -> Option<&str> {
        self.key.namespace()
    }

    /// Returns `metadata.uid`; empty if the server sent none.
    pub fn uid(&self) -> &str {
        let place = || self.text(self.places.uid).unwrap_or_default();
        self.escaped.as_ref().map_or_else(place, |escaped| &escaped.uid)
    }

    /// Returns `metadata.resourceVersion`, to be compared for equality only.
    pub fn resource_version(&self) -> &str {
        let place = || self.text(self.places.resource_version).unwrap_or_default();
        self.escaped.as_ref().map_or_else(place, |escaped| &escaped.resource_version)
    }

    /// Returns `metadata.generation`, which the server increments when the specification changes.
    pub fn generation(&self) -> Option<i64> {
        (self.generation != 0).then_some(self.generation)
    }

    /// Returns true if `metadata.deletionTimestamp` is set: the object waits for its finalizers.
    pub fn is_deleting(&self) -> bool {
        self.deleting
    }

    /// Returns true if only the metadata was asked for.
    pub(crate) fn is_partial(&self) -> bool {
        self.partial
    }

    /// Returns the labels. Reads their text; parses nothing else.
    pub fn labels(&self) -> BTreeMap<Cow<'_, str>, Cow<'_, str>> {
        let labels = self.text(self.places.labels).and_then(|text| Fields::parse(text).ok());
        labels.into_iter().flat_map(Fields::strings).collect()
    }

    /// Returns true if the labels satisfy all requirements.
    pub(crate) fn satisfies(&self, requirements: &[Expression]) -> bool {
        labels::satisfy(self.text(self.places.labels).unwrap_or_default(), requirements)
    }

    /// Returns the annotations. Reads the text of the metadata; parses nothing else.
    pub fn annotations(&self) -> BTreeMap<Cow<'_, str>, Cow<'_, str>> {
        let annotations = || {
            let metadata = Fields::parse(self.text(self.places.metadata)?).ok()?;
            Some(Fields::parse(metadata.last("annotations")?.get()).ok()?.strings())
        };
        annotations().into_iter().flatten().collect()
    }

    fn text(&self, (start, end): (u32, u32)) -> Option<&str> {
        self.json.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }

    /// Returns all metadata, parsed on each call and not kept.
    ///
    /// A field of a type that Kubernetes does not allow (no API server sends one) leaves everything but the
    /// identity empty; [`parse`](Self::parse) returns the error.
    pub fn metadata(&self) -> ObjectMeta {
        let parsed = self.text(self.places.metadata).and_then(|text| serde_json::from_str(text).ok());
        parsed.unwrap_or_else(|| ObjectMeta {
            name: Some(self.name().to_owned()),
            namespace: self.namespace().map(ToOwned::to_owned),
            uid: Some(self.uid().to_owned()),
            resource_version: Some(self.resource_version().to_owned()),
            ..ObjectMeta::default()
        })
    }

    /// Returns true if both are the same version of an object, read in the same API version.
    pub(crate) fn is_same_version(&self, other: &Self) -> bool {
        !self.resource_version().is_empty()
            && self.resource_version() == other.resource_version()
            && (Arc::ptr_eq(&self.gvk, &other.gvk) || self.gvk == other.gvk)
    }

    /// Returns the complete compact JSON text, `apiVersion` and `kind` first. With [`Config::identities_only`](crate::Config::identities_only)
    /// it has only uid, version and labels.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// Returns the object as a `K`: a type of `k8s_openapi`, a derived custom resource, or any part of the object.
    ///
    /// # Errors
    /// When the object does not have the shape of `K`.
    pub fn parse<K: DeserializeOwned>(&self) -> Result<K, serde_json::Error> {
        serde_json::from_str(&self.json)
    }

    /// Returns the object as a tree, complete with `apiVersion` and `kind`.
    ///
    /// # Errors
    /// When the object is nested deeper than `serde_json` parses (128 levels).
    pub fn to_value(&self) -> Result<serde_json::Value, serde_json::Error> {
        self.parse()
    }

    /// Returns the object as kube's dynamic type.
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
            .field("uid", &self.uid())
            .field("resource_version", &self.resource_version())
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

/// The text of the object with the kind of the watch in front and without what is not kept, and places in it.
fn complete(
    gvk: &GroupVersionKind,
    fields: &Fields<'_>,
    size: usize,
    keep: Keep,
) -> Result<(String, Places), serde_json::Error> {
    let mut text = String::with_capacity(size.saturating_add(64));
    let mut places = Places::default();
    text.push('{');
    if keep.rest {
        text.push_str("\"apiVersion\":");
        text.push_str(&serde_json::to_string(&gvk.api_version())?);
        text.push_str(",\"kind\":");
        text.push_str(&serde_json::to_string(&gvk.kind)?);
    }
    for (key, value) in &fields.0 {
        let is_kind = is_key(key, "apiVersion") || is_key(key, "kind");
        if is_kind || (!keep.rest && !is_key(key, "metadata")) {
            continue;
        }
        text.push_str(if text.len() > 1 { "," } else { "" });
        text.push_str(key.get());
        text.push(':');
        if is_key(key, "metadata") {
            let start = text.len();
            places = write_metadata(&mut text, value, keep)?;
            places.metadata = (place(start)?, place(text.len())?);
        } else {
            text.push_str(value.get());
        }
    }
    text.push('}');
    Ok((text, places))
}

fn place(offset: usize) -> Result<u32, serde_json::Error> {
    u32::try_from(offset).map_err(|_| serde_json::Error::custom("the object is larger than 4 GiB"))
}

/// Appends the metadata, and returns the places of its parts.
fn write_metadata(text: &mut String, metadata: &RawValue, keep: Keep) -> Result<Places, serde_json::Error> {
    let mut places = Places::default();
    write_object(
        text,
        &Fields::parse(metadata.get())?,
        |key| keep.skips(key),
        |text, key, value| {
            let start = text.len();
            if keep.last_applied || !is_key(key, "annotations") || !value.get().starts_with('{') {
                text.push_str(value.get());
            } else {
                write_annotations(text, value)?;
            }
            let part = if is_key(key, "labels") {
                &mut places.labels
            } else if is_key(key, "uid") {
                &mut places.uid
            } else if is_key(key, "resourceVersion") {
                &mut places.resource_version
            } else {
                return Ok(());
            };
            // A string lies between its quotes.
            let quote = usize::from(value.get().starts_with('"'));
            *part = (place(start.saturating_add(quote))?, place(text.len().saturating_sub(quote))?);
            Ok(())
        },
    )?;
    Ok(places)
}

/// Appends the annotations without the one of `kubectl apply`.
fn write_annotations(text: &mut String, annotations: &RawValue) -> Result<(), serde_json::Error> {
    let skip = |key: &RawValue| is_key(key, LAST_APPLIED);
    write_object(text, &Fields::parse(annotations.get())?, skip, |text, _, value| {
        text.push_str(value.get());
        Ok(())
    })
}

#[cfg(test)]
mod tests;
