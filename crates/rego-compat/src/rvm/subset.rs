//! Why a program stays with the interpreter.

/// A program that the virtual machine must not run, for all these reasons.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("outside what the virtual machine runs as OPA does: {}", list(reasons))]
#[non_exhaustive]
pub struct OutsideSubset {
    /// Each once, in order; never empty.
    pub reasons: Vec<Reason>,
}

/// A construct that the virtual machine lacks, or reads differently.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// `with`: the machine cannot replace documents or functions.
    #[error("`with`")]
    With,
    /// A package is searched by a key that is not known beforehand: the machine would evaluate all of its rules.
    #[error("a package is searched by a computed key")]
    Package,
    /// A rule makes a nested object, an object of sets, or an object with a default.
    #[error("{0} makes an object of objects or sets, or has a default")]
    ObjectRule(String),
    /// `else` after a body that makes many values.
    #[error("{0} has an else and makes many values")]
    ElseOfMany(String),
    /// The same call must answer alike within one evaluation, and the machine does not remember.
    #[error("{0} is not deterministic")]
    Nondeterministic(String),
    /// The machine passes at most eight arguments.
    #[error("{0} has more than eight arguments")]
    Arguments(String),
    /// regorus refused what was written for it, such as a body that needs more registers than there are.
    #[error("regorus: {0}")]
    Refused(String),
}

impl From<Reason> for OutsideSubset {
    fn from(reason: Reason) -> Self {
        Self { reasons: vec![reason] }
    }
}

fn list(reasons: &[Reason]) -> String {
    reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
