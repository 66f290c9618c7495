//! Contracts with Rust types: shapes from schemars, versions, labels and differences (K7, K8).
#![allow(clippy::unwrap_used, missing_docs)]

use duck_types::contract::{
    Contract, ContractDiagnostic, ContractScope, ContractSpec, ContractVerdict, Effect, FieldShape,
    FieldSpec, FieldType, check_crd,
};
use duck_types::{DuckType, duck_path};
use kube::core::DynamicObject;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Serialize, Deserialize, JsonSchema, DuckType)]
#[duck(path = "/status/rollout", list_map("/steps", "name"))]
struct Rollout {
    phase: Phase,
    #[serde(default)]
    replicas: Option<i32>,
    /// Skipped when empty, so a reader needs a default and a writer does not always send it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    steps: Vec<Step>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Phase {
    Waiting,
    /// A documented variant, which schemars writes as `oneOf`.
    Done,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Step {
    name: String,
    weight: u8,
}

fn crd(schema: Value) -> Value {
    let root = json!({"type": "object", "properties": {"status": {"type": "object", "properties": {"rollout": schema}}}});
    json!({
        "metadata": {"name": "things.example.com", "labels": {"example.com/v1": "v1"}},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things"},
            "versions": [{"name": "v1", "served": true, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": root}}],
        },
    })
}

fn fitting() -> Value {
    json!({
        "type": "object", "required": ["phase"],
        "properties": {
            "phase": {"type": "string", "enum": ["Waiting", "Done"]},
            "replicas": {"type": "integer", "format": "int32", "nullable": true},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "steps": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "required": ["name", "weight"], "properties": {
                    "name": {"type": "string"}, "weight": {"type": "integer", "minimum": 0, "maximum": 255},
                }},
            },
        },
    })
}

fn fields() -> Vec<FieldSpec> {
    let write = FieldSpec::written_as::<Rollout>();
    write.into_iter().map(|field| field.and_read(FieldShape::read_by::<Rollout>())).collect()
}

fn texts(schema: Value) -> Vec<String> {
    check_crd(&crd(schema), "v1", &fields()).violations.iter().map(ToString::to_string).collect()
}

#[test]
fn the_schema_of_a_type_is_satisfied_in_both_directions() {
    let report = check_crd(&crd(fitting()), "v1", &fields());
    assert_eq!(report.verdict(), ContractVerdict::Satisfied);
    assert_eq!(report.into_result(), Ok(()));
}

#[test]
fn each_difference_from_the_type_is_found() {
    let rollout = "/status/rollout";
    for (pointer, value, expected) in [
        (
            "/properties/phase/enum",
            json!(["Waiting"]),
            "/phase: the schema accepts only \"Waiting\", and not \"Done\"",
        ),
        (
            "/properties/phase/enum",
            json!(["Waiting", "Done", "Lost"]),
            "/phase: the contract reads only \"Waiting\", \"Done\", and not \"Lost\"",
        ),
        (
            "/required",
            json!([]),
            "/phase: the reader needs it: require it in the schema, or give it a default",
        ),
        (
            "/properties/steps/items/properties/weight/maximum",
            json!(256),
            "/steps/*/weight: the contract reads only values with maximum 255",
        ),
        (
            "/properties/steps/items/properties/weight/maximum",
            json!(100),
            "/steps/*/weight: the schema accepts only values with maximum 100",
        ),
        (
            "/properties/steps/x-kubernetes-list-type",
            json!("atomic"),
            "/steps: the list must have x-kubernetes-list-type map with keys name, and is atomic",
        ),
        (
            "/properties/labels/additionalProperties",
            json!({"type": "object"}),
            "/labels/*: the contract says string, and the schema says object",
        ),
        (
            "/properties/steps/items/nullable",
            json!(true),
            "/steps/*: nullable in the schema, and the reader refuses null",
        ),
    ] {
        let mut schema = fitting();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        schema.pointer_mut(parent).unwrap()[name] = value;
        let found = texts(schema);
        assert!(found.contains(&format!("{rollout}{expected}")), "{pointer}: {found:?}");
    }
}

/// The consumer's view of two contract versions: a flag at another place, and a map that became a list.
#[derive(Debug, PartialEq)]
struct Machine {
    ready: bool,
    zones: Vec<String>,
}

#[derive(Deserialize, DuckType)]
#[duck(path = "/status")]
struct V1Beta1 {
    #[serde(default)]
    ready: bool,
    #[serde(default)]
    zones: BTreeMap<String, Value>,
}

#[derive(Deserialize, DuckType)]
#[duck(path = "/status")]
struct V1Beta2 {
    #[serde(default)]
    initialization: Initialization,
    #[serde(default)]
    zones: Vec<String>,
}

#[derive(Default, Deserialize)]
struct Initialization {
    #[serde(default)]
    provisioned: bool,
}

impl From<V1Beta1> for Machine {
    fn from(found: V1Beta1) -> Self {
        Self { ready: found.ready, zones: found.zones.into_keys().collect() }
    }
}

impl From<V1Beta2> for Machine {
    fn from(found: V1Beta2) -> Self {
        Self { ready: found.initialization.provisioned, zones: found.zones }
    }
}

fn machine() -> Contract<Machine> {
    let old = FieldSpec::read(duck_path!("/status/ready"), FieldType::Boolean);
    let new = FieldSpec::read(duck_path!("/status/initialization/provisioned"), FieldType::Boolean);
    Contract::new("machine", "machines.example.com")
        .version::<V1Beta1>("v1beta1", [old])
        .version::<V1Beta2>("v1beta2", [new])
        .scope(ContractScope::Namespaced)
}

fn machine_crd(label: &str, status: Value) -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"status": status}}});
    json!({
        "metadata": {"name": "boxes.example.com", "labels": {format!("machines.example.com/{label}"): "v1"}},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Box", "plural": "boxes"},
                 "versions": [{"name": "v1", "served": true, "schema": schema}]},
    })
}

fn object(status: Value) -> DynamicObject {
    let object =
        json!({"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": "b"}, "status": status});
    serde_json::from_value(object).unwrap()
}

#[test]
fn one_view_is_read_through_the_version_that_the_provider_keeps() {
    let contract = machine();
    let expected = Machine { ready: true, zones: vec!["a".into(), "b".into()] };
    for (label, status) in [
        ("v1beta1", json!({"ready": true, "zones": {"b": {}, "a": {}}})),
        ("v1beta2", json!({"initialization": {"provisioned": true}, "zones": ["a", "b"]})),
    ] {
        let provider = contract.spec().discover(&machine_crd(label, json!({}))).unwrap();
        assert_eq!(contract.view(&provider, &object(status)).unwrap(), expected);
    }
}

#[test]
fn a_provider_that_publishes_the_other_shape_is_named() {
    let contract = machine();
    let provider = contract.spec().discover(&machine_crd("v1beta2", json!({}))).unwrap();
    let error = contract.view(&provider, &object(json!({"zones": {"a": {}}}))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Box does not keep contract version v1beta2: V1Beta2 does not have the expected shape at /status/zones: \
         invalid type: map, expected a sequence"
    );
}

#[test]
fn a_label_that_the_schema_does_not_keep_is_found_before_any_object() {
    let shape = json!({"type": "object", "properties": {"ready": {"type": "boolean"}}});
    let spec = machine().spec().clone();
    assert_eq!(spec.check_crd(&machine_crd("v1beta1", shape.clone())).verdict(), ContractVerdict::Satisfied);
    let report = spec.check_crd(&machine_crd("v1beta2", shape.clone()));
    assert_eq!(report.violations[0].at, "/status/initialization");
    let mut unserved = machine_crd("v1beta1", shape.clone());
    unserved["metadata"]["labels"] = json!({"machines.example.com/v1beta1": "v1_v2"});
    assert_eq!(spec.check_crd(&unserved).violations[0].to_string(), "version v2 is not served; served: v1");
    let mut cluster = machine_crd("v1beta1", shape.clone());
    cluster["spec"]["scope"] = json!("Cluster");
    assert_eq!(
        spec.check_crd(&cluster).violations[0].to_string(),
        "the scope must be Namespaced, and is Cluster"
    );
    let mut forgotten = machine_crd("v1beta1", shape);
    forgotten["metadata"]["labels"] = json!({});
    let report = spec.check_crd(&forgotten);
    assert!(
        matches!(report.verdict(), ContractVerdict::Unverified([only]) if only.reason.contains("has no label"))
    );
    let errors = report.into_result().unwrap_err();
    assert!(matches!(errors.iter().next(), Some(ContractDiagnostic::Unverified(_))));
    let error: Box<dyn std::error::Error> = Box::new(errors);
    assert!(error.to_string().starts_with("not verified: "), "{error}");
}

#[test]
fn a_contract_is_data() {
    let spec = machine().spec().clone();
    let text = serde_json::to_string(&spec).unwrap();
    assert_eq!(serde_json::from_str::<ContractSpec>(&text).unwrap(), spec);
}

#[test]
fn changes_are_told_apart_by_their_effect_on_providers() {
    let at = || duck_path!("/status/phase");
    let shape = |values: Value| FieldShape::from_schema(json!({"type": "string", "enum": values}));
    let contract = |field: FieldSpec| ContractSpec::new("c", "example.com").version("v1", [field]);
    let old = contract(FieldSpec::read(at(), shape(json!(["a", "b"]))));
    let diff =
        |new: ContractSpec| -> Vec<String> { old.diff(&new).iter().map(ToString::to_string).collect() };
    assert_eq!(diff(old.clone()), [""; 0]);
    let narrower = contract(FieldSpec::read(at(), shape(json!(["a"]))));
    assert_eq!(diff(narrower), ["breaking: v1 /status/phase: the contract reads only \"a\", and not \"b\""]);
    let wider = contract(FieldSpec::read(at(), shape(json!(["a", "b", "c"]))));
    assert_eq!(diff(wider), ["compatible: v1 /status/phase: asks for no more than before"]);
    let written = contract(FieldSpec::read(at(), shape(json!(["a", "b"]))).and_write(FieldType::String));
    assert_eq!(diff(written), ["breaking: v1 /status/phase: now written as well"]);
    let moved = contract(FieldSpec::read(duck_path!("/status/state"), FieldType::String));
    assert_eq!(
        diff(moved),
        [
            "compatible: v1 /status/phase: no longer part of the contract",
            "breaking: v1 /status/state: newly part of the contract",
        ]
    );
    let next = old.clone().version("v2", []).scope(ContractScope::Cluster);
    assert_eq!(
        diff(next),
        ["breaking: all: the scope is Cluster instead of Any", "compatible: v2: the version is new"]
    );
    let gone = ContractSpec::new("c", "other.com");
    assert_eq!(
        diff(gone),
        [
            "breaking: all: the label is other.com/… instead of example.com/…",
            "breaking: v1: the version is gone"
        ]
    );
}

#[test]
fn a_contract_that_names_a_field_twice_does_not_differ_from_itself() {
    let at = || duck_path!("/status/phase");
    let fields = || [FieldSpec::read(at(), FieldType::String), FieldSpec::write(at(), FieldType::Boolean)];
    let spec = ContractSpec::new("c", "example.com").version("v1", fields());
    assert_eq!(spec.diff(&spec), []);
    let joined = FieldSpec::read(at(), FieldType::String).and_write(FieldType::Boolean);
    let joined = ContractSpec::new("c", "example.com").version("v1", [joined]);
    let effects = |changes: Vec<duck_types::contract::ContractChange>| {
        changes.into_iter().map(|change| change.effect).collect::<Vec<_>>()
    };
    assert!(effects(spec.diff(&joined)).iter().all(|effect| *effect == Effect::Compatible));
    assert!(effects(joined.diff(&spec)).iter().all(|effect| *effect == Effect::Compatible));
    let read = ContractSpec::new("c", "example.com").version("v1", fields().into_iter().take(1));
    assert!(effects(read.diff(&spec)).contains(&Effect::Breaking));
}

/// A path that the schema of the type does not have is part of the contract all the same.
#[test]
fn no_path_of_a_duck_is_left_out_of_its_contract() {
    #[derive(Serialize, Deserialize, JsonSchema, DuckType)]
    #[duck(paths("/spec/sink", "/status/rest/sinkUri", "/other"))]
    struct Source {
        spec: BTreeMap<String, String>,
        #[serde(default)]
        status: Value,
    }

    let fields = FieldSpec::read_as::<Source>();
    let paths: Vec<String> = fields.iter().map(|field| field.path().to_string()).collect();
    assert_eq!(paths, ["/spec/sink", "/status/rest/sinkUri", "/other"]);
    let text = json!({"type": "string"});
    let object = |name: &str, value: Value| json!({"type": "object", "properties": {name: value}});
    let rest = object("rest", object("sinkUri", text.clone()));
    let properties = json!({"spec": object("sink", text.clone()), "status": rest, "other": text});
    let root = json!({"type": "object", "properties": properties});
    let mut crd = crd(json!({}));
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = root;
    let report = check_crd(&crd, "v1", &fields);
    assert!(report.violations.is_empty(), "{report:?}");
    assert_eq!(
        report.unverified.len(),
        1,
        "what an untyped value reads from a path is not known: {report:?}"
    );
}
