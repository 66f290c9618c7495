//! Tests found, run and covered.

use std::cell::RefCell;

use crate::parser::RegoVersion;

use super::*;

fn suite(texts: &[&str]) -> Suite {
    let parse = |(index, text): (usize, &&str)| {
        Module::parse(&format!("m{index}.rego"), text, RegoVersion::V1).unwrap()
    };
    let modules: Vec<Module> = texts.iter().enumerate().map(parse).collect();
    Suite::compile(&modules, &Restrictions::default().with_print()).unwrap()
}

fn outcome(text: &str) -> Outcome {
    let suite = suite(&[text]);
    suite.run(&suite.tests()[0], &Value::new_object(), &Budget::default(), &crate::NoExternals).unwrap()
}

#[test]
fn tests_are_found_by_their_names_in_order() {
    let suite = suite(&["package a.b\ntest_x if true\nhelp if true\ntodo_test_y if false\np.test_z if true"]);
    let found: Vec<_> = suite.tests().iter().map(|test| (&*test.name, test.line, test.skipped)).collect();
    assert_eq!(found, [("test_x", 2, false), ("todo_test_y", 4, true), ("p.test_z", 5, false)]);
    assert_eq!(suite.tests()[0].package, "data.a.b");
}

#[test]
fn tests_of_one_name_are_numbered_and_run_alone() {
    let suite = suite(&["package a\ntest_x if true\ntest_x if false", "package a\ntest_x if true"]);
    let names: Vec<_> = suite.tests().iter().map(|test| &*test.name).collect();
    assert_eq!(names, ["test_x", "test_x#01", "test_x#02"]);
    let run =
        |test| suite.run(test, &Value::new_object(), &Budget::default(), &crate::NoExternals).unwrap().passed;
    assert_eq!(suite.tests().iter().map(run).collect::<Vec<_>>(), [true, false, true]);
}

#[test]
fn only_true_passes() {
    assert!(outcome("package a\ntest_x if true").passed);
    assert!(!outcome("package a\ntest_x := 1").passed);
    assert!(!outcome("package a\ntest_x if input.x").passed);
    assert!(!outcome("package a\ntest_x contains 1").passed);
    assert!(!outcome("package a\ntest_x(y) if y == 1").passed);
}

#[test]
fn cases_that_do_not_hold_are_told_too() {
    let text = "package a\ntest_x[tc.note] if {\n\tsome tc in [{\"note\": \"one\", \"v\": 1}, {\"note\": \"two\", \"v\": 2}]\n\ttc.v == 1\n}";
    let found = outcome(text);
    assert!(!found.passed);
    let cases: Vec<_> = found.cases.iter().map(|case| (&*case.name, case.passed)).collect();
    assert_eq!(cases, [("one", true), ("two", false)]);
    let nested = outcome("package a\ntest_x[a][b] if {\n\tsome a, b in [[7], [8]][_]\n\ta == 0\n}");
    assert!(nested.passed && nested.cases[0].cases.len() == 2, "{nested:?}");
}

#[test]
fn printed_lines_reach_the_host() {
    struct Lines(RefCell<Vec<String>>);
    impl Externals for Lines {
        fn call(&self, _: &str, _: &Value) -> Result<Option<Value>, EvalError> {
            Ok(None)
        }
        fn print(&self, line: &str) {
            self.0.borrow_mut().push(line.to_owned());
        }
    }
    let suite = suite(&["package a\ntest_x if { print(\"x\", input.no, [1, \"y\"]); print([1, 2][_]) }"]);
    let lines = Lines(RefCell::default());
    assert!(suite.run(&suite.tests()[0], &Value::new_object(), &Budget::default(), &lines).unwrap().passed);
    assert_eq!(*lines.0.borrow(), ["x <undefined> [1, \"y\"]", "1", "2"]);
}

#[test]
fn coverage_has_the_expressions_that_were_tried_and_the_heads_that_held() {
    let text = "package a\n\nallow if {\n\tinput.x == 1\n\tinput.y == 2\n}\n\ntest_no if not allow with input as {\"x\": 3}";
    let module = Module::parse("a.rego", text, RegoVersion::V1).unwrap();
    let suite = Suite::compile_covered(&[module], &Restrictions::default()).unwrap();
    let mut coverage = Coverage::default();
    let test = &suite.tests()[0];
    let data = Value::new_object();
    suite.run_covered(test, &data, &Budget::default(), &crate::NoExternals, &mut coverage).unwrap();
    let report = suite.report(&coverage);
    let lines = |ranges: &[Range]| ranges.iter().map(|range| range.start.0).collect::<Vec<_>>();
    assert_eq!(lines(&report["a.rego"].covered), [8, 8]);
    assert_eq!(lines(&report["a.rego"].not_covered), [3, 4, 5]);
}

#[test]
fn a_test_runs_within_its_budget() {
    let suite = suite(&[
        "package a\ntest_x if { some x in numbers.range(1, 1000000); some y in numbers.range(1, 1000000); x == y + 1; false }",
    ]);
    let budget = Budget::default().with_instructions(10_000);
    let ended = suite.run(&suite.tests()[0], &Value::new_object(), &budget, &crate::NoExternals);
    assert!(matches!(ended, Err(EvalError::Budget(_))), "{ended:?}");
}
