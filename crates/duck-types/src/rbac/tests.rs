//! The roles as JSON.

use serde_json::json;

use super::*;
use crate::{DuckType, ready};

#[test]
fn a_provider_grants_what_edits_of_the_duck_need() {
    let label = [("duck.example.com/scale", "true")];
    let role = Access::to_write(&ready::Scale::PLACE)
        .into_iter()
        .fold(provider_role("gadget-scale", label), |role, access| {
            role.allow("example.com", "gadgets", access)
        });
    assert_eq!(
        role.build(),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "gadget-scale", "labels": {"duck.example.com/scale": "true"}},
            "rules": [
                {"apiGroups": ["example.com"], "resources": ["gadgets"], "verbs": ["get", "list", "watch"]},
                {"apiGroups": ["example.com"], "resources": ["gadgets"], "verbs": ["patch"]},
                {"apiGroups": ["example.com"], "resources": ["gadgets/status"], "verbs": ["patch"]},
            ],
        })
    );
    assert_eq!(Access::to_write(&ready::Conditions::PLACE), [Access::WriteStatus]);
}

#[test]
fn a_consumer_has_no_rules_of_its_own() {
    let role = aggregated_cluster_role("consumer", [("a", "true"), ("b", "1")]);
    assert_eq!(
        role["aggregationRule"]["clusterRoleSelectors"],
        json!([{"matchLabels": {"a": "true", "b": "1"}}])
    );
    assert_eq!(role["rules"], json!([]));
}
