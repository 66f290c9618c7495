//! The statuses of templates and constraints, and the reports that wait for their policy set.

use constraint_framework::IngestError;
use constraint_framework::api::{CONSTRAINTS_GROUP, StatusError, TEMPLATES_GROUP};
use constraint_framework::driver::CompileError;
use kube::core::{ApiResource, GroupVersionKind};
use pod_status::readiness::{ErrorClass, ReadinessSource};
use pod_status::{ParentKey, ParentRef, PodError, Shape, Shapes, StatusReporter};
use serde_json::{Value, json};

use super::enforcement_points::{LASTS, NOT_IN_CLUSTER};
use super::kinds::{CONFIG, OtherVersions, SYNC_SET, TEMPLATE};

/// Returns the layout of `status.byPod`, which is Gatekeeper's, and the conditions that go with it.
pub fn shapes(versions: OtherVersions) -> impl Shapes {
    move |parent: &ParentRef| shape(parent, &versions)
}

fn shape(parent: &ParentRef, versions: &OtherVersions) -> Option<Shape> {
    let template = || ApiResource::from_gvk_with_plural(&TEMPLATE, "constrainttemplates");
    match parent.group.as_str() {
        TEMPLATES_GROUP => Some(enforced(Shape::new(template(), "templateUID").latch("created"))),
        CONSTRAINTS_GROUP => Some(enforced(Shape::new(versions.resource(&parent.kind), "constraintUID"))),
        group if group == SYNC_SET.group => Some(sync_shape(&SYNC_SET, "syncsets", "syncSetUID")),
        group if group == CONFIG.group => Some(sync_shape(&CONFIG, "configs", "configUID")),
        _ => None,
    }
}

/// Adds the condition `Enforced`, which the pods that serve the webhook decide.
fn enforced(shape: Shape) -> Shape {
    shape
        .enforced_field("enforced")
        .enforced_by(["webhook"])
        .summary()
        .idle_reason("/enforcementPointsStatus/0/message")
        .idle_until_changed("/enforcementPointsStatus/0/state", LASTS)
        .nothing_to_enforce("/enforcementPointsStatus/0/state", NOT_IN_CLUSTER)
}

/// SyncSets and the Config are ingested; they enforce nothing by themselves.
fn sync_shape(gvk: &GroupVersionKind, plural: &str, uid_field: &str) -> Shape {
    Shape::new(ApiResource::from_gvk_with_plural(gvk, plural), uid_field).summary()
}

/// The report about an object once the policy set that holds it is in force: never earlier, so that a
/// status does not run ahead of the facts.
pub(super) struct Outcome {
    pub(super) parent: ParentKey,
    pub(super) generation: i64,
    pub(super) source: ReadinessSource,
    /// The reason why it is not in force, if it is not. The class is the one for readiness: a pod that starts does not wait for
    /// what is permanent. Each error has its own, which the conditions follow.
    pub(super) failure: Option<(ErrorClass, Vec<PodError>)>,
    pub(super) detail: Value,
}

impl Outcome {
    /// Reports it, and only then counts it for readiness: a pod does not serve before its failures are stored.
    pub(super) fn report(self, reporter: &StatusReporter) {
        let Self { parent, generation, source, failure, detail } = self;
        let Some((failure, errors)) = failure else {
            reporter.ingested(&parent, generation, Ok(()), detail);
            return source.observe(&parent, generation);
        };
        let reason = errors.first().map(|error| error.message.clone()).unwrap_or_default();
        let reference = &parent.reference;
        tracing::warn!(kind = reference.kind, name = reference.name, reason, "not ingested");
        reporter.ingested(&parent, generation, Err(errors.into()), detail);
        source.fail(&parent, generation, failure, reason);
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

/// The same error as one that ends without a change of the object: the operator tries again, or notices by itself that
/// what is missing has come. All other errors make their object `Stalled`, at which Flux gives up.
pub(super) fn retried(error: PodError) -> PodError {
    error.class(ErrorClass::Transient)
}

/// Adds to the detail of a template's report what is wrong with it and does not keep it from being enforced.
pub(super) fn template_detail<'a>(
    mut detail: Value,
    warnings: impl Iterator<Item = &'a CompileError>,
) -> Value {
    let entry = |warning: &CompileError| StatusError {
        code: warning.code.clone(),
        message: warning.message.clone(),
        location: Some(warning.location.clone()),
    };
    let warnings: Vec<_> = warnings.map(entry).collect();
    if let (Value::Object(fields), false) = (&mut detail, warnings.is_empty()) {
        fields.insert("warnings".to_owned(), json!(warnings));
    }
    detail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_an_entry_each_and_nothing_when_there_are_none() {
        assert_eq!(template_detail(json!({"enforced": true}), std::iter::empty()), json!({"enforced": true}));
        let warning =
            CompileError { code: "c".to_owned(), message: "m".to_owned(), location: "l".to_owned() };
        assert_eq!(
            template_detail(json!({"enforced": false}), [&warning].into_iter()),
            json!({"enforced": false, "warnings": [{"code": "c", "message": "m", "location": "l"}]})
        );
    }
}
