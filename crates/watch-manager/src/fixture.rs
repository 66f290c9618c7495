//! Objects for the tests of this crate.

use std::sync::Arc;

use kube::core::GroupVersionKind;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::intents::Gvk;
use crate::object::WatchedObject;

pub(crate) fn gvk(kind: &str) -> Gvk {
    Arc::new(GroupVersionKind::gvk("example.com", "v1", kind))
}

/// An object with nothing but its identity.
pub(crate) fn object(gvk: &Gvk, name: &str, uid: u64, version: u64) -> Arc<WatchedObject> {
    let raw: serde_json::Value = serde_json::from_str(raw(name, uid, version).get()).unwrap();
    Arc::new(WatchedObject::from_value(gvk, &raw).unwrap())
}

/// The text of such an object.
pub(crate) fn raw(name: &str, uid: u64, version: u64) -> Box<RawValue> {
    raw_in(None, name, uid, version)
}

pub(crate) fn raw_in(namespace: Option<&str>, name: &str, uid: u64, version: u64) -> Box<RawValue> {
    let (uid, version) = (uid.to_string(), version.to_string());
    let metadata = json!({"name": name, "namespace": namespace, "uid": uid, "resourceVersion": version});
    to_raw_value(&json!({"metadata": metadata})).unwrap()
}

/// The text of an object of which nothing but namespace, name and uid can be read.
pub(crate) fn unreadable_in(namespace: Option<&str>, name: &str, uid: u64) -> Box<RawValue> {
    let metadata =
        json!({"name": name, "namespace": namespace, "uid": uid.to_string(), "resourceVersion": []});
    to_raw_value(&json!({"metadata": metadata})).unwrap()
}
