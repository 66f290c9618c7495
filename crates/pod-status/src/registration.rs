//! A registration as it is stored, and what the aggregator has acknowledged in it.

use std::collections::BTreeMap;

use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::report::{Member, PodReport};

/// Annotation of a registration with the incarnation of the run that may serve although it has given up something.
const ACKNOWLEDGED: &str = "status.webtroller.dev/acknowledged";

/// A registration that the API server holds.
#[derive(Debug)]
pub(crate) struct Registration {
    pub(crate) run: Member,
    /// The name and the uid of the object.
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) is_acknowledged: bool,
}

impl Registration {
    /// One that cannot be read is that of a member that never reports: a process is there, and nothing is known about it.
    pub(crate) fn of(object: DynamicObject) -> Self {
        let (name, uid) = (object.name_any(), object.uid().unwrap_or_default());
        let annotation = acknowledged(&object).map(str::to_owned);
        let report: Result<PodReport, _> = serde_json::from_value(object.data);
        let unreadable = || Member { id: name.clone(), ..Member::default() };
        let run = report.map_or_else(|_| unreadable(), |report| report.pod);
        let is_acknowledged = annotation.as_ref() == Some(&run.incarnation);
        Self { run, name, uid, is_acknowledged }
    }
}

/// The incarnation of the run that is acknowledged in a registration.
pub(crate) fn acknowledged(object: &DynamicObject) -> Option<&str> {
    object.annotations().get(ACKNOWLEDGED).map(String::as_str)
}

/// The annotations that acknowledge a run.
pub(crate) fn acknowledgement(incarnation: &str) -> Value {
    json!(BTreeMap::from([(ACKNOWLEDGED, incarnation)]))
}
