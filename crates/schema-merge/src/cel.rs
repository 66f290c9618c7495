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

/// How many characters cel-go reads.
#[cfg(feature = "cel")]
const MAX_SIZE: usize = 100_000;
/// How deep a rule may nest to be compiled here; deeper ones are left to the server, whose own bound is 250 of its steps.
#[cfg(feature = "cel")]
const MAX_NESTING: usize = 300;

/// What compiling a rule comes to.
#[derive(Default)]
pub(crate) struct Judgement {
    /// Why the server would not compile it.
    pub(crate) errors: Vec<String>,
    /// Why the server would not compile its `messageExpression`.
    pub(crate) message_errors: Vec<String>,
    /// What it costs at least each time it runs.
    pub(crate) cost: u64,
    /// How often it runs at most in one request, by the size of what it is about.
    pub(crate) repetitions: u64,
}

/// What the schemas seen so far are to rules.
#[derive(Default)]
pub(crate) struct Types {
    #[cfg(feature = "cel")]
    declared: decl::Declared,
}

impl Types {
    /// Compiles the rules of a schema.
    #[cfg(feature = "cel")]
    pub(crate) fn judge(&mut self, node: &Node<'_>, resource_root: bool) -> Vec<Judgement> {
        let this = decl::Decl::of(node, resource_root, &mut self.declared);
        let judge = |rule| this.as_ref().map(|this| judge(rule, this)).unwrap_or_default();
        node.rules().iter().map(judge).collect()
    }

    /// Without the feature `cel` rules are taken to be good.
    #[cfg(not(feature = "cel"))]
    pub(crate) fn judge(&mut self, node: &Node<'_>, _: bool) -> Vec<Judgement> {
        node.rules().iter().map(|_| Judgement::default()).collect()
    }
}

#[cfg(feature = "cel")]
fn judge(rule: &serde_json::Value, this: &decl::Decl) -> Judgement {
    let text = |field: &str| rule.get(field).and_then(serde_json::Value::as_str).unwrap_or_default();
    let mut judgement = Judgement { repetitions: decl::repetitions(this.min_size()), ..Judgement::default() };
    match compile(text("rule"), this, &check::CONDITION) {
        Err(error) => judgement.errors = vec![error],
        Ok(None) => {}
        Ok(Some(mut compiled)) => {
            compiled.scope.insert("oldSelf".to_owned(), this.clone());
            (judgement.cost, _) = cost::least(&compiled.expression, &compiled.scope);
            judgement.errors = compiled.errors;
        }
    }
    if !text("messageExpression").trim().is_empty() {
        judgement.message_errors = match compile(text("messageExpression"), this, &check::TEXT) {
            Err(error) => vec![error],
            Ok(compiled) => compiled.map(|compiled| compiled.errors).unwrap_or_default(),
        };
    }
    judgement
}

/// Compiles an expression, unless it is so deep that only the server can say.
#[cfg(feature = "cel")]
fn compile(
    expression: &str,
    this: &decl::Decl,
    goal: &check::Goal,
) -> Result<Option<check::Compiled>, String> {
    let size = expression.chars().count();
    if size > MAX_SIZE {
        return Err(format!(
            "{}: ERROR: <input>:-1:0: expression code point size exceeds limit: size: {size}, limit {MAX_SIZE}",
            goal.failure
        ));
    }
    if nesting(expression) > MAX_NESTING {
        return Ok(None);
    }
    check::compile(expression, this, goal).map(Some)
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

/// How deep the tree of an expression may get at most: each operator, dot and bracket may add a level, until a comma,
/// an "and" or an "or" starts another branch.
#[cfg(feature = "cel")]
fn nesting(expression: &str) -> usize {
    let (mut levels, mut deepest) = (vec![0_usize], 0);
    let mut rest = expression;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' | '\'' => text_length(rest),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        if length > first.len_utf8() {
            // A text or a comment.
            rest = rest.get(length..).unwrap_or_default();
            continue;
        }
        let level = levels.last().copied().unwrap_or(0);
        match first {
            '(' | '[' | '{' => levels.push(level.saturating_add(1)),
            ')' | ']' | '}' if levels.len() > 1 => {
                levels.pop();
                step(&mut levels, 1);
            }
            ',' | '&' | '|' => {
                levels.pop();
                let above = levels.last().copied();
                levels.push(above.map_or(0, |above| above.saturating_add(1)));
            }
            '.' | '!' | '?' | '+' | '-' | '*' | '/' | '%' | '<' | '>' | '=' => step(&mut levels, 1),
            _ => {}
        }
        deepest = levels.last().copied().unwrap_or(0).max(deepest);
        rest = rest.get(length..).unwrap_or_default();
    }
    deepest
}

#[cfg(feature = "cel")]
fn step(levels: &mut [usize], by: usize) {
    if let Some(level) = levels.last_mut() {
        *level = level.saturating_add(by);
    }
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
    #[cfg(feature = "cel")]
    fn what_nests_is_counted_and_what_stands_side_by_side_is_not() {
        assert_eq!(nesting("self"), 0);
        assert_eq!(nesting("self.a.b"), 2);
        assert_eq!(nesting("(((a)))"), 3);
        assert_eq!(nesting("'a.b.c.d' // ...."), 0);
        let conjunction = ["self.a.b > 1"; 50].join(" && ");
        assert_eq!(nesting(&conjunction), 3);
        assert!(nesting(&"1+".repeat(400)) > 300 && nesting(&"f(".repeat(400)) > 300);
        assert!(nesting(&"a[0]".repeat(400)) > 300);
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
