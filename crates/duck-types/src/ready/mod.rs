//! Ready-made ducks.
//!
//! | duck | place | carried by |
//! |---|---|---|
//! | [`Conditions`] | `/status/conditions` | kinds with `metav1.Condition` |
//! | [`KnativeConditions`] | `/status/conditions` | Knative's kinds, with a severity |
//! | [`Addressable`] | `/status/address`, `/status/addresses` | Knative's sinks |
//! | [`Scale`] | `/spec/replicas`, `/status/replicas`, `/status/selector` | what can be scaled |
//! | [`PodSpecable`] | `/spec/template` | Deployment, ReplicaSet, StatefulSet, DaemonSet, Job |
//! | [`Owners`], [`Finalizers`] | `/metadata` | every object |
//!
//! [`kstatus`] reads the readiness of an object of any kind: built-in ones, and those that follow the conventions.

mod builtin;
mod conditions;
mod kstatus;
mod metadata;
mod progress;
mod workload;

pub use conditions::{Condition, ConditionSeverity, Conditions, KnativeCondition, KnativeConditions};
pub use kstatus::kstatus;
pub use metadata::{Finalizers, Owner, Owners};
pub use progress::Progress;
pub use workload::{
    Address, Addressable, AddressableStatus, Container, PodSpecable, PodTemplateSpec, Scale, ScaleSpec,
    ScaleStatus, TemplateMetadata,
};

#[cfg(test)]
mod tests;
