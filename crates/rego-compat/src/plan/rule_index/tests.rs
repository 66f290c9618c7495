//! Tests of what is passed over before it is tried. The verdicts are OPA's.

use crate::{Budget, EvalError, Module, RegoVersion, Restrictions, Value, compile};

/// Two definitions of `f` conflict wherever it is called; `g` gives several values.
const TROUBLE: &str = "f(x) = 1 { x }\nf(x) = 2 { x }\ng(x) = y { y := x[_] }";

fn evaluate(body: &str, input: &str) -> Result<Option<Value>, EvalError> {
    let module = Module::parse("t.rego", &format!("package t\n{TROUBLE}\n{body}"), RegoVersion::V0).unwrap();
    let program = compile(&[module], "data.t.p", &Restrictions::default()).unwrap();
    let data = Value::from_json_str(r#"{"d": {"a": 1}}"#).unwrap();
    program.evaluate(&Value::from_json_str(input).unwrap(), &data, &Budget::default())
}

fn fails(body: &str, input: &str) -> bool {
    matches!(evaluate(body, input), Err(EvalError::Conflict { .. }))
}

#[test]
fn what_the_documents_lack_is_found_before_a_conflict() {
    for (needs, lacking, having) in [
        ("input.a", "{}", r#"{"a": 1}"#),
        ("input.a == 2", r#"{"a": 3}"#, r#"{"a": 2}"#),
        ("input.a[_] == 2", r#"{"a": [3]}"#, r#"{"a": [2]}"#),
        ("x := input; x.a == 2", r#"{"a": 3}"#, r#"{"a": 2}"#),
        ("input.a = [1, z]", r#"{"a": [2, 2]}"#, r#"{"a": [1, 2]}"#),
        ("startswith(input.a, \"x\")", r#"{"a": "y"}"#, r#"{"a": "xy"}"#),
        ("endswith(input.a, \"x\")", r#"{"a": "xy"}"#, r#"{"a": "yx"}"#),
        ("strings.any_prefix_match(input.a, [\"x\", \"y\"])", r#"{"a": "z"}"#, r#"{"a": "yx"}"#),
        ("glob.match(\"*:b\", [\":\"], input.a)", r#"{"a": "a:c"}"#, r#"{"a": "a:b"}"#),
        ("data.e", "{}", ""),
    ] {
        let body = format!("p {{ f(1) == 1; {needs} }}");
        assert_eq!(evaluate(&body, lacking), Ok(None), "{needs}");
        if !having.is_empty() {
            assert!(fails(&body, having), "{needs}");
        }
    }
}

#[test]
fn a_collection_is_asked_for_a_key_where_several_definitions_are_tried() {
    let several = "p = 1 { f(1) == 1; data.d[input.a] }\np = 2 { input.b }";
    assert_eq!(evaluate(several, r#"{"a": "b"}"#), Ok(None));
    assert!(fails(several, r#"{"a": "a"}"#));
    assert!(fails("p = 1 { f(1) == 1; data.d[input.a] }", r#"{"a": "b"}"#));
}

#[test]
fn what_the_index_does_not_look_at_comes_after_a_conflict() {
    for needs in ["input.a > 1", "not input.b", "input.a[_].b", "input.a == {1}", "count(input.a) == 2"] {
        assert!(fails(&format!("p {{ f(1) == 1; {needs} }}"), r#"{"a": 1, "b": 2}"#), "{needs}");
    }
}

#[test]
fn an_argument_decides_which_definitions_are_tried() {
    let body = "h(x) = 1 { f(1) == 1; x == \"a\" }\nh(x) = 2 { x == \"b\" }\np = h(input.a)";
    assert_eq!(evaluate(body, r#"{"a": "b"}"#), Ok(Some(2u64.into())));
    assert!(fails(body, r#"{"a": "a"}"#));
}

#[test]
fn where_all_that_are_tried_agree_the_first_that_holds_is_the_last() {
    let agreeing = "p = 1 { input.a }\np = 1 { f(1) == 1 }";
    assert_eq!(evaluate(agreeing, r#"{"a": 1}"#), Ok(Some(1u64.into())));
    let others = "p = 1 { input.a }\np = 2 { f(1) == 1 }";
    assert!(fails(others, r#"{"a": 1}"#));
    let passed_over = "p = 1 { input.a }\np = 2 { input.b }\np = 1 { f(1) == 1 }";
    assert_eq!(evaluate(passed_over, r#"{"a": 1}"#), Ok(Some(1u64.into())));
    assert_eq!(evaluate("p = 1 { input.x[_] = y; g([y]) }", r#"{"x": [[1, 2]]}"#), Ok(Some(1u64.into())));
    assert!(fails("p = 1 { y = input.x[_]; g(y) }\np = 2 { input.z }", r#"{"x": [[1], [1, 2]], "z": 0}"#));
}

#[test]
fn a_negation_tries_every_way() {
    assert!(fails("p { not q }\nq { g(input.x[_]) }\nq = 2 { false }", r#"{"x": [[1], [1, 2]]}"#));
    // All definitions that are tried agree: the first way settles it.
    assert_eq!(evaluate("p { not q }\nq { g(input.x[_]) }", r#"{"x": [[1], [1, 2]]}"#), Ok(None));
}

#[test]
fn an_object_with_two_values_for_a_key_is_a_conflict() {
    let body = "p = x { x := {\"a\": y | y := input.ys[_]}; input.b }";
    assert_eq!(evaluate(body, r#"{"ys": [1, 2]}"#), Ok(None));
    assert!(evaluate(body, r#"{"ys": [1, 2], "b": 1}"#).is_err());
    let one = Value::from_json_str(r#"{"a": 1}"#).unwrap();
    assert_eq!(evaluate(body, r#"{"ys": [1], "b": 1}"#), Ok(Some(one)));
}

#[test]
fn operands_of_and_and_or_are_conditions() {
    let module = |needs: &str| {
        let logic = "import future.keywords.and\nimport future.keywords.or";
        let text = format!("package t\n{logic}\n{TROUBLE}\np {{ f(1) == 1; {needs} }}");
        Module::parse("t.rego", &text, RegoVersion::V0).unwrap()
    };
    let fails = |needs: &str, input: &str| {
        let program = compile(&[module(needs)], "data.t.p", &Restrictions::default()).unwrap();
        let input = Value::from_json_str(input).unwrap();
        match program.evaluate(&input, &Value::new_object(), &Budget::default()) {
            Err(EvalError::Conflict { .. }) => true,
            answer => answer.unwrap().is_some(),
        }
    };
    for (needs, lacking, having) in [
        (
            "input.a == 1 and input.b == 2 and input.c == 3",
            r#"{"a": 1, "b": 2, "c": 4}"#,
            r#"{"a": 1, "b": 2, "c": 3}"#,
        ),
        ("input.a == 1 or input.a == 2 or input.a == 3", r#"{"a": 4}"#, r#"{"a": 3}"#),
        (
            "(input.a == 1 or input.a == 2) and input.b == 2 and input.c == 3",
            r#"{"a": 3, "b": 2, "c": 3}"#,
            r#"{"a": 2, "b": 2, "c": 3}"#,
        ),
    ] {
        assert!(!fails(needs, lacking), "{needs}");
        assert!(fails(needs, having), "{needs}");
    }
    // More alternatives than are kept apart are not a condition, and neither are those of which one asks for nothing.
    let many: Vec<String> = (0..40).map(|number| format!("input.a == {number}")).collect();
    assert!(fails(&many.join(" or "), r#"{"a": 40}"#));
    assert!(fails("input.a == 1 or input.a > 2 or input.a == 2", r#"{"a": 0}"#));
}
