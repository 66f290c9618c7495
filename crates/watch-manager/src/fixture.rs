//! Objects for the tests of this crate.

use std::sync::Arc;

use kube::core::GroupVersionKind;
use serde_json::json;

use crate::object::WatchedObject;
use crate::roster::Gvk;

pub(crate) fn gvk(kind: &str) -> Gvk {
    Arc::new(GroupVersionKind::gvk("example.com", "v1", kind))
}

/// An object whose identity is all that matters.
pub(crate) fn object(gvk: &Gvk, name: &str, uid: u64, version: u64) -> Arc<WatchedObject> {
    let json =
        json!({"metadata": {"name": name, "uid": uid.to_string(), "resourceVersion": version.to_string()}});
    Arc::new(WatchedObject::from_value(gvk, &json).unwrap())
}
