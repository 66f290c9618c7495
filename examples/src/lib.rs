//! The parts that the controller patterns under `patterns/` share: a command line, a demo, and a failpoint.
//!
//! ```sh
//! cargo run -p examples --example api_contract -- --demo                # a control plane, the demo, and an end
//! cargo run -p examples --example api_contract -- --demo --kill core:3  # the same, and `core` is killed after write 3
//! cargo run -p examples --example api_contract                          # all controllers, in your kubeconfig's cluster
//! cargo run -p examples --example api_contract -- --roles               # the RBAC roles that they need
//! ```
//!
//! `docs/patterns/` explains each pattern. The building blocks, each a small program under `examples/` that runs
//! offline (`--cluster` takes the cluster of your kubeconfig where an example has it):
//!
//! ```sh
//! cargo run -p examples --example dynamic_controller  # kinds that a ConfigMap names, in one namespace
//! cargo run -p examples --example watch_manager   # kinds that come and go, one store each
//! cargo run -p examples --example duck_reader     # one typed sub-tree of any kind
//! cargo run -p examples --example duck_constraints # constraints of any kind, and an edit of one
//! cargo run -p examples --example duck_contract   # one contract, two providers in two versions of it
//! cargo run -p examples --example duck_sink       # where to send events: an Addressable of any kind
//! ```
//!
//! `cargo run -p pod-status --example replica` reports what each pod enforces, in a cluster.

mod arguments;
pub mod building_blocks;
pub mod cluster;
mod condition;
mod control;
mod demo;
pub mod failpoint;
mod kind;
mod output;
mod pattern;
mod process;
pub mod ranking;
mod rights;
mod states;
pub mod trace;

pub use arguments::{Arguments, Declared, Place};
pub use cluster::Cluster;
pub use condition::Condition;
pub use control::{Watched, controller, drive, mapped, watched};
pub use demo::Demo;
pub use failpoint::Failpoint;
pub use kind::TypeOf;
pub use output::print;
pub use pattern::{Pattern, no_role, run};
pub use rights::{grant, manifest as declared_roles, page as declared_page};
pub use states::states;
