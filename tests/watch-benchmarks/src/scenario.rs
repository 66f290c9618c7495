//! The scenarios. Each returns the lines that it measured.

pub mod fan_out;
pub mod join;
pub mod memory;
pub mod ready;
pub mod requests;
pub mod stalled;

use kube::core::GroupVersionKind;
use serde_json::{Value, json};
use watch_manager::testing::FakeApi;

/// The effort of a run.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Divides the sizes of every scenario.
    pub divisor: usize,
    /// Repetitions of each measurement.
    pub rounds: usize,
}

impl Scale {
    /// A size at this scale, at least 1.
    #[must_use]
    pub fn of(self, size: usize) -> usize {
        size.checked_div(self.divisor).unwrap_or(size).max(1)
    }
}

/// The consumers of each kind.
const REGISTRARS: usize = 3;

fn gvk(kind: &str) -> GroupVersionKind {
    GroupVersionKind::gvk("example.com", "v1", kind)
}

/// A server with `count` small objects of `kind`.
fn filled(kind: &GroupVersionKind, count: usize) -> FakeApi {
    let api = FakeApi::new();
    api.serve(kind, &format!("{}s", kind.kind.to_lowercase()));
    for number in 0..count {
        api.apply(kind, small(number, 0));
    }
    api
}

fn small(number: usize, round: usize) -> Value {
    json!({"metadata": {"name": format!("object-{number}"), "namespace": format!("namespace-{}", number % 100)},
        "spec": {"round": round}})
}
