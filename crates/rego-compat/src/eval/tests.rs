//! A number that names nothing in a plan is an internal error, never an undefined value: undefined would silence the
//! policy.

use eval_budget::Budget;

use super::*;
use crate::externals::Silent;
use crate::ir::Kind;

use crate::plan::{Branch, Call, Callee, Conditions, Expr, Group, Node, Rule};

fn answer(plan: &Plan) -> Result<Option<Value>, EvalError> {
    run(plan, &Value::Null, &Value::new_object(), &Meter::new(&Budget::default()), &Silent)
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
    assert!(is_internal(&solutions(&Plan::default(), 7, [Value::Null, Value::Null], &meter, &Silent)));
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

#[test]
fn a_rule_index_that_looks_at_no_place_is_an_internal_error() {
    let branch = Branch {
        body: Vec::new(),
        keys: Vec::new(),
        value: Expr::Const(Value::from(true)),
        element: false,
        conditions: Some(Conditions { defined: vec![7], ..Conditions::default() }),
        spot: None,
    };
    let group = Group {
        path: vec!["t".into(), "p".into()],
        kind: Kind::Complete,
        rules: vec![Rule { args: Vec::new(), slots: 0, branches: vec![branch] }],
        default: None,
        settled: true,
        exact: true,
        places: Vec::new(),
        agreed: Vec::new(),
    };
    let result = answer(&Plan { groups: vec![group], ..asks(Expr::Rule(0)) });
    assert!(is_internal(&result), "{result:?}");
}
