//! Generated policies and reviews, for comparing the constraint framework with Gatekeeper's.
//!
//! `block` writes match blocks, `object` Kubernetes objects, `request` admission requests around them; this file
//! puts them together. Nothing here knows what the answers should be. The same seed gives the same questions.

#![allow(clippy::indexing_slicing, reason = "an absent field of a JSON value is null")]

mod block;
mod object;
mod request;

use serde_json::{Value as Json, json};

use crate::random::Random;

pub use block::match_block;
pub use object::{namespace, object};
pub use request::request;

/// The contents of one Gatekeeper pod: templates, constraints and an inventory, as manifests.
#[derive(Clone, Debug, Default)]
pub struct Policies {
    /// The constraint templates.
    pub templates: Vec<Json>,
    /// Constraints of their kinds.
    pub constraints: Vec<Json>,
    /// Objects that policies refer to.
    pub inventory: Vec<Json>,
}

/// One thing to be judged.
#[derive(Clone, Debug)]
pub struct Review {
    /// An AdmissionRequest, or the object that an audit found.
    pub subject: Subject,
    /// The Namespace object that comes with it.
    pub namespace: Option<Json>,
    /// The origin of the object; empty when it is not stated.
    pub source: &'static str,
    /// The enforcement point.
    pub point: &'static str,
}

impl Policies {
    /// The question to Gatekeeper that holds them, as the client `k`.
    #[must_use]
    pub fn client(&self) -> Json {
        json!({"op": "client", "key": "k", "templates": self.templates, "constraints": self.constraints,
            "inventory": self.inventory})
    }
}

impl Review {
    /// The question, without whom it is for.
    #[must_use]
    pub fn question(&self) -> Json {
        let mut question = json!({"namespace": self.namespace, "source": self.source, "point": self.point});
        match &self.subject {
            Subject::Request(request) => question["request"] = request.clone(),
            Subject::Object(object) => question["object"] = object.clone(),
        }
        question
    }
}

/// A question about a review, for Gatekeeper's client `k`.
#[must_use]
pub fn asked(review: &Json) -> Json {
    let mut asked = review.clone();
    asked["op"] = json!("review");
    asked["key"] = json!("k");
    asked
}

/// The subject of the judgement.
#[derive(Clone, Debug)]
pub enum Subject {
    /// An AdmissionRequest as an API server sends it.
    Request(Json),
    /// An object as it lies in a cluster.
    Object(Json),
}

/// The enforcement points that constraints can name.
pub const POINTS: [&str; 4] =
    ["validation.gatekeeper.sh", "audit.gatekeeper.sh", "gator.gatekeeper.sh", "vap.k8s.io"];

/// Templates that between them show a policy everything: what it gets, what it is told of others, and failures.
const TEMPLATES: [(&str, &str); 7] = [
    (
        "Seen",
        r#"package seen
        violation[{"msg": "seen", "details": {"review": object.remove(input.review, ["namespaceObject"]), "parameters": input.parameters}}] { true }"#,
    ),
    (
        "Named",
        r#"package named
        violation[{"msg": msg}] { msg := sprintf("%v is not %v", [input.review.object.metadata.name, input.parameters.word]) }"#,
    ),
    (
        "Changed",
        r#"package changed
        violation[{"msg": msg, "details": input.review.oldObject.metadata}] {
            input.review.operation == "UPDATE"
            labels := object.get(input.review.object.metadata, "labels", {})
            msg := sprintf("label %v went", [k]); input.review.oldObject.metadata.labels[k]; not labels[k]
        }"#,
    ),
    (
        "Unique",
        r#"package unique
        violation[{"msg": msg}] {
            app := input.review.object.metadata.labels.app
            other := data.inventory.namespace[ns][_][input.review.kind.kind][name]
            other.metadata.labels.app == app
            msg := sprintf("%v/%v has app %v", [ns, name, app])
        }
        violation[{"msg": "unknown namespace"}] {
            ns := input.review.object.metadata.namespace
            not data.inventory.cluster.v1.Namespace[ns]
        }"#,
    ),
    (
        "Often",
        r#"package often
        violation[{"msg": msg, "details": {"at": i}}] { some i; x := [3, 1, 2][i]; msg := sprintf("number %v", [x]) }
        violation[{"msg": "number 1", "details": {"at": 1}, "more": 1}] { true }"#,
    ),
    (
        "Library",
        r#"package library
        import data.lib.words
        violation[{"msg": words.of(input.parameters)}] { true }"#,
    ),
    ("Quiet", "package quiet\nviolation[{\"msg\": \"never\"}] { false }"),
];

const LIBRARY: &str = r#"package lib.words
of(parameters) = word { word := parameters.word }
of(parameters) = "wordless" { not parameters.word }"#;

/// Every template, each once.
#[must_use]
pub fn templates() -> Vec<Json> {
    TEMPLATES.iter().map(|(kind, rego)| template(kind, rego)).collect()
}

fn template(kind: &str, rego: &str) -> Json {
    let parameters = json!({"type": "object", "properties": {
        "word": {"type": "string"}, "count": {"type": "integer", "default": 1}
    }});
    let libraries = if kind == "Library" { vec![LIBRARY] } else { Vec::new() };
    json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
        "metadata": {"name": kind.to_lowercase()},
        "spec": {
            "crd": {"spec": {"names": {"kind": kind}, "validation": {"openAPIV3Schema": parameters}}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": rego, "libs": libraries}],
        },
    })
}

/// Policies with so many constraints.
pub fn policies(constraints: usize, random: &mut Random) -> Policies {
    let inventory = (0..random.below(6)).map(|position| stored(position, random)).collect();
    let constraints = (0..constraints).map(|position| constraint(position, random)).collect();
    Policies { templates: templates(), constraints, inventory }
}

/// An object with a place in the inventory.
fn stored(position: usize, random: &mut Random) -> Json {
    let mut object = if random.once_in(3) { namespace(random) } else { object(random) };
    // Gatekeeper keeps Namespaces as Go values, and none whose spec is damaged.
    if object.get("kind").is_some_and(|kind| kind == "Namespace") {
        object = namespace(random);
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Json::as_object_mut) {
        let unnamed = metadata.get("name").and_then(Json::as_str).is_none_or(str::is_empty);
        if unnamed {
            metadata.insert("name".to_owned(), json!(format!("o{position}")));
        }
    }
    object
}

fn constraint(position: usize, random: &mut Random) -> Json {
    let (kind, _) = TEMPLATES.get(random.below(TEMPLATES.len())).copied().unwrap_or_default();
    let mut spec = serde_json::Map::new();
    if !random.once_in(8) {
        spec.insert("match".to_owned(), match_block(random));
    }
    match random.below(4) {
        0 => {}
        1 => drop(spec.insert("parameters".to_owned(), json!({}))),
        _ => drop(spec.insert("parameters".to_owned(), json!({"word": "x", "count": random.below(3)}))),
    }
    enforcement(&mut spec, random);
    json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind,
        "metadata": {"name": format!("c{position}")}, "spec": spec,
    })
}

fn enforcement(spec: &mut serde_json::Map<String, Json>, random: &mut Random) {
    let action = random.pick(&["", "deny", "warn", "dryrun", "scoped", "scoped", "scoped"]);
    if !action.is_empty() {
        spec.insert("enforcementAction".to_owned(), json!(action));
    }
    if action == "scoped" || random.once_in(6) {
        let entries: Vec<_> = (0..=random.below(2)).map(|_| scoped(random)).collect();
        spec.insert("scopedEnforcementActions".to_owned(), json!(entries));
    }
}

fn scoped(random: &mut Random) -> Json {
    let point = |random: &mut Random| {
        let name = random.pick(&["*", POINTS[0], POINTS[0], POINTS[1], POINTS[2], POINTS[3]]);
        json!({ "name": if random.once_in(30) { "elsewhere" } else { name } })
    };
    let points: Vec<_> = (0..=random.below(2)).map(|_| point(random)).collect();
    let action = if random.once_in(30) { "block" } else { random.pick(&["deny", "warn", "dryrun"]) };
    json!({"action": action, "enforcementPoints": points})
}

/// A review of something, asked from somewhere.
pub fn review(random: &mut Random) -> Review {
    let subject =
        if random.once_in(3) { Subject::Object(object(random)) } else { Subject::Request(request(random)) };
    let namespace = random.once_in(2).then(|| namespace(random));
    let source = random.pick(&["", "Original", "Original", "Generated"]);
    Review { subject, namespace, source, point: random.pick(&POINTS) }
}
