//! Contracts against small CustomResourceDefinitions (K8).

use serde_json::json;

use super::*;
use crate::DuckPath;
use crate::contract::{ContractVerdict, FieldType};

fn crd(status: Value) -> Value {
    let version = |name: &str, served: bool, subresources: Value| {
        let properties = json!({"spec": {"type": "object"}, "status": status});
        let schema = json!({"openAPIV3Schema": {"type": "object", "properties": properties}});
        json!({"name": name, "served": served, "subresources": subresources, "schema": schema})
    };
    json!({"spec": {"scope": "Namespaced", "versions": [
        version("v1alpha1", false, json!({})),
        version("v1beta1", true, json!({})),
        version("v1", true, json!({"status": {}})),
    ]}})
}

fn path(text: &str) -> DuckPath {
    text.parse().unwrap()
}

fn object(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

fn field(direction: &str, shape: Value) -> FieldSpec {
    let (path, shape) = (path("/status/f"), FieldShape::from_schema(shape));
    if direction == "read" { FieldSpec::read(path, shape) } else { FieldSpec::write(path, shape) }
}

fn texts(report: &Report) -> Vec<String> {
    let violations = report.violations.iter().map(ToString::to_string);
    violations.chain(report.unverified.iter().map(ToString::to_string)).collect()
}

/// Compares the schema of `/status/f` with the shape of a field there.
#[track_caller]
fn check(direction: &str, schema: Value, shape: Value, expected: &[&str]) {
    let report = check_crd(&crd(object(json!({"f": schema}))), "v1", &[field(direction, shape.clone())]);
    assert_eq!(texts(&report), expected, "{direction} {shape} from {schema}");
    let pointers = report.violations.iter().map(|violation| &violation.schema);
    for pointer in pointers {
        let document = crd(object(json!({"f": schema})));
        assert!(document.pointer(pointer).is_some(), "{pointer} leads nowhere");
    }
}

#[test]
fn a_version_must_be_served() {
    for version in ["v1alpha1", "v2"] {
        let report = check_crd(&crd(object(json!({}))), version, &[]);
        assert_eq!(texts(&report), [format!("version {version} is not served; served: v1beta1, v1")]);
    }
    assert_eq!(texts(&check_crd(&json!({}), "v1", &[])), ["version v1 is not served; served: "]);
}

#[test]
fn equal_shapes_satisfy_both_directions() {
    for shape in [
        json!({"type": "string"}),
        json!({"type": "integer", "format": "int32"}),
        json!({"type": "array", "items": {"type": "string"}}),
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
        json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "enum": ["x"]}}}),
        json!({"x-kubernetes-int-or-string": true}),
    ] {
        for direction in ["read", "write"] {
            check(direction, shape.clone(), shape.clone(), &[]);
        }
    }
    let report = check_crd(&crd(object(json!({}))), "v1", &[]);
    assert_eq!(report.verdict(), ContractVerdict::Satisfied);
}

#[test]
fn a_missing_field_is_dropped_when_written_and_absent_when_read() {
    let missing = "/status/f: not in the schema: declare it, or the API server drops it";
    let status = object(json!({"other": {"type": "string"}}));
    for direction in ["read", "write"] {
        let report = check_crd(&crd(status.clone()), "v1", &[field(direction, json!({"type": "string"}))]);
        assert_eq!(texts(&report), [missing]);
    }
    let optional = field("read", json!({"type": "string"})).optional();
    assert_eq!(check_crd(&crd(status), "v1", &[optional]).verdict(), ContractVerdict::Satisfied);
    let on_the_way = FieldSpec::read(path("/status/f/g"), FieldType::String);
    let report = check_crd(&crd(object(json!({"f": {"type": "string"}}))), "v1", &[on_the_way]);
    assert_eq!(texts(&report), ["/status/f: the contract says object, and the schema says string"]);
}

#[test]
fn reading_tolerates_less_and_writing_tolerates_more() {
    let (integer, number) = (json!({"type": "integer"}), json!({"type": "number"}));
    let either = json!({"x-kubernetes-int-or-string": true});
    let text = json!({"type": "string"});
    let differ = |ours: &str, theirs: &str| {
        format!("/status/f: the contract says {ours}, and the schema says {theirs}")
    };
    check("read", integer.clone(), number.clone(), &[]);
    check("write", integer.clone(), number.clone(), &[&differ("number", "integer")]);
    check("write", number.clone(), integer.clone(), &[]);
    check("read", number, integer.clone(), &[&differ("integer", "number")]);
    check("write", either.clone(), text.clone(), &[]);
    check("read", either.clone(), text, &[&differ("string", "integer or string")]);
    check("read", integer, either, &[]);
    check("write", json!({"type": "string"}), json!(true), &[&differ("anything", "string")]);
    check("read", json!({"type": "string"}), json!(true), &[]);
}

#[test]
fn narrower_bounds_and_enums_are_violations_in_one_direction() {
    let int32 = json!({"type": "integer", "format": "int32"});
    let above = "/status/f: the contract reads only values with minimum -2147483648";
    let below = "/status/f: the contract reads only values with maximum 2147483647";
    check("read", json!({"type": "integer"}), int32.clone(), &[above, below]);
    check("write", json!({"type": "integer"}), int32.clone(), &[]);
    check("read", json!({"type": "integer", "minimum": 0, "maximum": 9}), int32.clone(), &[]);
    let exclusive = json!({"type": "integer", "minimum": 0, "exclusiveMinimum": true});
    let zero = json!({"type": "integer", "minimum": 0});
    check(
        "write",
        exclusive.clone(),
        zero.clone(),
        &["/status/f: the schema accepts only values with minimum 0"],
    );
    check("read", exclusive, zero, &[]);
    let short = json!({"type": "string", "maxLength": 3});
    check(
        "write",
        short.clone(),
        json!({"type": "string"}),
        &["/status/f: the schema accepts only values with maxLength 3"],
    );
    check("read", short, json!({"type": "string"}), &[]);
    let (one, two) =
        (json!({"type": "string", "enum": ["a"]}), json!({"type": "string", "enum": ["a", "b"]}));
    check("read", one.clone(), two.clone(), &[]);
    check("write", one.clone(), two.clone(), &["/status/f: the schema accepts only \"a\", and not \"b\""]);
    check("read", two, one.clone(), &["/status/f: the contract reads only \"a\", and not \"b\""]);
    check("read", json!({"type": "string"}), one, &["/status/f: the contract reads only \"a\""]);
    let pattern = json!({"type": "string", "pattern": "^a"});
    check(
        "write",
        pattern.clone(),
        json!({"type": "string"}),
        &["/status/f: the schema accepts only strings that match \"^a\""],
    );
    let other = json!({"type": "string", "pattern": "^b"});
    check(
        "write",
        pattern,
        other,
        &["/status/f: not verified: the patterns differ, and patterns are not compared"],
    );
    let time = json!({"type": "string", "format": "date-time"});
    check(
        "read",
        json!({"type": "string"}),
        time,
        &["/status/f: the contract reads only strings of format date-time"],
    );
}

#[test]
fn formats_that_the_server_ignores_restrict_nothing() {
    let integer = |format: &str| json!({"type": "integer", "format": format});
    for (format, limit) in [("uint8", 255_i64), ("int16", 32_767), ("uint32", 4_294_967_295)] {
        let low = if format == "int16" { -32_768 } else { 0 };
        let bound = |keyword: &str, limit: i64| {
            format!("/status/f: the contract reads only values with {keyword} {limit}")
        };
        let expected = [bound("minimum", low), bound("maximum", limit)];
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        check("read", integer(format), integer(format), &expected);
        let mut stated = integer(format);
        (stated["minimum"], stated["maximum"]) = (json!(low), json!(limit));
        check("read", stated.clone(), integer(format), &[]);
        check("write", stated, integer(format), &[]);
    }
    let text = |format: &str| json!({"type": "string", "format": format});
    check("read", text("ip"), text("ip"), &["/status/f: the contract reads only strings of format ip"]);
    check("write", text("ip"), json!({"type": "string"}), &[]);
    check("read", text("date-time"), text("datetime"), &[]);
}

#[test]
fn a_format_is_a_bound_beside_one_that_is_stated() {
    let wide = json!({"type": "integer", "format": "int32", "maximum": 5_000_000_000_i64});
    let to = |maximum: i64| json!({"type": "integer", "minimum": 0, "maximum": maximum});
    let above = "/status/f: the schema accepts only values with maximum 2147483647";
    check("write", wide.clone(), to(3_000_000_000), &[above]);
    check("write", wide.clone(), to(7), &[]);
    check("read", wide, json!({"type": "integer", "format": "int32"}), &[]);
}

#[test]
fn enumerated_values_are_not_compared_with_formats() {
    let known = json!({"type": "string", "enum": ["x"]});
    let unverified =
        "/status/f: not verified: enumerated values are not compared with bounds, patterns and formats";
    check("write", json!({"type": "string", "format": "date"}), known.clone(), &[unverified]);
    check("write", json!({"type": "string", "format": "unheard-of"}), known, &[]);
    let ten = json!({"type": "integer", "enum": [10]});
    check("write", json!({"type": "integer", "multipleOf": 5}), ten.clone(), &[unverified]);
    check("write", json!({"type": "integer", "format": "int32"}), ten, &[]);
}

#[test]
fn a_reader_that_refuses_unknown_fields_meets_those_of_maps_and_open_objects() {
    let closed =
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false});
    let refuses = "declared in the schema, and the reader refuses fields it does not know";
    let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
    check("read", map, closed.clone(), &[&format!("/status/f/*: {refuses}")]);
    let mut open = object(json!({"a": {"type": "string"}}));
    open["x-kubernetes-preserve-unknown-fields"] = json!(true);
    let accepts =
        "/status/f/*: not verified: x-kubernetes-preserve-unknown-fields: the schema accepts any member";
    check("read", open.clone(), closed.clone(), &[accepts]);
    check("write", open, closed.clone(), &[]);
    check("read", object(json!({"a": {"type": "string"}})), closed, &[]);
}

/// schemars describes maps with numbers as keys by patterns.
#[test]
fn maps_by_pattern_are_not_compared() {
    let numbers = json!({
        "type": "object", "additionalProperties": false, "patternProperties": {"^-?\\d+$": {"type": "string"}},
    });
    let uses = "/status/f: not verified: the contract uses patternProperties, which is not compared";
    for direction in ["read", "write"] {
        check(direction, json!({"type": "object"}), numbers.clone(), &[uses]);
    }
}

#[test]
fn null_and_absence_are_compared() {
    let nullable = json!({"type": "string", "nullable": true});
    let option = json!({"type": ["string", "null"]});
    check(
        "read",
        nullable.clone(),
        json!({"type": "string"}),
        &["/status/f: nullable in the schema, and the reader refuses null"],
    );
    check("read", nullable, option.clone(), &[]);
    check("write", json!({"type": "string"}), option.clone(), &[]);
    let list = |items: &Value| json!({"type": "array", "items": items});
    check(
        "write",
        list(&json!({"type": "string"})),
        list(&option),
        &["/status/f/*: null may be written, and the schema refuses it"],
    );
    let needs = json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}});
    let may = object(json!({"a": {"type": "string"}}));
    check(
        "read",
        may.clone(),
        needs.clone(),
        &["/status/f/a: the reader needs it: require it in the schema, or give it a default"],
    );
    check("read", object(json!({"a": {"type": "string", "default": "x"}})), needs.clone(), &[]);
    check(
        "write",
        needs,
        may,
        &["/status/f/a: required by the schema, and the contract does not always write it"],
    );
}

#[test]
fn items_and_maps_are_compared() {
    let list = |name: &str| json!({"type": "array", "items": {"type": name}});
    check(
        "read",
        list("string"),
        list("integer"),
        &["/status/f/*: the contract says integer, and the schema says string"],
    );
    let map = |each: Value| json!({"type": "object", "additionalProperties": each});
    let strings = map(json!({"type": "string"}));
    check(
        "write",
        map(json!({"type": "integer"})),
        strings.clone(),
        &["/status/f/*: the contract says string, and the schema says integer"],
    );
    let pruned = |at: &str| {
        format!(
            "{at}: objects here lose their fields: declare them or set x-kubernetes-preserve-unknown-fields"
        )
    };
    check("write", json!({"type": "object"}), strings.clone(), &[&pruned("/status/f")]);
    let structs = map(object(json!({"a": {"type": "string"}})));
    let missing = "/status/f/*/a: not in the schema: declare it, or the API server drops it";
    check("write", map(json!({"type": "object"})), structs.clone(), &[missing]);
    check("write", map(json!(true)), structs, &[&pruned("/status/f/*")]);
    check("write", map(json!(true)), strings.clone(), &[]);
    check(
        "read",
        map(json!(true)),
        strings,
        &["/status/f/*: not verified: additionalProperties: true accepts any value"],
    );
    check("write", map(json!({"type": "object"})), json!({"type": "object"}), &[&pruned("/status/f/*")]);
    check(
        "write",
        json!({"type": "array", "items": {"type": "object"}}),
        json!({"type": "array"}),
        &[&pruned("/status/f/*")],
    );
    check("write", json!({"type": "object"}), json!({"type": "object"}), &[&pruned("/status/f")]);
}

#[test]
fn a_write_below_additional_properties_true_is_pruned() {
    let status = json!({"type": "object", "additionalProperties": true});
    let check = |at: &str, expected: &[&str]| {
        let report = check_crd(&crd(status.clone()), "v1", &[FieldSpec::write(path(at), FieldType::String)]);
        let found: Vec<_> =
            report.violations.iter().map(|violation| (&*violation.at, &violation.kind)).collect();
        let expected: Vec<_> = expected.iter().map(|at| (*at, &ViolationKind::Pruned)).collect();
        assert_eq!(found, expected, "{at}");
    };
    check("/status/f", &[]);
    check("/status/f/g", &["/status/f"]);
}

#[test]
fn what_a_schema_leaves_open_is_unverified() {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let declared = "x-kubernetes-preserve-unknown-fields: the schema does not declare it";
    let below = FieldSpec::write(path("/status/f/g"), FieldType::String);
    let report = check_crd(&crd(object(json!({"f": open}))), "v1", &[below]);
    assert!(
        matches!(report.verdict(), ContractVerdict::Unverified([found]) if found.at == "/status/f/g" && found.reason == declared)
    );
    let any = json!({"x-kubernetes-preserve-unknown-fields": true});
    let accepts =
        "/status/f: not verified: x-kubernetes-preserve-unknown-fields: the schema accepts anything here";
    for direction in ["read", "write"] {
        check(direction, any.clone(), json!({"type": "string"}), &[accepts]);
    }
    let members =
        "/status/f: not verified: x-kubernetes-preserve-unknown-fields: the schema accepts any member";
    check("write", open, json!({"type": "object"}), &[members]);
    let rule = json!({"type": "string", "x-kubernetes-validations": [{"rule": "self != ''"}]});
    let restricted = "/status/f: not verified: the schema restricts the value by x-kubernetes-validations, which is not compared";
    check("write", rule.clone(), json!({"type": "string"}), &[restricted]);
    check("read", rule, json!({"type": "string"}), &[]);
    let choice = json!({"oneOf": [{"type": "object"}, {"type": "string"}]});
    check(
        "read",
        json!({"type": "string"}),
        choice,
        &["/status/f: not verified: the contract uses oneOf, which is not compared"],
    );
    let bare = json!({"spec": {"versions": [{"name": "v1", "served": true}]}});
    let report = check_crd(&bare, "v1", &[field("read", json!({"type": "string"}))]);
    assert_eq!(texts(&report), ["/status/f: not verified: the version has no schema"]);
}

#[test]
fn lists_merge_as_the_contract_says() {
    let items = object(json!({"type": {"type": "string"}}));
    let list = |kind: &str| json!({"type": "array", "items": items, "x-kubernetes-list-type": kind});
    let mut map = list("map");
    map["x-kubernetes-list-map-keys"] = json!(["type"]);
    let shape = json!({"type": "array", "items": items});
    let keyed = |schema: &Value| {
        let field = field("write", shape.clone()).list_map("", ["type"]);
        texts(&check_crd(&crd(object(json!({"f": schema}))), "v1", &[field]))
    };
    assert_eq!(keyed(&map), [""; 0]);
    assert_eq!(
        keyed(&list("atomic")),
        ["/status/f: the list must have x-kubernetes-list-type map with keys type, and is atomic"]
    );
    check("write", list("atomic"), shape.clone(), &[]);
    check(
        "write",
        map,
        shape.clone(),
        &["/status/f: the list is written as a whole, and its x-kubernetes-list-type is map of type"],
    );
    check(
        "write",
        list("set"),
        shape,
        &["/status/f: the list is written as a whole, and its x-kubernetes-list-type is set"],
    );
    let unique = json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true});
    let set = json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"});
    check("write", set, unique, &[]);
}

#[test]
fn an_atomic_object_on_the_way_is_taken_as_a_whole() {
    let mut status = object(json!({"f": {"type": "string"}}));
    status["x-kubernetes-map-type"] = json!("atomic");
    let report = check_crd(&crd(status.clone()), "v1", &[field("write", json!({"type": "string"}))]);
    assert_eq!(
        texts(&report),
        ["/status: atomic: an apply of a part of it would take the whole; make it granular"]
    );
    let read = check_crd(&crd(status), "v1", &[field("read", json!({"type": "string"}))]);
    assert_eq!(read.verdict(), ContractVerdict::Satisfied);
}

#[test]
fn a_status_can_be_written_only_through_its_subresource() {
    let status = object(json!({"f": {"type": "string"}}));
    let fields = [field("write", json!({"type": "string"})), field("read", json!({"type": "string"}))];
    let report = check_crd(&crd(status), "v1beta1", &fields);
    assert_eq!(texts(&report), ["/status/f: written, but the version has no status subresource: enable it"]);
}

#[test]
fn metadata_is_declared_by_the_api_server() {
    let field = FieldSpec::write(path("/metadata/finalizers"), FieldType::Array);
    assert_eq!(check_crd(&crd(object(json!({}))), "v1", &[field]).verdict(), ContractVerdict::Satisfied);
}

#[test]
fn every_violation_is_reported_in_the_order_of_the_fields() {
    let fields = ["/status/b", "/status/a", "/spec/c"].map(|at| FieldSpec::read(path(at), FieldType::String));
    let report = check_crd(&crd(object(json!({}))), "v1", &fields);
    let places: Vec<&str> = report.violations.iter().map(|violation| violation.at.as_str()).collect();
    assert_eq!(places, ["/status/b", "/status/a", "/spec/c"]);
}

#[test]
fn the_declared_shapes_of_metadata_are_compared() {
    let check = |direction: &str, at: &str, shape: Value| {
        let (path, shape) = (path(at), FieldShape::from_schema(shape));
        let field =
            if direction == "read" { FieldSpec::read(path, shape) } else { FieldSpec::write(path, shape) };
        texts(&check_crd(&crd(object(json!({}))), "v1", &[field]))
    };
    let map = |each: &str| json!({"type": "object", "additionalProperties": {"type": each}});
    assert_eq!(check("read", "/metadata/labels", map("string")), [""; 0]);
    assert_eq!(check("write", "/metadata/annotations/x", json!({"type": "string"})), [""; 0]);
    assert_eq!(
        check("write", "/metadata/labels", map("integer")),
        ["/metadata/labels/*: the contract says integer, and the schema says string"]
    );
    assert_eq!(
        check("read", "/metadata/finalizers", json!({"type": "string"})),
        ["/metadata/finalizers: the contract says string, and the schema says array"]
    );
    let owner = object(json!({"uid": {"type": "string"}, "colour": {"type": "string"}}));
    let found = check("write", "/metadata/ownerReferences", json!({"type": "array", "items": owner}));
    assert!(
        found.contains(
            &"/metadata/ownerReferences/*/colour: not in the schema: declare it, or the API server drops it"
                .to_owned()
        ),
        "{found:?}"
    );
}

#[test]
fn multiples_are_not_compared() {
    let of = |number: i32| json!({"type": "integer", "multipleOf": number});
    let restricted =
        "/status/f: not verified: the schema restricts the value by multipleOf, which is not compared";
    check("write", of(5), json!({"type": "integer"}), &[restricted]);
    check("write", of(5), of(2), &[restricted]);
    check("write", of(5), of(5), &[]);
    check("read", of(5), json!({"type": "integer"}), &[]);
}

#[test]
fn what_a_parent_requires_is_needed_to_create_it() {
    let mut f = object(json!({"g": {"type": "string"}, "h": {"type": "string"}}));
    f["required"] = json!(["h"]);
    let text = || FieldShape::from(FieldType::String);
    let check = |status: Value, fields: &[FieldSpec]| texts(&check_crd(&crd(status), "v1", fields));
    let write = |at: &str| FieldSpec::write(path(at), text());
    let expected = "/status/f: not verified: where it does not exist yet, it cannot be created without h, which the \
                    contract does not write";
    assert_eq!(check(object(json!({"f": f})), &[write("/status/f/g")]), [expected]);
    assert_eq!(check(object(json!({"f": f})), &[write("/status/f/g"), write("/status/f/h")]), [""; 0]);
    assert_eq!(check(object(json!({"f": f})), &[FieldSpec::read(path("/status/f/g"), text())]), [""; 0]);
    let mut always = object(json!({"f": f.clone()}));
    always["required"] = json!(["f"]);
    assert_eq!(check(always, &[write("/status/f/g")]), [expected], "the status may be missing as a whole");
    f["properties"]["h"]["default"] = json!("x");
    assert_eq!(check(object(json!({"f": f})), &[write("/status/f/g")]), [""; 0]);
}

#[test]
fn an_embedded_resource_keeps_what_it_declares() {
    let mut embedded = object(json!({"spec": object(json!({"a": {"type": "string"}}))}));
    embedded["x-kubernetes-embedded-resource"] = json!(true);
    let check = |at: &str, shape: FieldType| {
        texts(&check_crd(&crd(object(json!({"f": embedded}))), "v1", &[FieldSpec::write(path(at), shape)]))
    };
    let missing = |at: &str| format!("{at}: not in the schema: declare it, or the API server drops it");
    let unnamed = "/status/f: not verified: where it does not exist yet, it cannot be created without apiVersion, kind, \
                   which the contract does not write";
    assert_eq!(check("/status/f/spec/a", FieldType::String), [unnamed]);
    assert_eq!(check("/status/f/other", FieldType::String), [missing("/status/f/other"), unnamed.to_owned()]);
    assert_eq!(check("/status/f/metadata/labels/x", FieldType::String), [unnamed]);
}

#[test]
fn a_schema_that_branches_and_returns_to_itself_is_compared_once() {
    let tree = json!({"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "name": {"type": "string"}}});
    let report = check_crd(&crd(object(json!({"f": tree}))), "v1", &[field("read", tree.clone())]);
    assert!(report.violations.is_empty() && report.unverified.len() <= 2, "{report:?}");
    let spec = |shape: &Value| {
        crate::contract::ContractSpec::new("c", "x").version("v1", [field("read", shape.clone())])
    };
    let mut other = tree.clone();
    other["properties"]["name"]["enum"] = json!(["a"]);
    let changes = spec(&tree).diff(&spec(&other));
    assert_eq!(changes[0].to_string(), "breaking: v1 /status/f/name: the contract reads only \"a\"");
}

#[test]
fn a_null_among_enumerated_values_is_compared_as_null() {
    let nullable = json!({"type": "string", "nullable": true, "enum": ["a", null]});
    let (plain, text) =
        (json!({"type": "string", "enum": ["a"]}), json!({"type": ["string", "null"], "enum": ["a", null]}));
    let optional = json!({"anyOf": [plain, {"type": "null"}]});
    check("read", nullable.clone(), optional, &[]);
    check("read", nullable.clone(), text.clone(), &[]);
    check(
        "read",
        nullable,
        plain.clone(),
        &["/status/f: nullable in the schema, and the reader refuses null"],
    );
    check("write", plain.clone(), text.clone(), &[]);
    let list = |items: Value| json!({"type": "array", "items": items});
    check("write", list(plain), list(text), &["/status/f/*: null may be written, and the schema refuses it"]);
}

#[test]
fn a_keyword_beside_a_reference_or_branches_is_not_left_out() {
    let unverified = |keyword: &str| {
        format!("/status/f: not verified: the contract uses {keyword}, which is not compared")
    };
    let text = json!({"type": "string"});
    for (keyword, shape) in [
        ("$ref", json!({"$ref": "#/$defs/T", "minLength": 3, "$defs": {"T": text}})),
        ("allOf", json!({"allOf": [text], "minLength": 3})),
        ("anyOf", json!({"anyOf": [text, {"type": "null"}], "minLength": 3})),
        ("oneOf", json!({"oneOf": [{"const": "a"}, {"const": "b"}], "pattern": "^a$"})),
        ("allOf", json!({"allOf": [{"enum": ["a"]}, {"enum": ["b"]}]})),
        ("false", json!(false)),
    ] {
        check("read", json!({"type": "string", "enum": ["a", "b"]}), shape, &[&unverified(keyword)]);
    }
    let described =
        json!({"title": "T", "description": "d", "default": "a", "$ref": "#/$defs/T", "$defs": {"T": text}});
    check("read", text.clone(), described, &[]);
    let nullable = json!({"type": "string", "nullable": true});
    check("read", nullable, json!({"allOf": [text], "nullable": true}), &[]);
    let some = object(json!({"a": {"type": "string"}}));
    let mut needs = some.clone();
    needs["dependentRequired"] = json!({"a": ["b"]});
    check("read", some, needs, &[&unverified("dependentRequired")]);
    let (zero, both) = (
        json!({"type": "integer", "minimum": 6}),
        json!({"type": "integer", "minimum": 8, "exclusiveMinimum": 5}),
    );
    check("read", zero, both, &["/status/f: the contract reads only values with minimum 8"]);
}

#[test]
fn a_required_member_need_not_be_among_the_properties() {
    let needs = json!({"type": "object", "required": ["b"]});
    let (a, b) = (object(json!({"a": {"type": "string"}})), object(json!({"b": {"type": "string"}})));
    check(
        "read",
        a,
        needs.clone(),
        &["/status/f/b: not in the schema: declare it, or the API server drops it"],
    );
    check(
        "read",
        b.clone(),
        needs.clone(),
        &["/status/f/b: the reader needs it: require it in the schema, or give it a default"],
    );
    let mut always = b;
    always["required"] = json!(["b"]);
    check("read", always, needs, &[]);
}
