//! Scalars, which are numbers and strings here, and template strings.

use crate::value::{Number, Value};

use crate::ast::{LiteralKind, Node, TemplatePart};
use crate::token::Kind;

use super::{Parsed, Parser};

impl Parser<'_> {
    pub(super) fn number(&mut self, negative: bool) -> Parsed<Node> {
        let mut digits = String::from(if negative { "-" } else { "" });
        let fraction_only = self.take(Kind::Dot);
        if self.kind() != Kind::Number {
            return self.unexpected("expected number");
        }
        let word = self.word();
        let leading_zero = word.len() > 1
            && word.starts_with('0')
            && !word.starts_with("0.")
            && !word.starts_with(['e', 'E']);
        if leading_zero && !fraction_only && word.as_bytes().get(1).is_some_and(u8::is_ascii_digit) {
            return self.error("expected number without leading zero");
        }
        if fraction_only {
            digits.push('.');
        }
        digits.push_str(word);
        match Number::parse(&digits) {
            Some(number) => {
                self.bump();
                Ok(Node::Scalar(number.into()))
            }
            None => self.error("illegal number format, or a number too big"),
        }
    }

    pub(super) fn string(&mut self) -> Parsed<Node> {
        let quoted = self.word();
        let raw = self.kind() == Kind::RawString;
        let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or("");
        let text = self.unescape(inner, raw)?;
        self.bump();
        Ok(Node::Scalar(text))
    }

    fn unescape(&self, inner: &str, raw: bool) -> Parsed<Value> {
        if raw || !inner.contains('\\') {
            return Ok(inner.into());
        }
        match Value::from_json_str(&format!("\"{inner}\"")) {
            Ok(text @ Value::String(_)) => Ok(text),
            _ => self.error(format!("illegal string literal: \"{inner}\"")),
        }
    }

    pub(super) fn template(&mut self) -> Parsed<Node> {
        let raw = self.word().starts_with("$`");
        let mut parts = Vec::new();
        let mut skip = 2;
        loop {
            let last = self.kind() == Kind::TemplateEnd;
            let piece = self.word();
            let inner = piece.get(skip..piece.len().saturating_sub(1)).unwrap_or("");
            let inner = inner.replace("\\{", "{");
            if !inner.is_empty() {
                parts.push(TemplatePart::Text(self.unescape(&inner, raw)?));
            }
            self.bump();
            if last {
                return Ok(Node::Template(parts));
            }
            parts.push(TemplatePart::Expression(self.template_expression()?));
            if !matches!(self.kind(), Kind::TemplatePart | Kind::TemplateEnd) {
                return self.unexpected("expected } to end template string expression");
            }
            skip = 1;
        }
    }

    fn template_expression(&mut self) -> Parsed<crate::ast::Literal> {
        let literal = self.literal()?;
        if literal.negated || !matches!(literal.kind, LiteralKind::Term(_)) {
            return self.error("unexpected statement in template-string expression");
        }
        Ok(literal)
    }
}
