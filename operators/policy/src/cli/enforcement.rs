//! An `enforcementAction` that Gatekeeper does not know.
//!
//! A cluster refuses such a constraint unless its webhook is told not to; `gator test` takes it, reports its violations,
//! and fails for none of them.

use constraint_framework::api::Constraint;
use serde_json::Value;

const KNOWN: [&str; 4] = ["deny", "dryrun", "warn", "scoped"];

/// The constraint with an action that is recorded only in place of an unknown one, and a warning about that.
pub(super) fn with_known_action(mut constraint: Constraint) -> (Constraint, Option<String>) {
    let written = constraint.spec.get("enforcementAction").and_then(Value::as_str);
    let Some(word) = written.filter(|word| !KNOWN.contains(word)).map(str::to_owned) else {
        return (constraint, None);
    };
    if let Some(spec) = constraint.spec.as_object_mut() {
        spec.insert("enforcementAction".to_owned(), "dryrun".into());
    }
    let warning = format!(
        "enforcementAction {word:?} is unknown (deny, dryrun, warn, scoped): a cluster refuses {}, and here its \
         violations are reported and fail nothing",
        constraint.id
    );
    (constraint, Some(warning))
}
