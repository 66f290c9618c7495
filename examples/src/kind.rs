//! The kind of an object: known from its Rust type, or written in the object.

use kube::api::{ApiResource, DynamicObject, GroupVersionKind};

/// The kind of an object: known from its type, or written in it.
pub trait TypeOf<K> {
    /// The kind of `object`.
    fn of(object: &K) -> Self;
}

impl<K> TypeOf<K> for () {
    fn of(_: &K) -> Self {}
}

impl TypeOf<DynamicObject> for ApiResource {
    fn of(object: &DynamicObject) -> Self {
        let types = object.types.clone().unwrap_or_default();
        let gvk = GroupVersionKind::try_from(types).unwrap_or_else(|_| GroupVersionKind::gvk("", "", ""));
        Self::from_gvk(&gvk)
    }
}
