//! The examples run, and print what they promise.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says no by panicking")]

use std::process::Command;

/// Runs an example that `cargo test` has built beside this test.
fn run(example: &str) -> String {
    let here = std::env::current_exe().unwrap();
    let program = here.parent().and_then(|deps| deps.parent()).unwrap().join("examples").join(example);
    let output =
        Command::new(&program).output().unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_derived_type_becomes_a_crd() {
    let crd: serde_json::Value = serde_json::from_str(&run("derive")).unwrap();
    let spec = crd.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec").unwrap();
    assert_eq!(spec.pointer("/properties/keep/nullable"), Some(&serde_json::json!(true)));
    assert_eq!(
        spec.pointer("/properties/target/oneOf/1/required"),
        Some(&serde_json::json!(["type", "claim"]))
    );
}

#[test]
fn the_conflict_report_names_places_reasons_and_people() {
    let report = run("three_fragments");
    for expected in [
        "2 conflicts:",
        "  spec.match\n    /properties/spec/properties/match: platform contributes here, but add-on is mounted exclusively at \"/spec/match\"",
        "talk to: add-on, platform",
        "  spec.parameters.limit\n    /properties/spec/properties/parameters/properties/limit: default differs: add-on leaves it out and author says 3",
        "talk to: add-on, author",
        "properties[extra].type belongs to add-on",
    ] {
        assert!(report.contains(expected), "{expected:?} is missing in\n{report}");
    }
}
