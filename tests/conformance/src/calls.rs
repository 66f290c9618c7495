//! Calls of every deterministic builtin function of OPA with random arguments.
//!
//! [`functions`] asks the judge which there are and what they take, [`calls`] makes arguments of these types. The same
//! function gets the same arguments in each run.

#[rustfmt::skip]
mod words;

use serde_json::{Value as Json, json};

use crate::argument::realistic;
use crate::random::Random;
use crate::{Error, Judge, operand, tagged};

/// Functions that have no value to compare: operators, relations, the network, and the engine's own.
const NOT_ASKED: &[&str] = &[
    "internal.",
    "rego.",
    "opa.runtime",
    "http.send",
    "net.lookup_ip_addr",
    "print",
    "trace",
    "walk",
    "io.jwt.encode",
];

/// A builtin function as OPA declares it.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name, such as `glob.match`.
    pub name: String,
    /// The types of its arguments, in OPA's notation.
    pub types: Vec<String>,
}

impl Function {
    fn read(declared: &Json) -> Option<Self> {
        let types = declared.get("args")?.as_array()?.iter().map(|of| of.as_str().map(str::to_owned));
        Some(Self { name: declared.get("name")?.as_str()?.to_owned(), types: types.collect::<Option<_>>()? })
    }

    /// The call of this function with these operands, each a term of Rego.
    #[must_use]
    pub fn call(&self, operands: &[String]) -> String {
        match (OPERATORS.iter().find(|(name, _)| *name == self.name), operands) {
            (Some((_, sign)), [left, right]) => format!("{left} {sign} {right}"),
            _ => format!("{}({})", self.name, operands.join(", ")),
        }
    }
}

/// The functions whose results can be compared.
///
/// # Errors
/// The judge ended, or did not answer in JSON.
pub fn functions(judge: &mut Judge) -> Result<Vec<Function>, Error> {
    let answer = judge.ask(&json!({"op": "builtins"}))?;
    let declared = answer.get("builtins").and_then(Json::as_array).into_iter().flatten();
    let is_asked = |one: &&Json| {
        let name = one.get("name").and_then(Json::as_str).unwrap_or_default();
        // A schema may refer to the network; those that are asked do not.
        let is_settled = one.get("nondeterministic") == Some(&json!(false)) || name.ends_with("_schema");
        is_settled
            && !["assign", "eq"].contains(&name)
            && !NOT_ASKED.iter().any(|prefix| name.starts_with(prefix))
    };
    Ok(declared.filter(is_asked).filter_map(Function::read).collect())
}

/// Arguments for `count` calls of a function, tagged as [`tagged`] has them; one for a function that takes none.
#[must_use]
pub fn calls(function: &Function, count: usize) -> Vec<Vec<Json>> {
    let seed = |seed: u64, byte| seed.wrapping_mul(31).wrapping_rem(1_000_003).wrapping_add(u64::from(byte));
    let mut random = Random::new(function.name.bytes().fold(1, seed));
    let mut arguments = Arguments {
        random: &mut random,
        strings: strings(&function.name),
        small: function.name.starts_with("numbers."),
    };
    let count = if function.types.is_empty() { 1 } else { count };
    (0..count).map(|_| arguments.call(function).into_iter().map(normal).collect()).collect()
}

/// A value without duplicate keys or elements, which the judge does not make.
fn normal(json: Json) -> Json {
    tagged::read(&json).map_or(Json::Null, |value| tagged::write(&value))
}

/// Strings that mean something to a family of functions.
fn strings(name: &str) -> &'static [&'static str] {
    use words::*;
    match name.split('.').next().unwrap_or(name) {
        "net" if name == "net.cidr_expand" => SUBNETS,
        "regex" | "re_match" => PATTERNS,
        "glob" => GLOBS,
        "net" => NETWORKS,
        "semver" => VERSIONS,
        "time" => TIMES,
        "units" => UNITS,
        "json" | "yaml" | "base64" | "base64url" | "hex" | "urlquery" => ENCODED,
        "io" => TOKENS,
        "to_number" | "format_int" => NUMERALS,
        "uri" => URIS,
        "uuid" => UUIDS,
        _ => PLAIN,
    }
}

const SMALL: &[&str] = &["0", "1", "2", "3", "-1", "-2", "7", "10", "16", "64", "1.5", "-0.5", "2.25", "100"];
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "-1",
    "-2",
    "7",
    "10",
    "16",
    "64",
    "1.5",
    "-0.5",
    "2.25",
    "100",
    "1582977600000000000",
    "9007199254740993",
    "18446744073709551616",
];

struct Arguments<'a> {
    random: &'a mut Random,
    strings: &'static [&'static str],
    small: bool,
}

impl Arguments<'_> {
    fn call(&mut self, function: &Function) -> Vec<Json> {
        let realistic = if self.random.once_in(3) { None } else { realistic(&function.name, self.random) };
        let types = function.types.iter().enumerate();
        realistic.unwrap_or_else(|| types.map(|(index, of)| self.of(&function.name, index, of)).collect())
    }

    /// A value of a type as OPA writes it, or now and then of any.
    fn of(&mut self, name: &str, index: usize, declared: &str) -> Json {
        if let Some(argument) = operand::fitting(name, index, self.random)
            && !self.random.once_in(5)
        {
            return argument;
        }
        if self.random.once_in(12) {
            return self.any(2);
        }
        let kinds = ["string", "number", "boolean", "array", "set", "object", "null"];
        let accepted: Vec<&str> = kinds.into_iter().filter(|kind| declared.contains(kind)).collect();
        let first = kinds.into_iter().find(|kind| declared.starts_with(kind));
        match first {
            Some(kind) => self.kind(kind, 2),
            None if accepted.is_empty() => self.any(2),
            None => {
                let kind = self.random.pick(&accepted);
                self.kind(kind, 2)
            }
        }
    }

    fn kind(&mut self, kind: &str, depth: usize) -> Json {
        let inner = depth.saturating_sub(1);
        let count = self.random.below(4);
        match kind {
            "string" => json!(self.random.pick(self.strings)),
            "number" => {
                // A range between two of the large ones would be endless.
                let texts = if self.small { SMALL } else { NUMBERS };
                json!({ "n": self.random.pick(texts) })
            }
            "boolean" => json!(self.random.once_in(2)),
            "null" => Json::Null,
            "array" => Json::Array((0..count).map(|_| self.any(inner)).collect()),
            "set" => json!({ "s": (0..count).map(|_| self.any(inner)).collect::<Vec<_>>() }),
            _ => {
                let pairs: Vec<Json> = (0..count)
                    .map(|_| {
                        let key = if self.random.once_in(8) { self.any(0) } else { self.kind("string", 0) };
                        json!([key, self.any(inner)])
                    })
                    .collect();
                json!({ "o": pairs })
            }
        }
    }

    fn any(&mut self, depth: usize) -> Json {
        let kinds = ["string", "string", "number", "number", "boolean", "null", "array", "set", "object"];
        let limit = if depth == 0 { 6 } else { kinds.len() };
        let kind = kinds.get(self.random.below(limit)).copied().unwrap_or("null");
        self.kind(kind, depth)
    }
}

/// Functions that are written as operators.
const OPERATORS: &[(&str, &str)] = &[
    ("gt", ">"),
    ("gte", ">="),
    ("lt", "<"),
    ("lte", "<="),
    ("equal", "=="),
    ("neq", "!="),
    ("plus", "+"),
    ("minus", "-"),
    ("mul", "*"),
    ("div", "/"),
    ("rem", "%"),
    ("and", "&"),
    ("or", "|"),
];
