//! Tests of the tree of a small module, and of what is refused. OPA is asked in `tests/conformance`.

use eval_budget::Budget;

use super::*;

fn parsed(text: &str, budget: &Budget) -> Answer {
    parse(&[&Value::from("m.rego"), &Value::from(text)], &Meter::new(budget))
}

fn tree(text: &str) -> Option<String> {
    parsed(text, &Budget::default()).unwrap().map(|tree| tree.to_json_str())
}

#[test]
fn a_rule_is_its_head_and_its_body() {
    let tree = tree("package a\nimport data.b as c\np := 1 if not x").unwrap();
    for part in [
        r#""package":{"path":[{"type":"var","value":"data"},{"type":"string","value":"a"}]}"#,
        r#""imports":[{"alias":"c","path":"#,
        r#""body":[{"index":0,"negated":true,"terms":{"type":"var","value":"x"}}]"#,
        r#""head":{"assign":true,"name":"p","ref":[{"type":"var","value":"p"}],"value":{"type":"number","value":1}}"#,
    ] {
        assert!(tree.contains(part), "{part} is not in {tree}");
    }
}

#[test]
fn comments_have_a_place_and_no_rule_is_left_out() {
    let tree = tree("# a\npackage a # é\n#\r\n").unwrap();
    let place =
        |column: u32, row: u32| format!(r#""Location":{{"col":{column},"file":"m.rego","row":{row}}}"#);
    for part in [
        place(1, 1) + r#","Text":"IGE=""#,
        place(11, 2) + r#","Text":"IMOp""#,
        place(1, 3) + r#","Text":null"#,
    ] {
        assert!(tree.contains(&part), "{part} is not in {tree}");
    }
    assert!(!tree.contains("rules"), "{tree}");
}

#[test]
fn what_is_no_module_of_rego_v1_is_undefined() {
    for text in
        ["", "package a.", "p := 1", "package a\np { true }", "package a\np[1]", "package a\nimport x"]
    {
        assert_eq!(tree(text), None, "{text:?}");
    }
}

#[test]
fn large_texts_are_paid_for() {
    let text = format!("package a\np := [{}]", "1,\n".repeat(100_000));
    assert!(parsed(&text, &Budget::default()).is_ok());
    let short = Budget::default().with_instructions(100_000);
    assert!(matches!(parsed(&text, &short), Err(EvalError::Budget(_))));
    let deep = format!("package a\np := {}{}", "[".repeat(200), "]".repeat(200));
    assert!(matches!(parsed(&deep, &Budget::default()), Err(EvalError::Budget(_))));
}
