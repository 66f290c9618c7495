//! The checks of defaults in OPA's parser: a constant value, and arguments that are plain variables.

use std::collections::BTreeSet;

use crate::ast::{HeadValue, Node, Rule, Term};

/// Returns the errors of a default, in OPA's words.
pub(crate) fn default_errors(rule: &Rule) -> Vec<String> {
    let mut errors = Vec::new();
    if let HeadValue::Single(value) = &rule.head.value
        && let Some(what) = variable_part(value)
    {
        errors.push(format!("illegal default rule (value cannot contain {what})"));
    }
    let mut names = BTreeSet::new();
    for arg in rule.head.args.iter().flatten() {
        match &arg.node {
            Node::Var(name) if names.insert(name) => {}
            Node::Var(name) => {
                errors.push(format!("illegal default rule (arguments cannot be repeated {name})"));
            }
            _ => errors.push(format!("illegal default rule (arguments cannot contain {})", arg.describe())),
        }
    }
    errors
}

/// Returns what keeps a default's value from being constant. Comprehensions stand for themselves.
fn variable_part(term: &Term) -> Option<&'static str> {
    match &term.node {
        Node::Scalar(_) | Node::Comprehension(_) => None,
        Node::Var(_) | Node::Ref(_) | Node::Call(_) | Node::Chain(_) | Node::Template(_) => {
            Some(term.describe())
        }
        Node::Array(items) | Node::Set(items) => items.iter().find_map(variable_part),
        Node::Object(pairs) => pairs.iter().flat_map(|(key, value)| [key, value]).find_map(variable_part),
    }
}
