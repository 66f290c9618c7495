//! The shipped roles and the API server's audit log against what the controllers declare: the roles grant what is declared and
//! nothing else, and what is declared is what is done.

use std::collections::BTreeSet;

use controller_declaration::{Call, check, of_user};
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use kube::Api;
use serde_json::Value;
use webtroller::declaration::operator;

use crate::helm::{NAMESPACE, RELEASE};

const USER: &str = "system:serviceaccount:gatekeeper-system:webtroller";

/// The differences between the log and the declaration, one in each line.
pub(crate) fn differences(log: &[Value]) -> Vec<String> {
    check(&operator(), of_user(log, USER)).to_string().lines().map(str::to_owned).collect()
}

/// Declared calls that the roles do not grant, and grants that no declared call needs.
pub(crate) async fn mismatches(client: kube::Client) -> Vec<String> {
    let cluster: Api<ClusterRole> = Api::all(client.clone());
    let own: Api<Role> = Api::namespaced(client, NAMESPACE);
    let mut rules = cluster.get(RELEASE).await.unwrap().rules.unwrap_or_default();
    rules.extend(own.get(RELEASE).await.unwrap().rules.unwrap_or_default());
    let (granted, declared): (BTreeSet<Call>, _) =
        (rules.iter().flat_map(calls).collect(), operator().calls());
    let missing = declared.iter().filter(|call| !granted.iter().any(|grant| covers(grant, call)));
    let spare = granted.iter().filter(|grant| !declared.iter().any(|call| covers(grant, call)));
    let missing = missing.map(|call| format!("declared and not granted: {call}"));
    missing.chain(spare.map(|grant| format!("granted and not declared: {grant}"))).collect()
}

fn calls(rule: &PolicyRule) -> Vec<Call> {
    let mut calls = Vec::new();
    for group in rule.api_groups.iter().flatten() {
        for resource in rule.resources.iter().flatten() {
            calls.extend(rule.verbs.iter().map(|verb| Call::new(group, resource, verb)));
        }
    }
    calls
}

/// As the authorizer decides, for which `*/status` is a declared call like others.
fn covers(grant: &Call, call: &Call) -> bool {
    grant == call || grant.covers(call)
}
