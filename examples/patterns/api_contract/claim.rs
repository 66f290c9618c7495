//! Claims: the Machine that uses an object of a provider is written down in the object before any status says that it is in use.
//!
//! A core that was frozen may delete, long after it decided to, the object that a Machine has come back to: it has the same uid, and
//! nobody has written to it. A claim is a write of the core that acts for the Machine now, so a deletion of the object as it was read
//! before is refused.

use controller_declaration::DeclaredAccess;
use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::machine::Machine;

/// The uid of the Machine, and the generation in which it refers to the object: it has another one when it comes back.
const ANNOTATION: &str = "contract.example.com/machine";

pub(crate) fn declared(objects: DeclaredAccess) -> DeclaredAccess {
    objects.writes_annotation(ANNOTATION).reads_annotation(ANNOTATION)
}

/// The fields that claim an object for the Machine as it is; `None` if it has them.
pub(crate) fn fields(machine: &Machine, object: &DynamicObject) -> Option<Value> {
    let claim = format!("{}/{}", machine.uid()?, machine.metadata.generation?);
    let is_there = object.annotations().get(ANNOTATION) == Some(&claim);
    (!is_there).then(|| json!({"metadata": {"annotations": {ANNOTATION: claim}}}))
}

/// The Machine that has claimed an object, and in which generation.
pub(crate) fn holder(object: &DynamicObject) -> Option<(&str, i64)> {
    let (uid, generation) = object.annotations().get(ANNOTATION)?.split_once('/')?;
    Some((uid, generation.parse().ok()?))
}
