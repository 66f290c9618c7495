//! Rules: heads as OPA's parser classifies them, bodies, and chains of `else`. Source: OPA `ast/parser.go` (`parseRules`,
//! `parseElse`) and, for rules without body, `ast/parser_ext.go`.

use crate::ast::{Body, Else, Head, HeadValue, Node, Rule, Term};
use crate::error::EvalError;
use crate::value::Value;

use super::{Writer, Written, filled, list};

/// The parts that the branches of a rule have in common.
struct Signature<'a> {
    head: &'a Head,
    name: Option<Value>,
    key: Option<Value>,
    reference: Value,
}

impl Writer<'_> {
    pub(super) fn rule(&self, rule: &Rule) -> Written {
        let signature = self.signature(rule)?;
        let mut otherwise = None;
        for branch in rule.otherwise.iter().rev() {
            otherwise = Some(self.branch(&signature, branch, otherwise)?);
        }
        let value = match &rule.head.value {
            HeadValue::True => Some(self.holds()?),
            HeadValue::Single(value) => Some(self.term(value)?),
            HeadValue::Element(_) => None,
        };
        let args = self.args(&rule.head, None)?;
        let head = self.head(&signature, args, value, rule.head.assigned)?;
        self.optional([
            ("body", Some(self.body_or_true(&rule.body)?)),
            ("default", rule.default.then_some(Value::Bool(true))),
            ("else", otherwise),
            ("head", Some(head)),
        ])
    }

    fn branch(&self, signature: &Signature<'_>, branch: &Else, otherwise: Option<Value>) -> Written {
        let value = branch.value.as_ref().map_or_else(|| self.holds(), |value| self.term(value))?;
        let args = self.args(signature.head, Some(branch.wildcards))?;
        let head = self.head(signature, args, Some(value), branch.assigned)?;
        self.optional([
            ("body", Some(self.body_or_true(&branch.body)?)),
            ("else", otherwise),
            ("head", Some(head)),
        ])
    }

    fn head(
        &self,
        signature: &Signature<'_>,
        args: Vec<Value>,
        value: Option<Value>,
        assigned: bool,
    ) -> Written {
        let key = match (&signature.head.value, &signature.key) {
            (HeadValue::Element(element), _) => Some(self.term(element)?),
            (_, key) => key.clone(),
        };
        self.optional([
            ("name", signature.name.clone()),
            ("args", filled(args)),
            ("key", key),
            ("value", value),
            ("assign", assigned.then_some(Value::Bool(true))),
            ("ref", Some(signature.reference.clone())),
        ])
    }

    /// Returns the name and key that OPA keeps of rules from before references in heads: `p`, `p.q := 1`,
    /// `p[x] if …`.
    fn signature<'r>(&self, rule: &'r Rule) -> Result<Signature<'r>, EvalError> {
        let head = &rule.head;
        let says_true = matches!(head.value, HeadValue::True);
        let second = head.path.get(1).filter(|_| head.path.len() == 2 && !rule.written.contains);
        let is_constant = rule.body.is_empty() && !rule.default;
        let (named, key) = match second {
            None => (head.path.len() == 1, None),
            Some(key) if is_constant => (head.args.is_none(), Some(key)),
            Some(key) if rule.written.conditional => {
                let key = Some(key).filter(|key| matches!(key.node, Node::Ref(_)) || !is_ground(key));
                (!says_true || head.args.is_some(), key)
            }
            Some(_) => (false, None),
        };
        let key = key.filter(|_| head.args.is_none()).map(|key| self.term(key)).transpose()?;
        let name = head.name().filter(|_| named).map(|name| Value::from(&**name));
        Ok(Signature { head, name, key, reference: self.terms(&head.path)? })
    }

    /// Returns the arguments; those of an `else` have wildcards of their own, counted from the given number.
    fn args(&self, head: &Head, wildcards: Option<u32>) -> Result<Vec<Value>, EvalError> {
        let mut wildcards = wildcards.map(|first| first..);
        let args = head.args.iter().flatten().map(|arg| match &mut wildcards {
            Some(numbers) if arg.is_wildcard() => {
                let number = numbers.next().unwrap_or(u32::MAX);
                self.variable(&format!("${number}"))
            }
            _ => self.term(arg),
        });
        list(args)
    }

    fn body_or_true(&self, body: &Body) -> Written {
        if body.is_empty() { self.implicit_body() } else { self.body(body) }
    }

    fn holds(&self) -> Written {
        self.typed("boolean", Value::Bool(true))
    }
}

/// Returns true if there is no variable in a term.
fn is_ground(term: &Term) -> bool {
    match &term.node {
        Node::Scalar(_) => true,
        Node::Ref(terms) => terms.iter().skip(1).all(is_ground),
        Node::Array(terms) | Node::Set(terms) => terms.iter().all(is_ground),
        Node::Object(pairs) => pairs.iter().all(|(key, value)| is_ground(key) && is_ground(value)),
        Node::Call(call) => call.args.iter().all(is_ground),
        Node::Chain(chain) => {
            is_ground(&chain.first) && chain.links.iter().all(|link| is_ground(&link.right))
        }
        Node::Var(_) | Node::Comprehension(_) | Node::Template(_) => false,
    }
}
