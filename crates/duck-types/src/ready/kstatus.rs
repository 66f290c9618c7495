//! The readiness of an object, by the rules of kstatus (sigs.k8s.io/cli-utils, pkg/kstatus/status).

use kube::core::DynamicObject;
use serde::Deserialize;

use super::Condition;
use crate::{DuckError, DuckType, Place, duck_path};

/// The progress of an object towards its specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The specification is reached.
    Current,
    /// The controller is at work, or has not seen the specification yet.
    InProgress(String),
    /// The controller has given up.
    Failed(String),
    /// The object is being deleted.
    Terminating,
    /// The kind has rules of its own in kstatus, which are not applied here; the name of the kind.
    Unknown(String),
}

/// The kinds whose conditions and replicas kstatus reads in a way of their own.
const OWN_RULES: [&str; 12] = [
    "Service",
    "Pod",
    "PersistentVolumeClaim",
    "StatefulSet",
    "DaemonSet",
    "Deployment",
    "ReplicaSet",
    "ReplicationController",
    "PodDisruptionBudget",
    "CronJob",
    "Job",
    "CustomResourceDefinition",
];

/// The groups of these kinds. `Service` of another group is a custom resource.
const OWN_GROUPS: [&str; 5] = ["", "apps", "batch", "policy", "apiextensions.k8s.io"];

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    observed_generation: Option<i64>,
    conditions: Vec<Condition>,
}

impl DuckType for Status {
    const NAME: &'static str = "kstatus";
    const PLACE: Place = Place::At(duck_path!("/status"));
}

/// The progress of an object of any kind.
///
/// In the order of kstatus: a deletion timestamp is `Terminating`; an outdated `status.observedGeneration`, or
/// `Reconciling=True`, is `InProgress`; `Stalled=True` is `Failed`; for other kinds than the built-in ones that have
/// rules of their own, `Ready` decides if it is there, and an object without it is `Current`.
///
/// # Errors
///
/// [`DuckError::Mismatch`] for a status of another shape.
pub fn kstatus(object: &DynamicObject) -> Result<Progress, DuckError> {
    if object.metadata.deletion_timestamp.is_some() {
        return Ok(Progress::Terminating);
    }
    let status = match crate::view::<Status>(&object.data) {
        Err(error) if error.is_missing() => Status::default(),
        other => other?,
    };
    if let (Some(observed), Some(generation)) = (status.observed_generation, object.metadata.generation)
        && observed != generation
    {
        let message = format!("generation is {generation}, and {observed} was observed");
        return Ok(Progress::InProgress(message));
    }
    let find = |wanted: &str| status.conditions.iter().find(|condition| condition.r#type == wanted);
    let active = |wanted: &str| find(wanted).filter(|condition| condition.status == "True");
    if let Some(condition) = active("Reconciling") {
        return Ok(Progress::InProgress(condition.message.clone()));
    }
    if let Some(condition) = active("Stalled") {
        return Ok(Progress::Failed(condition.message.clone()));
    }
    if let Some(kind) = own_rules(object) {
        return Ok(Progress::Unknown(kind));
    }
    Ok(match find("Ready") {
        Some(ready) if ready.status != "True" => Progress::InProgress(ready.message.clone()),
        _ => Progress::Current,
    })
}

fn own_rules(object: &DynamicObject) -> Option<String> {
    let Some(types) = &object.types else { return Some("an object without a kind".to_owned()) };
    let group = types.api_version.split_once('/').map_or("", |(group, _)| group);
    let own = OWN_RULES.contains(&types.kind.as_str()) && OWN_GROUPS.contains(&group);
    own.then(|| types.kind.clone())
}
