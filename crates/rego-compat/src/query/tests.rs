//! Queries, their values and their bindings.

use super::*;

const LIB: &str = "package lib\nimport rego.v1\nnames := [\"a\", \"b\"]\nhas(x) if x in names";

fn ask(text: &str) -> Result<Vec<Solution>, String> {
    ask_in(text, &QueryScope { version: RegoVersion::V1, ..QueryScope::default() })
}

fn ask_in(text: &str, scope: &QueryScope) -> Result<Vec<Solution>, String> {
    let module = Module::parse("lib.rego", LIB, RegoVersion::V1).unwrap();
    let query = Query::compile(&[module], text, scope, &Restrictions::default())
        .map_err(|found| found.to_string())?;
    let input = Value::from_json_str(r#"{"x": 7}"#).unwrap();
    query
        .solve(&input, &Value::new_object(), &Budget::default(), &crate::NoExternals)
        .map_err(|error| error.to_string())
}

fn json(value: &Value) -> String {
    serde_json::to_string(value).unwrap()
}

/// Values and bindings as one JSON text per solution.
fn shown(text: &str) -> Vec<String> {
    let show = |solution: &Solution| {
        let values: Vec<String> = solution.values.iter().map(json).collect();
        let bindings = solution.bindings.iter();
        let bindings: Vec<String> = bindings.map(|(name, value)| format!("{name}={}", json(value))).collect();
        format!("{} | {}", values.join(" "), bindings.join(" "))
    };
    ask(text).unwrap().iter().map(show).collect()
}

#[test]
fn each_expression_has_a_value_and_each_variable_a_binding() {
    assert_eq!(shown("x := 1; y := [x, 2]; y[_] > 1"), ["true true true | x=1 y=[1,2]"]);
    assert_eq!(shown("1 + 1; input.x; \"s\""), ["2 7 \"s\" | "]);
    assert_eq!(shown("data.lib.names[i]"), ["\"a\" | i=0", "\"b\" | i=1"]);
    assert_eq!(shown("plus(1, 2, x)"), ["true | x=3"]);
    assert_eq!(shown("some x; x = 1"), ["true | x=1"]);
    assert_eq!(shown("some x in [1, 2]; x"), ["true 1 | x=1", "true 2 | x=2"]);
    assert_eq!(shown("input.x with input.x as 3"), ["3 | "]);
    assert_eq!(shown("print(\"a\", input.x)"), ["true | "]);
}

#[test]
fn one_false_expression_is_an_answer_and_one_among_several_is_none() {
    assert_eq!(shown("1 == 2"), ["false | "]);
    assert_eq!(shown("x := 1; x == 2"), Vec::<String>::new());
    assert_eq!(shown("[1, 2][_] == 2"), ["true | "]);
    assert_eq!(shown("input.nothing"), Vec::<String>::new());
}

#[test]
fn a_package_and_imports_give_names() {
    let scope = |package: Option<&str>, imports: &[&str]| QueryScope {
        package: package.map(str::to_owned),
        imports: imports.iter().map(ToString::to_string).collect(),
        version: RegoVersion::V1,
    };
    assert_eq!(ask_in("has(\"a\")", &scope(Some("lib"), &[])).unwrap().len(), 1);
    assert_eq!(ask_in("l.has(\"a\")", &scope(None, &["data.lib as l"])).unwrap().len(), 1);
    assert!(ask_in("has(\"a\")", &scope(None, &[])).unwrap_err().contains("undefined function has"));
    assert!(ask_in("1", &scope(None, &["nowhere"])).unwrap_err().contains("unexpected import path"));
}

#[test]
fn what_is_wrong_with_a_query_says_where() {
    let wrong = |text| ask(text).unwrap_err();
    assert!(wrong("x > 1").contains(":1:1: rego_unsafe_var_error: var x is unsafe"), "{}", wrong("x > 1"));
    assert!(wrong("x := 1; x := 2").contains("var x assigned above"));
    assert!(wrong("1 +").contains("rego_parse_error"));
    assert!(wrong("# nothing").contains("empty query cannot be compiled"));
    assert!(wrong("data.lib.has(1, 2, 3)").contains("rego_type_error"));
}

#[test]
fn expressions_know_their_text() {
    let query =
        Query::compile(&[], "x := 1 ;\n  x + 1 # more", &QueryScope::default(), &Restrictions::default())
            .unwrap();
    let texts: Vec<_> =
        query.expressions().iter().map(|found| (found.text.as_str(), found.line, found.column)).collect();
    assert_eq!(texts, [("x := 1", 1, 1), ("x + 1", 2, 3)]);
}

#[test]
fn a_query_runs_within_its_budget() {
    let text = "x := numbers.range(1, 100000)[_]; y := numbers.range(1, 100000)[_]; x * y == -1";
    let query = Query::compile(&[], text, &QueryScope::default(), &Restrictions::default()).unwrap();
    let budget = Budget::default().with_instructions(100_000);
    let ended = query.solve(&Value::Undefined, &Value::new_object(), &budget, &crate::NoExternals);
    assert!(matches!(ended, Err(EvalError::Budget(_))), "{ended:?}");
}

#[test]
fn eq_written_as_a_call_binds_like_its_sign() {
    assert_eq!(shown("eq(x, 1)"), ["true | x=1"]);
    assert_eq!(shown("assign(x, 1)"), ["true | x=1"]);
}
