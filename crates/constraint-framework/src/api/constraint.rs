//! A constraint of any kind: `match`, `parameters` and actions, which all kinds share.
//!
//! The kind's own schema is checked against its template in `policyset`; the match block by the target.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::field_error::decode;
use super::{CONSTRAINTS_GROUP, FieldError, FieldErrors, ObjectMeta};

/// Kind and name of a constraint.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConstraintRef {
    /// The kind that a template created.
    pub kind: String,
    /// The constraint's name.
    pub name: String,
}

impl fmt::Display for ConstraintRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

/// An instance of a template: the scope of the policy, its parameters and its actions.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// Kind and name, by which the policy set identifies it.
    pub id: ConstraintRef,
    /// The parts of the metadata that the decision process reads.
    pub metadata: ObjectMeta,
    /// The `spec` as written: only the template knows its whole schema. An object, or null where there is none.
    pub spec: Value,
}

/// The fields that every constraint kind shares.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ConstraintSpec {
    /// The reviews that the constraint sees; the shape is the target's.
    #[serde(rename = "match")]
    pub match_spec: Option<Value>,
    /// The value that the template sees as `input.parameters`.
    pub parameters: Option<Value>,
    /// `deny` (default), `warn`, `dryrun` or `scoped`.
    pub enforcement_action: Option<String>,
    /// Actions per enforcement point; read only when `enforcementAction` is `scoped`.
    pub scoped_enforcement_actions: Vec<ScopedEnforcementAction>,
}

/// An action and where it applies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ScopedEnforcementAction {
    /// `deny`, `warn` or `dryrun`.
    pub action: String,
    /// The enforcement points.
    pub enforcement_points: Vec<EnforcementPointName>,
}

/// The name of an enforcement point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EnforcementPointName {
    /// Such as `audit.gatekeeper.sh`; `*` means all.
    pub name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    api_version: String,
    kind: String,
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Value,
}

impl ConstraintSpec {
    /// Reads a `spec` whose defaults are filled in; null is an empty one.
    ///
    /// # Errors
    /// The first value of a wrong type, with its pointer from the constraint's root.
    pub fn from_value(spec: &Value) -> Result<Self, FieldErrors> {
        if spec.is_null() {
            return Ok(Self::default());
        }
        decode(spec).map_err(|error: FieldError| error.under("/spec").into())
    }
}

impl Constraint {
    /// Reads a constraint of any kind.
    ///
    /// # Errors
    /// A decoding error, or all of: wrong group or version, no kind, a missing name or one over 63 characters.
    pub fn from_value(value: &Value) -> Result<Self, FieldErrors> {
        let envelope: Envelope = decode(value)?;
        let mut errors = Vec::new();
        let version = envelope.api_version.strip_prefix(CONSTRAINTS_GROUP).unwrap_or_default();
        if !matches!(version, "/v1beta1" | "/v1alpha1") {
            let served =
                format!("must be {CONSTRAINTS_GROUP}/v1beta1 or /v1alpha1, not {:?}", envelope.api_version);
            errors.push(FieldError::new("/apiVersion", served));
        }
        if envelope.kind.is_empty() {
            errors.push(FieldError::new("/kind", "must name the kind that a template created"));
        }
        let length = envelope.metadata.name.len();
        if length == 0 || length > 63 {
            errors.push(FieldError::new(
                "/metadata/name",
                format!("must have 1 to 63 characters, not {length}"),
            ));
        }
        FieldErrors::check(errors)?;
        let id = ConstraintRef { kind: envelope.kind, name: envelope.metadata.name.clone() };
        Ok(Self { id, metadata: envelope.metadata, spec: envelope.spec })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_constraint_of_any_kind_is_read() {
        let value = json!({
            "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "Anything", "metadata": {"name": "a"},
            "spec": {"match": {"scope": "Cluster"}, "parameters": {"x": 1}}, "status": {"byPod": "whatever"}
        });
        let constraint = Constraint::from_value(&value).unwrap();
        assert_eq!(constraint.id.to_string(), "Anything/a");
        assert_eq!(constraint.spec["parameters"], json!({"x": 1}));
    }

    #[test]
    fn all_mistakes_come_at_once() {
        let value = json!({"apiVersion": "v1", "kind": "", "metadata": {"name": "x".repeat(64)}});
        let errors = Constraint::from_value(&value).unwrap_err();
        let pointers: Vec<_> = errors.iter().map(|error| error.pointer.as_str()).collect();
        assert_eq!(pointers, ["/apiVersion", "/kind", "/metadata/name"]);
    }
}
