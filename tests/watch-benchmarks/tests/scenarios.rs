//! Every scenario, small and once: each side must hold the objects of the server.

#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

use watch_benchmarks::scenario::{Scale, fan_out, join, memory, ready, requests, stalled};

const SMALL: Scale = Scale { divisor: 500, rounds: 1 };

#[tokio::test]
async fn our_own_scenarios_run() {
    for lines in [join::run(SMALL).await, fan_out::run(SMALL).await, stalled::run(SMALL).await] {
        assert!(!lines.unwrap().is_empty());
    }
}

#[tokio::test]
async fn all_sides_hold_the_objects_of_the_server() {
    for lines in [memory::run(SMALL).await, ready::run(SMALL).await, requests::run(SMALL).await] {
        assert!(!lines.unwrap().is_empty());
    }
}
