//! The order in which OPA goes through the elements of a set, and the keys of an object, that a module writes: not as
//! they are written, but sorted, names resolved.
//!
//! It decides which of two calls comes first, and so which gives a variable its type. `term` asks for it. Variables
//! are ordered as they are declared; OPA compares the names it makes for them.

use std::cmp::Ordering;

use crate::ast::{Name, Node, Term};
use crate::ir::Slot;
use crate::value::Value;

use super::scope::Lowering;

/// A term, or a name, as OPA compares it.
enum Form<'t> {
    Scalar(&'t Value),
    Text(&'t str),
    Var(Variable<'t>),
    Ref(Vec<Form<'t>>),
    Call(Spine<'t>),
    Array(&'t [Term]),
    Object(&'t [(Term, Term)]),
    Set(&'t [Term]),
    Other(u8),
}

/// Calls inside one another by their first arguments, outermost first, and the argument of the innermost. A chain of
/// operators is such calls; they are compared without recursion, as it may be long.
struct Spine<'t> {
    calls: Vec<(Form<'t>, &'t [Term])>,
    innermost: Option<Box<Form<'t>>>,
}

/// Declared variables are called `__local…` by then, which is between upper and lower case.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Variable<'t> {
    Upper(&'t str),
    Declared(Slot),
    Lower(&'t str),
}

impl Lowering<'_> {
    /// Sorts by what `of` gives, equal ones as they are written.
    pub(super) fn in_order<'t, T>(&self, items: &'t [T], of: impl Fn(&'t T) -> &'t Term) -> Vec<&'t T> {
        let mut sorted: Vec<&T> = items.iter().collect();
        sorted.sort_by(|a, b| self.compare(of(a), of(b)));
        sorted
    }

    fn compare(&self, a: &Term, b: &Term) -> Ordering {
        self.compare_forms(&self.form(a), &self.form(b))
    }

    fn form<'t>(&'t self, term: &'t Term) -> Form<'t> {
        match &term.node {
            Node::Scalar(value) => Form::Scalar(value),
            Node::Template(_) => Form::Other(4),
            Node::Var(name) => self.named(std::slice::from_ref(name)),
            Node::Ref(parts) => Form::Ref(self.path(parts)),
            Node::Array(items) => Form::Array(items),
            Node::Object(pairs) => Form::Object(pairs),
            Node::Set(items) => Form::Set(items),
            Node::Comprehension(_) => Form::Other(10),
            Node::Call(_) | Node::Chain(_) => Form::Call(self.spine(term)),
        }
    }

    /// Returns a name on its own, or the dotted name of an operator.
    fn named<'t>(&'t self, names: &'t [Name]) -> Form<'t> {
        match names.split_first() {
            Some((head, [])) if !self.globals.contains_key(head) || self.declared(head).is_some() => {
                Form::Var(self.as_variable(head))
            }
            Some((head, rest)) => {
                let mut path = self.head(head);
                path.extend(rest.iter().map(|name| Form::Text(name)));
                Form::Ref(path)
            }
            None => Form::Ref(Vec::new()),
        }
    }

    fn path<'t>(&'t self, parts: &'t [Term]) -> Vec<Form<'t>> {
        let Some((head, rest)) = parts.split_first() else { return Vec::new() };
        let mut path = match &head.node {
            Node::Var(name) => self.head(name),
            _ => vec![self.form(head)],
        };
        path.extend(rest.iter().map(|part| self.form(part)));
        path
    }

    /// Returns where a path starts: names of rules and imports stand for paths below `data` and `input`.
    fn head<'t>(&'t self, name: &'t Name) -> Vec<Form<'t>> {
        match self.globals.get(name) {
            Some(path) if self.declared(name).is_none() => {
                let mut names = path.iter().map(|name| &**name);
                let root = names.next().map(|root| Form::Var(Variable::Lower(root)));
                root.into_iter().chain(names.map(Form::Text)).collect()
            }
            _ => vec![Form::Var(self.as_variable(name))],
        }
    }

    fn as_variable<'t>(&self, name: &'t Name) -> Variable<'t> {
        match self.declared(name) {
            Some(slot) => Variable::Declared(slot),
            None if **name < *"__local" => Variable::Upper(name),
            None => Variable::Lower(name),
        }
    }

    fn operator<'t>(&'t self, operator: &'t [Name]) -> Form<'t> {
        match self.named(operator) {
            Form::Var(name) => Form::Ref(vec![Form::Var(name)]),
            operator => operator,
        }
    }

    fn spine<'t>(&'t self, mut term: &'t Term) -> Spine<'t> {
        let mut calls = Vec::new();
        loop {
            match &term.node {
                Node::Call(call) => {
                    let operator = self.operator(&call.operator);
                    let Some((first, rest)) = call.args.split_first() else {
                        calls.push((operator, &[][..]));
                        return Spine { calls, innermost: None };
                    };
                    calls.push((operator, rest));
                    term = first;
                }
                Node::Chain(chain) => {
                    let links = chain.links.iter().rev();
                    calls.extend(
                        links.map(|link| (self.operator(&link.operator), std::slice::from_ref(&link.right))),
                    );
                    term = &chain.first;
                }
                _ => return Spine { calls, innermost: Some(Box::new(self.form(term))) },
            }
        }
    }

    /// Operators from the outermost inwards, the innermost argument, and the others from the inside out. Where one has
    /// more calls, it has a call where the other has an argument of another kind, or none: both are less.
    fn compare_spines(&self, a: &Spine<'_>, b: &Spine<'_>) -> Ordering {
        let calls = || a.calls.iter().zip(&b.calls);
        let innermost = || match (&a.innermost, &b.innermost) {
            (Some(a), Some(b)) => self.compare_forms(a, b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        };
        let rest = |a: &[Term], b: &[Term]| {
            first_difference(a.iter().zip(b).map(|(a, b)| self.compare(a, b)), a.len(), b.len())
        };
        let operators = calls().map(|((a, _), (b, _))| self.compare_forms(a, b)).find(|order| order.is_ne());
        operators.unwrap_or_else(|| a.calls.len().cmp(&b.calls.len())).then_with(innermost).then_with(|| {
            let mut rests = calls().rev().map(|((_, a), (_, b))| rest(a, b));
            rests.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        })
    }

    fn compare_forms(&self, a: &Form<'_>, b: &Form<'_>) -> Ordering {
        match (a, b) {
            (Form::Scalar(a), Form::Scalar(b)) => a.cmp(b),
            (Form::Text(a), Form::Text(b)) => a.cmp(b),
            (Form::Scalar(Value::String(a)), Form::Text(b)) => (**a).cmp(*b),
            (Form::Text(a), Form::Scalar(Value::String(b))) => (*a).cmp(b),
            (Form::Var(a), Form::Var(b)) => a.cmp(b),
            (Form::Call(a), Form::Call(b)) => self.compare_spines(a, b),
            (Form::Ref(a), Form::Ref(b)) => {
                first_difference(a.iter().zip(b).map(|(a, b)| self.compare_forms(a, b)), a.len(), b.len())
            }
            (Form::Array(a), Form::Array(b)) | (Form::Set(a), Form::Set(b)) => {
                first_difference(a.iter().zip(*b).map(|(a, b)| self.compare(a, b)), a.len(), b.len())
            }
            (Form::Object(a), Form::Object(b)) => {
                let pair = |((key, value), (other_key, other)): (&(Term, Term), &(Term, Term))| {
                    self.compare(key, other_key).then_with(|| self.compare(value, other))
                };
                first_difference(a.iter().zip(*b).map(pair), a.len(), b.len())
            }
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }
}

fn first_difference(parts: impl Iterator<Item = Ordering>, a: usize, b: usize) -> Ordering {
    let mut parts = parts;
    parts.find(|part| part.is_ne()).unwrap_or_else(|| a.cmp(&b))
}

impl Form<'_> {
    /// Returns the place of a kind of term among the kinds.
    const fn rank(&self) -> u8 {
        match self {
            Self::Scalar(Value::Null) => 0,
            Self::Scalar(Value::Bool(_)) => 1,
            Self::Scalar(Value::Number(_)) => 2,
            Self::Scalar(_) | Self::Text(_) => 3,
            Self::Var(_) => 5,
            Self::Ref(_) => 6,
            Self::Array(_) => 7,
            Self::Object(_) => 8,
            Self::Set(_) => 9,
            Self::Other(rank) => *rank,
            Self::Call(_) => 13,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Module, RegoVersion, Restrictions, compile};

    /// Returns true if a function compiles that passes its argument on as a string and, in this statement, to others.
    fn compiles(statement: &str) -> bool {
        let text = format!("package t\nf(a, b) = 1 {{ b }}\ng(x) := startswith(\"a\", x) {{ {statement} }}");
        let module = Module::parse("t.rego", &text, RegoVersion::V0).unwrap();
        compile(&[module], "data.t", &Restrictions::default()).is_ok()
    }

    #[test]
    fn the_first_call_in_order_gives_a_variable_its_type() {
        // `data.t.f` is before `object.get`, so x may be anything when that asks for an object.
        assert!(compiles("v := {object.get(x, \"a\", 1), f(x, 1)}"));
        assert!(compiles("v := {[object.get(x, \"a\", 1)], [f(x, 1)]}"));
        assert!(compiles("v := {{object.get(x, \"a\", 1): 1, f(x, 1): 2}}"));
        assert!(compiles("v := {\"b\": object.get(x, \"a\", 1), \"a\": f(x, 1)}"));
        assert!(!compiles("v := {\"a\": object.get(x, \"a\", 1), \"b\": f(x, 1)}"));
        assert!(!compiles("v := {object.get(x, \"a\", 1), f(1, 1)}"));
        assert!(!compiles("v := [object.get(x, \"a\", 1), f(x, 1)]"));
    }
}
