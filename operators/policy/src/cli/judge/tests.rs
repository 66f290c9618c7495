//! The bounds of an evaluation. What is found is tested with each command.

use std::path::Path;

use super::*;
use crate::budget::slow;
use crate::cli::assemble::assemble;
use crate::cli::load::load_reader;

#[test]
fn a_slow_machine_finds_what_a_fast_one_finds() {
    let manifests = load_reader(Path::new("x"), &mut slow::MANIFESTS.as_bytes()).unwrap();
    let assembly = assemble(&manifests, slow::compiler()).unwrap_or_else(|errors| panic!("{errors:?}"));
    let times = Times::default();
    for times in [None, Some(&times)] {
        let options = JudgeOptions { unplaced: Unplaced::Nowhere, in_turn: true, times };
        let found = judge(&assembly, options, &Progress::new(1, "objects"));
        let found: Vec<_> = found.iter().map(|violation| &violation.message).collect();
        assert!(found.is_empty(), "{found:?}");
    }
    let judged: Vec<_> = times.by_constraint().values().map(|cost| cost.evaluations).collect();
    assert_eq!(judged, [3], "every object is judged");
}
