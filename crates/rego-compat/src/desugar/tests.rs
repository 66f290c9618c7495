//! Modules and what their rule `p` is, or why it is refused; the expected values are those of OPA 1.22.

use eval_budget::Budget;

use crate::query::{Query, QueryScope};
use crate::{Module, RegoVersion, Restrictions, Value};

/// Returns the value of `p` as JSON text, `undefined`, or the messages of the errors.
fn answer(rules: &str, version: RegoVersion) -> Result<String, Vec<String>> {
    let module = Module::parse("t.rego", &format!("package t\n{rules}"), version).unwrap();
    let query = Query::compile(&[module], "data.t.p", &QueryScope::default(), &Restrictions::default())
        .map_err(|all| all.iter().map(|diagnostic| diagnostic.message.clone()).collect::<Vec<_>>())?;
    let input = Value::from_json_str(r#"{"x": 7}"#).unwrap();
    let found = query.solve(&input, &Value::new_object(), &Budget::default(), &crate::NoExternals).unwrap();
    Ok(found
        .first()
        .and_then(|solution| solution.values.first())
        .map_or_else(|| "undefined".to_owned(), |value| serde_json::to_string(value).unwrap()))
}

fn v1(rules: &str) -> String {
    answer(rules, RegoVersion::V1).unwrap()
}

fn refusal(rules: &str) -> Vec<String> {
    let mut messages = answer(rules, RegoVersion::V1).unwrap_err();
    messages.dedup();
    messages
}

#[test]
fn eq_and_assign_written_as_calls_bind() {
    for (rules, expected) in [
        ("p := x if { eq(x, 1); x == 1 }", "1"),
        ("p := x if { assign(x, 1); x == 1 }", "1"),
        ("p := x if { eq([x, 1], [2, 1]); x == 2 }", "2"),
        ("p := [x, y] if { assign([x, y], [1, 2]) }", "[1,2]"),
        ("p := x if { x := y; eq(y, 3) }", "3"),
        ("p := [x | eq(x, [1, 2][_])]", "[1,2]"),
        ("p := x if { assign(x, input) with input as 5 }", "5"),
        ("p if { not eq(1, 2) }", "true"),
        ("p if { every x in [1] { eq(x, 1) } }", "true"),
        ("eq(x, y) := 5\np := eq(1, 2)", "5"),
        ("assign(x, y) if x == y\np if assign(input, {\"x\": 7})", "true"),
    ] {
        assert_eq!(v1(rules), expected, "{rules}");
    }
    let v0 = |rules| answer(rules, RegoVersion::V0).unwrap();
    assert_eq!(v0("p { eq(x, 1); x == 1 }"), "true");
    assert_eq!(v0("p { assign(x, 1); x == 1 }"), "true");
}

#[test]
fn eq_has_no_value_and_assign_assigns_like_its_sign() {
    for rules in ["p := eq(1, 1)", "p := [eq(1, input)]", "p if eq(1, 2) == false", "p contains eq(1, 1)"] {
        assert_eq!(refusal(rules), ["expression is unsafe"], "{rules}");
    }
    for body in ["count(eq(1, 1)) > 0", "not count(eq(1, 1))", "true with input as eq(1, 1)"] {
        let once = answer(&format!("p if {{ {body} }}"), RegoVersion::V1);
        assert_eq!(once.unwrap_err(), ["expression is unsafe"], "{body}");
    }
    assert_eq!(refusal("p := y if { y := eq(1, 1); y }"), ["var y is unsafe"]);
    assert_eq!(refusal("p if { eq(1, 1, z); z }"), ["var z is unsafe"]);
    for rules in ["p if { eq(eq(1, 1), true) }", "p := input[eq(1, 1)]"] {
        assert_eq!(refusal(rules), ["eq: too many arguments"], "{rules}");
    }
    for (body, message) in [
        ("x := 1; assign(x, 2)", "var x assigned above"),
        ("assign(x, 1); x := 2", "var x assigned above"),
        ("assign(x, x)", "var x referenced above"),
        ("not assign(x, 2)", "cannot assign vars inside negated expression"),
        ("assign(1, 2)", "cannot assign to number"),
    ] {
        let found = refusal(&format!("p if {{ {body} }}"));
        assert!(found.iter().any(|found| found == message), "{body}: {found:?}");
    }
}

#[test]
fn a_part_of_what_rules_make_is_not_replaced() {
    let partly = "with keyword cannot partially replace virtual document(s)";
    for (rules, modifier) in [
        ("q := {\"a\": 1}", "data.t.q.a as 5"),
        ("q contains 1", "data.t.q.zz as 5"),
        ("q(x) := 1", "data.t.q.zz as 5"),
        ("default q := 1", "q.b.c as 5"),
        ("q.a := 1", "q.a.b as 5"),
        ("q[x] := 1 if some x in [\"a\"]\nq.b := 3", "q.b as 5"),
        ("q.a[x].c := 1 if some x in [\"a\"]", "q.a.a.c as 5"),
        ("q[[1]] := 7", "data.t.q.a as 5"),
        ("q[{\"a\": 1}] := 7", "data.t.q.a as 5"),
    ] {
        assert_eq!(refusal(&format!("{rules}\np if {{ true with {modifier} }}")), [partly], "{rules}");
    }
    let v0 = answer("q[1] { true }\np { q[1] with data.t.q.zz as 5 }", RegoVersion::V0);
    assert_eq!(v0.unwrap_err(), [partly]);
    for (rules, modifier, expected) in [
        ("q.a := 1\nq.b := 2", "q.a as 5", r#"{"a":5,"b":2}"#),
        ("q.a := 1\nq.b := 2", "q as 5", "5"),
        ("q.a := 1", "q.c as 5", r#"{"a":1,"c":5}"#),
        ("q.a.b := 1", "q.a.c as 5", r#"{"a":{"b":1,"c":5}}"#),
        ("q.a[x] := 1 if some x in [\"a\"]", "q.a as 5", r#"{"a":5}"#),
        ("q := 1", "data.other.x as 5", "1"),
    ] {
        assert_eq!(v1(&format!("{rules}\np := x if {{ x := q with {modifier} }}")), expected, "{rules}");
    }
    assert!(answer("q[1] := 7\np if { q[1] with data.t.q[\"1\"] as 5 }", RegoVersion::V1).is_ok());
}

#[test]
fn a_rule_below_a_scalar_key_is_there_although_it_does_not_hold() {
    for (rules, expected) in [
        ("q[1] contains 2 if input.no", r#"{"1":[]}"#),
        ("q[1][x] := 2 if { x := input.no }", r#"{"1":{}}"#),
        ("q[1].a := 2 if input.no", r#"{"1":{}}"#),
        ("q[1].a.b := 2 if input.no", r#"{"1":{"a":{}}}"#),
        ("q[null][true] contains 2 if input.no", r#"{"null":{"true":[]}}"#),
        ("q.a[1.50] contains 2 if input.no", r#"{"a":{"1.50":[]}}"#),
        ("q[1][[2]] contains 2 if input.no", r#"{"1":{}}"#),
        ("q[[2]][1] contains 2 if input.no", "{}"),
        ("q[1] := 2 if input.no", "{}"),
        ("q[1] contains 2 if input.no\nq[2] := 3", r#"{"1":[],"2":3}"#),
        ("q.a contains 2 if input.no\nq[1] := 3", r#"{"1":3,"a":[]}"#),
        ("q[1].a := 2 if input.no\nq[1].b contains 3 if input.no", r#"{"1":{"b":[]}}"#),
        // A variable takes in what is below.
        ("q[1] contains 2 if input.no\nq[x] := 3 if { x := \"z\" }", r#"{"z":3}"#),
        ("q[1].a contains 2 if input.no\nq[1][x] := 3 if { x := input.no }", r#"{"1":{}}"#),
        ("default q[1] := 3\nq[1] := 2 if input.no", r#"{"1":3}"#),
        ("default q[1] := 3\nq[1] := 2", r#"{"1":2}"#),
    ] {
        assert_eq!(v1(&format!("{rules}\np := q")), expected, "{rules}");
    }
    assert_eq!(v1("q[1] contains 2 if input.no\np if not q[1]"), "undefined");
    assert_eq!(v1("q[1] contains 2 if input.no\np := count(q[1])"), "0");
    assert_eq!(answer("q[1][x] { x := input.no }\np = q", RegoVersion::V0).unwrap(), r#"{"1":{}}"#);
}

#[test]
fn an_else_beside_a_variable_key_is_not_tried() {
    for (rules, expected) in [
        ("q.a := 1 if { false } else := 5\nq[x] := 3 if { x := \"z\" }", r#"{"z":3}"#),
        ("q.a.b := 1 if { false } else := 5\nq.a[x] := 3 if { x := \"z\" }", r#"{"a":{"z":3}}"#),
        ("q[1] := 1 if { false } else := 5\nq[x] := 3 if { x := \"z\" }", r#"{"z":3}"#),
        ("q[1] := 1 if { false } else := 5\nq[2] := 3", r#"{"1":5,"2":3}"#),
        ("q.a := 1 if { false } else := 5\nq.b := 3", r#"{"a":5,"b":3}"#),
    ] {
        assert_eq!(v1(&format!("{rules}\np := q")), expected, "{rules}");
    }
}

#[test]
fn input_in_the_place_of_input_changes_no_type() {
    for body in ["q.b with input.x as 1", "not q.b with input as 1"] {
        let found = refusal(&format!("q := {{\"a\": 1}}\np if {body}"));
        assert!(matches!(&found[..], [one] if one.starts_with("undefined ref")), "{body}: {found:?}");
    }
}

#[test]
fn arguments_of_a_rule_have_no_calls() {
    for argument in ["1 + 1", "count([1])", "[count([1])]", "{\"k\": count([])}", "g(1)"] {
        let rules = format!("f({argument}) := 1\ng(x) := x\np := f(2)");
        assert_eq!(refusal(&rules), ["rule arguments cannot contain calls"], "{rules}");
    }
    assert_eq!(v1("f([x, {\"k\": y}], -1) := x + y\np := f([1, {\"k\": 2}], -1)"), "3");
}

#[test]
fn rules_below_the_same_constants_are_of_one_kind() {
    for rules in [
        "p[x] contains 1 if x := \"a\"\np[y] := 2 if y := \"b\"",
        "p[x] contains 1 if x := \"a\"\np[y].z := 2 if y := \"b\"",
        "p.q[x] contains 1 if x := \"a\"\np.q[y] := 2 if y := \"b\"",
        "p[1] contains 1\np[1] := 2",
        "p[x] := 3 if x := \"c\"\np.a contains 1\np.a := 2",
        "p[x] := 3 if x := \"c\"\np.a := 2\np.a[y] := 2 if y := \"b\"",
    ] {
        let messages = refusal(rules);
        assert!(
            messages.iter().all(|message| message.starts_with("conflicting rules data.t.p")),
            "{messages:?}"
        );
    }
    assert_eq!(v1("p[x] contains 1 if x := \"a\"\np.b := 2\np.c contains 3"), r#"{"a":[1],"b":2,"c":[3]}"#);
}

#[test]
fn a_call_of_a_builtin_function_is_no_rule() {
    for statement in ["trace(\"x\")", "net.cidr_is_valid(\"x\")", "plus(1, 2)"] {
        let rules = format!("p := 1\n{statement}");
        assert_eq!(refusal(&rules), ["rule name conflicts with built-in function"], "{rules}");
    }
    assert_eq!(v1("p := f(1)\ncount(x) := 5\nf(x)\nupper(x) if x == 1"), "true");
}
