//! Terms: `{"type": …, "value": …}`.

use crate::ast::{Call, Chain, Comprehension, ComprehensionKind, Name, Node, TemplatePart, Term};
use crate::error::EvalError;
use crate::value::Value;

use eval_budget::Limit;

use super::{Writer, Written, list, order};

/// Operators of a chain that may be written: each is two levels of nesting in the answer.
const LONGEST_CHAIN: usize = 128;

impl Writer<'_> {
    pub(super) fn term(&self, term: &Term) -> Written {
        match &term.node {
            Node::Scalar(Value::Null) => self.typed("null", Value::new_object()),
            Node::Scalar(value) => self.typed(term.describe(), value.clone()),
            Node::Var(name) => self.variable(name),
            Node::Ref(terms) | Node::Array(terms) => self.typed(term.describe(), self.terms(terms)?),
            Node::Call(call) => self.typed("call", self.call(call)?),
            Node::Chain(chain) => self.typed("call", self.chain(chain)?),
            Node::Set(terms) => self.typed("set", self.set(terms)?),
            Node::Object(pairs) => self.typed("object", self.object(pairs)?),
            Node::Comprehension(comprehension) => {
                self.typed(term.describe(), self.comprehension(comprehension)?)
            }
            Node::Template(parts) => self.typed("templatestring", self.template(term, parts)?),
        }
    }

    pub(super) fn terms(&self, terms: &[Term]) -> Written {
        list(terms.iter().map(|term| self.term(term))).map(Value::from)
    }

    pub(super) fn variable(&self, name: &str) -> Written {
        self.typed("var", Value::from(name))
    }

    /// Returns the components of a reference that is made of names.
    pub(super) fn names<'n>(&self, names: impl Iterator<Item = &'n Name>) -> Written {
        let named = |(place, name): (usize, &Name)| {
            self.typed(if place == 0 { "var" } else { "string" }, Value::from(&**name))
        };
        list(names.enumerate().map(named)).map(Value::from)
    }

    pub(super) fn reference(&self, names: &[Name]) -> Written {
        self.typed("ref", self.names(names.iter())?)
    }

    /// Returns the operator, then the arguments.
    pub(super) fn call(&self, call: &Call) -> Written {
        let operator = std::iter::once_with(|| self.reference(&call.operator));
        list(operator.chain(call.args.iter().map(|arg| self.term(arg)))).map(Value::from)
    }

    /// Writes like [`Self::call`] the calls that a chain of operators is, one inside the other.
    pub(super) fn chain(&self, chain: &Chain) -> Written {
        if chain.links.len() > LONGEST_CHAIN {
            return Err(EvalError::Budget(Limit::Depth));
        }
        let mut written = None;
        for link in &chain.links {
            let left = written.map_or_else(|| self.term(&chain.first), |call| self.typed("call", call))?;
            let call = vec![self.reference(&link.operator)?, left, self.term(&link.right)?];
            written = Some(Value::from(call));
        }
        Ok(written.unwrap_or(Value::Null))
    }

    /// Returns the call of a builtin that is written otherwise.
    pub(super) fn operation(&self, name: &str, args: &[&Term]) -> Written {
        let names: Vec<Name> = name.split('.').map(Name::from).collect();
        let operator = std::iter::once_with(|| self.reference(&names));
        list(operator.chain(args.iter().map(|arg| self.term(arg)))).map(Value::from)
    }

    /// Writes the elements of a set in order; of equal ones the first.
    fn set(&self, terms: &[Term]) -> Written {
        let mut elements = list(terms.iter().map(|term| self.term(term)))?;
        self.pay_for_order(elements.len())?;
        elements.sort_by(order::terms);
        elements.dedup_by(|later, first| order::terms(first, later).is_eq());
        Ok(Value::from(elements))
    }

    /// Writes an object. A key that is written twice is there twice, as in OPA.
    fn object(&self, pairs: &[(Term, Term)]) -> Written {
        let written = pairs.iter().map(|(key, value)| Ok((self.term(key)?, self.term(value)?)));
        let mut written: Vec<(Value, Value)> = written.collect::<Result<_, EvalError>>()?;
        self.pay_for_order(written.len())?;
        written.sort_by(|(a, _), (b, _)| order::terms(a, b));
        let pairs = written.into_iter().map(|(key, value)| Value::from(vec![key, value]));
        Ok(Value::from(pairs.collect::<Vec<_>>()))
    }

    /// Charges for a sort: each element is compared with as many others as their number has bits.
    fn pay_for_order(&self, elements: usize) -> Result<(), EvalError> {
        let bits = usize::BITS.saturating_sub(elements.leading_zeros());
        let comparisons = u64::try_from(elements).unwrap_or(u64::MAX).saturating_mul(u64::from(bits));
        self.meter.spend(comparisons.saturating_mul(16))
    }

    fn comprehension(&self, comprehension: &Comprehension) -> Written {
        let body = self.body(&comprehension.body)?;
        match &comprehension.kind {
            ComprehensionKind::Array(head) | ComprehensionKind::Set(head) => {
                self.record([("term", self.term(head)?), ("body", body)])
            }
            ComprehensionKind::Object(key, value) => {
                self.record([("key", self.term(key)?), ("value", self.term(value)?), ("body", body)])
            }
        }
    }

    fn template(&self, term: &Term, parts: &[TemplatePart]) -> Written {
        let begin = usize::try_from(term.at.0).ok().and_then(|begin| self.source.text.get(begin..));
        let opened = begin.unwrap_or_default().trim_start_matches(|c: char| c == '(' || c.is_whitespace());
        let parts = list(parts.iter().map(|part| self.template_part(part)))?;
        self.record([
            ("parts", super::filled(parts).unwrap_or(Value::Null)),
            ("multi_line", Value::from(opened.starts_with("$`"))),
        ])
    }

    /// Writes a part of a template; a constant has no statement around it.
    fn template_part(&self, part: &TemplatePart) -> Written {
        match part {
            TemplatePart::Text(text) => self.typed("string", text.clone()),
            TemplatePart::Expression(literal) => match literal.constant() {
                Some(constant) => self.term(constant),
                None => self.literal(0, literal),
            },
        }
    }
}
