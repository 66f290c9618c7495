//! Tests with cases: `test_x[name] if { some name, tc in cases; … }` is an object with `true` for each case that held.
//!
//! A case that did not hold is not in the object. So that it can be reported, the rule announces a case as soon as its
//! name is known, as `opa test` does.

use crate::value::Value;

use crate::desugar::{SlotSet, all_vars, bound_by};
use crate::diagnostic::Pos;
use crate::ir::{Action, Callee, Definition, Group, Hook, Operand, Statement};
use crate::value::literal;

use super::Outcome;

/// The outcome of one case of a test, or of a group of cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestCase {
    /// The key of the case in the rule's value; a key that is not a string is written as JSON.
    pub name: String,
    /// True if the case and all cases below it hold.
    pub passed: bool,
    /// The cases below it, sorted by name.
    pub cases: Vec<TestCase>,
}

/// Makes the rules of a test announce their cases.
pub(super) fn announce(group: &mut Group) {
    for branch in group.rules.iter_mut().flat_map(|rule| &mut rule.branches) {
        raise_names(branch);
        let mut bound = SlotSet::default();
        let known = |branch: &Definition, bound: &SlotSet| {
            let mut needed = SlotSet::default();
            branch.keys.iter().for_each(|key| all_vars(key, &mut needed));
            needed.is_subset(bound)
        };
        let mut place = 0usize;
        while !known(branch, &bound) {
            let Some(statement) = branch.body.get(place) else { break };
            bound_by(statement, &mut bound);
            place = place.saturating_add(1);
        }
        let args = vec![Operand::Array(branch.keys.clone())];
        let action = Action::Call { callee: Callee::Hook(Hook::Case), args, output: None };
        let place = place.min(branch.body.len());
        branch.body.insert(place, Statement { negated: false, action, with: Vec::new(), at: Pos::default() });
    }
}

/// Moves the statements that compute a name from the end of the body to where all they read is known.
fn raise_names(branch: &mut Definition) {
    let mut names = SlotSet::default();
    branch.keys.iter().for_each(|key| all_vars(key, &mut names));
    for from in (0..branch.body.len()).rev() {
        let Some(Action::Unify { left: Operand::Var(slot), right, assigned: false }) =
            branch.body.get(from).map(|statement| &statement.action)
        else {
            continue;
        };
        if !names.contains(*slot) {
            continue;
        }
        let mut needed = SlotSet::default();
        all_vars(right, &mut needed);
        let mut bound = SlotSet::default();
        let ahead = branch.body.iter().take(from);
        let to = ahead
            .take_while(|statement| {
                let open = !needed.is_subset(&bound);
                bound_by(statement, &mut bound);
                open
            })
            .count();
        if to < from {
            let statement = branch.body.remove(from);
            branch.body.insert(to, statement);
        }
    }
}

/// Returns the outcome of a test with cases: those in its value, and those announced that are not.
pub(super) fn outcome(value: &Value, announced: &[Vec<Value>]) -> Outcome {
    let mut cases = of_value(value);
    for names in announced {
        let names: Vec<String> = names.iter().map(name).collect();
        add(&mut cases, &names);
    }
    let passed = cases.iter().all(|case| case.passed);
    Outcome { passed, cases }
}

fn of_value(value: &Value) -> Vec<TestCase> {
    let Value::Object(pairs) = value else {
        return Vec::new();
    };
    let mut cases: Vec<TestCase> = pairs
        .iter()
        .map(|(key, value)| {
            let cases = of_value(value);
            let passed = match value {
                Value::Object(_) => cases.iter().all(|case| case.passed),
                other => *other == Value::from(true),
            };
            TestCase { name: name(key), passed, cases }
        })
        .collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

/// Adds an announced case unless it is there; answers whether it holds.
fn add(cases: &mut Vec<TestCase>, names: &[String]) -> bool {
    let Some((name, rest)) = names.split_first() else {
        return true;
    };
    let place = match cases.binary_search_by(|case| case.name.cmp(name)) {
        Ok(place) => place,
        Err(place) => {
            cases.insert(place, TestCase { name: name.clone(), passed: false, cases: Vec::new() });
            place
        }
    };
    let Some(case) = cases.get_mut(place) else {
        return false;
    };
    if !rest.is_empty() && !add(&mut case.cases, rest) {
        case.passed = false;
    }
    case.passed
}

/// Returns a string as it is, anything else as JSON.
fn name(key: &Value) -> String {
    match key {
        Value::String(text) => text.to_string(),
        other => serde_json::to_string(other).unwrap_or_else(|_| literal::of(other)),
    }
}
