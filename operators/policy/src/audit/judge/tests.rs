//! The bounds of an evaluation. What is found is tested with the ledger and in a cluster.

use constraint_framework::api::Constraint;
use constraint_framework::policyset::PolicySetBuilder;

use super::*;
use crate::budget::slow;

#[test]
fn the_audit_waits_for_slow_policies() {
    let manifests = go_compat::sigs_yaml::documents(slow::MANIFESTS).unwrap();
    let [template, constraint, object] = manifests.as_slice() else { panic!("{manifests:?}") };
    let mut policies = PolicySetBuilder::new(slow::compiler());
    policies.put_template(&template.value).unwrap();
    policies.put_constraint(Constraint::from_value(&constraint.value).unwrap()).unwrap();
    let policies = policies.build();
    let judge = Judge { epoch: Epoch::default(), policies, keyed: Arc::default(), excluded: Arc::default() };
    let judged = judge.judge(Document::from_value(&object.value).unwrap(), None, Scope::All);
    assert_eq!(judged.violations, []);
}
