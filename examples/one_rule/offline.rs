//! The forms that are judged without an API server: by the constraint framework, on a request or an object in a file.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use constraint_framework::api::Constraint;
use constraint_framework::driver::{
    Budget, Case, CompiledPolicy, Driver, RegoDriver, ValidatingPolicyDriver,
};
use constraint_framework::inventory::Inventory;
use constraint_framework::policyset::{Compiler, PolicySet, PolicySetBuilder};
use constraint_framework::review::{Document, EnforcementPoint, Json, Review};
use constraint_framework::target::{AdmissionTarget, Target};
use serde_json::{Value, json};

use super::kyverno::{self, ClusterPolicyTarget, PatternDriver};
use super::manifests;
use super::verdict::Verdict;

/// The rule in the forms that are judged here.
pub(crate) struct Offline {
    policies: Arc<PolicySet>,
    native: Arc<dyn CompiledPolicy>,
}

/// The mode of each form, as its manifest names it.
#[derive(Clone, Copy)]
pub(crate) struct Modes {
    pub(crate) gatekeeper: &'static str,
    pub(crate) kyverno: &'static str,
    pub(crate) warns: bool,
}

pub(crate) const ENFORCED: Modes = Modes { gatekeeper: "deny", kyverno: "Enforce", warns: false };

// === impl Offline ===

impl Offline {
    /// Two targets and two drivers in one policy set: the framework's own, and Kyverno's from this example.
    pub(crate) fn new(modes: Modes) -> Result<Self> {
        let targets = [Arc::new(AdmissionTarget) as Arc<dyn Target>, Arc::new(ClusterPolicyTarget)];
        let drivers = [Arc::new(RegoDriver) as Arc<dyn Driver>, Arc::new(PatternDriver)];
        let mut builder = PolicySetBuilder::new(Compiler::new(targets, drivers));
        builder.put_template(&manifests::one(manifests::TEMPLATE)?)?;
        let mut constraint = manifests::one(manifests::CONSTRAINT)?;
        set(&mut constraint, "/spec", "enforcementAction", json!(modes.gatekeeper));
        builder.put_constraint(Constraint::from_value(&constraint)?)?;
        let mut policy = manifests::one(manifests::CLUSTER_POLICY)?;
        set(&mut policy, "/spec/rules/0/validate", "failureAction", json!(modes.kyverno));
        set(&mut policy, "/spec", "emitWarning", json!(modes.warns));
        kyverno::put(&mut builder, &policy).map_err(|error| anyhow!("ClusterPolicy: {error}"))?;
        let native = manifests::one(manifests::ADMISSION_POLICY)?;
        let source = json!({"validations": native.pointer("/spec/validations"), "failurePolicy": "Fail"});
        let native = ValidatingPolicyDriver::default().compile(&source);
        let native = native.map_err(|errors| anyhow!("ValidatingAdmissionPolicy: {errors:?}"))?;
        Ok(Self { policies: builder.build(), native })
    }

    /// The verdicts on a request: Gatekeeper's template, Kyverno's pattern, the ValidatingAdmissionPolicy.
    pub(crate) fn request(&self, request: &str) -> Result<[Verdict; 3]> {
        self.judge(&AdmissionTarget.request(request)?, &ClusterPolicyTarget.request(request)?)
    }

    /// The verdicts on an object in a file, which no API server has completed.
    pub(crate) fn file(&self, object: &Value) -> Result<[Verdict; 3]> {
        let object = Document::from_value(object)?;
        let review = AdmissionTarget.object(object.clone(), None).into_builder().operation("CREATE").build();
        self.judge(&review, &ClusterPolicyTarget.object(object))
    }

    fn judge(&self, gatekeeper: &Review, kyverno: &Review) -> Result<[Verdict; 3]> {
        Ok([self.by_policies(gatekeeper), self.by_policies(kyverno), self.natively(gatekeeper)?])
    }

    fn by_policies(&self, review: &Review) -> Verdict {
        let verdict = self.policies.review(review, EnforcementPoint::WEBHOOK, &Budget::default());
        match (verdict.is_denied(), verdict.warnings().as_slice()) {
            (true, _) => Verdict::Denied(verdict.denial()),
            (false, []) => Verdict::Admitted,
            (false, warnings) => Verdict::Warned(warnings.join("; ")),
        }
    }

    /// `matchConstraints` of the policy, by hand: CREATE and UPDATE of Deployments.
    fn natively(&self, review: &Review) -> Result<Verdict> {
        let is_deployment = review.object().is_some_and(|object| object.kind() == "Deployment");
        if !is_deployment || review.operation() == "DELETE" {
            return Ok(Verdict::Admitted);
        }
        let (parameters, inventory) = (Json::from_value(&Value::Null)?, Inventory::default());
        let case = Case { review, parameters: &parameters, inventory: &inventory };
        let found = self.native.evaluate(&case, &Budget::default())?;
        Ok(found.into_iter().next().map_or(Verdict::Admitted, |violation| Verdict::Denied(violation.message)))
    }
}

/// Puts a field into the object at `at`; does nothing where there is no object.
pub(crate) fn set(manifest: &mut Value, at: &str, key: &str, value: Value) {
    if let Some(fields) = manifest.pointer_mut(at).and_then(Value::as_object_mut) {
        fields.insert(key.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_with_typographic_signs_is_refused() {
        let mut template = manifests::one(manifests::TEMPLATE).unwrap();
        let rego = template["spec"]["targets"][0]["rego"].as_str().unwrap().replace("<=", "≤");
        template["spec"]["targets"][0]["rego"] = json!(rego);
        let mut builder = PolicySetBuilder::new(Compiler::default());
        let refused = builder.put_template(&template).unwrap_err().to_string();
        assert!(refused.contains('≤') || refused.contains("illegal"), "{refused}");
    }
}
