//! Arguments of builtin functions that mean something to them: patterns, schemas, templates, queries.
//!
//! A function whose arguments are languages of their own is hardly tried by values of the right types; the languages
//! are generated here, one file each. What is written may be wrong now and then: errors are compared as well.

mod glob;
mod pattern;

use serde_json::Value as Json;

use crate::random::Random;

/// Arguments for a function, tagged as [`crate::tagged`] has them; none for functions that need no language.
pub fn realistic(name: &str, random: &mut Random) -> Option<Vec<Json>> {
    match name {
        "glob.match" => Some(glob::matched(random)),
        "regex.globs_match" => Some(glob::intersected(random)),
        _ => pattern::searched(name, random),
    }
}
