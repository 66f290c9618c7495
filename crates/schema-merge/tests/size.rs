//! Deep and wide schemas: everything completes, and nothing overflows. `cargo bench`-like figures: see the example `size`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test says no by panicking")]

use schema_merge::{
    Diagnostic, Fragment, Merger, MountPath, SchemaLimits, StructuralOptions, Style, check_structural,
    compare, structuralize, validate_object,
};
use serde_json::{Map, Value, json};

fn deep(levels: usize) -> Value {
    (0..levels).fold(
        json!({"type": "string", "maxLength": 3}),
        |inner, _| json!({"type": "object", "properties": {"a": inner}}),
    )
}

fn wide(properties: usize) -> Value {
    let property =
        |number| (format!("p{number}"), json!({"type": "string", "pattern": "^a+$", "default": "a"}));
    json!({"type": "object", "properties": (0..properties).map(property).collect::<Map<_, _>>()})
}

fn resource(spec: Value) -> Value {
    json!({"type": "object", "properties": {"spec": spec}})
}

fn everything(spec: Value) {
    let schema = resource(spec.clone());
    assert!(!check_structural(&schema, &StructuralOptions::default()).iter().any(Diagnostic::is_error));
    assert_eq!(structuralize(&spec, Style::default()).unwrap().schema, spec);
    let merged = Merger::new().mount(Fragment::new("a", MountPath::of(["spec"]), spec)).build().unwrap();
    assert_eq!(*merged.schema(), schema);
    assert_eq!(compare(&schema, &schema), vec![]);
    assert!(validate_object(&schema, &json!({"spec": {}})).is_valid());
}

#[test]
fn two_hundred_levels_pass_through_everything() {
    everything(deep(200));
}

#[test]
fn ten_thousand_properties_pass_through_everything() {
    everything(wide(10_000));
}

#[test]
fn beyond_the_bounds_there_is_an_answer_and_no_overflow() {
    let schema = resource(deep(400));
    let diagnostics = check_structural(&schema, &StructuralOptions::default());
    assert_eq!(diagnostics[0].to_string(), "spec.validation.openAPIV3Schema: nested deeper than 512 levels");
    assert!(structuralize(&schema, Style::default()).is_err());
    assert!(!validate_object(&schema, &json!({})).is_valid());
    assert!(Merger::new().mount(Fragment::new("a", MountPath::root(), schema.clone())).build().is_err());
    let few = StructuralOptions::default().limits(SchemaLimits::default().with_values(10));
    assert_eq!(
        check_structural(&resource(wide(20)), &few)[0].to_string(),
        "spec.validation.openAPIV3Schema: more than 10 values"
    );
}
