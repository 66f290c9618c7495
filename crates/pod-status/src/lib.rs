//! Reports of what each pod enforces, aggregated pessimistically into the status of the objects concerned.
//!
//! ```no_run
//! # async fn run(client: kube::Client, parent: k8s_openapi::api::core::v1::ConfigMap, shutdown: tokio_util::sync::CancellationToken) -> Result<(), pod_status::Error> {
//! use pod_status::{ParentKey, PodError, PodIdentity, ReporterConfig, StatusReporter};
//! use serde_json::json;
//!
//! let identity = PodIdentity::from_downward_api(["webhook"])?;
//! let (reporter, driver) = StatusReporter::new(client, identity, ReporterConfig::default());
//! tokio::spawn(driver.run(shutdown)); // cancelled after the last answer
//! reporter.registered().await?; // before the first list of the parents
//!
//! let key = ParentKey::of(&parent, &());
//! reporter.ingested(&key, 1, Ok(()), json!({"enforced": true})); // after generation 1 is in force
//! reporter.ingested(&key, 2, Err(PodError::new("ingest_error", "no such function").into()), ());
//! reporter.removed(&key);
//! # Ok(())
//! # }
//! ```
//!
//! | type | purpose |
//! |---|---|
//! | [`StatusReporter`], [`ReporterDriver`] | store what this pod has ingested in a few objects owned by the pod |
//! | [`Permit`] | ends when this pod must not answer any more, by its own clock (self-fencing) |
//! | [`Aggregator`] | aggregates the reports of all pods into `status.byPod` and conditions |
//! | [`aggregate`] | its decision, without I/O |
//! | [`HighWaterMark`] | how many parents are enforced everywhere, and which has waited longest |
//! | [`Activation`] | coordinated rollout: no pod enforces a generation before all have ingested it |
//! | [`Schedule`] | strict rollout: no pod judges by an old generation after another judged by the new one |
//! | [`PodStatusKind`] | reports in Gatekeeper's objects, one for each pod and parent |
//! | [`MissingSemantics`] | states for each kind whether a pod may go on without an object of it |
//! | [`ReadinessTracker`] | tracks whether everything that existed at the start has been ingested |
//! | [`LiveRuns`] | reports whether the process that wrote an object is still alive |
//! | [`lead`] | leader election: runs any work in one process at a time, under a Lease |
//! | [`sim`] | predicts availability and time to enforcement |
//!
//! The [`guide`] explains how to use them together, and what is guaranteed.
//!
//! Not here: the meaning of the objects. The host chooses the layout of a kind's status ([`Shape`]).

mod acknowledgements;
mod activation;
mod activation_decision;
mod aggregate;
mod aggregator;
mod aggregator_config;
mod answer;
mod backoffs;
mod batch;
mod bounds;
mod catch_up;
mod cluster;
mod condition;
mod decision;
mod decisions;
mod desired;
mod direct_status;
mod driver_requests;
mod duplicate_identity;
mod enforcement_states;
mod epoch;
mod error;
mod expected;
mod follow;
mod gatekeeper;
mod identity;
mod keyed_requests;
mod lease;
mod live_runs;
mod manifest;
mod member_count;
mod membership;
mod missing;
pub mod name;
mod objects;
mod overclaims;
mod own_writes;
mod pace;
mod parent;
mod parent_changes;
mod permit;
mod pod;
mod progress;
pub mod readiness;
mod reason;
mod registration;
mod report;
mod report_store;
mod report_writer;
mod reporter;
mod reporter_config;
mod rollout;
mod run_state;
mod shape;
pub mod sim;
mod stored;
mod strict_rollout;
mod summary;
mod switch_skew;
mod term;
mod vote;
mod waiting_generations;
mod watermark;

pub use activation::Activation;
pub use activation_decision::may_activate;
pub use aggregate::{Decision, aggregate};
pub use aggregator::Aggregator;
pub use aggregator_config::AggregatorConfig;
pub use error::{Error, PodErrors};
pub use follow::{Follow, FollowSelection, Followed};
pub use gatekeeper::PodStatusKind;
pub use identity::PodIdentity;
pub use lease::{LeaseClaim, lead};
pub use live_runs::LiveRuns;
pub use manifest::{direct_rules, parent_rules, per_parent_rules};
pub use missing::MissingSemantics;
pub use parent::{ParentKey, ParentKind, ParentRef};
pub use parent_changes::ParentChanges;
pub use permit::{FencedError, Permit};
pub use readiness::{Readiness, ReadinessTracker};
pub use report::{Entry, Member, POD_LABEL, PodError, PodReport, ReportKind, SHARD_LABEL};
pub use reporter::{ReporterDriver, StatusReporter};
pub use reporter_config::ReporterConfig;
pub use rollout::{Deadline, Rollout};
pub use shape::{Shape, Shapes};
pub use strict_rollout::{Compiled, Schedule, UndecidedError};
pub use vote::{Parent, Reported};
pub use watermark::{HighWaterMark, HighWaterMarks, Waiting};

#[cfg(doc)]
#[doc = include_str!("../README.md")]
pub mod guide {}
