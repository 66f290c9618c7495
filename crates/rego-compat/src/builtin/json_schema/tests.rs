//! Tests of the answers to schemas and documents; random ones are compared with OPA in the conformance tests.

use eval_budget::{Budget, Limit};

use super::*;

fn call(name: &str, args: &[Value]) -> Answer {
    let args: Vec<&Value> = args.iter().collect();
    crate::builtin::find(name).unwrap().call(&args, &Meter::new(&Budget::default()))
}

#[track_caller]
fn finds(schema: &str, document: &str, wanted: &[&str]) {
    let found = call("json.match_schema", &[document.into(), schema.into()]).unwrap().unwrap();
    let found = found.as_array().unwrap();
    let errors: Vec<String> = found[1]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| {
            error.as_object().unwrap().get(&"error".into()).unwrap().as_string().unwrap().to_string()
        })
        .collect();
    assert_eq!(errors, wanted);
    assert_eq!(found[0], Value::Bool(wanted.is_empty()));
}

#[track_caller]
fn is_refused(schema: &str, reason: &str) {
    let wanted: Value = vec![Value::Bool(false), format!("jsonschema: {reason}").into()].into();
    assert_eq!(call("json.verify_schema", &[schema.into()]), Ok(Some(wanted)), "{schema}");
}

#[test]
fn documents_are_told_what_they_lack() {
    finds(
        r#"{"required": ["a"], "properties": {"b": {"type": "string"}}}"#,
        r#"{"b": 1}"#,
        &["(Root): a is required", "b: Invalid type. Expected: string, given: integer"],
    );
    finds(
        r#"{"items": {"minimum": 1000000.5}}"#,
        "[1, 2e6]",
        &["0: Must be greater than or equal to 1.0000005e+06"],
    );
    finds(
        r##"{"$ref": "#/definitions/a", "definitions": {"a": {"enum": [1.0, "b"]}}}"##,
        "{\"a\": 1}",
        &["(Root): (Root) must be one of the following: 1, \"b\""],
    );
    finds(
        r#"{"anyOf": [{"required": ["a"]}, {"minProperties": 1}]}"#,
        "{}",
        &["(Root): Must validate at least one schema (anyOf)", "(Root): a is required"],
    );
    finds(r#"{"properties": {"a": {"multipleOf": 0.01}}}"#, r#"{"a": 1.07}"#, &[]);
}

#[test]
fn schemas_are_told_what_is_wrong() {
    is_refused("[]", "schema is invalid");
    is_refused(
        r#"{"type": "text"}"#,
        concat!(
            "has a primitive type that is NOT VALID -- given: /text/ ",
            "Expected valid values are:[array boolean integer number null object string]",
        ),
    );
    is_refused(r#"{"minLength": 1.0}"#, "minLength must be of an integer");
    is_refused(r##"{"$ref": "#/a"}"##, "Object has no key 'a'");
    is_refused(r#"{"$ref": "http://a/b"}"#, "remote reference loading disabled: http://a/b");
    is_refused(r#"{"$ref": "b.json"}"#, "Reference /b.json must be canonical");
    is_refused("{", "invalid JSON string");
}

#[test]
fn what_never_ends_is_stopped() {
    let endless = call("json.match_schema", &["{}".into(), r##"{"$ref": "#"}"##.into()]);
    assert_eq!(endless, Err(EvalError::Budget(Limit::Depth)));
    let doubling: String =
        (0..60).map(|n| format!(r##""a{n}": {{"allOf": [{{"$ref": "#/definitions/a{}"}}, {{"$ref": "#/definitions/a{}"}}]}},"##, n + 1, n + 1)).collect();
    let schema = format!(r##"{{"$ref": "#/definitions/a0", "definitions": {{{doubling} "a60": {{}}}}}}"##);
    assert!(matches!(call("json.match_schema", &["{}".into(), schema.into()]), Err(EvalError::Budget(_))));
}

#[test]
fn strings_have_formats() {
    for (format, good, bad) in [
        ("date", "2020-02-29", "2021-02-29"),
        ("time", "1:02:03,5", "01:02"),
        ("date-time", "2020-01-01T00:00:00.5+24:60", "2020-01-01 00:00:00Z"),
        ("email", "A B <\"c d\"@[::1]> (e)", "a@b@c"),
        ("ipv4", "::ffff:1.2.3.4", "1.2.3"),
        ("hostname", "a-b.c", "-a"),
        ("uri", "a:b", "/a"),
        ("uri-reference", "a", "%"),
        ("uri-template", "{a}/b", "{a"),
        ("json-pointer", "/a~0", "a"),
        ("regex", "a", "("),
        ("none", "", ""),
    ] {
        assert!(super::format::fits(format, good), "{format} {good}");
        assert_eq!(super::format::fits(format, bad), format == "none", "{format} {bad}");
    }
}

#[test]
fn schemas_of_the_drafts_are_known() {
    let reference = |name: &str| format!(r#"{{"properties": {{"a": {{"$ref": "{name}"}}}}}}"#);
    finds(
        &reference("http://json-schema.org/draft-07/schema#"),
        r#"{"a": {"type": ["string", "string"], "enum": [], "writeOnly": 1}}"#,
        &[
            "a.enum: Array must have at least 1 items",
            "a.type: Must validate at least one schema (anyOf)",
            "a.type: array items[0,1] must be unique",
        ],
    );
    finds(
        &reference("http://json-schema.org/draft-04/schema"),
        r#"{"a": {"properties": {"b": {"minLength": -1}}}}"#,
        &[
            "a.properties.b.minLength: Must be greater than or equal to 0",
            "a.properties.b.minLength: Must validate all the schemas (allOf)",
        ],
    );
    finds(
        &reference("http://json-schema.org/draft-06/schema#/definitions/nonNegativeInteger"),
        r#"{"a": -1}"#,
        &["a: Must be greater than or equal to 0"],
    );
    is_refused(
        &reference("http://json-schema.org/draft-06/schema#/definitions/absent"),
        "Object has no key 'absent'",
    );
    is_refused(
        &reference("http://json-schema.org/draft-05/schema#"),
        "remote reference loading disabled: http://json-schema.org/draft-05/schema",
    );
}
