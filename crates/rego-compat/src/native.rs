//! Which code answers a builtin: this crate's fast ones, `crate::builtins`, or regorus.
//!
//! The functions here are those policies call most, over borrowed values; each is tested against OPA.

mod bits;
mod collection;
mod compare;
mod engine;
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
    Engine(engine::Function, price::Price),
    /// Declared by OPA, answered by nobody: always undefined.
    Missing,
}

impl std::fmt::Debug for Builtin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Native(_) => "Native",
            Self::Owned(..) => "Owned",
            Self::Engine(..) => "Engine",
            Self::Missing => "Missing",
        })
    }
}

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
    if let Some(builtin) = crate::builtins::registry().iter().find(|builtin| builtin.name == name) {
        return Builtin::Owned(builtin.run, price::of(name));
    }
    let native = compare::find(name)
        .or_else(|| number::find(name))
        .or_else(|| bits::find(name))
        .or_else(|| graph::find(name))
        .or_else(|| text::find(name))
        .or_else(|| collection::find(name));
    let engine = || match engine::find(name) {
        Some(function) => Builtin::Engine(function, price::of(name)),
        None => Builtin::Missing,
    };
    native.map_or_else(engine, Builtin::Native)
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
        Builtin::Engine(run, price) => {
            price(args, meter)?;
            engine::call(run, &owned(args))?
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
