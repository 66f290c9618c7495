//! What a rule asks of the input, asked first.
//!
//! OPA's rule index passes over a rule when a document its body names is not there, before it evaluates the body,
//! and so before anything in the body can fail. Statements that only look at the input or plain data are moved to
//! the front of bodies in which something can fail; a conjunction means the same in any order but for that.

use crate::check::Dependencies;
use crate::ir::{Action, Collect, CollectKind, Group, Kind, Operand, Reference, Root, Rulebook, Statement};

/// Moves the questions of every body that needs it.
pub(crate) fn hoist_guards(book: &mut Rulebook, dependencies: &Dependencies) {
    let conflicts: Vec<bool> = book.groups.iter().map(can_conflict).collect();
    let collects: Vec<bool> = book.groups.iter().map(collects_objects).collect();
    let risky: Vec<bool> = conflicts.iter().zip(&collects).map(|(a, b)| *a || *b).collect();
    if !risky.contains(&true) {
        return;
    }
    let users = dependencies.users(&risky);
    for ((group, uses_risk), collects) in book.groups.iter_mut().zip(users).zip(collects) {
        if uses_risk || collects {
            for branch in group.rules.iter_mut().flat_map(|rule| &mut rule.branches) {
                let body = std::mem::take(&mut branch.body);
                let (guards, rest): (Vec<_>, Vec<_>) = body.into_iter().partition(is_guard);
                branch.body = guards.into_iter().chain(rest).collect();
            }
        }
    }
}

/// Whether two results of the group could contradict each other.
fn can_conflict(group: &Group) -> bool {
    match group.kind {
        Kind::Set => false,
        Kind::Object => true,
        Kind::Complete | Kind::Function { .. } => {
            let mut values =
                group.rules.iter().flat_map(|rule| &rule.branches).map(|branch| branch.leaf.operand());
            let constants: Option<Vec<_>> = values
                .by_ref()
                .map(|operand| match operand {
                    Operand::Const(value) => Some(value),
                    _ => None,
                })
                .collect();
            match constants {
                Some(constants) => constants.windows(2).any(|pair| pair.first() != pair.last()),
                None => true,
            }
        }
    }
}

fn collects_objects(group: &Group) -> bool {
    group.rules.iter().flat_map(|rule| &rule.branches).any(|branch| branch.body.iter().any(collects_object))
}

fn collects_object(statement: &Statement) -> bool {
    match &statement.action {
        Action::Term(operand) => is_risky(operand),
        Action::Unify { left, right, .. } => is_risky(left) || is_risky(right),
        Action::Call { .. } => false,
        Action::Every { body, .. } | Action::Not { body, .. } => body.iter().any(collects_object),
        Action::And(left, right) | Action::Or(left, right) => {
            left.body.iter().chain(&right.body).any(collects_object)
        }
    }
}

fn is_risky(operand: &Operand) -> bool {
    match operand {
        Operand::Collect(collect) => collect_is_risky(collect),
        _ => false,
    }
}

fn collect_is_risky(collect: &Collect) -> bool {
    matches!(collect.kind, CollectKind::Object(..)) || collect.body.iter().any(collects_object)
}

/// A statement that only looks at documents by known paths.
fn is_guard(statement: &Statement) -> bool {
    if statement.negated || !statement.with.is_empty() {
        return false;
    }
    match &statement.action {
        Action::Term(Operand::Ref(reference)) => is_known(reference),
        Action::Unify {
            left: Operand::Ref(reference), right: Operand::Var(_) | Operand::Const(_), ..
        }
        | Action::Unify {
            left: Operand::Var(_) | Operand::Const(_), right: Operand::Ref(reference), ..
        } => is_known(reference),
        _ => false,
    }
}

fn is_known(reference: &Reference) -> bool {
    reference.root == Root::Input && reference.path.iter().all(|part| matches!(part, Operand::Const(_)))
}

#[cfg(test)]
mod tests {
    use crate::{Budget, EvalError, Module, RegoVersion, Rules, Value, compile};

    fn evaluate(body: &str, input: &str) -> Result<Option<Value>, EvalError> {
        let module = Module::parse("t.rego", &format!("package t\n{body}"), RegoVersion::V0).unwrap();
        let program = compile(&[module], "data.t.p", &Rules::default()).unwrap();
        program.evaluate(&Value::from_json_str(input).unwrap(), &Value::new_object(), &Budget::default())
    }

    #[test]
    fn what_the_input_lacks_is_found_before_a_conflict() {
        let body = "f(x) = 1 { true }\nf(x) = 2 { true }\np { f(1) == 1; input.a == 2 }";
        assert_eq!(evaluate(body, "{}"), Ok(None));
        assert_eq!(evaluate(body, r#"{"a": 3}"#), Ok(None));
        assert!(matches!(evaluate(body, r#"{"a": 2}"#), Err(EvalError::Conflict { .. })));
    }

    #[test]
    fn an_object_with_two_values_for_a_key_is_a_conflict() {
        let body = "p = x { x := {\"a\": y | y := input.ys[_]}; input.b }";
        assert_eq!(evaluate(body, r#"{"ys": [1, 2]}"#), Ok(None));
        assert!(evaluate(body, r#"{"ys": [1, 2], "b": 1}"#).is_err());
        assert_eq!(
            evaluate(body, r#"{"ys": [1], "b": 1}"#),
            Ok(Some(Value::from_json_str(r#"{"a": 1}"#).unwrap()))
        );
    }
}
