//! Kubernetes objects of a few kinds, with fields absent, null, empty or damaged.

use serde_json::{Map, Value as Json, json};

use crate::mutation;
use crate::random::Random;

/// An object of some kind. Its type, and the types of its names and labels, are as Kubernetes has them.
pub fn object(random: &mut Random) -> Json {
    let kinds = [
        ("v1", "Pod", true),
        ("v1", "Pod", true),
        ("v1", "Service", true),
        ("apps/v1", "Deployment", true),
        ("v1", "Namespace", false),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", false),
        // A kind that is only called like the one that everybody treats specially.
        ("example.com/v1", "Namespace", true),
    ];
    let (version, kind, namespaced) = kinds.get(random.below(kinds.len())).copied().unwrap_or(kinds[0]);
    // Once in a while an object is in a namespace that its kind does not have, or the other way round.
    let namespaced = namespaced != random.once_in(12);
    let mut object = Map::from_iter([
        ("apiVersion".to_owned(), json!(version)),
        ("kind".to_owned(), json!(kind)),
        ("metadata".to_owned(), metadata(namespaced, random)),
    ]);
    match random.below(4) {
        0 => {}
        1 => drop(object.insert("spec".to_owned(), json!({"replicas": random.below(3)}))),
        _ => drop(object.insert("spec".to_owned(), mutation::mutated(&spec(), random))),
    }
    object.into()
}

/// A Namespace object.
pub fn namespace(random: &mut Random) -> Json {
    let mut metadata = Map::from_iter([("name".to_owned(), json!(place(random)))]);
    labels(&mut metadata, random);
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
}

fn metadata(namespaced: bool, random: &mut Random) -> Json {
    let mut metadata = Map::new();
    let name = random.pick(&["a", "ab", "ab-x", "x-ab", "bab", "default", "kube-system"]);
    match random.below(8) {
        0 => drop(metadata.insert("generateName".to_owned(), json!(random.pick(&["ab-", "a", "x-ab-"])))),
        1 => {
            metadata.insert("name".to_owned(), json!(name));
            metadata.insert("generateName".to_owned(), json!("ab-"));
        }
        _ => drop(metadata.insert("name".to_owned(), json!(name))),
    }
    if namespaced {
        metadata.insert("namespace".to_owned(), json!(place(random)));
    }
    labels(&mut metadata, random);
    if random.once_in(5) {
        metadata.insert("annotations".to_owned(), json!({"note": "x", "size": "1"}));
    }
    metadata.into()
}

fn labels(metadata: &mut Map<String, Json>, random: &mut Random) {
    match random.below(6) {
        0 => {}
        1 => drop(metadata.insert("labels".to_owned(), json!({}))),
        _ => {
            let label = |random: &mut Random| {
                let key = random.pick(&["app", "app", "tier", "example.com/team"]).to_owned();
                (key, json!(random.pick(&["web", "web", "db", ""])))
            };
            let labels: Map<_, _> = (0..=random.below(2)).map(|_| label(random)).collect();
            metadata.insert("labels".to_owned(), labels.into());
        }
    }
}

fn place(random: &mut Random) -> &'static str {
    random.pick(&["a", "ab", "default", "kube-system", "x-ab"])
}

fn spec() -> Json {
    json!({
        "replicas": 2, "ratio": 0.5, "paused": false, "selector": {"matchLabels": {"app": "web"}},
        "containers": [{"name": "main", "image": "nginx:1.25", "ports": [{"containerPort": 80}]}, {"name": "side"}],
        "large": 9_007_199_254_740_992_u64, "nothing": null, "text": "a < b & c",
    })
}
