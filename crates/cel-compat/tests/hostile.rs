//! Nothing that an author can write panics, hangs or exhausts the stack: it is refused, or it ends within its budget.

#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects, reason = "a test says no by panicking")]

use std::collections::BTreeMap;

use cel_compat::{Budget, Environment, EvalError, Evaluation, Type, Value};
use proptest::prelude::*;
use serde_json::json;

fn environment() -> Environment {
    Environment::default()
        .with("object", Type::Dyn)
        .with("request", Type::REQUEST)
        .with_variable("params", Type::Dyn)
}

fn values() -> BTreeMap<String, Value> {
    let object =
        json!({"a": [1, "x", null, {"b": 1.5}], "s": "text", "n": -1, "l": [3, 1, 2], "m": {"k": [true]}});
    let named =
        [("object", object), ("request", json!({"operation": "CREATE"})), ("variables.params", json!(["p"]))];
    named.map(|(name, value)| (name.to_owned(), Value::from_json(&value))).into()
}

fn small() -> Budget {
    Budget::default().with_instructions(200_000).with_memory(8 << 20).with_stack(1 << 19)
}

fn run(environment: &Environment, text: &str) -> Option<Result<Value, EvalError>> {
    let expression = environment.compile(text).ok()?;
    Some(Evaluation::new(environment, &values(), &small()).evaluate(&expression))
}

/// With the stack of a thread of a runtime.
fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(test).unwrap().join().unwrap();
}

/// Parts that, put side by side, often parse and sometimes check.
const PARTS: [&str; 60] = [
    "object",
    "object.a",
    "object.s",
    "object.l",
    "object.m",
    ".k",
    ".?b",
    "[0]",
    "[?0]",
    "['k']",
    "1",
    "2u",
    "1.5",
    "-9223372036854775808",
    "'x'",
    "b'x'",
    "\"%s\"",
    "null",
    "true",
    " + ",
    " - ",
    " * ",
    " / ",
    " % ",
    " == ",
    " < ",
    " in ",
    " && ",
    " || ",
    " ? ",
    " : ",
    "!",
    "-",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ", ",
    "size(",
    "string(",
    "int(",
    "has(",
    ".map(x, ",
    ".all(x, ",
    ".filter(i, ",
    ".exists(i, v, ",
    ".transformMap(k, v, ",
    ".sortBy(e, ",
    "x",
    "v",
    ".format([",
    ".matches('a+')",
    ".split(",
    ".replace(",
    "quantity('1Gi')",
    "timestamp('2020-01-01T00:00:00Z')",
    "duration('1h')",
    "variables.params",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_refused_or_ends(text in "\\PC{0,60}") {
        run(&environment(), &text);
    }

    #[test]
    fn any_row_of_parts_is_refused_or_ends(parts in prop::collection::vec(prop::sample::select(&PARTS[..]), 0..24)) {
        run(&environment(), &parts.concat());
    }

    #[test]
    fn any_two_operands_have_a_value_or_an_error(
        a in prop::sample::select(OPERANDS), b in prop::sample::select(OPERANDS), operator in prop::sample::select(OPERATORS)
    ) {
        let text = operator.replace("{a}", &format!("dyn({a})")).replace("{b}", &format!("dyn({b})"));
        if let Some(Err(EvalError::Budget(limit))) = run(&environment(), &text) {
            return Err(TestCaseError::fail(format!("{text}: {limit}")));
        }
    }
}

const OPERANDS: &[&str] = &[
    "null",
    "true",
    "0",
    "-9223372036854775808",
    "9223372036854775807",
    "0u",
    "18446744073709551615u",
    "0.0",
    "1e308",
    "double('NaN')",
    "double('-Infinity')",
    "''",
    "'é\\u0301'",
    "b'\\xff'",
    "[]",
    "[1, 2]",
    "{}",
    "{'a': 1}",
    "optional.none()",
    "optional.of(1)",
    "duration('2562047h')",
    "duration('-1ns')",
    "timestamp('0001-01-01T00:00:00Z')",
    "timestamp('9999-12-31T23:59:59.999999999Z')",
    "quantity('999999999999999999999999999Ei')",
    "quantity('1n')",
    "semver('1.2.3-a')",
    "ip('::1')",
    "cidr('10.0.0.1/8')",
    "url('https://u@h:1/p?q#f')",
    "type(1)",
    "format.uuid()",
];

const OPERATORS: &[&str] = &[
    "{a} + {b}",
    "{a} - {b}",
    "{a} * {b}",
    "{a} / {b}",
    "{a} % {b}",
    "{a} == {b}",
    "{a} < {b}",
    "{a} in {b}",
    "{a}[{b}]",
    "{a}[?{b}]",
    "[{a}, {b}].sort()",
    "[{a}, {b}].sum()",
    "[{a}, {b}].max()",
    "{a}.map(x, {b})",
    "'%s %s'.format([{a}, {b}])",
    "'%e %d'.format([{a}, {b}])",
    "'%x %f'.format([{a}, {b}])",
    "{a}.charAt({b})",
    "{a}.substring({b})",
    "{a}.indexOf({b})",
    "{a}.lastIndexOf({a}, {b})",
    "{a}.split({a}, {b})",
    "{a}.slice({b}, {b})",
    "{a}.flatten({b})",
    "lists.range({a})",
    "{a}.compareTo({b})",
    "{a}.add({b})",
    "{a}.sub({b})",
    "{a}.asInteger()",
    "{a}.getHours({b})",
    "int({a})",
    "uint({a})",
    "double({a})",
    "string({a})",
    "bytes({a})",
    "timestamp({a})",
    "duration({a})",
    "quantity({a})",
    "-{a}",
    "{a}.orValue({b})",
    "{a}.matches({b})",
    "{a}.findAll({b}, {b})",
    "{a}.replace({b}, {a})",
    "[{a}].join({b})",
    "{a}.containsIP({b})",
    "{a}.getDayOfYear()",
];

#[track_caller]
fn exhausts(environment: &Environment, text: &str) {
    let outcome = run(environment, text);
    assert!(matches!(outcome, Some(Err(EvalError::Budget(_)))), "{text}: {outcome:?}");
}

#[test]
fn nesting_is_refused_before_the_stack_ends() {
    on_a_small_stack(|| {
        let deep = |open: &str, close: &str, n: usize| format!("{}1{}", open.repeat(n), close.repeat(n));
        for n in [150, 199, 250, 20_000] {
            for (open, close) in [
                ("(", ")"),
                ("[", "]"),
                ("-(", ")"),
                ("{'a': ", "}"),
                ("[1].map(x, ", ")"),
                ("true ? 1 : ", ""),
            ] {
                run(&environment(), &deep(open, close, n));
            }
            for link in [" + 1", ".a", "[0]", " == 1", " && true", ".reverse()"] {
                run(&environment(), &format!("object{}", link.repeat(n)));
            }
        }
        // A long chain inside brackets inside a long chain, and so on: each is short enough by itself.
        let mut chained = "1".to_owned();
        for _ in 0..150 {
            chained = format!("({chained}{})", " + 1".repeat(150));
        }
        assert!(environment().compile(&chained).is_err());
    });
}

#[test]
fn a_chain_has_as_many_links_as_in_cel_go() {
    on_a_small_stack(|| {
        for link in [" + 1", " * 1", ".a", "[0]", ".reverse()"] {
            let chain = |links: usize| format!("object{}", link.repeat(links));
            assert!(run(&environment(), &chain(250)).is_some(), "{link}");
            assert!(environment().compile(&chain(251)).unwrap_err().exceed_limit(), "{link}");
        }
    });
    let environment = environment();
    let sum = environment.compile(&format!("0{}", " + 1".repeat(250))).unwrap();
    let budget = Budget::default().with_stack(1 << 20);
    assert_eq!(Evaluation::new(&environment, &values(), &budget).evaluate(&sum), Ok(Value::Int(250)));
}

#[test]
fn a_chain_of_variables_ends_before_the_stack() {
    on_a_small_stack(|| {
        let mut environment = environment();
        let wrap = |inner: &str| format!("{}{inner}{}", "[".repeat(90), "]".repeat(90));
        let mut refused = 0;
        for number in 0..200 {
            let below = if number == 0 { "1".to_owned() } else { format!("variables.v{}", number - 1) };
            match environment.compile(&wrap(&below)) {
                Ok(expression) => environment.define(&format!("v{number}"), expression),
                Err(_) => {
                    refused += 1;
                    environment.define_unknown(&format!("v{number}"));
                }
            }
        }
        assert!(refused > 10);
        run(&environment, "[variables.v9] == [variables.v9]");
    });
}

#[test]
fn work_that_grows_without_bound_exhausts_the_budget() {
    let mut environment = environment();
    for number in 0..60 {
        let below = if number == 0 { "'x'".to_owned() } else { format!("variables.v{}", number - 1) };
        let text = format!("[dyn({below}), dyn({below})]");
        let doubled = environment.compile(&text).unwrap();
        environment.define(&format!("v{number}"), doubled);
    }
    exhausts(&environment, "'%s'.format([variables.v59])");
    exhausts(&environment, "variables.v59 == variables.v59");
    exhausts(&environment, "variables.v59.flatten(60)");
    for text in [
        "lists.range(1000000)",
        "lists.range(100000).map(x, lists.range(100000))",
        "lists.range(10000).all(x, lists.range(10000).all(y, true))",
        "lists.range(1000).map(x, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa').join('').replace('', lists.range(1000).map(x, 'bbbb').join(''))",
    ] {
        exhausts(&environment, text);
    }
}

#[test]
fn nothing_absorbs_an_exhausted_budget() {
    let text = "true || lists.range(100000).all(x, lists.range(100000).all(y, true))";
    assert_eq!(run(&environment(), text), Some(Ok(Value::Bool(true))));
    let text = "lists.range(100000).all(x, lists.range(100000).all(y, true)) || true";
    exhausts(&environment(), text);
}
