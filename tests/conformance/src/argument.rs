//! Arguments of builtin functions that mean something to them: patterns, schemas, templates, queries.
//!
//! A function whose arguments are languages of their own is hardly tried by values of the right types; the languages
//! are generated here, one file each. What is written may be wrong now and then: errors are compared as well.

mod glob;
mod graphql;
mod pattern;
mod schema;
mod template;

use serde_json::Value as Json;

use rego_compat::Value;

use crate::Verdict;
use crate::random::Random;

/// Arguments for a function, tagged as [`crate::tagged`] has them; none for functions that need no language.
pub fn realistic(name: &str, random: &mut Random) -> Option<Vec<Json>> {
    match name {
        "glob.match" => Some(glob::matched(random)),
        "json.match_schema" => Some(schema::matched(random)),
        "json.verify_schema" => Some(schema::verified(random)),
        "strings.render_template" => Some(template::rendered(random)),
        "regex.globs_match" => Some(glob::intersected(random)),
        _ => pattern::searched(name, random).or_else(|| graphql::asked(name, random)),
    }
}

/// An answer without what is chance in OPA's: the findings of a schema come in the order of a Go map.
#[must_use]
pub fn settled(name: &str, answer: Verdict) -> Verdict {
    match (name, answer) {
        ("json.match_schema", Verdict::Value(Value::Array(parts))) => {
            let sorted = |part: &Value| match part {
                Value::Array(findings) => {
                    let mut findings = findings.to_vec();
                    findings.sort();
                    Value::from(findings)
                }
                other => other.clone(),
            };
            Verdict::Value(parts.iter().map(sorted).collect::<Vec<_>>().into())
        }
        (_, answer) => answer,
    }
}
