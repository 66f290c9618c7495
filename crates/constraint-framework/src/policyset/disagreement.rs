//! Differences between the engines of one template on the same review: a defect of the template, or of an engine.
//!
//! Only the violations of the deciding engine count; this is for authors of templates in two languages.

use crate::api::ConstraintRef;
use crate::driver::Budget;
use crate::review::{EnforcementPoint, Review};

use super::PolicySet;

/// A constraint on which the engines of its template disagree: some find violations and some find none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// Kind and name of the constraint.
    pub constraint: ConstraintRef,
    /// The answer of each engine, the deciding one first.
    pub answers: Vec<EngineAnswer>,
}

/// The answer of one engine to a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineAnswer {
    /// `Rego` or `K8sNativeValidation`.
    pub engine: String,
    /// The messages of its violations; none when it finds no violation.
    pub messages: Vec<String>,
}

impl PolicySet {
    /// Returns the constraints on which engines disagree about a review. Templates must have been compiled by a
    /// [comparing](super::Compiler::comparing) compiler; the budget is per constraint and engine.
    ///
    /// Messages may differ between engines in wording and number: engines disagree if only some find a violation.
    pub fn disagreements(
        &self,
        review: &Review,
        point: EnforcementPoint,
        budget: &Budget,
    ) -> Vec<Disagreement> {
        let mut found = Vec::new();
        for constraint in self.judging(review, point) {
            let answer = |(engine, program): (&str, &dyn crate::driver::CompiledPolicy)| {
                let violations = self.ask(constraint, program, review, budget);
                let messages = violations.into_iter().map(|violation| violation.message).collect();
                EngineAnswer { engine: engine.to_owned(), messages }
            };
            let answers: Vec<_> = constraint.template.programs().map(answer).collect();
            let violated = answers.iter().filter(|answer| !answer.messages.is_empty()).count();
            if violated > 0 && violated < answers.len() {
                found.push(Disagreement { constraint: constraint.id.clone(), answers });
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::api::Constraint;
    use crate::policyset::{Compiler, PolicySetBuilder};
    use crate::review::Document;
    use crate::target::AdmissionTarget;

    use super::*;

    /// Rego wants an owner, CEL wants a team.
    fn template() -> Value {
        let rego = "package owned\nviolation[{\"msg\": \"no owner\"}] { not input.review.object.metadata.labels.owner }";
        let cel = json!({"validations": [{"expression": "has(object.metadata.labels.team)", "message": "no team"}]});
        json!({
            "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "metadata": {"name": "owned"},
            "spec": {
                "crd": {"spec": {"names": {"kind": "Owned"}}},
                "targets": [{"target": "admission.k8s.gatekeeper.sh", "code": [
                    {"engine": "Rego", "source": {"rego": rego}},
                    {"engine": "K8sNativeValidation", "source": cel},
                ]}],
            },
        })
    }

    fn policies(compiler: Compiler) -> std::sync::Arc<PolicySet> {
        let mut builder = PolicySetBuilder::new(compiler);
        builder.put_template(&template()).unwrap();
        let constraint = json!({
            "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "Owned", "metadata": {"name": "all"},
        });
        builder.put_constraint(Constraint::from_value(&constraint).unwrap()).unwrap();
        builder.build()
    }

    fn pod(labels: Value) -> Review {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": labels}});
        AdmissionTarget.object(Document::from_value(&pod).unwrap(), None)
    }

    fn denial(compiler: Compiler, labels: Value) -> String {
        policies(compiler).review(&pod(labels), EnforcementPoint::AUDIT, &Budget::default()).denial()
    }

    #[test]
    fn cel_decides_where_a_template_has_both() {
        let owner = || json!({"owner": "ann"});
        assert_eq!(denial(Compiler::default(), owner()), "[all] no team");
        assert_eq!(denial(Compiler::default().comparing(), owner()), "[all] no team");
        assert_eq!(denial(Compiler::default().only("Rego"), owner()), "");
        assert_eq!(denial(Compiler::default().only("Rego"), json!({"team": "a"})), "[all] no owner");
        assert_eq!(denial(Compiler::default().only("K8sNativeValidation"), owner()), "[all] no team");
    }

    #[test]
    fn a_disagreement_names_both_answers() {
        let policies = policies(Compiler::default().comparing());
        let found =
            |labels: Value| policies.disagreements(&pod(labels), EnforcementPoint::AUDIT, &Budget::default());
        assert!(found(json!({})).is_empty());
        assert!(found(json!({"owner": "ann", "team": "a"})).is_empty());
        let answer = |engine: &str, messages: &[&str]| EngineAnswer {
            engine: engine.to_owned(),
            messages: messages.iter().map(ToString::to_string).collect(),
        };
        let found = found(json!({"owner": "ann"}));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].answers, [answer("K8sNativeValidation", &["no team"]), answer("Rego", &[])]);
    }
}
