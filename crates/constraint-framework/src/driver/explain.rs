//! The steps by which a policy came to its answer about one case: which expressions held, which one did not, and with
//! which values.
//!
//! For authors: a source is compiled and evaluated again and again, so this takes many times as long as a review.

/// The trace of one rule body or one validation, expression by expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyTrace {
    /// The role of the body in the policy.
    pub kind: BodyKind,
    /// The place in the source: `template:3:1` in Rego, `source/validations/0` in CEL.
    pub place: String,
    /// The name, such as `violation`, `validation`, or that of another rule; with its package where it is a library's.
    pub name: String,
    /// True if a check found a violation, a condition let the case pass, or a rule holds: see [`BodyKind`].
    pub held: bool,
    /// The expressions in source order; empty for functions and for libraries.
    pub steps: Vec<ExpressionTrace>,
}

/// The role of a body in its policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BodyKind {
    /// It finds violations: a rule `violation` in Rego, a validation in CEL.
    Check,
    /// It lets cases pass to the checks: a match condition in CEL.
    Condition,
    /// A rule in Rego that other rules refer to.
    Rule,
}

impl BodyTrace {
    /// Returns true if it found a violation.
    pub fn is_violation(&self) -> bool {
        self.kind == BodyKind::Check && self.held
    }
}

/// The trace of one expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionTrace {
    /// The place in the source, as [`BodyTrace::place`].
    pub place: String,
    /// The source code of the expression.
    pub text: String,
    /// The outcome of the evaluation.
    pub outcome: ExpressionOutcome,
    /// The values of the names in it, as far as they have values.
    pub values: Vec<(String, String)>,
}

/// The outcome of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpressionOutcome {
    /// The expression is true, or defined, together with all before it.
    Held,
    /// The expression is false, or undefined for every value of the variables before it.
    Failed,
    /// The expression could not be evaluated, with the reason.
    Error(String),
    /// An expression before it did not hold.
    NotReached,
}

/// The longest value that is shown, in characters.
const LONGEST_VALUE: usize = 200;

/// Returns a value as it is shown: its beginning, where it is long.
pub(super) fn shown(value: &str) -> String {
    match value.char_indices().nth(LONGEST_VALUE) {
        Some((end, _)) => format!("{}…", value.get(..end).unwrap_or_default()),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_cut_between_characters() {
        assert_eq!(shown(&"é".repeat(300)).chars().count(), 201);
        assert_eq!(shown("short"), "short");
    }
}
