//! A number that names nothing in a plan is an internal error, never an undefined value: undefined would silence the
//! policy.

use eval_budget::Budget;

use super::*;
use crate::externals::NoExternals;
use crate::ir::Kind;

use crate::plan::{
    Branch, Call, Callee, Check, Conditions, Every, Expr, Get, Group, Invariant, Node, Override, Pattern,
    Place, PlaceRoot, Replacement, Rule, Step, Target, Want,
};

fn answer(plan: &Plan) -> Result<Option<Value>, EvalError> {
    run(plan, &Value::Null, &Value::new_object(), &Meter::new(&Budget::default()), &NoExternals)
}

fn asks(query: Expr) -> Plan {
    Plan { query: Some(query), ..Plan::default() }
}

/// A package without rules of its own.
fn node(children: Vec<(Value, usize)>, group: Option<usize>) -> Node {
    Node { path: vec!["t".into()], children, group }
}

fn is_internal<T: std::fmt::Debug>(result: &Result<T, EvalError>) -> bool {
    matches!(result, Err(EvalError::Internal(_)))
}

#[test]
fn rules_functions_and_packages_that_do_not_exist_are_internal_errors() {
    let call = |callee| Expr::Call(Box::new(Call { callee, args: vec![Expr::Const(Value::Null)] }));
    for query in [Expr::Rule(7), Expr::Package(7), call(Callee::Function(7)), call(Callee::External(7))] {
        let result = answer(&asks(query.clone()));
        assert!(is_internal(&result), "{query:?}: {result:?}");
    }
    let meter = Meter::new(&Budget::default());
    assert!(is_internal(&solutions(&Plan::default(), 7, [Value::Null, Value::Null], &meter, &NoExternals)));
}

#[test]
fn packages_with_broken_parts_are_internal_errors() {
    let broken = [vec![node(Vec::new(), Some(7))], vec![node(vec![("a".into(), 7)], None)]];
    for nodes in broken {
        let parent = Node { children: vec![("t".into(), 0)], ..Node::default() };
        let nodes: Vec<Node> = nodes.into_iter().chain([parent]).collect();
        let result = answer(&Plan { nodes, ..asks(Expr::Package(1)) });
        assert!(is_internal(&result), "{result:?}");
    }
}

/// A rule `p` with one body, a slot, and conditions.
fn group(body: Vec<Step>, conditions: Option<Conditions>) -> Group {
    let value = Expr::Const(Value::from(true));
    let branch = Branch { body, keys: Vec::new(), value, element: false, conditions, spot: None };
    Group {
        path: vec!["t".into(), "p".into()],
        kind: Kind::Complete,
        rules: vec![Rule { args: Vec::new(), slots: 1, branches: vec![branch] }],
        default: None,
        nodes: Vec::new(),
        settled: true,
        exact: true,
        places: vec![Place { root: PlaceRoot::Argument(7), path: Vec::new() }],
        agreed: vec![Some(0)],
    }
}

#[test]
fn a_rule_index_that_looks_at_no_place_is_an_internal_error() {
    let nowhere = Conditions { defined: vec![7], ..Conditions::default() };
    let check = Check { place: 0, wants: vec![Want::Scalar(Value::Null)] };
    let no_argument = Conditions { alternatives: vec![vec![check]], ..Conditions::default() };
    for conditions in [nowhere, no_argument] {
        let result =
            answer(&Plan { groups: vec![group(Vec::new(), Some(conditions))], ..asks(Expr::Rule(0)) });
        assert!(is_internal(&result), "{result:?}");
    }
}

#[test]
fn a_plan_without_query_is_an_internal_error() {
    let result = answer(&Plan::default());
    assert!(is_internal(&result), "{result:?}");
}

#[test]
fn variables_that_do_not_exist_are_internal_errors() {
    let constant = || Expr::Const(Value::from(vec![Value::Null]));
    let get = |base, key| Expr::Get(Box::new(Get { base, path: vec![key] }));
    let every = |key, value| {
        Step::Every(Box::new(Every { domain: constant(), key, value, body: vec![Step::Test(constant())] }))
    };
    for step in [
        Step::Test(Expr::Slot(7)),
        Step::Test(get(Expr::Slot(7), constant())),
        Step::Test(get(constant(), Expr::Slot(7))),
        Step::Test(Expr::Array(vec![Expr::Slot(7)])),
        Step::Let(7, constant()),
        Step::Match(constant(), Pattern::Bind(7)),
        Step::Match(constant(), Pattern::Array(vec![Pattern::Bind(7)])),
        Step::Match(constant(), Pattern::Equal(Expr::Slot(7))),
        every(7, 0),
        every(0, 7),
    ] {
        let text = format!("{step:?}");
        let result = answer(&Plan { groups: vec![group(vec![step], None)], ..asks(Expr::Rule(0)) });
        assert!(is_internal(&result), "{text}: {result:?}");
    }
}

#[test]
fn a_replaced_function_that_does_not_exist_is_an_internal_error() {
    let nowhere = || Callee::Function(7);
    let value = || Replacement::Value(Expr::Const(Value::Null));
    let call =
        || Expr::Call(Box::new(Call { callee: Callee::Function(0), args: vec![Expr::Const(Value::Null)] }));
    for (target, value) in [(nowhere(), value()), (Callee::Function(0), Replacement::Call(nowhere()))] {
        let with = Override { target: Target::Call(target), value };
        let step = Step::With(vec![with], vec![Step::Test(call())]);
        let result = answer(&Plan { groups: vec![group(vec![step], None)], ..asks(Expr::Rule(0)) });
        assert!(is_internal(&result), "{result:?}");
    }
}

#[test]
fn a_variable_without_a_value_is_an_internal_error() {
    for step in
        [Step::Test(Expr::Slot(0)), Step::Match(Expr::Const(Value::Null), Pattern::Equal(Expr::Slot(0)))]
    {
        let result = answer(&Plan { groups: vec![group(vec![step], None)], ..asks(Expr::Rule(0)) });
        assert!(is_internal(&result), "{result:?}");
    }
}

#[test]
fn a_value_that_is_computed_once_and_has_no_place_is_an_internal_error() {
    let invariant = Invariant { id: 7, expr: Expr::Const(Value::Null) };
    let result = answer(&asks(Expr::Array(vec![Expr::Invariant(Box::new(invariant))])));
    assert!(is_internal(&result), "{result:?}");
}

#[test]
fn a_package_that_with_takes_away_is_undefined() {
    use crate::{Module, RegoVersion, Restrictions, compile};

    let lib = Module::parse("lib.rego", "package a.b\nr := 1", RegoVersion::V1).unwrap();
    for body in [
        "data.a.b",
        "x := data.a.b",
        "x := data.a.b; true",
        "[1 | x := data.a.b] == [1]",
        "x = data.a.b; x == x",
    ] {
        let text = format!("package t\np if q with data.a as {{}}\nq if {{ {body} }}");
        let module = Module::parse("t.rego", &text, RegoVersion::V1).unwrap();
        let program = compile(&[lib.clone(), module], "data.t.p", &Restrictions::default()).unwrap();
        let answer = program.evaluate(&Value::Null, &Value::new_object(), &Budget::default());
        assert_eq!(answer, Ok(None), "{body}");
    }
}

#[test]
fn undefined_data_is_as_no_data() {
    use crate::{Module, RegoVersion, Restrictions, compile};

    let text = "package t\np := 1\nq contains 2";
    let module = Module::parse("t.rego", text, RegoVersion::V1).unwrap();
    for query in ["data", "data.t", "data.t.p", "data.t.none"] {
        let program = compile(std::slice::from_ref(&module), query, &Restrictions::default()).unwrap();
        let evaluate = |data: &Value| program.evaluate(&Value::Null, data, &Budget::default());
        assert_eq!(evaluate(&Value::Undefined), evaluate(&Value::new_object()), "{query}");
    }
}
