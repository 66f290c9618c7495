//! The `source` of a `K8sNativeValidation` block: its fields, and all its errors but those of the expressions.

use serde::Deserialize;
use serde_json::Value;

use crate::api::{FieldError, decode};
use crate::driver::{CompileError, CompileErrors};

/// Names that Gatekeeper binds itself.
const RESERVED: [&str; 2] = ["params", "anyObject"];
/// The beginning of names that Gatekeeper keeps for itself.
const RESERVED_PREFIX: &str = "gatekeeper_internal_";

/// The action to take when a policy cannot decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) enum FailurePolicy {
    /// It counts as a violation.
    #[default]
    Fail,
    /// It counts as none.
    Ignore,
}

/// A policy written in CEL.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct Source {
    pub(super) validations: Vec<Validation>,
    pub(super) variables: Vec<Named>,
    /// Gatekeeper's spelling.
    #[serde(rename = "matchCondition")]
    match_condition: Vec<Named>,
    /// Kubernetes' spelling, which Gatekeeper overlooks.
    match_conditions: Vec<Named>,
    failure_policy: Option<FailurePolicy>,
    /// True if Gatekeeper also writes a ValidatingAdmissionPolicy; of no consequence here.
    #[serde(rename = "generateVAP")]
    generate_vap: Option<bool>,
}

/// A condition that must hold, and the message where it does not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct Validation {
    pub(super) expression: String,
    pub(super) message: String,
    pub(super) message_expression: String,
    /// The HTTP reason of a ValidatingAdmissionPolicy; a webhook has one reason for all.
    reason: Option<String>,
}

/// A named expression.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) expression: String,
}

impl Source {
    /// Reads and checks a source.
    ///
    /// # Errors
    /// The first value of a wrong type or name; otherwise every error.
    pub(super) fn read(source: &Value) -> Result<Self, CompileErrors> {
        let source: Self = decode(source).map_err(|error| vec![misshapen(&error)])?;
        let mut errors = Vec::new();
        if source.validations.is_empty() {
            errors.push(invalid("/validations", "must hold at least one validation"));
        }
        for (position, validation) in source.validations.iter().enumerate() {
            require(&mut errors, &validation.expression, &format!("/validations/{position}/expression"));
        }
        source.check_variables(&mut errors);
        for (place, condition) in source.match_conditions() {
            require(&mut errors, &condition.expression, &format!("{place}/expression"));
            if condition.name.starts_with(RESERVED_PREFIX) {
                errors.push(invalid(&format!("{place}/name"), reserved_prefix()));
            }
        }
        if errors.is_empty() { Ok(source) } else { Err(errors.into()) }
    }

    pub(super) fn failure_policy(&self) -> FailurePolicy {
        self.failure_policy.unwrap_or_default()
    }

    /// Returns the match conditions under either spelling, each with its place.
    pub(super) fn match_conditions(&self) -> impl Iterator<Item = (String, &Named)> {
        let placed = |field: &'static str| move |(position, named)| (format!("/{field}/{position}"), named);
        let singular = self.match_condition.iter().enumerate().map(placed("matchCondition"));
        singular.chain(self.match_conditions.iter().enumerate().map(placed("matchConditions")))
    }

    fn check_variables(&self, errors: &mut Vec<CompileError>) {
        for (position, variable) in self.variables.iter().enumerate() {
            let place = format!("/variables/{position}/name");
            let name = variable.name.as_str();
            if RESERVED.contains(&name) {
                errors.push(invalid(&place, format!("{name:?} is reserved: choose another name")));
            } else if name.starts_with(RESERVED_PREFIX) {
                errors.push(invalid(&place, reserved_prefix()));
            } else if !is_identifier(name) {
                let rule = "must be letters, digits and underscores, not beginning with a digit";
                errors.push(invalid(&place, rule));
            } else if self.variables.iter().take(position).any(|earlier| earlier.name == name) {
                errors.push(invalid(&place, format!("{name:?} is declared twice")));
            }
            require(errors, &variable.expression, &format!("/variables/{position}/expression"));
        }
    }
}

fn require(errors: &mut Vec<CompileError>, expression: &str, place: &str) {
    if expression.trim().is_empty() {
        errors.push(invalid(place, "must hold a CEL expression"));
    }
}

fn reserved_prefix() -> String {
    format!("names beginning with {RESERVED_PREFIX:?} are reserved")
}

fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|c| c == '_' || c.is_ascii_alphabetic())
        && characters.all(|c| c == '_' || c.is_ascii_alphanumeric())
}

fn invalid(pointer: &str, message: impl Into<String>) -> CompileError {
    CompileError {
        code: "invalid_source".to_owned(),
        message: message.into(),
        location: format!("source{pointer}"),
    }
}

fn misshapen(error: &FieldError) -> CompileError {
    invalid(&error.pointer, error.message.clone())
}
