//! Every example is run as a user would run it: offline, to its end.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says no by panicking")]

use std::path::Path;
use std::process::{Command, Output};

/// Cargo builds the examples of a package beside its tests, before it runs those.
#[track_caller]
fn output(name: &str, arguments: &[&str]) -> Output {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().and_then(Path::parent).unwrap().join("examples").join(name);
    let output = Command::new(&program).args(arguments).output();
    output.unwrap_or_else(|error| panic!("{}: {error}", program.display()))
}

#[track_caller]
fn run(name: &str) -> String {
    let output = output(name, &[]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{name}: {said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(!said.trim().is_empty(), "{name} must show what it did");
    said
}

#[test]
fn watch_manager_runs_offline() {
    run("watch_manager");
}

#[test]
fn dynamic_controller_reconciles_one_namespace_of_the_kinds_that_a_config_map_names() {
    let said = run("dynamic_controller");
    let mut lines: Vec<_> = said.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "reconcile Lamp shop/desk",
            "reconcile Lamp shop/door",
            "reconcile Stove shop/oven",
            r#"watched: ["ConfigMap", "Lamp", "Stove"]"#
        ]
    );
}

#[test]
fn duck_reader_reads_conditions_of_any_kind() {
    assert_eq!(
        run("duck_reader"),
        "Widget one: Ready=True\n\
         Gadget one: no conditions\n\
         Gizmo one: Conditions does not have the expected shape at /status/conditions/0/status: invalid type: boolean `true`, expected a string\n\
         \n\
         One condition changes. The patch names nothing but the conditions:\n\
         Status: [\n\
         \x20 {\n\
         \x20   \"op\": \"test\",\n\
         \x20   \"path\": \"/metadata/uid\",\n\
         \x20   \"value\": \"u\"\n\
         \x20 },\n\
         \x20 {\n\
         \x20   \"op\": \"test\",\n\
         \x20   \"path\": \"/metadata/resourceVersion\",\n\
         \x20   \"value\": \"7\"\n\
         \x20 },\n\
         \x20 {\n\
         \x20   \"op\": \"test\",\n\
         \x20   \"path\": \"/status/conditions/0/status\",\n\
         \x20   \"value\": \"True\"\n\
         \x20 },\n\
         \x20 {\n\
         \x20   \"op\": \"replace\",\n\
         \x20   \"path\": \"/status/conditions/0/status\",\n\
         \x20   \"value\": \"False\"\n\
         \x20 }\n\
         ]\n\
         \n\
         What a definition must change before its objects can carry conditions:\n\
         - /status/conditions: written, but the version has no status subresource: enable it\n\
         - /status/conditions: not in the schema: declare it, or the API server drops it\n"
    );
}

#[test]
fn duck_constraints_reads_every_kind_and_edits_one() {
    assert_eq!(
        run("duck_constraints"),
        "K8sRequiredLabels owners: warn on Pod, Service\n\
         K8sAllowedRepos repos: deny on Pod\n\
         K8sBroken broken: Policy does not have the expected shape at /spec/match/kinds/0/kinds: \
         invalid type: string \"Pod\", expected a sequence\n\
         \n\
         owners is denied from now on, and its parameters stay:\n\
         {\"enforcementAction\":\"deny\",\"match\":{\"kinds\":[{\"apiGroups\":[\"\"],\"kinds\":[\"Pod\",\"Service\"]}]},\
         \"parameters\":{\"labels\":[\"owner\"]}}\n"
    );
}

#[test]
fn duck_contract_reads_two_providers_through_one_view() {
    assert_eq!(
        run("duck_contract"),
        "SmallCluster keeps v1beta1 in v1: ready, zones [\"a\", \"b\"]\n\
         LargeCluster keeps v1beta2 in v2: ready, zones [\"a\", \"c\"]\n\
         \n\
         Before LargeCluster is released:\n\
         - /status/initialization: not in the schema: declare it, or the API server drops it\n\
         \n\
         From one version of the contract to the next, for those who provide it:\n\
         - compatible: v1beta1 /status/ready: no longer part of the contract\n\
         - breaking: v1beta1 /status/initialization/provisioned: newly part of the contract\n"
    );
}

#[test]
fn duck_sink_resolves_an_addressable_of_any_kind() {
    assert_eq!(
        run("duck_sink"),
        "Broker orders: https://orders.example.com\n\
         Channel old: http://old.example.com\n\
         Queue starting: no address yet\n\
         \n\
         The roles that let the resolver read them:\n\
         resolver aggregates duck.example.com/addressable=true\n\
         brokers.example.com: get, list, watch\n"
    );
}
