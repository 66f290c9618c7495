//! Contracts against small CustomResourceDefinitions.

use serde_json::json;

use super::*;

fn crd(status: Value) -> Value {
    let version = |name: &str, served: bool, subresources: Value| {
        json!({
            "name": name, "served": served, "storage": name == "v1", "subresources": subresources,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}, "status": status}}},
        })
    };
    json!({"spec": {"versions": [
        version("v1alpha1", false, json!({})),
        version("v1beta1", true, json!({})),
        version("v1", true, json!({"status": {}})),
    ]}})
}

fn path(text: &str) -> DuckPath {
    text.parse().unwrap()
}

#[track_caller]
fn check(status: Value, field: FieldSpec, expected: &[&str]) {
    let violations = check_crd(&crd(status), "v1", &[field]);
    let texts: Vec<String> = violations.iter().map(Violation::to_string).collect();
    assert_eq!(texts, expected);
}

fn object(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

#[test]
fn a_version_must_be_served() {
    for version in ["v1alpha1", "v2"] {
        let violations = check_crd(&crd(object(json!({}))), version, &[]);
        let served = vec!["v1beta1".to_owned(), "v1".to_owned()];
        assert_eq!(violations, [Violation::NotServed { version: version.into(), served }]);
    }
    assert_eq!(
        check_crd(&json!({}), "v1", &[])[0].to_string(),
        "version v1 is not served; use one of: ",
        "a document that is no definition has no versions"
    );
}

#[test]
fn a_declared_field_of_the_type_is_fine() {
    let status = object(
        json!({"url": {"type": "string"}, "tags": {"type": "object", "additionalProperties": {"type": "string"}}}),
    );
    for (at, shape) in [
        ("/status/url", FieldType::String),
        ("/status/tags", FieldType::Object),
        ("/status/tags/any", FieldType::String),
        ("/status", FieldType::Object),
    ] {
        check(status.clone(), FieldSpec::read(path(at), shape), &[]);
        check(status.clone(), FieldSpec::write(path(at), shape), &[]);
    }
}

#[test]
fn a_missing_field_says_where_it_should_be_declared() {
    check(
        object(json!({"address": object(json!({"uri": {"type": "string"}}))})),
        FieldSpec::read(path("/status/address/url"), FieldType::String),
        &["/status/address/url is not in the schema: declare it below \"/status/address\", or it is dropped"],
    );
}

#[test]
fn another_type_is_reported_at_the_field_and_on_the_way() {
    check(
        object(json!({"url": {"type": "integer"}})),
        FieldSpec::read(path("/status/url"), FieldType::String),
        &["/status/url must be of type string, and the schema says integer"],
    );
    check(
        object(json!({"address": {"type": "string"}})),
        FieldSpec::read(path("/status/address/url"), FieldType::String),
        &["/status/address must be of type object, and the schema says string"],
    );
    check(
        object(json!({"url": {}})),
        FieldSpec::read(path("/status/url"), FieldType::String),
        &["/status/url must be of type string, and the schema names no type"],
    );
}

#[test]
fn reading_tolerates_less_and_writing_tolerates_more() {
    let (integer, number) = (json!({"type": "integer"}), json!({"type": "number"}));
    let either = json!({"x-kubernetes-int-or-string": true});
    let n = || path("/status/n");
    let refused = |expected: &str, found: &str| {
        format!("/status/n must be of type {expected}, and the schema says {found}")
    };
    let status = |schema: &Value| object(json!({"n": schema}));
    check(status(&integer), FieldSpec::read(n(), FieldType::Number), &[]);
    check(status(&integer), FieldSpec::write(n(), FieldType::Number), &[&refused("number", "integer")]);
    check(status(&number), FieldSpec::write(n(), FieldType::Integer), &[]);
    check(status(&number), FieldSpec::read(n(), FieldType::Integer), &[&refused("integer", "number")]);
    check(status(&either), FieldSpec::write(n(), FieldType::String), &[]);
    check(
        status(&either),
        FieldSpec::read(n(), FieldType::String),
        &[&refused("string", "integer or string")],
    );
    check(status(&integer), FieldSpec::read(n(), FieldType::IntOrString), &[]);
}

#[test]
fn an_object_without_declared_fields_loses_them() {
    let pruned = |at: &str| {
        format!(
            "{at} is an object without declared fields: declare them or set \
             x-kubernetes-preserve-unknown-fields, or all of them are dropped"
        )
    };
    check(
        object(json!({"o": {"type": "object"}})),
        FieldSpec::write(path("/status/o"), FieldType::Object),
        &[&pruned("/status/o")],
    );
    check(
        object(json!({"l": {"type": "array", "items": {"type": "object"}}})),
        FieldSpec::write(path("/status/l"), FieldType::Array),
        &[&pruned("/status/l")],
    );
}

#[test]
fn an_open_schema_promises_and_violates_nothing() {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    check(open.clone(), FieldSpec::write(path("/status/any/thing"), FieldType::String), &[]);
    check(open, FieldSpec::write(path("/status"), FieldType::Object), &[]);
    check(
        object(json!({"any": {"x-kubernetes-preserve-unknown-fields": true}})),
        FieldSpec::read(path("/status/any"), FieldType::Array),
        &[],
    );
}

#[test]
fn a_status_can_be_written_only_through_its_subresource() {
    let status = object(json!({"url": {"type": "string"}}));
    let fields = [
        FieldSpec::write(path("/status/url"), FieldType::String),
        FieldSpec::read(path("/status/url"), FieldType::String),
    ];
    let violations = check_crd(&crd(status), "v1beta1", &fields);
    assert_eq!(violations, [Violation::NoStatusSubresource { path: path("/status/url") }]);
}

#[test]
fn every_violation_is_reported_in_the_order_of_the_fields() {
    let fields = ["/status/b", "/status/a", "/spec/c"].map(|at| FieldSpec::read(path(at), FieldType::String));
    let violations = check_crd(&crd(object(json!({}))), "v1", &fields);
    let paths: Vec<String> = violations
        .iter()
        .map(|violation| match violation {
            Violation::PathMissing { path, .. } => path.to_string(),
            other => other.to_string(),
        })
        .collect();
    assert_eq!(paths, ["/status/b", "/status/a", "/spec/c"]);
}
