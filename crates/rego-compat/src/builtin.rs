//! OPA's builtin functions: one table of their names, types, prices and code, and a file for each family of functions.
//!
//! The families have the names of OPA's files in `topdown/`, but for `graph` (`reachable.go`), `json_schema`
//! (`jsonschema.go`), `rego` (`parse.go`), `types` (`type.go`), `units` (`parse_bytes.go` and `parse_units.go`) and `yaml`
//! (`encoding.go`). Nothing here knows about modules, rules or plans.

mod aggregates;
mod arithmetic;
mod array;
mod bits;
mod casts;
mod cidr;
mod comparison;
#[cfg(feature = "crypto")]
mod crypto;
mod encoding;
mod glob;
mod graph;
#[cfg(feature = "graphql")]
mod graphql;
mod json;
#[cfg(feature = "json-schema")]
mod json_schema;
mod numbers;
mod object;
mod operand;
mod outcome;
mod price;
#[cfg(feature = "crypto")]
mod providers;
mod regex;
mod rego;
mod runtime;
mod semver;
mod sets;
mod spec;
mod strings;
mod table;
#[cfg(feature = "templates")]
mod template;
mod time;
#[cfg(feature = "crypto")]
mod tokens;
mod types;
mod units;
mod uri;
mod uuid;
pub(crate) mod yaml;

use eval_budget::Limit;

use crate::error::EvalError;
use crate::meter::{Meter, Now};
use crate::value::Value;

pub(crate) use comparison::{is_scalar, pay};
pub use json::to_json;
pub(crate) use outcome::{CallError, Outcome};
pub(crate) use spec::Spec;

/// A builtin function: a row of the table.
#[derive(Debug)]
pub(crate) struct Builtin {
    pub(crate) name: &'static str,
    pub(crate) args: &'static [Spec],
    pub(crate) result: Spec,
    /// True if it exists in Rego v0 only.
    pub(crate) removed: bool,
    /// True if equal arguments give equal results.
    pub(crate) pure: bool,
    code: Code,
}

/// The code behind a builtin.
#[derive(Clone, Copy, Debug)]
enum Code {
    /// A function that is not interrupted: its price is paid before it runs.
    Priced(fn(&[&Value]) -> Outcome, price::Price),
    /// The same, for a function that asks for the time of the evaluation.
    Timed(fn(&[&Value], Now) -> Outcome, price::Price),
    /// A function that counts its cost while it runs.
    Metered(fn(&[&Value], &Meter) -> Answer),
    /// No code at run time, because the planner turns calls into something else: a relation, or a constant.
    Planned,
    /// A request to the network that this crate does not make. A call is an error.
    Refused,
    /// A function that this build leaves out; holds the feature that brings it. No program is compiled that calls it.
    #[allow(dead_code, reason = "all features may be on")]
    Absent(&'static str),
}

/// A builtin's value, `None` where it is undefined.
type Answer = Result<Option<Value>, EvalError>;

impl Builtin {
    /// Returns true for `walk`, which has a value for each step of its walk, where functions have one.
    pub(crate) fn is_relation(&self) -> bool {
        self.name == "walk"
    }

    /// Returns true for `print`, which takes any number of arguments.
    pub(crate) fn is_variadic(&self) -> bool {
        self.name == "print"
    }

    /// Returns the feature of the crate that this function needs and the build lacks.
    pub(crate) const fn lacks(&self) -> Option<&'static str> {
        match self.code {
            Code::Absent(feature) => Some(feature),
            _ => None,
        }
    }

    /// Returns true if calls are turned into something else when they are planned, so that nothing can call it by value.
    pub(crate) const fn is_planned(&self) -> bool {
        matches!(self.code, Code::Planned)
    }

    /// Returns the error of a call that nothing answers: undefined, it would silence the policy.
    #[cold]
    fn has_no_code(&self) -> EvalError {
        match self.code {
            Code::Refused => EvalError::External {
                function: self.name.to_owned(),
                message: "rego-compat has no implementation of this function".to_owned(),
            },
            _ => EvalError::Internal(format!("{} has no code at run time", self.name)),
        }
    }

    /// Calls the function with arguments that all have values.
    pub(crate) fn call(&self, args: &[&Value], meter: &Meter) -> Answer {
        let outcome = match self.code {
            Code::Metered(run) => return run(args, meter),
            Code::Priced(run, price) => {
                price(args, meter)?;
                run(args)
            }
            Code::Timed(run, price) => {
                price(args, meter)?;
                run(args, meter.now()?)
            }
            Code::Planned | Code::Refused | Code::Absent(_) => return Err(self.has_no_code()),
        };
        match outcome {
            Outcome::Value(Value::Undefined) | Outcome::Undefined | Outcome::Error(CallError::Failed) => {
                Ok(None)
            }
            Outcome::Error(CallError::Excess) => Err(EvalError::Budget(Limit::Memory)),
            Outcome::Error(CallError::Internal(reason)) => {
                Err(EvalError::Internal(format!("{}: {reason}", self.name)))
            }
            Outcome::Value(value) => {
                meter.charge_value(&value)?;
                Ok(Some(value))
            }
        }
    }
}

/// Names are unique in the table.
impl PartialEq for Builtin {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Builtin {}

/// Returns the builtin of this name.
pub(crate) fn find(name: &str) -> Option<&'static Builtin> {
    let index = table::TABLE.binary_search_by(|builtin| builtin.name.cmp(name)).ok()?;
    table::TABLE.get(index)
}

/// Returns the name of the builtin that is most like `name`, if there is one that a typing error may stand for.
pub(crate) fn similar(name: &str) -> Option<&'static str> {
    most_like(name, table::TABLE.iter().map(|builtin| builtin.name))
}

/// Returns that of `names` which is most like `name`, if there is one that a typing error may stand for.
pub(crate) fn most_like<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    // clap's measure and bound for subcommands.
    let alike = names.map(|other| (strsim::jaro(name, other), other)).filter(|(likeness, _)| *likeness > 0.8);
    alike.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, name)| name)
}

/// One of OPA's builtin functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BuiltinFunction {
    /// The full name, for example `net.cidr_merge`.
    pub name: &'static str,
    /// The number of arguments, without the optional output variable.
    pub arity: usize,
    /// True if Rego v1 removed it, so that only a v0 module may call it.
    pub v0_only: bool,
    /// True if equal arguments give equal results. False for what OPA calls nondeterministic, and for checks of certificates,
    /// which depend on the time.
    pub deterministic: bool,
}

/// Returns OPA's builtin functions, ordered by name, without those of families that are not in this build (see the features
/// of the crate).
pub fn builtin_functions() -> impl Iterator<Item = BuiltinFunction> {
    table::TABLE.iter().filter(|builtin| builtin.lacks().is_none()).map(|builtin| BuiltinFunction {
        name: builtin.name,
        arity: builtin.args.len(),
        v0_only: builtin.removed,
        deterministic: builtin.pure,
    })
}

fn answer(value: impl Into<Value>) -> Answer {
    Ok(Some(value.into()))
}

/// Returns an operand that must be a string, for functions that are undefined otherwise.
fn text_at<'a>(args: &[&'a Value], index: usize) -> Option<&'a str> {
    operand::string(args, index).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_unique_so_that_every_row_is_found() {
        for pair in table::TABLE.windows(2) {
            assert!(pair[0].name < pair[1].name, "{} before {}", pair[0].name, pair[1].name);
        }
        for builtin in &table::TABLE {
            assert!(std::ptr::eq(find(builtin.name).unwrap(), builtin), "{} is unreachable", builtin.name);
        }
        assert!(find("no.such").is_none());
    }

    #[test]
    fn functions_without_code_are_these() {
        let without = |wanted: fn(&Code) -> bool| -> Vec<&str> {
            table::TABLE.iter().filter(|builtin| wanted(&builtin.code)).map(|builtin| builtin.name).collect()
        };
        assert_eq!(without(|code| matches!(code, Code::Refused)), ["http.send", "net.lookup_ip_addr"]);
        let planned = ["rego.metadata.chain", "rego.metadata.rule", "walk"];
        assert_eq!(without(|code| matches!(code, Code::Planned)), planned);
    }

    #[test]
    fn functions_without_code_are_errors_and_not_undefined() {
        let meter = Meter::new(&eval_budget::Budget::default());
        for builtin in &table::TABLE {
            let answer = builtin.call(&[], &meter);
            match builtin.code {
                Code::Refused => {
                    let text = answer.unwrap_err().to_string();
                    assert!(text.starts_with(builtin.name) && text.contains("no implementation"), "{text}");
                }
                Code::Planned | Code::Absent(_) => {
                    assert!(matches!(answer, Err(EvalError::Internal(_))), "{}: {answer:?}", builtin.name);
                }
                Code::Priced(..) | Code::Timed(..) | Code::Metered(_) => {}
            }
        }
    }

    #[test]
    fn what_the_process_lacks_ends_the_evaluation() {
        let code = Code::Priced(|_| Outcome::Error(CallError::Internal("no clock")), price::arguments);
        let builtin = Builtin { name: "f", args: &[], result: spec::NUM, removed: false, pure: false, code };
        let answer = builtin.call(&[], &Meter::new(&eval_budget::Budget::default()));
        assert_eq!(answer, Err(EvalError::Internal("f: no clock".to_owned())));
    }

    #[test]
    fn a_function_that_the_host_allows_and_nothing_implements_is_an_error() {
        use crate::{Budget, Module, RegoVersion, Restrictions, compile};

        let module = Module::parse("t.rego", "package t\np { http.send({}) }", RegoVersion::V0).unwrap();
        let restrictions = Restrictions::default().with_disabled_builtins::<&str>([]);
        let program = compile(&[module], "data.t.p", &restrictions).unwrap();
        let answer = program.evaluate(&Value::Null, &Value::new_object(), &Budget::default());
        assert!(matches!(answer, Err(EvalError::External { function, .. }) if function == "http.send"));
    }

    #[test]
    fn purity_and_removal_are_opas() {
        assert!(find("re_match").unwrap().removed);
        assert!(!find("regex.match").unwrap().removed);
        assert!(!find("time.now_ns").unwrap().pure);
    }

    #[test]
    fn what_asks_for_the_time_is_not_pure() {
        for builtin in &table::TABLE {
            assert!(!(builtin.pure && matches!(builtin.code, Code::Timed(..))), "{}", builtin.name);
        }
    }
}
