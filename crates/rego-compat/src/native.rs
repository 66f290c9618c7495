//! The code behind each builtin.
//!
//! Functions here read their arguments where they are and count what they cost; those in `crate::builtins` own their
//! arguments and have a price that is paid before the call. Each is tested against OPA.

mod bits;
mod collection;
mod compare;
mod expression;
mod glob;
mod graph;
mod graphql;
mod intersection;
mod json_schema;
mod module;
mod network;
mod number;
mod price;
mod range;
mod template;
mod text;

use std::sync::OnceLock;

use crate::value::Value;

use crate::builtins::Outcome;
use crate::error::EvalError;
use crate::meter::Meter;
use crate::signature;
use eval_budget::Limit;

pub(crate) use compare::pay;

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
    if let Some((_, run)) = crate::builtins::registry().iter().find(|(own, _)| *own == name) {
        return Builtin::Owned(*run, price::of(name));
    }
    compare::find(name)
        .or_else(|| number::find(name))
        .or_else(|| bits::find(name))
        .or_else(|| graph::find(name))
        .or_else(|| text::find(name))
        .or_else(|| collection::find(name))
        .map_or(Builtin::Missing, Builtin::Native)
}

/// Functions whose results may be much larger than their arguments, or take much longer to make.
fn metered(name: &str) -> Option<Native> {
    match name {
        "sprintf" | "strings.replace_n" => text::find(name),
        "strings.render_template" => Some(template::render),
        "union" => collection::find(name),
        "rego.parse_module" => Some(module::parse),
        "glob.match" => Some(glob::matches),
        "regex.globs_match" => Some(intersection::globs_match),
        _ => expression::find(name)
            .or_else(|| json_schema::find(name))
            .or_else(|| graphql::find(name))
            .or_else(|| network::find(name))
            .or_else(|| range::find(name)),
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
            compare::find,
            number::find,
            bits::find,
            graph::find,
            text::find,
            collection::find,
            expression::find,
            json_schema::find,
            graphql::find,
            network::find,
            range::find,
        ];
        let owned = |name: &str| crate::builtins::registry().iter().filter(|(own, _)| *own == name).count();
        for signature in signature::all() {
            let name = signature.name;
            let found =
                finders.iter().filter(|find| find(name).is_some()).count().saturating_add(owned(name));
            assert!(found <= 1, "{name} has {found} implementations");
        }
    }

    #[test]
    fn no_builtin_is_unknown_to_opa() {
        for (name, _) in crate::builtins::registry() {
            assert!(signature::find(name).is_some(), "{name}");
        }
    }
}
