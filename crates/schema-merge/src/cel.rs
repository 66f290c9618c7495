//! The expressions of validation rules: [`Rules::compile`].
//!
//! With the feature `cel` each is compiled by `cel-compat` over the types that `cel/declare.rs` reads from the schema,
//! and its cost is estimated; without it expressions are not looked at. The form of a rule is `structural/rule.rs`.

#[cfg(feature = "cel")]
mod compile;
#[cfg(feature = "cel")]
mod declare;
#[cfg(feature = "cel")]
mod default;

use serde_json::Value;

use crate::node::Node;
use crate::path::SchemaPath;
use crate::structural::Report;

/// The reason why an expression has no compiled form.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "cel"), allow(dead_code, reason = "only the feature compiles expressions"))]
pub(crate) enum NotCompiled {
    /// The server would not compile it either; in its words.
    Refused(String),
    /// It crosses a bound of `cel-compat`, here with the name of the bound. The server may compile it.
    LeftToServer(String),
}

/// The outcome of compiling one rule.
#[derive(Debug, Default)]
pub(crate) struct Compiled {
    pub(crate) error: Option<NotCompiled>,
    /// The same for its `messageExpression`.
    pub(crate) message_error: Option<NotCompiled>,
    /// The cost of one evaluation of the rule at most.
    pub(crate) cost: u64,
    /// The same for its `messageExpression`; `None` if it has none.
    pub(crate) message_cost: Option<u64>,
    /// The number of evaluations for one request at most, where the schema sets no bound.
    pub(crate) max_cardinality: u64,
    /// True if the rule uses `oldSelf`; `None` where only the server can tell.
    pub(crate) uses_old_self: Option<bool>,
}

/// Compiles the rules of a schema, node by node.
#[derive(Default)]
pub(crate) struct Rules {
    #[cfg(feature = "cel")]
    declared: declare::Declared,
}

impl Rules {
    /// Compiles the rules of a node, which is the root of a resource or not; `None` for a node that rules cannot see, where
    /// the server refuses them.
    #[cfg(feature = "cel")]
    pub(crate) fn compile(&mut self, node: &Node<'_>, is_resource: bool) -> Option<Vec<Compiled>> {
        let declaration = self.declared.of(node, is_resource)?;
        Some(node.rules().iter().map(|rule| compile::compile(rule, &declaration)).collect())
    }

    /// Without the feature `cel` no more is known than which nodes rules see, and that a rule without the word does not use
    /// `oldSelf`.
    #[cfg(not(feature = "cel"))]
    pub(crate) fn compile(&mut self, node: &Node<'_>, _: bool) -> Option<Vec<Compiled>> {
        if !is_exposed(node) {
            return None;
        }
        let compile = |rule: &Value| {
            let text = rule.get("rule").and_then(Value::as_str).unwrap_or_default();
            let uses_old_self = if text.contains("oldSelf") { None } else { Some(false) };
            Compiled { uses_old_self, ..Compiled::default() }
        };
        Some(node.rules().iter().map(compile).collect())
    }

    /// Reports the rules at a node and below that a default at `at` does not satisfy; nothing without the feature `cel`.
    #[cfg(feature = "cel")]
    pub(crate) fn check_default(
        &mut self,
        node: &Node<'_>,
        default: &Value,
        is_resource: bool,
        at: &SchemaPath,
        report: &mut Report,
    ) {
        default::check(&mut self.declared, node, default, is_resource, at, report);
    }

    #[cfg(not(feature = "cel"))]
    pub(crate) fn check_default(&mut self, _: &Node<'_>, _: &Value, _: bool, _: &SchemaPath, _: &mut Report) {
    }
}

/// Returns true if rules can see a value of this schema: if it has a declaration, which only the feature `cel` makes.
#[cfg(any(test, not(feature = "cel")))]
fn is_exposed(node: &Node<'_>) -> bool {
    node.flag(crate::keyword::INT_OR_STRING)
        || match node.kind() {
            "array" => node.item().is_some_and(is_exposed),
            "object" => node.additional().is_none_or(is_exposed),
            kind => matches!(kind, "string" | "boolean" | "number" | "integer"),
        }
}
