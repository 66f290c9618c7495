//! The readiness of an object, by the rules of kstatus (sigs.k8s.io/cli-utils, pkg/kstatus/status).

use k8s_openapi::jiff::Timestamp;
use kube::core::DynamicObject;
use serde::Deserialize;

use super::builtin;
use super::progress::{Progress, Signal};
use crate::{DuckError, DuckType, Place, duck_path};

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    observed_generation: Option<i64>,
    conditions: Vec<Signal>,
}

impl DuckType for Status {
    const NAME: &'static str = "kstatus";
    const PLACE: Place = Place::At(duck_path!("/status"));
}

/// Returns the progress of an object of any kind.
///
/// In the order of kstatus: a deletion timestamp is `Terminating`; an outdated `status.observedGeneration` is
/// `InProgress`; of the conditions, the first of `Reconciling=True` and `Stalled=True` is `InProgress` or `Failed`. Then
/// the built-in kinds have rules of their own (Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, CronJob, Pod,
/// PersistentVolumeClaim, Service, PodDisruptionBudget, CustomResourceDefinition, ConfigMap, Secret); for all others
/// `Ready` decides if it is there, and an object without it is `Current`. A pod that cannot be scheduled is `Failed` 15
/// seconds after its creation, by the clock of this process.
///
/// Items of lists of built-in kinds have no kind of their own, without which the answer may be `Unknown`: set
/// `types` before.
///
/// # Errors
///
/// [`DuckError::Mismatch`] for a status of another shape.
pub fn kstatus(object: &DynamicObject) -> Result<Progress, DuckError> {
    kstatus_at(object, Timestamp::now())
}

pub(super) fn kstatus_at(object: &DynamicObject, now: Timestamp) -> Result<Progress, DuckError> {
    if object.metadata.deletion_timestamp.is_some() {
        return Ok(Progress::Terminating);
    }
    let Status { observed_generation, conditions } = match crate::view::<Status>(&object.data) {
        Err(error) if error.is_missing() => Status::default(),
        other => other?,
    };
    if let (Some(observed), Some(generation)) = (observed_generation, object.metadata.generation)
        && observed != generation
    {
        let message = format!("generation is {generation}, and {observed} was observed");
        return Ok(Progress::InProgress(message));
    }
    for condition in &conditions {
        if condition.is("Reconciling", "True") {
            return Ok(Progress::InProgress(condition.message.clone()));
        }
        if condition.is("Stalled", "True") {
            return Ok(Progress::Failed(condition.message.clone()));
        }
    }
    let Some(types) = &object.types else {
        return Ok(Progress::Unknown("the object has no kind".to_owned()));
    };
    let group = types.api_version.split_once('/').map_or("", |(group, _)| group);
    Ok(match builtin::progress(group, &types.kind, object, &conditions, now) {
        Some(progress) => progress,
        None => by_ready(&conditions),
    })
}

fn by_ready(conditions: &[Signal]) -> Progress {
    let states = ["True", "False", "Unknown"];
    let ready = conditions.iter().find(|one| one.r#type == "Ready" && states.contains(&one.status.as_str()));
    match ready {
        Some(ready) if ready.status != "True" => Progress::InProgress(ready.message.clone()),
        _ => Progress::Current,
    }
}
