//! Calls and stand-ins that the compiler refuses.

use crate::{Diagnostics, Module, RegoVersion, Restrictions, compile};

/// Returns the errors of the check of a single module about a rule.
pub(super) fn refusals(rule: &str, version: RegoVersion) -> Vec<String> {
    let module = Module::parse("t.rego", &format!("package t\n{rule}"), version).unwrap();
    messages(module.check(&Restrictions::default()).err())
}

fn messages(found: Option<Diagnostics>) -> Vec<String> {
    found.map_or_else(Vec::new, |all| all.iter().map(|diagnostic| diagnostic.message.clone()).collect())
}

fn wrong(body: &str) -> Vec<String> {
    let module = Module::parse("t.rego", &format!("package t\n{body}"), RegoVersion::V1).unwrap();
    messages(compile(&[module], "data.t.r", &Restrictions::default()).err())
}

#[test]
fn a_function_stands_in_for_one_of_the_same_arguments() {
    let with = |modifier: &str| {
        wrong(&format!(
            "r := x if {{ x := q with {modifier} }}\nq := [count([1]), f(1)]\nf(x) := x\ng(x, y) := [x, y]\nc := 5"
        ))
    };
    for modifier in ["count as f", "f as count", "count as c", "f as 1", "sprintf as g", "http.send as f"] {
        assert_eq!(with(modifier), [""; 0], "{modifier}");
    }
    for (modifier, target) in [
        ("count as g", "count"),
        ("count as time.now_ns", "count"),
        ("f as g", "data.t.f"),
        ("upper as abs", "upper"),
        ("time.now_ns as f", "time.now_ns"),
    ] {
        assert_eq!(with(modifier), [format!("{target}: arity mismatch")], "{modifier}");
    }
    let not = |what: &str| [format!("with keyword replacing built-in function: target must not be {what}")];
    assert_eq!(with("walk as f"), not("a relation"));
    assert_eq!(with("print as f"), not("a void function"));
    assert_eq!(with("f as http.send"), not("unsafe: \"http.send\""));
    let replacing = |what: &str| [format!("with keyword replacing built-in function: {what}")];
    assert_eq!(with("f as walk"), replacing("\"walk\" cannot replace a function"));
    assert_eq!(with("eq as 5"), replacing("replacement of \"eq\" invalid"));
    assert_eq!(with("g as eq"), replacing("\"eq\" cannot replace a function"));
    for name in ["member_2", "member_3", "template_string", "print", "test_case"] {
        let message = format!("replacement of internal function \"internal.{name}\" invalid");
        assert_eq!(with(&format!("internal.{name} as 5")), replacing(&message));
    }
    for metadata in ["rego.metadata.rule", "rego.metadata.chain"] {
        assert_eq!(
            with(&format!("{metadata} as 1")),
            replacing(&format!("replacement of \"{metadata}\" invalid"))
        );
        let found = with(&format!("time.now_ns as {metadata}"));
        assert_eq!(found[0..1], replacing(&format!("\"{metadata}\" cannot replace a function")));
    }
}

#[test]
fn printing_has_no_value() {
    for rule in ["r := print(1)", "r if { x := print(1); x }", "r if { print(1) == true }", "r := [print(1)]"]
    {
        assert_eq!(wrong(rule), ["print(...) used as value"], "{rule}");
    }
    assert!(wrong("r if { print(1) }").is_empty());
}
