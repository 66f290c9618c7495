//! The second back end answers as the first, keeps to the budget, and says what it cannot do.

use std::time::Duration;

use crate::value::Value;

use super::Reason;
use crate::{Backend, Budget, EvalError, Limit, Module, Number, Program, RegoVersion, Rules, compile};

fn program(body: &str) -> Program {
    let text = format!("package p\nimport future.keywords.every\nimport future.keywords.in\n{body}");
    let module = Module::parse("p.rego", &text, RegoVersion::V0).unwrap();
    compile(&[module], "data.p.q", &Rules::default()).unwrap()
}

fn both(body: &str, input: &str) -> Result<Option<Value>, EvalError> {
    let input = Value::from_json_str(input).unwrap();
    let first = program(body);
    let second = first.with_backend(Backend::Rvm).unwrap();
    assert_eq!(second.backend(), Backend::Rvm);
    let [first, second] =
        [first, second].map(|program| program.evaluate(&input, &Value::new_object(), &Budget::default()));
    assert_eq!(first, second, "{body}");
    first
}

fn json(text: &str) -> Value {
    Value::from_json_str(text).unwrap()
}

#[test]
fn both_back_ends_answer_alike() {
    let input = r#"{"a": [3, 1, 2], "o": {"x": 1, "y": [true, null]}, "s": "a\"b\\c\u00e9"}"#;
    let cases = [
        ("q = x { x := input.a[0] + 1 }", "4"),
        ("q = x { x := [y | y := input.a[_]; y > 1] }", "[3, 2]"),
        ("q = x { x := {k: v | v := input.o[k]} }", r#"{"x": 1, "y": [true, null]}"#),
        ("q { not input.missing }", "true"),
        ("q { every x in input.a { x > 0 } }", "true"),
        ("q = x { [_, x] = input.o.y }", "null"),
        ("f(x) = y { y := x * 2 } else = 0 { true }\nq = f(input.a[1])", "2"),
        ("f(1) = 7\nf(2) = 8\ndefault f(_) = 9\nq = [f(1), f(2), f(3)]", "[7, 8, 9]"),
        ("default q = 5\nq = 6 { input.missing }", "5"),
        ("s[x] { x := input.a[_] }\nq = count(s)", "3"),
        ("o[k] = v { v := input.o[k] }\nq = o[\"x\"]", "1"),
        ("q = x { x := sprintf(\"%s|%d\", [input.s]) }", r#""a\"b\\c\u00e9|%!d(MISSING)""#),
        ("q = x { x := [p | walk(input.o, [p, true])] }", r#"[["y", 0]]"#),
        ("q = x { x := \"\\u2028 {} \\\"\" }", r#""\u2028 {} \"""#),
        ("q = x { some i; input.a[i] == 2; x := i }", "2"),
        ("q = input.o.y[i] { i := 0 }", "true"),
    ];
    for (body, expected) in cases {
        assert_eq!(both(body, input), Ok(Some(json(expected))), "{body}");
    }
}

#[test]
fn undefined_is_undefined_on_both() {
    for body in [
        "f(x) = x\nq { not f(input.missing) }",
        "q { startswith(input.a, \"a\") }",
        "q = x { x := input.missing.deeper }",
        "q = {input.a, input.missing}",
    ] {
        assert_eq!(both(body, r#"{"a": 1}"#), Ok(None), "{body}");
    }
}

#[test]
fn conflicts_are_conflicts_on_both() {
    for body in [
        "q = 1\nq = input.a",
        "f(x) = 1\nf(x) = x\nq = f(input.a)",
        "q = x { x := {\"k\": v | v := [1, 2][_]} }",
        "o[k] = v { k := \"k\"; v := [1, 2][_] }\nq = o",
    ] {
        assert!(matches!(both(body, r#"{"a": 2}"#), Err(EvalError::Conflict { .. })), "{body}");
    }
}

#[test]
fn what_the_machine_cannot_do_is_said() {
    let refused = |body| program(body).with_backend(Backend::Rvm).unwrap_err().reasons;
    assert_eq!(refused("r = input.a\nq { r with input.a as 1 }"), [Reason::With]);
    assert_eq!(refused("q = time.now_ns()"), [Reason::Nondeterministic("time.now_ns".to_owned())]);
    assert_eq!(refused("a = 1\nq = 1 { data.p.r[input.a] }\nr.s = 1"), [Reason::Package]);
    assert!(matches!(refused("o[a][b] = 1 { a := 1; b := 2 }\nq = o").as_slice(), [Reason::ObjectRule(_)]));
}

#[test]
fn the_machine_keeps_to_the_budget() {
    let slow = program("q = count([1 | numbers.range(1, 3000)[_] < numbers.range(1, 3000)[_]])");
    let slow = slow.with_backend(Backend::Rvm).unwrap();
    let ended = |budget| slow.evaluate(&Value::Null, &Value::new_object(), &budget).unwrap_err();
    assert_eq!(ended(Budget::default().with_time(Duration::ZERO)), EvalError::Budget(Limit::Time));
    assert_eq!(ended(Budget::default().with_instructions(1000)), EvalError::Budget(Limit::Instructions));
    assert_eq!(ended(Budget::default().with_memory(1000)), EvalError::Budget(Limit::Memory));
}

#[test]
fn a_function_of_the_host_is_asked_once_for_each_argument() {
    struct Doubling(std::cell::Cell<u32>);
    impl crate::Externals for Doubling {
        fn call(&self, _: &str, argument: &Value) -> Result<Option<Value>, EvalError> {
            self.0.set(self.0.get() + 1);
            Ok(argument.as_number().ok().and_then(Number::as_u64).map(|number| (number * 2).into()))
        }
    }
    let text = "package p\nq = [double(input.a), double(input.a), double(input.b)]";
    let module = Module::parse("p.rego", text, RegoVersion::V0).unwrap();
    let rules = Rules::default().with_external_functions(["double"]);
    let program = compile(&[module], "data.p.q", &rules).unwrap().with_backend(Backend::Rvm).unwrap();
    let host = Doubling(std::cell::Cell::new(0));
    let input = json(r#"{"a": 1, "b": 2}"#);
    let answer = program.evaluate_with(&input, &Value::new_object(), &Budget::default(), &host);
    assert_eq!((answer, host.0.get()), (Ok(Some(json("[2, 2, 4]"))), 2));
}

#[test]
fn a_package_is_its_rules_and_the_data_beside_them() {
    let text = "package p\na = input.x\nb[1]\nf(x) = x\nc { input.missing }";
    let module = Module::parse("p.rego", text, RegoVersion::V0).unwrap();
    let program = compile(&[module], "data.p", &Rules::default()).unwrap();
    let machine = program.with_backend(Backend::Rvm).unwrap();
    let (input, data) = (json(r#"{"x": 1}"#), json(r#"{"p": {"a": 9, "z": 2}}"#));
    let budget = Budget::default();
    let answer = machine.evaluate(&input, &data, &budget);
    assert_eq!(answer, program.evaluate(&input, &data, &budget));
    let answer = answer.unwrap().unwrap();
    assert_eq!(answer.as_object().unwrap().get(&"z".into()), Some(&2.into()));
}

#[test]
fn the_interpreter_is_what_auto_chooses() {
    let program = program("q = 1").with_backend(Backend::Auto).unwrap();
    assert_eq!(program.backend(), Backend::Interpreter);
}

#[test]
fn numbers_keep_their_spelling_on_both() {
    let answer = both("q = [x, y, z] { x := input.a; y := x + 0.10; z := 1.50 }", r#"{"a": 1.0}"#);
    assert_eq!(answer.unwrap().unwrap().to_json_str(), "[1.0,1.1,1.50]");
}
