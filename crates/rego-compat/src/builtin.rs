//! The code behind each builtin.
//!
//! Functions here read their arguments where they are and count what they cost; those in `crate::builtins` own their
//! arguments and have a price that is paid before the call. Each is tested against OPA.

mod aggregates;
mod arithmetic;
mod bits;
mod casts;
mod cidr;
mod comparison;
mod crypto;
mod encoding;
mod glob;
mod graph;
mod graphql;
mod json;
mod json_schema;
mod numbers;
mod object;
mod operand;
mod price;
mod providers;
mod regex;
mod registry;
mod rego;
mod semver;
mod sets;
pub(crate) mod signature;
mod strings;
mod table;
mod template;
mod time;
mod tokens;
mod units;
mod uri;
mod uuid;
pub(crate) mod yaml;

use std::sync::OnceLock;

use crate::value::Value;

use crate::error::EvalError;
use crate::meter::Meter;
use eval_budget::Limit;

pub(crate) use comparison::pay;
pub(crate) use json::{name_of, quote};
pub use registry::to_json;
pub(crate) use registry::{Outcome, outcome};

/// A builtin's value, `None` where it is undefined.
pub(crate) type Answer = Result<Option<Value>, EvalError>;

/// The code behind a builtin.
#[derive(Clone, Copy)]
pub(crate) enum Builtin {
    /// Reads its arguments where they are.
    Native(fn(&[&Value], &Meter) -> Answer),
    /// Wants arguments of its own.
    Owned(fn(&[Value]) -> Outcome, price::Price),
    /// Not a function at run time: a relation (`walk`), a constant of the program (`rego.metadata.*`), or a request to the
    /// network that this crate does not make (`http.send`, `net.lookup_ip_addr`). A call is undefined.
    Missing,
}

impl std::fmt::Debug for Builtin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Native(_) => "Native",
            Self::Owned(..) => "Owned",
            Self::Missing => "Missing",
        })
    }
}

/// The builtins that have no code of their own.
#[cfg(test)]
const WITHOUT_CODE: [&str; 5] =
    ["http.send", "net.lookup_ip_addr", "rego.metadata.chain", "rego.metadata.rule", "walk"];

static TABLE: OnceLock<Vec<Builtin>> = OnceLock::new();

/// The code for a builtin, by its place in the table of signatures.
pub(crate) fn implementation(id: usize) -> Builtin {
    let table = TABLE.get_or_init(|| signature::all().map(|signature| choose(signature.name)).collect());
    table.get(id).copied().unwrap_or(Builtin::Missing)
}

fn choose(name: &str) -> Builtin {
    // Those that pay as they go come first.
    if let Some(native) = metered(name) {
        return Builtin::Native(native);
    }
    if let Some((_, run)) = registry::registry().iter().find(|(own, _)| *own == name) {
        return Builtin::Owned(*run, price::of(name));
    }
    comparison::find(name)
        .or_else(|| arithmetic::find(name))
        .or_else(|| bits::find(name))
        .or_else(|| graph::find(name))
        .or_else(|| strings::find(name))
        .or_else(|| object::get::find(name))
        .map_or(Builtin::Missing, Builtin::Native)
}

/// Functions whose results may be much larger than their arguments, or take much longer to make.
fn metered(name: &str) -> Option<Native> {
    match name {
        "sprintf" | "strings.replace_n" => strings::find(name),
        "strings.render_template" => Some(template::render),
        "union" => object::get::find(name),
        "rego.parse_module" => Some(rego::parse),
        "glob.match" => Some(glob::matches),
        "regex.globs_match" => Some(regex::globs::globs_match),
        _ => regex::find(name)
            .or_else(|| json_schema::find(name))
            .or_else(|| graphql::find(name))
            .or_else(|| cidr::expand::find(name))
            .or_else(|| numbers::find(name)),
    }
}

/// Calls a builtin whose arguments all have values.
pub(crate) fn call(builtin: Builtin, args: &[&Value], meter: &Meter) -> Answer {
    let answer = match builtin {
        Builtin::Native(run) => return run(args, meter),
        Builtin::Owned(run, price) => {
            price(args, meter)?;
            match run(&owned(args)) {
                Outcome::Value(Value::Undefined) | Outcome::Undefined | Outcome::Error(_) => None,
                Outcome::Excess => return Err(EvalError::Budget(Limit::Memory)),
                Outcome::Value(value) => Some(value),
            }
        }
        Builtin::Missing => None,
    };
    if let Some(value) = &answer {
        meter.charge_value(value)?;
    }
    Ok(answer)
}

fn owned(args: &[&Value]) -> Vec<Value> {
    args.iter().map(|arg| (*arg).clone()).collect()
}

type Native = fn(&[&Value], &Meter) -> Answer;

fn answer(value: impl Into<Value>) -> Answer {
    Ok(Some(value.into()))
}

fn text_at<'a>(args: &[&'a Value], index: usize) -> Option<&'a str> {
    match args.get(index) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_builtin_of_opa_has_code_or_is_known_to_have_none() {
        let missing: Vec<&str> = signature::all()
            .map(|signature| signature.name)
            .filter(|name| matches!(choose(name), Builtin::Missing))
            .collect();
        assert_eq!(missing, WITHOUT_CODE);
    }

    #[test]
    fn no_code_is_behind_another_under_the_same_name() {
        let finders = [
            comparison::find,
            arithmetic::find,
            bits::find,
            graph::find,
            strings::find,
            object::get::find,
            regex::find,
            json_schema::find,
            graphql::find,
            cidr::expand::find,
            numbers::find,
        ];
        let owned = |name: &str| registry::registry().iter().filter(|(own, _)| *own == name).count();
        for signature in signature::all() {
            let name = signature.name;
            let found =
                finders.iter().filter(|find| find(name).is_some()).count().saturating_add(owned(name));
            assert!(found <= 1, "{name} has {found} implementations");
        }
    }

    #[test]
    fn no_builtin_is_unknown_to_opa() {
        for (name, _) in registry::registry() {
            assert!(signature::find(name).is_some(), "{name}");
        }
    }
}
