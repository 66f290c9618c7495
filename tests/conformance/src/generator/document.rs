//! Inputs for generated modules: small objects with some of the fields that the modules read.

use serde_json::{Value as Json, json};

use crate::mutation::mutated;
use crate::random::Random;

/// A review with parameters; one in four is damaged.
pub(super) fn input(random: &mut Random) -> Json {
    let containers: Vec<Json> = (0..random.below(4)).map(|_| container(random)).collect();
    let text = |random: &mut Random| random.pick(&["a", "b", "app", "web", "100m", "", "x/y", "é"]);
    let input = json!({
        "review": {
            "kind": { "kind": "Pod", "group": "", "version": "v1" },
            "operation": random.pick(&["CREATE", "UPDATE", "DELETE"]),
            "object": {
                "metadata": {
                    "name": text(random),
                    "namespace": text(random),
                    "labels": { "a": text(random), "app": text(random) },
                },
                "spec": {
                    "containers": containers,
                    "replicas": random.below(5),
                    "hostNetwork": random.once_in(2),
                },
            },
        },
        "parameters": {
            "labels": [text(random), "a"],
            "repos": [text(random), "x/"],
            "max": random.below(4),
            "ratio": 1.5,
            "allowed": { "a": true, "app": [1, 2], "b": {"key": text(random)} },
        },
    });
    if random.once_in(4) { mutated(&input, random) } else { input }
}

fn container(random: &mut Random) -> Json {
    let mut container = json!({
        "name": random.pick(&["a", "b", "web", "side"]),
        "image": random.pick(&["x/y:1", "a:latest", "b", "reg.io/a/b@sha256:0"]),
    });
    let Some(fields) = container.as_object_mut() else {
        return container;
    };
    if random.once_in(2) {
        fields
            .insert("ports".to_owned(), json!([{"containerPort": random.below(100)}, {"containerPort": 80}]));
    }
    if random.once_in(2) {
        let cpu = random.pick(&["100m", "1", "2Gi", ""]);
        fields.insert("resources".to_owned(), json!({"limits": {"cpu": cpu, "memory": random.below(10)}}));
    }
    if random.once_in(3) {
        fields.insert("securityContext".to_owned(), json!({"privileged": random.once_in(2)}));
    }
    container
}
