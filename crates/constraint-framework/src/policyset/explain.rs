//! The explanation of a constraint's verdict on one review: for authors of policies.

use serde_json::{Value, json};

use crate::api::{ConstraintSpec, ConstraintTemplate};
use crate::driver::{BodyTrace, Budget, Case};
use crate::error::IngestError;
use crate::review::{Json, Review};

use super::{Compiler, PolicySet};

/// The trace of one constraint on one review: match criteria first, then the bodies of the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The criteria of `spec.match`, in the order of evaluation.
    pub matching: Vec<MatchStep>,
    /// The engine that decides: `Rego` or `K8sNativeValidation`.
    pub engine: String,
    /// The policy, body by body; empty where the constraint does not match.
    pub bodies: Vec<BodyTrace>,
}

/// One criterion of `spec.match`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchStep {
    /// The field below `spec.match`.
    pub criterion: String,
    /// The criterion of the constraint, as JSON.
    pub wanted: String,
    /// True if the review meets the criterion, or the reason why that cannot be decided.
    pub outcome: Result<bool, String>,
}

/// Gatekeeper's order.
const CRITERIA: [&str; 8] = [
    "kinds",
    "scope",
    "namespaces",
    "excludedNamespaces",
    "labelSelector",
    "namespaceSelector",
    "name",
    "source",
];

impl Explanation {
    /// Returns true if the review meets every criterion of `spec.match`.
    pub fn matches(&self) -> bool {
        self.matching.iter().all(|step| step.outcome == Ok(true))
    }
}

impl Compiler {
    /// Explains how a constraint of a template judges a review; `spec` is the constraint's, with its defaults. Takes
    /// many times as long as the review itself.
    ///
    /// # Errors
    /// The template or the constraint is not one that could be ingested.
    pub fn explain(
        &self,
        template: &ConstraintTemplate,
        spec: &Value,
        review: &Review,
        policies: &PolicySet,
        budget: &Budget,
    ) -> Result<Explanation, IngestError> {
        let target = self.known(template)?;
        let spec = ConstraintSpec::from_value(spec)?;
        let mut matching = Vec::new();
        let block = spec.match_spec.clone().unwrap_or_default();
        for criterion in CRITERIA {
            let Some(wanted) = block.get(criterion).filter(|value| !value.is_null()) else { continue };
            let matcher = target.matcher(Some(&json!({ criterion: wanted })))?;
            let outcome = matcher.matches(review).map_err(|error| error.to_string());
            matching.push(MatchStep { criterion: criterion.to_owned(), wanted: wanted.to_string(), outcome });
        }
        let (driver, source) = self.deciding(template)?;
        let engine = driver.engine().to_owned();
        let mut explanation = Explanation { matching, engine, bodies: Vec::new() };
        if explanation.matches() {
            let parameters = Json::from_value(spec.parameters.as_ref().unwrap_or(&Value::Null))?;
            let inventory = policies.inventory(target);
            let case = Case { review, parameters: &parameters, inventory };
            explanation.bodies = driver.explain(&source, &case, budget).map_err(IngestError::Compile)?;
        }
        Ok(explanation)
    }
}
