//! Constraints as ducks: every kind that a template creates carries the same `spec`, whatever else it is.

use constraint_framework::api::{Constraint, ConstraintRef, ObjectMeta};
use duck_types::{DuckError, DuckType, view};
use serde::Deserialize;
use serde_json::Value;
use watch_manager::WatchedObject;

#[derive(Deserialize, DuckType)]
#[serde(transparent)]
#[duck(name = "Constraint", path = "/spec")]
struct ConstraintDuck(Value);

/// Reads a constraint of any kind.
///
/// A constraint without a `spec` applies everywhere with no parameters, as in Gatekeeper.
pub(super) fn constraint(object: &WatchedObject) -> Result<Constraint, String> {
    let value = object.to_value().map_err(|error| format!("not readable: {error}"))?;
    let spec = match view::<ConstraintDuck>(&value) {
        Ok(ConstraintDuck(spec)) => spec,
        Err(DuckError::Absent { .. } | DuckError::Null { .. }) => Value::Null,
        Err(error) => return Err(error.to_string()),
    };
    let id = ConstraintRef { kind: object.gvk().kind.clone(), name: object.name().to_owned() };
    let metadata = ObjectMeta {
        name: object.name().to_owned(),
        uid: object.uid().to_owned(),
        generation: object.generation(),
        ..ObjectMeta::default()
    };
    Ok(Constraint { id, metadata, spec })
}
