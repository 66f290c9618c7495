//! Each pod reports what it ingested; one pod at a time folds the reports, pessimistically, into the status
//! of the objects they are about; and each pod knows when it is ready.
//!
//! ```
//! use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
//! use k8s_openapi::jiff::Timestamp;
//! use kube::core::{ApiResource, GroupVersionKind};
//! use pod_status::{Decision, Entry, Member, Parent, ParentKey, ParentRef, Reported, Shape, aggregate};
//! use serde_json::{Value, json};
//!
//! let reference = ParentRef { group: "example.com".into(), kind: "Policy".into(), namespace: None, name: "p".into() };
//! let key = ParentKey { reference, uid: "u1".into() };
//! let pod = |id: &str| Member { id: id.into(), operations: ["webhook".into()].into(), ..Member::default() };
//! let entry = Entry { parent: key.clone(), generation: 3, errors: vec![], detail: Value::Null };
//! let shape = Shape {
//!     resource: ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Policy")),
//!     uid_field: "policyUID".into(),
//!     latch: None,
//!     enforcing: ["webhook".into()].into(),
//!     enforced_field: None,
//! };
//!
//! // Two pods exist, one has reported: that is not "enforced".
//! let reported = [Reported { member: pod("a"), entry }];
//! let members = [pod("a"), pod("b")];
//! let parent = Parent { key, generation: 3 };
//! let now = Time(Timestamp::UNIX_EPOCH);
//! let Decision::Write(status) = aggregate(&shape, &parent, &members, &reported, &Value::Null, &now) else {
//!     unreachable!("there was no status before")
//! };
//! assert_eq!(status["byPod"][0]["id"], "a");
//! assert_eq!(status["conditions"][1]["type"], "Enforced");
//! assert_eq!(status["conditions"][1]["status"], "Unknown");
//! ```
//!
//! - [`StatusReporter`] stores what this pod has ingested in a few objects owned by the pod.
//! - [`Aggregator`] folds everybody's reports into `status.byPod` and conditions; [`aggregate`] is its
//!   decision, without I/O.
//! - [`ReadinessTracker`] knows when everything that existed at the start has been ingested.
//! - [`lead`] runs any work in one pod at a time, under a Lease.
//!
//! Not here: what the objects mean. The host says how a kind's status is laid out ([`Shape`]).

mod aggregator;
mod cluster;
mod condition;
mod error;
mod fold;
mod identity;
mod inbox;
mod lease;
mod ledger;
mod membership;
pub mod name;
mod pace;
mod parent;
pub mod readiness;
mod report;
mod reporter;
mod roll;
mod shape;
mod writer;

pub use aggregator::{Aggregator, AggregatorConfig};
pub use error::Error;
pub use fold::{Decision, Parent, Reported, aggregate};
pub use identity::PodIdentity;
pub use inbox::ParentChanges;
pub use lease::{Claim, lead};
pub use parent::{ParentKey, ParentRef};
pub use readiness::{Readiness, ReadinessTracker};
pub use report::{Entry, Member, POD_LABEL, PodError, PodReport, ReportKind, SHARD_LABEL};
pub use reporter::{Config, StatusReporter};
pub use shape::{Shape, Shapes};
