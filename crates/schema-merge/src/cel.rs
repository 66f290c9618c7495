//! What can be said about a validation rule before the server sees it.
//!
//! Always: which names it uses, and whether the schema can be seen by rules at all. With the feature `cel`: whether it
//! compiles (`cel/check.rs`, over the types of `cel/decl.rs`) and what it costs at least (`cel/cost.rs`). The form of a rule
//! is `structural/rule.rs`.

#[cfg(feature = "cel")]
mod check;
#[cfg(feature = "cel")]
mod cost;
#[cfg(feature = "cel")]
mod decl;

use crate::keyword::INT_OR_STRING;
use crate::node::Node;

/// What compiling a rule comes to.
#[derive(Default)]
pub(crate) struct Judgement {
    /// Why the server would not compile it.
    pub(crate) errors: Vec<String>,
    /// What it costs at least each time it runs.
    pub(crate) cost: u64,
    /// How often it runs at most in one request, by the size of what it is about.
    pub(crate) repetitions: u64,
}

/// Compiles a rule about a value of this schema.
#[cfg(feature = "cel")]
pub(crate) fn judge(rule: &str, node: &Node<'_>, resource_root: bool) -> Judgement {
    let Some(this) = decl::Decl::of(node, resource_root) else {
        return Judgement::default();
    };
    let repetitions = decl::repetitions(this.min_size());
    match check::compile(rule, &this) {
        Err(error) => Judgement { errors: vec![error], cost: 0, repetitions },
        Ok(mut compiled) => {
            compiled.scope.insert("oldSelf".to_owned(), this);
            let (cost, _) = cost::least(&compiled.expression, &compiled.scope);
            Judgement { errors: compiled.errors, cost, repetitions }
        }
    }
}

/// Without the feature `cel` rules are taken to be good.
#[cfg(not(feature = "cel"))]
pub(crate) fn judge(_: &str, _: &Node<'_>, _: bool) -> Judgement {
    Judgement::default()
}

/// Whether rules can see a value of this schema; the server refuses rules about anything else.
pub(crate) fn is_exposed(node: &Node<'_>) -> bool {
    node.flag(INT_OR_STRING)
        || match node.kind() {
            "array" => node.item().is_some_and(is_exposed),
            "object" => node.additional().is_none_or(is_exposed),
            kind => matches!(kind, "string" | "boolean" | "number" | "integer"),
        }
}

/// Whether the expression refers to the variable `oldSelf`.
///
/// Texts, comments and fields of that name (`self.oldSelf`) do not count.
pub(crate) fn uses_old_self(expression: &str) -> bool {
    identifiers(expression).any(|identifier| identifier == "oldSelf")
}

/// The identifiers that stand on their own, outside of texts and comments and not behind a dot.
fn identifiers(expression: &str) -> impl Iterator<Item = &str> {
    let mut rest = expression;
    let mut after_dot = false;
    std::iter::from_fn(move || {
        loop {
            let first = rest.chars().next()?;
            let length = match first {
                '"' | '\'' => text_length(rest),
                '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
                c if c.is_ascii_alphanumeric() || c == '_' => {
                    rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len())
                }
                c => c.len_utf8(),
            };
            let (token, after) = rest.split_at_checked(length)?;
            rest = after;
            let selected = after_dot;
            after_dot = token == "." || (after_dot && token.trim().is_empty());
            // A prefix such as r'' belongs to the text behind it.
            let prefix = rest.starts_with(['"', '\'']);
            if first.is_ascii_alphabetic() || first == '_' {
                if !selected && !prefix {
                    return Some(token);
                }
                after_dot = false;
            }
        }
    })
}

/// The length of the text literal at the start, with its quotes; the rest when it does not end.
fn text_length(text: &str) -> usize {
    let quote = text.get(..1).unwrap_or("\"");
    let triple = quote.repeat(3);
    let end = if text.starts_with(&triple) { triple.as_str() } else { quote };
    let mut at = end.len();
    while let Some(rest) = text.get(at..) {
        if rest.starts_with(end) {
            return at.saturating_add(end.len());
        }
        let mut chars = rest.chars();
        let step = match chars.next() {
            Some('\\') => chars.next().map_or(0, char::len_utf8).saturating_add(1),
            Some(c) => c.len_utf8(),
            None => return text.len(),
        };
        at = at.saturating_add(step);
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expression: &str, uses: bool) {
        assert_eq!(uses_old_self(expression), uses, "{expression}");
    }

    #[test]
    fn only_the_variable_counts() {
        check("self == oldSelf", true);
        check("!oldSelf.hasValue() || self >= oldSelf.value()", true);
        check("self.oldSelf == 'x'", false);
        check("self == 'oldSelf'", false);
        check("self == \"a \\\" oldSelf\"", false);
        check("self == '''oldSelf'''", false);
        check("self // oldSelf", false);
        check("self // note\n == oldSelf", true);
        check("notoldSelf == oldSelfish", false);
        check("self == r'\\' oldSelf", false);
        check("'unterminated oldSelf", false);
    }
}
