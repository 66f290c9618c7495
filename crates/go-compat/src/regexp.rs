//! `regexp`, on the engine of the `regex` crate.
//!
//! Both are RE2's family: no look-around, linear time. They differ in what a pattern means: `\d`, `\w`, `\s` and `\b`
//! are ASCII in Go and Unicode in Rust; `[a&&b]`, `\<` and `a**` mean something in one and not in the other. The
//! pattern is read in Go's syntax (`regexp/syntax`) and written in Rust's, so that what Go refuses is refused, and what
//! it accepts has Go's meaning:
//!
//! ```text
//! Go     (?P<x>\d)(?P<x>a){2}?
//! Rust   (?P<_x.0>[0-9])(?P<_x.1>a){2}?
//! ```

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

pub use regex::{Captures, Match, Regex};

use self::syntax::translate;

mod syntax;
#[cfg(test)]
mod tests;

/// The patterns a thread remembers.
const REMEMBERED: usize = 100;

/// The bytes a compiled pattern may take, which bounds `(a{1000}){1000}`.
const MOST_BYTES: usize = 10 << 20;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The engine's form.
    pub regex: Rc<Regex>,
    /// The number of its states, roughly; a search takes at most that many steps for each character.
    pub states: u64,
}

thread_local! {
    static RECENT: RefCell<HashMap<Box<str>, Pattern>> = RefCell::new(HashMap::new());
}

/// The reason why a pattern has no compiled form.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Go refuses the pattern; in Go's words.
    Syntax(String),
    /// Go takes the pattern, but its compiled form is larger than 10 MiB. Holds the pattern.
    TooLarge(String),
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(message) => f.write_str(message),
            Self::TooLarge(pattern) => write!(f, "error parsing regexp: expression too large: `{pattern}`"),
        }
    }
}

/// Returns what a group is called in Rust, whose names are unique and begin with no digit.
fn group_name(name: &str, times: usize) -> String {
    format!("_{name}.{times}")
}

/// Returns the group with a name that took part in the match, the first of several.
#[must_use]
pub fn named<'t>(found: &Captures<'t>, name: &str) -> Option<Match<'t>> {
    (0..found.len()).find_map(|times| found.name(&group_name(name, times)))
}

/// Returns true where Go compiles the pattern.
#[must_use]
pub fn is_valid(pattern: &str) -> bool {
    !matches!(compile(pattern), Err(Error::Syntax(_)))
}

/// Checks the syntax of a pattern, without compiling it.
///
/// # Errors
/// Go refuses the pattern.
pub fn check(pattern: &str) -> Result<(), Error> {
    translate(pattern).map(drop).map_err(|error| Error::Syntax(error.to_string()))
}

/// Compiles a pattern as `regexp.Compile` does. The thread remembers its last hundred patterns.
///
/// # Errors
/// Go refuses the pattern, or it is too large.
pub fn compile(pattern: &str) -> Result<Pattern, Error> {
    if let Some(known) = RECENT.with_borrow(|recent| recent.get(pattern).cloned()) {
        return Ok(known);
    }
    let fresh = compiled(pattern)?;
    RECENT.with_borrow_mut(|recent| {
        if recent.len() >= REMEMBERED {
            recent.clear();
        }
        recent.insert(pattern.into(), fresh.clone());
    });
    Ok(fresh)
}

/// Sizes a pattern is tried to fit into, smallest first; the last is all it may have.
const SIZES: [usize; 5] = [1 << 12, 1 << 14, 1 << 17, 1 << 20, MOST_BYTES];

/// Bytes of one state of a compiled pattern.
const STATE_BYTES: usize = 32;

fn compiled(pattern: &str) -> Result<Pattern, Error> {
    let rust = translate(pattern).map_err(|error| Error::Syntax(error.to_string()))?;
    match from_rust_syntax(&rust) {
        Ok(Some(compiled)) => Ok(compiled),
        Ok(None) => Err(Error::Syntax(format!("error parsing regexp: invalid expression: `{pattern}`"))),
        Err(TooLarge) => Err(Error::TooLarge(pattern.to_owned())),
    }
}

/// The compiled form of an expression needs more than 10 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

/// Compiles an expression in Rust's syntax, for callers that translate another pattern language themselves; `None`
/// where it is not an expression.
///
/// # Errors
/// The compiled form is too large.
pub fn from_rust_syntax(expression: &str) -> Result<Option<Pattern>, TooLarge> {
    for size in SIZES {
        match regex::RegexBuilder::new(expression).size_limit(size).build() {
            Ok(regex) => {
                let states = u64::try_from(size / STATE_BYTES).unwrap_or(u64::MAX);
                return Ok(Some(Pattern { regex: Rc::new(regex), states }));
            }
            Err(regex::Error::CompiledTooBig(_)) => {}
            Err(_) => return Ok(None),
        }
    }
    Err(TooLarge)
}

/// Returns the result of `regexp.QuoteMeta`: the string as a pattern that matches nothing else.
#[must_use]
pub fn quote_meta(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if r"\.+*?()|[]{}^$".contains(character) {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// Splits as `Regexp.Split` does with no limit, part by part: none before an empty match at the beginning, nor after
/// one at the end. Each step is one search.
pub fn split<'t>(text: &'t str, pattern: &str, regex: &Regex) -> impl Iterator<Item = &'t str> {
    let is_whole = text.is_empty() && !pattern.is_empty();
    let mut whole = is_whole.then_some(text);
    let mut matches = (!is_whole).then(|| regex.find_iter(text));
    let (mut begin, mut end) = (0, 0);
    std::iter::from_fn(move || {
        if let Some(whole) = whole.take() {
            return Some(whole);
        }
        for found in matches.as_mut()? {
            end = found.start();
            let part = text.get(begin..end).unwrap_or("");
            begin = found.end();
            if found.end() != 0 {
                return Some(part);
            }
        }
        matches = None;
        (end != text.len()).then(|| text.get(begin..).unwrap_or(""))
    })
}

/// Expands a template as `Regexp.Expand` does: a name goes as far as letters, digits and `_` do, of any script.
#[must_use]
pub fn expand(template: &str, found: &Captures<'_>) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('$') {
        out.push_str(literal);
        rest = after;
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some((name, after)) = reference(rest) {
            let number = name.parse::<usize>().ok().filter(|_| name.len() == 1 || !name.starts_with('0'));
            let group = number.map_or_else(|| named(found, name), |number| found.get(number));
            out.push_str(group.map_or("", |group| group.as_str()));
            rest = after;
        } else {
            out.push('$');
        }
    }
    out.push_str(rest);
    out
}

/// A name at the beginning, in braces or not, and what follows it; none where there is no name.
fn reference(text: &str) -> Option<(&str, &str)> {
    let in_braces = text.strip_prefix('{');
    let start = in_braces.unwrap_or(text);
    let end = start.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(start.len());
    let (name, after) = start.split_at_checked(end).filter(|(name, _)| !name.is_empty())?;
    match in_braces {
        Some(_) => after.strip_prefix('}').map(|after| (name, after)),
        None => Some((name, after)),
    }
}
