//! Webtroller: a policy operator for Kubernetes that enforces Gatekeeper's templates and constraints.
//!
//! The modules, and which uses which: [`enforce`] asks for verdicts, [`controller`] brings policies in, both meet in
//! [`in_force`] and never use each other; both read what [`config`] says about Configs and SyncSets; [`audit`] judges what is in
//! the cluster; [`events`] stores what the webhook and the audit find as Kubernetes Events; [`cli`] works on files and touches no
//! cluster; [`catalog`] brings policies of a catalogue into one; [`migrate`] compares a cluster's Gatekeeper with this;
//! `own_watch` watches single objects for all of them, and `established` waits for a CRD;
//! [`progress`] explains why an object is stuck; [`declaration`] lists what each controller reads and writes;
//! [`runtime`] assembles the other modules into processes; no other module imports it.
//!
//! ```
//! use constraint_framework::policyset::{Compiler, PolicySetBuilder};
//! use webtroller::in_force::policies;
//!
//! // What a controller publishes is what enforcement points read from then on.
//! let (publisher, handle) = policies();
//! publisher.publish(PolicySetBuilder::new(Compiler::default()).build().into());
//! assert!(handle.current().policies.is_empty());
//! ```

mod api_error;
mod api_version;
pub mod audit;
mod budget;
pub mod catalog;
pub mod cli;
pub mod config;
pub mod controller;
pub mod declaration;
mod digest;
pub mod enforce;
mod established;
pub mod events;
pub mod in_force;
pub mod migrate;
mod own_watch;
pub mod progress;
mod retry;
pub mod runtime;
mod text;
mod written;
