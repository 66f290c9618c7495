//! Explains how a ValidatingAdmissionPolicy judges an object, expression by expression.

use constraint_framework::api::ConstraintRef;
use constraint_framework::driver::{Case, Driver};
use constraint_framework::inventory::Inventory;
use constraint_framework::policyset::{Explanation, MatchStep};
use constraint_framework::review::{Document, Json, Review};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::matching::Plurals;
use super::params::Params;
use super::{BoundPolicy, KIND, NativePolicies, creation_of, driver, is_native_kind, source};
use crate::budget::without_deadline;
use crate::cli::snippet::locate;

impl NativePolicies {
    /// Explains how a binding judges an object that is created: once for each of its parameters.
    ///
    /// # Errors
    /// The object cannot be read.
    pub(in crate::cli) fn explain(
        &self,
        binding: &ConstraintRef,
        object: &Document,
        namespace: Option<&Document>,
    ) -> Result<Vec<Explanation>, String> {
        if is_native_kind(object.group(), object.kind()) {
            return Ok(Vec::new());
        }
        let review = creation_of(object, namespace)?;
        let mut explanations = self.explain_request(Some(binding), &review);
        for (explanation, policy) in &mut explanations {
            policy.locate(explanation);
        }
        Ok(explanations.into_iter().map(|(explanation, _)| explanation).collect())
    }

    /// Explains how a binding, or each of them, judges a request. Places are those in the policy's spec.
    pub(in crate::cli) fn explain_request(
        &self,
        binding: Option<&ConstraintRef>,
        review: &Review,
    ) -> Vec<(Explanation, &BoundPolicy)> {
        let wanted = |bound: &&BoundPolicy| binding.is_none_or(|binding| bound.binding == *binding);
        let explain = |bound| {
            BoundPolicy::explain(bound, review, &self.plurals).into_iter().map(move |one| (one, bound))
        };
        self.bound.iter().filter(wanted).flat_map(explain).collect()
    }
}

impl BoundPolicy {
    /// Puts places in the policy's file for those in its spec.
    pub(in crate::cli) fn locate(&self, explanation: &mut Explanation) {
        locate(explanation, &self.written.0);
    }

    fn explain(&self, review: &Review, plurals: &Plurals) -> Vec<Explanation> {
        let mut matching = self.match_steps(review, plurals);
        let parameters = match &self.params {
            Params::None => vec![None],
            Params::Reference(reference) => match reference.objects(review) {
                Ok(objects) => objects.into_iter().map(Some).collect(),
                Err(reason) => {
                    matching.push(step("paramRef", &Value::Null, Err(reason)));
                    Vec::new()
                }
            },
        };
        let explanation = Explanation { matching, engine: KIND.to_owned(), bodies: Vec::new() };
        if !explanation.matches() || parameters.is_empty() {
            return vec![explanation];
        }
        parameters.into_iter().map(|object| self.explain_with(object, review, explanation.clone())).collect()
    }

    /// Adds what the policy finds with these parameters, and names them: a selector may find several.
    fn explain_with(
        &self,
        object: Option<&Document>,
        review: &Review,
        mut found: Explanation,
    ) -> Explanation {
        let none = Json::from_raw(RawValue::NULL.to_owned());
        let parameters = object.map_or(&none, Document::body);
        found.matching.extend(object.map(|object| step("paramRef", &reference(object), Ok(true))));
        let (source, inventory) = (Value::Object(source(&self.written.0.object)), Inventory::default());
        let case = Case { review, parameters, inventory: &inventory };
        // It is compiled already.
        found.bodies =
            driver(&self.written.0.object).explain(&source, &case, &without_deadline()).unwrap_or_default();
        found
    }

    fn match_steps(&self, review: &Review, plurals: &Plurals) -> Vec<MatchStep> {
        let (policy, resources) = &self.written;
        let constraints = policy.object.pointer("/spec/matchConstraints").cloned().unwrap_or_default();
        let blocks = [("matchConstraints", &constraints), ("matchResources", resources)];
        let steps = blocks.into_iter().zip(&self.matching).filter(|((_, block), _)| !block.is_null());
        steps.map(|((name, block), rules)| step(name, block, Ok(rules.matches(review, plurals)))).collect()
    }
}

fn reference(object: &Document) -> Value {
    let (kind, namespace, name) = (object.kind(), object.namespace(), object.name());
    if namespace.is_empty() {
        json!({"kind": kind, "name": name})
    } else {
        json!({"kind": kind, "namespace": namespace, "name": name})
    }
}

fn step(criterion: &str, wanted: &Value, outcome: Result<bool, String>) -> MatchStep {
    MatchStep { criterion: criterion.to_owned(), wanted: wanted.to_string(), outcome }
}
