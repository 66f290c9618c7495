//! Go's regular expressions on Rust's engine.
//!
//! Both are RE2's family: no look-around, linear time. They differ in what text means: `\d`, `\w`, `\s` and `\b`
//! are ASCII in Go and Unicode in Rust; `[a&&b]`, `\<` and `a**` mean something in one and not in the other.
//! [`translate`] reads Go's syntax (`regexp/syntax`) and writes Rust's, so that what Go refuses is refused, and
//! what it accepts has Go's meaning. [`compiled`] remembers the last patterns of the thread.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use regex::Regex;

use self::translate::translate;

mod translate;

/// The patterns a thread remembers; OPA remembers as many.
const REMEMBERED: usize = 100;

/// The bytes a compiled pattern may take, which bounds `(a{1000}){1000}`.
const MOST_BYTES: usize = 10 << 20;

/// A compiled pattern and how many states it has, roughly.
#[derive(Clone)]
pub(crate) struct Weighed {
    pub(crate) regex: Rc<Regex>,
    pub(crate) states: u64,
}

thread_local! {
    static RECENT: RefCell<HashMap<Box<str>, Weighed>> = RefCell::new(HashMap::new());
}

/// Why there is no compiled form.
pub(crate) enum Unusable {
    /// Go refuses it, with these words.
    Refused(String),
    /// Go takes it, but it is larger than patterns may be here.
    TooLarge,
}

/// The compiled form of a pattern in Go's syntax.
pub(super) fn compiled(pattern: &str) -> Result<Rc<Regex>, String> {
    weighed(pattern).map(|weighed| weighed.regex).map_err(|unusable| match unusable {
        Unusable::Refused(reason) => reason,
        Unusable::TooLarge => refused("expression too large", pattern),
    })
}

/// What a group is called in Rust, whose names are unique and begin with no digit.
fn group_name(name: &str, times: usize) -> String {
    format!("_{name}.{times}")
}

/// The group with a name that took part in the match, the first of several.
pub(super) fn named<'t>(found: &regex::Captures<'t>, name: &str) -> Option<regex::Match<'t>> {
    (0..found.len()).find_map(|times| found.name(&group_name(name, times)))
}

/// Whether Go takes a pattern.
pub(crate) fn is_valid(pattern: &str) -> bool {
    !matches!(weighed(pattern), Err(Unusable::Refused(_)))
}

/// As [`compiled`], with the size of the pattern, which a search may take for each character of the text.
pub(crate) fn weighed(pattern: &str) -> Result<Weighed, Unusable> {
    if let Some(known) = RECENT.with_borrow(|recent| recent.get(pattern).cloned()) {
        return Ok(known);
    }
    let fresh = compile(pattern)?;
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

fn refused(reason: &str, pattern: &str) -> String {
    format!("error parsing regexp: {reason}: `{pattern}`")
}

fn compile(pattern: &str) -> Result<Weighed, Unusable> {
    let rust = translate(pattern).map_err(|reason| Unusable::Refused(refused(reason, pattern)))?;
    match built(&rust) {
        Ok(Some(weighed)) => Ok(weighed),
        Ok(None) => Err(Unusable::Refused(refused("invalid expression", pattern))),
        Err(TooLarge) => Err(Unusable::TooLarge),
    }
}

/// An expression needs more memory than one may.
pub(crate) struct TooLarge;

/// The compiled form of an expression in Rust's syntax; none where it is no expression.
pub(crate) fn built(expression: &str) -> Result<Option<Weighed>, TooLarge> {
    for size in SIZES {
        match regex::RegexBuilder::new(expression).size_limit(size).build() {
            Ok(regex) => {
                let states = u64::try_from(size / STATE_BYTES).unwrap_or(u64::MAX);
                return Ok(Some(Weighed { regex: Rc::new(regex), states }));
            }
            Err(regex::Error::CompiledTooBig(_)) => {}
            Err(_) => return Ok(None),
        }
    }
    Err(TooLarge)
}
