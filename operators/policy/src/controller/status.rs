//! How the statuses of templates and constraints look, and the reports that wait for their policy set.

use constraint_framework::IngestError;
use constraint_framework::api::{CONSTRAINTS_GROUP, StatusError, TEMPLATES_GROUP};
use constraint_framework::driver::CompileError;
use kube::core::ApiResource;
use pod_status::readiness::{Failure, ReadinessSource};
use pod_status::{ParentKey, ParentRef, PodError, Shape, StatusReporter};
use serde_json::{Value, json};

use super::kinds::{TEMPLATE, constraint_resource};

/// The layout of `status.byPod`, which is Gatekeeper's, and the conditions that go with it.
pub fn shapes(parent: &ParentRef) -> Option<Shape> {
    let shape = match parent.group.as_str() {
        TEMPLATES_GROUP => {
            let resource = ApiResource::from_gvk_with_plural(&TEMPLATE, "constrainttemplates");
            Shape::new(resource, "templateUID").latch("created")
        }
        CONSTRAINTS_GROUP => {
            Shape::new(constraint_resource(&parent.kind), "constraintUID").enforced_field("enforced")
        }
        _ => return None,
    };
    Some(shape.enforced_by(["webhook"]))
}

/// What is to be said about an object once the policy set that holds it is in force: never earlier, so that a
/// status does not run ahead of the facts.
pub(super) struct Outcome {
    pub(super) parent: ParentKey,
    pub(super) generation: i64,
    pub(super) source: ReadinessSource,
    pub(super) errors: Vec<PodError>,
    pub(super) detail: Value,
}

impl Outcome {
    pub(super) fn tell(self, reporter: &StatusReporter) {
        if let Some(first) = self.errors.first() {
            let reason = first.message.clone();
            tracing::warn!(
                kind = self.parent.reference.kind,
                name = self.parent.reference.name,
                reason,
                "not ingested"
            );
            self.source.fail(&self.parent, self.generation, Failure::Permanent, reason);
        } else {
            self.source.observe(&self.parent, self.generation);
        }
        let outcome = if self.errors.is_empty() { Ok(()) } else { Err(self.errors) };
        reporter.ingested(&self.parent, self.generation, outcome, self.detail);
    }
}

/// `byPod[].errors` of a failed ingest: one entry for each thing that is wrong with the code, else one in all.
pub(super) fn pod_errors(error: &IngestError) -> Vec<PodError> {
    match error {
        IngestError::Compile(errors) => errors
            .iter()
            .map(|error| {
                let message = format!("Could not ingest Rego: {}: {}", error.code, error.message);
                PodError::new("ingest_error", message).at(error.location.clone())
            })
            .collect(),
        error => vec![pod_error(error.code(), error.to_string())],
    }
}

pub(super) fn pod_error(code: &str, message: String) -> PodError {
    PodError::new(code, message)
}

/// The detail of a template's report: what is wrong with it and does not keep it from being enforced.
pub(super) fn warned<'a>(warnings: impl Iterator<Item = &'a CompileError>) -> Value {
    let entry = |warning: &CompileError| StatusError {
        code: warning.code.clone(),
        message: warning.message.clone(),
        location: Some(warning.location.clone()),
    };
    let warnings: Vec<_> = warnings.map(entry).collect();
    if warnings.is_empty() { Value::Null } else { json!({ "warnings": warnings }) }
}

/// The detail of a constraint's report.
pub(super) fn enforced(enforced: bool) -> Value {
    json!({"enforced": enforced})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_an_entry_each_and_nothing_when_there_are_none() {
        assert_eq!(warned(std::iter::empty()), Value::Null);
        let warning =
            CompileError { code: "c".to_owned(), message: "m".to_owned(), location: "l".to_owned() };
        assert_eq!(
            warned([&warning].into_iter()),
            json!({"warnings": [{"code": "c", "message": "m", "location": "l"}]})
        );
    }
}
