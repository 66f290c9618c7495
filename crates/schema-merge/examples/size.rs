//! How long deep and wide schemas take, in milliseconds, operation by operation.
//!
//! `cargo run --release -p schema-merge --features cel --example size`. Each figure is the median of five runs.
#![allow(clippy::arithmetic_side_effects, reason = "levels and counts stay small")]

use std::time::Instant;

use schema_merge::{
    Fragment, Merger, MountPath, Options, Sharing, Style, check_crd, check_structural, compat, compat_crd,
    defaulted, pruned, structuralize, validate_object,
};
use serde_json::{Map, Value, json};

const LEVELS: usize = 200;
const WIDTH: usize = 10_000;

fn main() {
    let names = [
        "check", "crd", "derive", "mount", "share", "compat", "differ", "validate", "default", "prune",
        "blame",
    ];
    print!("{:<34}", "");
    names.iter().for_each(|name| print!("{name:>9}"));
    println!();
    let mut slowest: f64 = 0.0;
    for (name, spec, object) in shapes() {
        let figures = figures(&spec, &object);
        print!("{name:<34}");
        figures.iter().for_each(|figure| print!("{figure:>9.1}"));
        println!();
        slowest = figures.into_iter().fold(slowest, f64::max);
    }
    println!("slowest: {slowest:.1} ms");
}

/// Schemas of a property `spec`, with an object that uses them.
fn shapes() -> Vec<(&'static str, Value, Value)> {
    let text = || json!({"type": "string", "maxLength": 63, "description": "what it means", "default": "x"});
    let nest = |leaf: Value, step: fn(Value) -> Value| (0..LEVELS).fold(leaf, |inner, _| step(inner));
    let wide = |value: &dyn Fn(usize) -> Value| -> Value {
        (0..WIDTH).map(|number| (name(number), value(number))).collect::<Map<_, _>>().into()
    };
    let rule = json!([{"rule": "self.size() < 9"}]);
    let ruled = json!({"type": "string", "maxLength": 9, "x-kubernetes-validations": rule});
    let all = || (0..WIDTH).map(name).collect::<Vec<_>>();
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    let with = |mut schema: Value, keyword: &str, value: Value| {
        schema[keyword] = value;
        schema
    };
    vec![
        (
            "200 levels of properties",
            nest(text(), |inner| json!({"type": "object", "properties": {"a": inner}})),
            nest(json!("x"), |inner| json!({ "a": inner })),
        ),
        (
            "200 levels of items",
            nest(text(), |inner| json!({"type": "array", "items": inner})),
            nest(json!("x"), |inner| json!([inner])),
        ),
        (
            "200 levels of additionalProperties",
            nest(json!({"type": "string"}), |inner| json!({"type": "object", "additionalProperties": inner})),
            nest(json!("x"), |inner| json!({ "a": inner })),
        ),
        (
            "200 levels of allOf",
            with(
                nest(json!({"minProperties": 1}), |inner| json!({ "allOf": [inner] })),
                "type",
                json!("object"),
            ),
            json!({}),
        ),
        (
            "200 levels of two in anyOf",
            with(
                nest(json!({"minProperties": 1}), |inner| json!({"anyOf": [{"maxProperties": 0}, inner]})),
                "type",
                json!("object"),
            ),
            json!({}),
        ),
        (
            "200 levels, a rule at each",
            nest(
                ruled.clone(),
                |inner| json!({"type": "object", "properties": {"a": inner}, "x-kubernetes-validations": [{"rule": "has(self.a)"}]}),
            ),
            nest(json!("x"), |inner| json!({ "a": inner })),
        ),
        ("10,000 properties", object(wide(&|_| text())), json!({})),
        (
            "10,000 required properties",
            with(object(wide(&|_| text())), "required", json!(all())),
            wide(&|_| json!("y")),
        ),
        ("10,000 unknown fields", object(json!({"a": text()})), wide(&|_| json!({"b": [1]}))),
        ("10,000 values in an enum", json!({"type": "string", "enum": all()}), json!(name(WIDTH - 1))),
        (
            "10,000 items in a set",
            json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}),
            json!(all()),
        ),
        (
            "10,000 items in a map list",
            json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}}),
            all().into_iter().map(|name| json!({ "k": name })).collect(),
        ),
        (
            "10,000 members of allOf",
            with(
                object(wide(&|_| text())),
                "allOf",
                (0..WIDTH).map(|number| json!({"required": [name(number)]})).collect(),
            ),
            wide(&|_| json!("y")),
        ),
        (
            "10,000 variants of oneOf",
            json!({"oneOf": (0..WIDTH).map(|number| {
                json!({"type": "object", "required": [name(number)], "properties": {name(number): {"type": "string"}}})
            }).collect::<Value>()}),
            json!({}),
        ),
        (
            "10,000 references",
            json!({"type": "object", "properties": wide(&|_| json!({"$ref": "#/$defs/a"})), "$defs": {"a": text()}}),
            json!({}),
        ),
        ("10,000 properties, a rule each", object(wide(&|_| ruled.clone())), json!({})),
        (
            "10,000 rules of one object",
            with(
                object(json!({"a": {"type": "integer"}})),
                "x-kubernetes-validations",
                (0..WIDTH)
                    .map(|number| json!({"rule": format!("self.a != {number}"), "message": "no"}))
                    .collect(),
            ),
            json!({}),
        ),
        (
            "10,000 properties, a rule of all",
            with(
                object(wide(&|_| json!({"type": "integer"}))),
                "x-kubernetes-validations",
                json!([{"rule": "self.p00000 < self.p09999"}]),
            ),
            json!({}),
        ),
    ]
}

fn name(number: usize) -> String {
    format!("p{number:05}")
}

fn figures(spec: &Value, object: &Value) -> Vec<f64> {
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    let bare = json!({"type": "object", "properties": {"spec": {"type": "string"}}});
    let object = json!({ "spec": object });
    let (crd, at) = (crd(&schema), MountPath::of(["spec"]));
    let mount = |origin: &str, sharing: Sharing| {
        Fragment::new(origin, at.clone(), spec.clone()).sharing(sharing).any_type()
    };
    let one = || Merger::new().mount(mount("a", Sharing::Exclusive)).build();
    let two = ["a", "b"].map(|origin| mount(origin, Sharing::SharedIntersect));
    let merged = one();
    vec![
        milliseconds(|| check_structural(&schema, &Options::default())),
        milliseconds(|| check_crd(&crd)),
        milliseconds(|| structuralize(spec, Style::default())),
        milliseconds(one),
        milliseconds(|| two.clone().into_iter().fold(Merger::new(), Merger::mount).build()),
        milliseconds(|| compat(&schema, &Value::clone(&schema))),
        milliseconds(|| (compat(&schema, &bare), compat_crd(&crd, &crd))),
        milliseconds(|| validate_object(&schema, &object)),
        milliseconds(|| defaulted(&schema, &object)),
        milliseconds(|| pruned(&schema, &object)),
        milliseconds(|| {
            merged.as_ref().map(|merged| merged.blame("/properties/spec/properties/p09999/type").len())
        }),
    ]
}

fn crd(schema: &Value) -> Value {
    let version = |name: &str, storage: bool| json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "foos.example.com"},
        "spec": {"group": "example.com", "scope": "Cluster", "names": {"plural": "foos", "kind": "Foo"},
            "versions": [version("v1", true), version("v2", false)]},
    })
}

/// The median of five runs.
fn milliseconds<T>(run: impl Fn() -> T) -> f64 {
    let mut times: Vec<f64> = (0..5)
        .map(|_| {
            let since = Instant::now();
            let outcome = std::hint::black_box(run());
            let time = since.elapsed().as_secs_f64() * 1_000.0;
            drop(outcome);
            time
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times.get(2).copied().unwrap_or_default()
}
