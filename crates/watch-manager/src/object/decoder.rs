//! Makes objects of what a server sends, in the way that the configuration and the watch ask for.

use std::fmt;
use std::sync::Arc;

use kube::core::{ApiResource, GroupVersionKind};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{Keep, Transform, WatchedObject};
use crate::config::Config;

/// Makes objects of one kind from the text that a server sent.
#[derive(Clone)]
pub(crate) struct Decoder {
    /// The kind as it was asked for; its version may be empty.
    asked: Arc<GroupVersionKind>,
    /// The kind as it is served.
    gvk: Arc<GroupVersionKind>,
    keep: Keep,
    transform: Option<Transform>,
    /// The server sends only metadata.
    partial: bool,
}

// === impl Decoder ===

impl Decoder {
    pub(crate) fn new(gvk: Arc<GroupVersionKind>, config: &Config, transform: Option<Transform>) -> Self {
        let keep = Keep {
            managed_fields: config.keep_managed_fields,
            last_applied: config.keep_last_applied,
            rest: !config.identities_only,
        };
        Self { asked: Arc::clone(&gvk), gvk, keep, transform, partial: false }
    }

    /// For texts that are metadata only, or not.
    pub(crate) fn metadata_only(self, partial: bool) -> Self {
        Self { partial, ..self }
    }

    /// Returns true if the version is left to the server.
    pub(crate) fn follows_preferred(&self) -> bool {
        self.asked.version.is_empty()
    }

    /// The kind is served as `resource`.
    pub(crate) fn set_resource(&mut self, resource: &ApiResource) {
        if self.follows_preferred() && self.gvk.version != resource.version {
            self.gvk = Arc::new(GroupVersionKind::gvk(&resource.group, &resource.version, &resource.kind));
        }
    }

    pub(crate) fn decode(&self, raw: &RawValue) -> Result<WatchedObject, serde_json::Error> {
        let mut object = WatchedObject::from_raw(&self.gvk, raw, self.keep)?;
        if let Some(transform) = &self.transform {
            let mut value = object.to_value()?;
            let labels = value.pointer("/metadata/labels").cloned();
            transform(&self.gvk, &mut value);
            restore(&mut value, &object, labels);
            let raw = serde_json::value::to_raw_value(&value)?;
            object = WatchedObject::from_raw(&self.gvk, &raw, self.keep)?;
        }
        object.partial = self.partial;
        Ok(object)
    }
}

/// Puts the identity back that the server sent: stores, deletes and the version from which a watch is resumed depend on it.
/// And the labels: the server selects by those that it has, so the manager has to do the same.
fn restore(value: &mut Value, object: &WatchedObject, labels: Option<Value>) {
    let Some(fields) = value.as_object_mut() else { return };
    let metadata = fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    let Some(metadata) = metadata.as_object_mut() else { return };
    let text = |text: &str| (!text.is_empty()).then(|| Value::from(text));
    let sent = [
        ("name", Some(object.name().into())),
        ("namespace", object.namespace().and_then(text)),
        ("uid", text(object.uid())),
        ("resourceVersion", text(object.resource_version())),
        ("labels", labels),
    ];
    for (name, sent) in sent {
        match sent {
            Some(sent) => metadata.insert(name.to_owned(), sent),
            None => metadata.remove(name),
        };
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder").field("gvk", &self.gvk).finish_non_exhaustive()
    }
}
