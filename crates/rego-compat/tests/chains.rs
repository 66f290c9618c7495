//! Chains of left-associative operators are not nesting: they are as long as a rule may be, and take no stack.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects, reason = "a test says no by panicking")]

use rego_compat::{Budget, Diagnostics, Module, Program, RegoVersion, Restrictions, Value, compile};

/// `first`, and as many operators with operands behind it, one on each line.
fn chain(first: &str, link: &str, count: usize) -> String {
    format!("{first}{}", format!("\n{link}").repeat(count))
}

fn compiled(text: &str, restrictions: &Restrictions) -> Result<Program, Diagnostics> {
    let module = Module::parse("t.rego", &format!("package t\n{text}"), RegoVersion::V1)?;
    compile(&[module], "data.t.p", restrictions)
}

fn answer(text: &str) -> Option<Value> {
    let program = compiled(text, &Restrictions::default()).unwrap();
    program.evaluate(&Value::Null, &Value::new_object(), &Budget::default()).unwrap()
}

/// Longer than any stack is deep that recursed into the chain.
const LONG: usize = 9_000;

#[test]
fn long_chains_have_values_wherever_they_stand() {
    let sum = chain("1", "+ 1", LONG);
    assert_eq!(answer(&format!("p := {sum}")), Some(Value::from(LONG + 1)));
    assert_eq!(answer(&format!("p if {{ {sum} == {} }}", LONG + 1)), Some(Value::from(true)));
    assert_eq!(answer(&format!("p if {{ {} }}", chain("1", "- 1", LONG))), Some(Value::from(true)));
    let half = chain("1", "+ 1", LONG / 3);
    assert_eq!(answer(&format!("p := count({{ {half}, {half} + 1, 7 }})")), Some(Value::from(3)));
    assert_eq!(answer(&format!("p := [x | x := {sum}][0]")), Some(Value::from(LONG + 1)));
    assert_eq!(answer(&format!("p := {}", chain("{1}", "| {2}", LONG))), answer("p := {1, 2}"));
    assert_eq!(answer(&format!("p := {}", chain("1 in [1]", "in [true]", 300))), Some(Value::from(true)));
}

#[test]
fn operators_of_several_levels_make_chains_in_chains() {
    let product = chain("2", "* 1", 300);
    assert_eq!(answer(&format!("p := {}", chain("0", &format!("+ {product}"), 20))), Some(Value::from(40)));
    assert_eq!(answer("p := 100 - 10 - 1 * 2 * 3 + 4 / 2 / 2 - 1"), Some(Value::from(84)));
}

#[test]
fn the_bound_is_that_of_a_rule() {
    let refused =
        compiled(&format!("p := {}", chain("1", "+ 1", 10_001)), &Restrictions::default()).unwrap_err();
    assert!(refused.to_string().contains("10000"), "{refused}");
    let mut bounds = Restrictions::default().bounds();
    bounds.terms = 20_000;
    let restrictions = Restrictions::default().with_bounds(bounds);
    let program = compiled(&format!("p := {}", chain("1", "+ 1", 10_000)), &restrictions).unwrap();
    let value = program.evaluate(&Value::Null, &Value::new_object(), &Budget::default()).unwrap();
    assert_eq!(value, Some(Value::from(10_001)));
}

#[test]
fn the_order_of_elements_that_are_chains_is_that_of_nested_calls() {
    // Which of two calls is checked first decides whether this compiles: see `desugar/element`.
    let compiles = |set: &str| {
        let text =
            format!("f(a, b) := 1 if b\ng(x) := startswith(\"a\", x) if {{ v := {set} }}\np := g(\"a\")");
        compiled(&text, &Restrictions::default()).is_ok()
    };
    assert!(compiles("{object.get(x, \"a\", 1) + 1 + 1, f(x, 1) + 1 + 1}"));
    assert!(compiles("{(object.get(x, \"a\", 1) + 1) + 1, (f(x, 1) + 1) + 1}"));
    assert!(!compiles("[object.get(x, \"a\", 1) + 1 + 1, f(x, 1) + 1 + 1]"));
}

#[test]
fn a_tree_too_deep_to_be_a_value_is_a_limit() {
    let tree = |count: usize| {
        let inner = chain("1", "+ 1", count).replace('\n', " ");
        let program = compiled(
            &format!("p := rego.parse_module(\"a.rego\", \"package a\\np := {inner}\")"),
            &Restrictions::default(),
        );
        program.unwrap().evaluate(&Value::Null, &Value::new_object(), &Budget::default())
    };
    assert!(tree(100).unwrap().is_some());
    assert!(tree(1_000).is_err());
}

/// A body of a rule where `and` and `or` are keywords.
fn logic(body: &str) -> String {
    format!("import future.keywords.and\nimport future.keywords.or\np if {{ {body} }}")
}

#[test]
fn chains_of_and_and_or_are_as_long_as_a_rule_may_be() {
    let mut bounds = Restrictions::default().bounds();
    bounds.terms = 40_000;
    let restrictions = Restrictions::default().with_bounds(bounds);
    let answer = |body: &str| {
        let program = compiled(&logic(body), &restrictions).unwrap();
        program.evaluate(&Value::Null, &Value::new_object(), &Budget::default()).unwrap()
    };
    let holds = Some(Value::from(true));
    assert_eq!(answer(&chain("true", "and 1 == 1", 10_000)), holds);
    assert_eq!(answer(&format!("{}\nand 1 == 2", chain("true", "and 1 == 1", 10_000))), None);
    assert_eq!(answer(&format!("{}\nor 1 == 1", chain("false", "or 1 == 2", 10_000))), holds);
    assert_eq!(answer(&chain("false", "or 1 == 2", 10_000)), None);
    assert_eq!(answer(&chain("false", "or true and 1 == 2", 5_000)), None);
    assert_eq!(answer(&format!("{}\nor true and true", chain("false", "or true and 1 == 2", 5_000))), holds);
    assert_eq!(answer(&format!("({}) and 1 == 1", chain("true", "or false", 300).replace('\n', " "))), holds);
}

#[test]
fn statements_beside_one_another_are_not_nested() {
    assert_eq!(answer(&logic(&chain("true", "1 == 1 and 2 == 2", 500))), Some(Value::from(true)));
    assert_eq!(answer(&logic(&chain("true", "1 == 2 or 2 == 2", 500))), Some(Value::from(true)));
}

#[test]
fn operands_inside_one_another_are_nested() {
    let nested = |levels: usize| {
        let body = format!("{}1 == 1{}", "true and (true or ".repeat(levels), ")".repeat(levels));
        compiled(&logic(&body), &Restrictions::default())
    };
    assert!(nested(10).is_ok());
    assert!(nested(200).is_err());
}

#[test]
fn a_tree_of_many_operands_is_a_limit() {
    let tree = |count: usize| {
        let module =
            format!("package a\nimport future.keywords.and\np if {{ {} }}", chain("x", "and x", count));
        let text = format!("p := rego.parse_module(\"a.rego\", `{module}`)");
        let program = compiled(&text, &Restrictions::default()).unwrap();
        program.evaluate(&Value::Null, &Value::new_object(), &Budget::default())
    };
    assert!(tree(60).unwrap().is_some());
    assert!(tree(10_000).is_err());
}
