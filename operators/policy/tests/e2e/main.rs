//! The operator as its users run it: the real binary, a real API server, `kubectl`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says no by panicking")]
#![allow(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    reason = "as above"
)]

mod admission_events;
mod admission_policies;
mod audit;
mod audit_agreement;
mod bad_input;
mod balancer;
mod catalog;
mod certificates;
mod clock;
mod cluster;
mod collector;
mod endings;
mod exemptions;
mod faults;
mod fencing;
mod fleet;
mod gatekeeper;
mod gatekeeper_process;
mod gatekeeper_suite;
mod guards;
mod health;
#[path = "../install/helm.rs"]
#[allow(dead_code, reason = "shared with the installation tests")]
mod helm;
mod https;
mod last_good;
mod leftovers;
mod metrics;
mod migrate;
mod operator;
mod ownership;
mod policies;
mod policy_reports;
mod prober;
mod proxy;
mod queries;
mod quickstart;
mod referential;
mod rights;
mod scripted;
mod standalone;
mod start;
mod status_page;
mod takeover;
mod trial;
mod uninstall;
mod verdicts;
