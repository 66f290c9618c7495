//! The object that holds the activations of a strict rollout: `ActivationEpoch`, one for each operator.
//!
//! The aggregator writes it, over the version that it decided on. Every pod reads it by a consistent read.
//!
//! It is one object, so that one read shows every activation that was written before; `strict_rollout.rs` says what pods conclude.
//! Worked example with two aggregators, of which the former has lost its Lease and does not know it yet:
//!
//! ```text
//! both read          version 7   p: generation 3
//! the new one        version 8   p: generation 4      over version 7
//! the former one                 p: generation 5      over version 7: 409, it has to read again
//! ```
//!
//! Without the version, 4 would be replaced before every pod has switched to it.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::api::{Api, DynamicObject, PostParams};
use kube::core::ApiResource;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::pace::answered_within;
use crate::parent::{ParentKey, ParentRef};
use crate::report::ReportKind;
use crate::strict_rollout::Announced;

/// The name of the object.
const NAME: &str = "activations";

impl ReportKind {
    /// Returns the kind of the object with the activations of a strict rollout: `ActivationEpoch` in this group and version.
    pub fn epoch_resource(&self) -> ApiResource {
        Self::new(&self.group, &self.version, "ActivationEpoch", "activationepochs").api_resource()
    }
}

/// One entry of the object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Activation {
    #[serde(flatten)]
    parent: ParentKey,
    #[serde(flatten)]
    announced: Announced,
}

/// The content of the object in one version.
#[derive(Debug, Default)]
pub(crate) struct Epoch {
    version: Option<String>,
    activations: BTreeMap<ParentRef, (String, Announced)>,
}

/// A change of the object, decided on one version of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    pub(crate) parent: ParentKey,
    pub(crate) announced: Announced,
    version: Option<String>,
}

impl Epoch {
    /// The activation of this very object. One of a deleted object of the same name does not count: the generations of this one
    /// begin again at 1.
    pub(crate) fn of(&self, parent: &ParentKey) -> Option<Announced> {
        let (uid, announced) = self.activations.get(&parent.reference)?;
        (*uid == parent.uid).then_some(*announced)
    }

    pub(crate) fn contains(&self, parent: &ParentRef) -> bool {
        self.activations.contains_key(parent)
    }

    /// The activations by uid of the parent.
    pub(crate) fn by_uid(&self) -> BTreeMap<String, Announced> {
        self.activations.values().cloned().collect()
    }

    pub(crate) fn plan(&self, parent: ParentKey, announced: Announced) -> Plan {
        Plan { parent, announced, version: self.version.clone() }
    }

    fn read(object: &DynamicObject) -> Result<Self, serde_json::Error> {
        let activations = object.data.get("activations").cloned().unwrap_or_else(|| json!([]));
        let activations: Vec<Activation> = serde_json::from_value(activations)?;
        let entry = |entry: Activation| (entry.parent.reference, (entry.parent.uid, entry.announced));
        let activations = activations.into_iter().map(entry).collect();
        Ok(Self { version: object.metadata.resource_version.clone(), activations })
    }

    /// The content after the plans that were made on this version, and without the parents that are `gone`.
    fn after(&self, plans: &[Plan], gone: &[ParentRef]) -> Vec<Value> {
        let mut activations = self.activations.clone();
        activations.retain(|parent, _| !gone.contains(parent));
        // Other plans were made without what this version says. Their parents are decided about again.
        for plan in plans.iter().filter(|plan| plan.version == self.version) {
            let entry = (plan.parent.uid.clone(), plan.announced);
            activations.insert(plan.parent.reference.clone(), entry);
        }
        let entry = |(reference, (uid, announced))| {
            json!(Activation { parent: ParentKey::new(reference, uid), announced })
        };
        activations.into_iter().map(entry).collect()
    }
}

/// Reads and writes the object.
#[derive(Clone)]
pub(crate) struct Epochs {
    api: Api<DynamicObject>,
    resource: ApiResource,
}

impl Epochs {
    pub(crate) fn new(client: kube::Client, kind: &ReportKind, namespace: &str) -> Self {
        let resource = kind.epoch_resource();
        Self { api: Api::namespaced_with(client, namespace, &resource), resource }
    }

    /// The object, by a consistent read. Creates it if it does not exist.
    pub(crate) async fn read(&self, limit: Duration) -> kube::Result<Epoch> {
        // Without a resourceVersion in the request the answer is the newest state, and not that of a cache:
        // https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
        let found = answered_within(limit, self.api.get_opt(NAME)).await?;
        let object = match found {
            Some(object) => object,
            None => answered_within(limit, self.api.create(&PostParams::default(), &self.object())).await?,
        };
        Epoch::read(&object).map_err(kube::Error::SerdeError)
    }

    /// Writes what follows from the plans over `epoch`. Returns whether it is still the newest version.
    pub(crate) async fn write(
        &self,
        epoch: &Epoch,
        plans: &[Plan],
        gone: &[ParentRef],
        limit: Duration,
    ) -> kube::Result<bool> {
        let mut object = self.object();
        object.metadata.resource_version = epoch.version.clone();
        object.data = json!({"activations": epoch.after(plans, gone)});
        match answered_within(limit, self.api.replace(NAME, &PostParams::default(), &object)).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.is_conflict() => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn object(&self) -> DynamicObject {
        DynamicObject::new(NAME, &self.resource).data(json!({"activations": []}))
    }
}
