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

thread_local! {
    static RECENT: RefCell<HashMap<Box<str>, Rc<Regex>>> = RefCell::new(HashMap::new());
}

/// The compiled form of a pattern in Go's syntax.
pub(super) fn compiled(pattern: &str) -> Result<Rc<Regex>, String> {
    if let Some(known) = RECENT.with_borrow(|recent| recent.get(pattern).cloned()) {
        return Ok(known);
    }
    let fresh = Rc::new(compile(pattern)?);
    RECENT.with_borrow_mut(|recent| {
        if recent.len() >= REMEMBERED {
            recent.clear();
        }
        recent.insert(pattern.into(), Rc::clone(&fresh));
    });
    Ok(fresh)
}

fn compile(pattern: &str) -> Result<Regex, String> {
    let refused = |reason: &str| format!("error parsing regexp: {reason}: `{pattern}`");
    let rust = translate(pattern).map_err(refused)?;
    let built = regex::RegexBuilder::new(&rust).size_limit(MOST_BYTES).build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => refused("expression too large"),
        _ => refused("invalid expression"),
    })
}
