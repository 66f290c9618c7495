//! The builtin functions that regorus lacks, or answers differently from OPA, as pure functions over values.
//!
//! One file per family of OPA's reference (`topdown/*.go`). The program (`program`) asks [`registry`] which
//! functions to put in front of the engine's own; a name that is not in the registry is answered by regorus.
//! Nothing here knows about modules, rules or budgets, and nothing here performs input or output.

use regorus::Value;

mod aggregates;
mod format;
mod operand;

/// What a builtin answers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The call has this value.
    Value(Value),
    /// The call is undefined, and OPA would not report an error even in strict mode.
    Undefined,
    /// OPA reports this error in strict mode, and takes the call as undefined otherwise. The text is OPA's,
    /// without its location and code.
    Error(String),
}

impl From<Value> for Outcome {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl From<Result<Value, operand::Fault>> for Outcome {
    fn from(result: Result<Value, operand::Fault>) -> Self {
        result.map_or_else(Self::Error, Self::Value)
    }
}

/// One builtin function.
///
/// `run` is called with exactly `arity` arguments, none of which is [`Value::Undefined`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Builtin {
    /// The full name, for example `net.cidr_merge`.
    pub name: &'static str,
    /// The number of arguments, the optional output variable not counted.
    pub arity: u8,
    /// False where two calls with equal arguments may differ (time, random numbers).
    pub deterministic: bool,
    /// True where Rego v1 removed the function, so that only a v0 module may call it.
    pub v0_only: bool,
    /// The function itself.
    pub run: fn(&[Value]) -> Outcome,
}

impl Builtin {
    /// A deterministic function that both language versions have.
    const fn new(name: &'static str, arity: u8, run: fn(&[Value]) -> Outcome) -> Self {
        Self {
            name,
            arity,
            deterministic: true,
            v0_only: false,
            run,
        }
    }

    /// A deterministic function that Rego v1 removed.
    const fn v0(name: &'static str, arity: u8, run: fn(&[Value]) -> Outcome) -> Self {
        Self {
            name,
            arity,
            deterministic: true,
            v0_only: true,
            run,
        }
    }
}

/// Every builtin of this crate, ordered by name, each name once.
pub fn registry() -> &'static [Builtin] {
    const ALL: &[Builtin] = &[
        Builtin::v0("all", 1, aggregates::all),
        Builtin::v0("any", 1, aggregates::any),
        Builtin::new("sprintf", 2, format::sprintf),
    ];
    ALL
}
