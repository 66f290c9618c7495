//! Every pattern in a cluster of the reader, as its page says under *Run it*.

use std::path::Path;

use crate::reader::Reader;

/// The name of a pattern, the arguments of further processes, an object, and what becomes of it.
type Steps = (&'static str, &'static [&'static [&'static str]], (&'static str, &'static str));

const STEPS: [Steps; 6] = [
    ("api_contract", &[], ("machines.contract.example.com/web", "condition=InfrastructureReady")),
    ("in_process_plugins", &[], ("machines.strategies.example.com/a", "jsonpath={.status.zone}=eu-1")),
    ("one_object", &[], ("machines.one-object.example.com/a", "condition=Ready")),
    (
        "out_of_process_plugins",
        &[&["--role", "plug-in", "--", "cheapest", "v2"]],
        ("machines.plugins.example.com/a", "jsonpath={.status.zone}=us-1"),
    ),
    ("related_objects", &[], ("fleets.related-objects.example.com/web", "jsonpath={.status.ready}=2")),
    ("sidecar_plugins", &[], ("machines.sidecar.example.com/early", "jsonpath={.status.zone}=us-1")),
];

#[tokio::test]
async fn every_pattern_runs_in_the_cluster_of_a_kubeconfig() {
    let (reader, examples) = (Reader::start().await, Path::new(env!("CARGO_MANIFEST_DIR")));
    for (pattern, others, visible) in STEPS {
        let page = examples.join(format!("../docs/patterns/{}.md", pattern.replace('_', "-")));
        let page = std::fs::read_to_string(page).unwrap();
        let run = |arguments: &&[&str]| format!(" -- {}", arguments.join(" "));
        let others_run = others.iter().map(run).chain([String::new()]);
        let programs = others_run.map(|end| format!("cargo run -p examples --example {pattern}{end}\n"));
        let (object, condition) = visible;
        let condition = condition.replace('{', "'{").replace('}', "}'");
        let objects = [
            format!("kubectl apply -f examples/patterns/{pattern}/objects.yaml\n"),
            format!("kubectl wait --for={condition} {object}\n"),
        ];
        for step in programs.chain(objects) {
            assert!(page.contains(&step), "{pattern}: the page lacks {step}");
        }
        let folder = examples.join("patterns").join(pattern);
        let _running = reader.follow(pattern, &folder, others, visible).await;
        reader.type_in_the_rest(&page).await;
    }
}
