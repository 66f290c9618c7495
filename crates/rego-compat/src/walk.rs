//! Visits every term of a rule, wherever it hides. Reads the tree as the parser made it.

use crate::ast::{Body, ComprehensionKind, HeadValue, Literal, LiteralKind, Node, Rule, TemplatePart, Term};

/// A visitor of terms, outer before inner.
pub(crate) trait Visit {
    /// Called for every term.
    fn term(&mut self, term: &Term);

    /// Called for every literal of every body.
    fn literal(&mut self, _: &Literal) {}

    /// Returns true if to go on to the terms in a term.
    fn enters(&mut self, _: &Term) -> bool {
        true
    }
}

/// Visits the terms of a rule's head, bodies and `else` branches.
pub(crate) fn walk_rule(rule: &Rule, visit: &mut impl Visit) {
    let args = rule.head.args.iter().flatten();
    for term in rule.head.path.iter().chain(args) {
        walk_term(term, visit);
    }
    if let HeadValue::Single(term) | HeadValue::Element(term) = &rule.head.value {
        walk_term(term, visit);
    }
    walk_body(&rule.body, visit);
    for branch in &rule.otherwise {
        if let Some(value) = &branch.value {
            walk_term(value, visit);
        }
        walk_body(&branch.body, visit);
    }
}

/// Visits the terms of a body.
pub(crate) fn walk_body(body: &Body, visit: &mut impl Visit) {
    for literal in body {
        walk_literal(literal, visit);
    }
}

/// Visits the terms of a literal, its `with` modifiers included.
pub(crate) fn walk_literal(literal: &Literal, visit: &mut impl Visit) {
    visit.literal(literal);
    match &literal.kind {
        LiteralKind::Term(term) => walk_term(term, visit),
        LiteralKind::Unify(left, right) | LiteralKind::Assign(left, right) => {
            walk_term(left, visit);
            walk_term(right, visit);
        }
        LiteralKind::Some(_) => {}
        LiteralKind::SomeIn { key, value, domain } => {
            for term in key.iter().chain([value, domain]) {
                walk_term(term, visit);
            }
        }
        LiteralKind::Every(every) => {
            for term in every.key.iter().chain([&every.value, &every.domain]) {
                walk_term(term, visit);
            }
            walk_body(&every.body, visit);
        }
        LiteralKind::Not { body, .. } => walk_body(body, visit),
        LiteralKind::And(operands) | LiteralKind::Or(operands) => {
            operands.iter().for_each(|operand| walk_body(&operand.body, visit));
        }
    }
    for with in &literal.with {
        walk_term(&with.target, visit);
        walk_term(&with.value, visit);
    }
}

/// Visits a term and the terms in it.
pub(crate) fn walk_term(term: &Term, visit: &mut impl Visit) {
    visit.term(term);
    if !visit.enters(term) {
        return;
    }
    match &term.node {
        Node::Scalar(_) | Node::Var(_) => {}
        Node::Ref(terms) | Node::Array(terms) | Node::Set(terms) => {
            for term in terms {
                walk_term(term, visit);
            }
        }
        Node::Object(pairs) => {
            for (key, value) in pairs {
                walk_term(key, visit);
                walk_term(value, visit);
            }
        }
        Node::Call(call) => {
            for arg in &call.args {
                walk_term(arg, visit);
            }
        }
        Node::Chain(chain) => {
            walk_term(&chain.first, visit);
            for link in &chain.links {
                walk_term(&link.right, visit);
            }
        }
        Node::Comprehension(comprehension) => {
            match &comprehension.kind {
                ComprehensionKind::Array(head) | ComprehensionKind::Set(head) => walk_term(head, visit),
                ComprehensionKind::Object(key, value) => {
                    walk_term(key, visit);
                    walk_term(value, visit);
                }
            }
            walk_body(&comprehension.body, visit);
        }
        Node::Template(parts) => {
            for part in parts {
                if let TemplatePart::Expression(literal) = part {
                    walk_literal(literal, visit);
                }
            }
        }
    }
}
