//! Tests that what generators emit becomes structural, and means what it meant.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::arithmetic_side_effects,
    reason = "a test says no by panicking"
)]

mod derived;

use schema_merge::{
    Diagnostic, StructuralOptions, StructuralizeErrorKind, Style, check_structural, structuralize,
};
use serde_json::{Value, json};

#[track_caller]
fn check(input: Value, expected: Value) -> Vec<String> {
    let done = structuralize(&input, Style::default()).unwrap_or_else(|errors| panic!("{errors:#?}"));
    assert_eq!(done.schema, expected, "{input}");
    done.losses.iter().map(|loss| format!("{}: {}", loss.path, loss.detail)).collect()
}

#[track_caller]
fn refuse(input: Value) -> (String, StructuralizeErrorKind) {
    let first = structuralize(&input, Style::default()).unwrap_err().into_iter().next().unwrap();
    (first.path.pointer(), first.reason)
}

#[test]
fn derived_types_become_structural() {
    let types = derived::structural();
    assert!(types.len() >= 60, "{}", types.len());
    let mut failed = Vec::new();
    for (name, schema) in types {
        match structuralize(&schema, Style::default()) {
            Err(errors) => failed.push(format!("{name}: {errors:#?}\n{schema:#}")),
            Ok(done) => {
                let crd = json!({"type": "object", "properties": {"spec": done.schema}});
                let errors: Vec<_> = check_structural(&crd, &StructuralOptions::default())
                    .into_iter()
                    .filter(Diagnostic::is_error)
                    .collect();
                assert_eq!(errors, Vec::new(), "{name}");
                let again = structuralize(&done.schema, Style::default()).unwrap();
                assert_eq!(again.schema, done.schema, "{name}: doing it twice changes nothing");
                assert_eq!(again.losses, Vec::new(), "{name}: nothing is lost the second time");
            }
        }
    }
    assert!(failed.is_empty(), "{} types fail:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn impossible_types_say_what_is_in_the_way_and_where() {
    let reasons: Vec<String> = derived::impossible()
        .into_iter()
        .map(|(name, schema)| match structuralize(&schema, Style::default()) {
            Err(errors) => format!("{name} {}", errors.iter().next().unwrap()),
            Ok(done) => panic!("{name} became {}", done.schema),
        })
        .collect();
    assert_eq!(
        reasons,
        [
            "Recursive /properties/children/items: the root contains itself, and a structural schema cannot; keep the inner part as a preserved object",
            "RecursiveOption /properties/next/anyOf/0: the root contains itself, and a structural schema cannot; keep the inner part as a preserved object",
            "Tuples /properties/a: a tuple has a type per position, and a structural list has one for all; use a struct",
            "MixedScalars : a union of boolean and string; a structural schema has one type per place, except integer or string",
            "MixedEnum : a union of object and string; a structural schema has one type per place, except integer or string",
            "Colliding : \"same\" is described in two ways; rename it in one variant, or give both the same type and documentation",
            "FlattenedTyped : declared properties and a typed map in one object; put the map into a property of its own",
            "Units /properties/a: nothing but null would be valid here",
        ]
    );
}

#[test]
fn each_rewriting_does_what_it_says() {
    check(json!({"type": ["string", "null"]}), json!({"type": "string", "nullable": true}));
    check(json!({"const": "a"}), json!({"type": "string", "enum": ["a"]}));
    check(
        json!({"type": "integer", "exclusiveMinimum": 3}),
        json!({"type": "integer", "minimum": 3, "exclusiveMinimum": true}),
    );
    check(
        json!({"type": "integer", "exclusiveMinimum": 3, "minimum": 5}),
        json!({"type": "integer", "minimum": 5}),
    );
    check(
        json!({"type": "integer", "exclusiveMaximum": 5, "maximum": 5}),
        json!({"type": "integer", "maximum": 5, "exclusiveMaximum": true}),
    );
    check(json!(true), json!({"x-kubernetes-preserve-unknown-fields": true}));
    check(
        json!({"description": "d"}),
        json!({"description": "d", "x-kubernetes-preserve-unknown-fields": true}),
    );
    check(
        json!({"type": "object", "additionalProperties": true}),
        json!({"type": "object", "additionalProperties": {"x-kubernetes-preserve-unknown-fields": true}}),
    );
    check(
        json!({"type": "object", "additionalProperties": true, "properties": {"a": {"type": "string"}}}),
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {"type": "string"}}}),
    );
    check(
        json!({"$schema": "x", "type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "string"}}}),
        json!({"type": "object", "properties": {"a": {"type": "string"}}}),
    );
    check(
        json!({"anyOf": [{"type": "integer", "format": "int32"}, {"type": "string"}]}),
        json!({"x-kubernetes-int-or-string": true}),
    );
    check(
        json!({"oneOf": [{"description": "x", "const": "A"}, {"enum": ["B", "C"], "type": "string"}]}),
        json!({"type": "string", "enum": ["A", "B", "C"]}),
    );
}

#[test]
fn tagged_enums_are_told_apart_under_one_of() {
    let variant = |kind: &str, field: &str| {
        json!({
            "type": "object", "required": ["type", field],
            "properties": {"type": {"type": "string", "const": kind}, field: {"type": "string"}},
        })
    };
    check(
        json!({"oneOf": [variant("Http", "url"), variant("Exec", "command")]}),
        json!({
            "type": "object",
            "properties": {
                "type": {"type": "string", "enum": ["Http", "Exec"]},
                "url": {"type": "string"}, "command": {"type": "string"},
            },
            "oneOf": [
                {"required": ["type", "url"], "properties": {"type": {"enum": ["Http"]}}},
                {"required": ["type", "command"], "properties": {"type": {"enum": ["Exec"]}}},
            ],
        }),
    );
}

/// Cases that fuzzing found.
#[test]
fn nothing_is_left_to_do_the_second_time() {
    for schema in [
        json!({"$ref": "#/$defs/a", "enum": [null], "maxProperties": 1, "$defs": {"a": {"type": "boolean", "nullable": true}}}),
        json!({"$ref": "#/$defs/a", "enum": ["x", null], "$defs": {"a": {"type": "string"}}}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string", "enum": ["x", null]}}}),
    ] {
        if let Ok(once) = structuralize(&schema, Style::default()) {
            let twice = structuralize(&once.schema, Style::default())
                .unwrap_or_else(|errors| panic!("{errors:#?} after {}", once.schema));
            assert_eq!(twice.schema, once.schema, "{schema}");
        }
    }
}

#[test]
fn a_chain_of_references_is_followed_as_far_as_the_stack_allows() {
    let chain = |length: usize| {
        let link = |number: usize| {
            let next = json!({"$ref": format!("#/$defs/d{}", number + 1)});
            (format!("d{number}"), json!({"type": "object", "properties": {"next": next}}))
        };
        let mut links: serde_json::Map<_, _> = (0..length).map(link).collect();
        links.insert(format!("d{length}"), json!({"type": "string"}));
        json!({"$ref": "#/$defs/d0", "$defs": links})
    };
    assert!(structuralize(&chain(100), Style::default()).is_ok());
    assert!(
        matches!(refuse(chain(30_000)).1, StructuralizeErrorKind::TooLarge(text) if text.contains("nested deeper"))
    );
    let mut alias = json!({"$ref": "#/$defs/d0", "$defs": {"d20000": {"type": "string"}}});
    for number in 0..20_000 {
        alias["$defs"][format!("d{number}")] = json!({"$ref": format!("#/$defs/d{}", number + 1)});
    }
    assert!(matches!(refuse(alias).1, StructuralizeErrorKind::TooLarge(_)));
}

#[test]
fn every_loss_is_reported() {
    let losses = check(
        json!({"type": "object", "additionalProperties": false, "propertyNames": {}, "properties": {
            "a": {"type": "array", "items": {"type": "string"}, "uniqueItems": true}}}),
        json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}}),
    );
    assert_eq!(losses.len(), 3, "{losses:#?}");
    assert!(losses[0].starts_with(": propertyNames is not a keyword"), "{losses:?}");
    assert!(losses[2].starts_with("/properties/a: uniqueItems"), "{losses:?}");
}

#[test]
fn unique_items_become_a_set_only_on_request() {
    let schema = json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true});
    let done = structuralize(&schema, Style::default().unique_items_as_set(true)).unwrap();
    assert_eq!(done.schema["x-kubernetes-list-type"], json!("set"));
    assert_eq!(done.losses, Vec::new());
}

#[test]
fn what_is_in_the_way_is_named() {
    assert_eq!(
        refuse(json!({"$ref": "#/$defs/nowhere"})).1,
        StructuralizeErrorKind::Unresolved("#/$defs/nowhere".to_owned())
    );
    let (at, reason) =
        refuse(json!({"type": "object", "properties": {"p": {"type": "string", "pattern": "(?=x)"}}}));
    assert_eq!(at, "/properties/p");
    assert!(matches!(reason, StructuralizeErrorKind::Pattern(text) if text.contains("(?=")));
    let mutual = json!({"$ref": "#/$defs/A", "$defs": {
        "A": {"type": "object", "properties": {"b": {"$ref": "#/$defs/B"}}},
        "B": {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}},
    }});
    assert_eq!(
        refuse(mutual),
        ("/properties/b/properties/a".to_owned(), StructuralizeErrorKind::Recursive("A".to_owned()))
    );
    let mut doubling = json!({"$ref": "#/$defs/d0", "$defs": {"d30": {"type": "string"}}});
    for level in 0..30 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        doubling["$defs"][format!("d{level}")] =
            json!({"type": "object", "properties": {"l": next, "r": next}});
    }
    assert!(matches!(refuse(doubling).1, StructuralizeErrorKind::TooLarge(_)));
}
