//! `rego.parse_module`: the syntax tree of a module as OPA's `ast` package writes it in JSON.
//!
//! This crate's own parser reads the module; `term`, `statement` and `rule` write its parts, `order` sorts the elements of
//! sets and objects as OPA sorts terms, and `comment` finds the comments, which the parser passes over. Only
//! comments have places in the text, as in OPA. Source: OPA `ast/policy_json.go` and `ast/term_json.go`.

mod comment;
mod order;
mod rule;
mod statement;
mod term;

use crate::ast::{Import, Name};
use crate::check::is_well_written;
use crate::diagnostic::{DiagnosticCode, Source};
use crate::error::EvalError;
use crate::lexer::lex;
use crate::meter::Meter;
use crate::module::Module;
use crate::parser::RegoVersion;
use crate::token::{Kind, Token};
use crate::value::{Object, Value};
use eval_budget::Limit;

use super::{Answer, text_at};

/// Bytes of memory the parser may need for a byte of text, at its worst.
const TREE: usize = 64;

/// Bytes an object's field takes.
const FIELD: usize = 64;

/// A part of the tree, or the limit that writing it exceeds.
type Written = Result<Value, EvalError>;

pub(super) fn parse(args: &[&Value], meter: &Meter) -> Answer {
    let (Some(name), Some(text)) = (text_at(args, 0), text_at(args, 1)) else { return Ok(None) };
    meter.afford_bytes(text.len().saturating_mul(TREE))?;
    meter.spend(u64::try_from(text.len()).unwrap_or(u64::MAX))?;
    match Module::parse(name, text, RegoVersion::V1) {
        Ok(module) if is_well_written(&module) && !has_bare_fraction(text) => {
            Writer { source: &module.source, meter }.module(&module).map(Some)
        }
        // OPA has no such bound: what it would answer is not known.
        Err(diagnostics) if diagnostics.iter().any(|diagnostic| diagnostic.code == DiagnosticCode::Bound) => {
            Err(EvalError::Budget(Limit::Memory))
        }
        _ => Ok(None),
    }
}

/// Returns true if there is a number such as `.5`, which OPA reads, but cannot write as JSON.
fn has_bare_fraction(text: &str) -> bool {
    let tokens = lex(text).unwrap_or_default();
    let follows = |pair: &[Token]| matches!(pair, [dot, digits] if dot.kind == Kind::Dot && digits.kind == Kind::Number);
    tokens.windows(2).any(follows)
}

/// Writes trees, and pays for what it writes.
struct Writer<'a> {
    source: &'a Source,
    meter: &'a Meter,
}

impl Writer<'_> {
    fn record<const N: usize>(&self, fields: [(&str, Value); N]) -> Written {
        self.optional(fields.map(|(name, value)| (name, Some(value))))
    }

    /// Returns a record without the fields that have no value.
    fn optional<const N: usize>(&self, fields: [(&str, Option<Value>); N]) -> Written {
        self.meter.charge(N.saturating_mul(FIELD))?;
        let present = fields.into_iter().filter_map(|(name, value)| Some((Value::from(name), value?)));
        Ok(present.collect::<Object>().into_value())
    }

    fn typed(&self, kind: &str, value: Value) -> Written {
        self.record([("type", Value::from(kind)), ("value", value)])
    }

    fn module(&self, module: &Module) -> Written {
        let tree = &module.tree;
        let root = Name::from("data");
        let path = std::iter::once(&root).chain(&tree.package);
        let package = self.record([("path", self.names(path)?)])?;
        let imports = list(tree.imports.iter().map(|import| self.import(import)))?;
        let rules = list(tree.rules.iter().map(|rule| self.rule(rule)))?;
        self.optional([
            ("package", Some(package)),
            ("imports", filled(imports)),
            ("rules", filled(rules)),
            ("comments", filled(self.comments()?)),
        ])
    }

    fn import(&self, import: &Import) -> Written {
        let alias = import.alias.as_ref().map(|alias| Value::from(&**alias));
        self.optional([("path", Some(self.reference(&import.path)?)), ("alias", alias)])
    }
}

fn list(parts: impl Iterator<Item = Written>) -> Result<Vec<Value>, EvalError> {
    parts.collect()
}

/// Returns a list that is left out where it is empty.
fn filled(parts: Vec<Value>) -> Option<Value> {
    (!parts.is_empty()).then(|| Value::from(parts))
}

#[cfg(test)]
mod tests;
