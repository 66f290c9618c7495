//! Our answer to a question about a review, in the form in which Gatekeeper's is recorded. The conformance tests, which
//! ask Gatekeeper, use the same file.
//!
//! A question holds `request` or `object`, and with them `namespace`, `source` and `point`, which may be absent.

#![allow(clippy::indexing_slicing, reason = "an absent field of a JSON value is null")]

use constraint_framework::api::Constraint;
use constraint_framework::driver::Budget;
use constraint_framework::policyset::{Compiler, PolicySet, PolicySetBuilder};
use constraint_framework::review::{self, Document, EnforcementPoint, ReviewSource, Violation};
use constraint_framework::target::AdmissionTarget;
use serde_json::{Value as Json, json};

/// A builder with these policies.
///
/// # Errors
/// The reason why one of them is refused.
pub fn builder(
    templates: &[Json],
    constraints: &[Json],
    inventory: &[Json],
) -> Result<PolicySetBuilder, String> {
    let mut builder = PolicySetBuilder::new(Compiler::default());
    for template in templates {
        builder.put_template(template).map_err(|error| format!("{template}: {error}"))?;
    }
    for object in inventory {
        let document = Document::from_value(object).map_err(|error| format!("{object}: {error}"))?;
        builder.put_object(&AdmissionTarget, document).map_err(|error| format!("{object}: {error}"))?;
    }
    for constraint in constraints {
        put(&mut builder, constraint).map_err(|error| format!("{constraint}: {error}"))?;
    }
    Ok(builder)
}

/// Adds a constraint.
///
/// # Errors
/// The reason why it is refused.
pub fn put(builder: &mut PolicySetBuilder, constraint: &Json) -> Result<(), String> {
    let read = Constraint::from_value(constraint).map_err(|errors| errors.to_string())?;
    builder.put_constraint(read).map_err(|error| error.to_string())
}

/// Our violations, each `[constraint, message, [action, …], details]`, sorted.
///
/// # Errors
/// The reason why there is no review.
pub fn answer(policies: &PolicySet, question: &Json) -> Result<Vec<Json>, String> {
    let named = question["point"].as_str().unwrap_or("validation.gatekeeper.sh");
    let points =
        [EnforcementPoint::WEBHOOK, EnforcementPoint::AUDIT, EnforcementPoint::GATOR, EnforcementPoint::VAP];
    let point = points.into_iter().find(|point| point.name() == named).ok_or("unknown point")?;
    let verdict = policies.review(&review(policies, question)?, point, &Budget::default());
    Ok(sorted(verdict.violations().iter().map(line).collect()))
}

fn line(violation: &Violation) -> Json {
    let actions = violation.actions.iter().map(|action| action.name()).collect();
    as_line(&violation.constraint.to_string(), &violation.message, actions, violation.details.clone())
}

/// The actions are a set; details stand in a line only if there are any.
fn as_line(constraint: &str, message: &str, mut actions: Vec<&str>, details: Option<Json>) -> Json {
    actions.sort_unstable();
    actions.dedup();
    let line = [json!(constraint), json!(message), json!(actions)];
    line.into_iter().chain(details.map(rounded)).collect()
}

/// The violations in an answer of Gatekeeper, in the same form.
///
/// # Errors
/// Its reason why there is no review.
pub fn of_judge(answer: &Json) -> Result<Vec<Json>, String> {
    let results = answer["results"].as_array().ok_or_else(|| answer["error"]["message"].to_string())?;
    Ok(sorted(results.iter().map(judged_line).collect()))
}

fn judged_line(result: &Json) -> Json {
    let text = |field: &str| result[field].as_str().unwrap_or_default();
    let scoped = || result["scoped"].as_array().into_iter().flatten().filter_map(Json::as_str);
    let actions = match text("action") {
        "scoped" => scoped().collect(),
        action => vec![action],
    };
    let constraint = format!("{}/{}", text("kind"), text("name"));
    as_line(&constraint, text("msg"), actions, result.get("details").cloned())
}

fn sorted(mut lines: Vec<Json>) -> Vec<Json> {
    lines.sort_by_cached_key(Json::to_string);
    lines
}

/// Gatekeeper reads the numbers of a review as 64-bit floating point numbers; ours stay as they are written.
fn rounded(value: Json) -> Json {
    match value {
        Json::Number(number) => json!(number.as_f64()),
        Json::Array(items) => items.into_iter().map(rounded).collect(),
        Json::Object(fields) => fields.into_iter().map(|(key, value)| (key, rounded(value))).collect(),
        other => other,
    }
}

/// The review as an enforcement point builds it. The Namespace comes from the caller, or from the inventory.
fn review(policies: &PolicySet, question: &Json) -> Result<review::Review, String> {
    let document = |value: &Json| Document::from_value(value).map_err(|error| error.to_string());
    let built = match question.get("request") {
        Some(request) => AdmissionTarget.request(&request.to_string()).map_err(|error| error.to_string())?,
        None => AdmissionTarget.object(document(&question["object"])?, None),
    };
    let source = match question["source"].as_str() {
        Some("Original") => Some(ReviewSource::Original),
        Some("Generated") => Some(ReviewSource::Generated),
        _ => None,
    };
    let namespace = match question.get("namespace").filter(|namespace| !namespace.is_null()) {
        Some(namespace) => Some(document(namespace)?),
        None => {
            let name = built.attributes().get("namespace").and_then(Json::as_str).unwrap_or_default();
            policies.inventory(&AdmissionTarget).get(&["cluster", "v1", "Namespace", name].map(str::to_owned))
        }
    };
    Ok(built.into_builder().source(source).namespace_object(namespace).build())
}
