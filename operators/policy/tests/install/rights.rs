//! The shipped roles and the API server's audit log against what the controllers declare: the roles grant what is declared and
//! nothing else, and what is declared is what is done. The hook's roles are held to the log alone.

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

/// The rules of the hook's roles.
pub(crate) async fn of_hook(client: kube::Client) -> Vec<PolicyRule> {
    let name = format!("{RELEASE}-uninstall");
    let cluster: Api<ClusterRole> = Api::all(client.clone());
    let own: Api<Role> = Api::namespaced(client, NAMESPACE);
    let mut rules = cluster.get(&name).await.unwrap().rules.unwrap_or_default();
    rules.extend(own.get(&name).await.unwrap().rules.unwrap_or_default());
    rules
}

/// Rights of the hook that its process has not used.
pub(crate) fn unused_by_hook(rules: &[PolicyRule], log: &[Value]) -> Vec<String> {
    let user = format!("system:serviceaccount:{NAMESPACE}:{RELEASE}-uninstall");
    let made: Vec<_> = of_user(log, &user).filter_map(made).collect();
    let unused = rules.iter().flat_map(calls).filter(|grant| !made.iter().any(|call| covers(grant, call)));
    unused.map(|grant| format!("granted and never made: {grant}")).collect()
}

/// The call of a line of the log.
fn made(line: &Value) -> Option<Call> {
    let text = |pointer: &str| line.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let resource = match (text("/objectRef/resource"), text("/objectRef/subresource")) {
        ("", _) => return None,
        (resource, "") => resource.to_owned(),
        (resource, subresource) => format!("{resource}/{subresource}"),
    };
    Some(Call::new(text("/objectRef/apiGroup"), resource, text("/verb")))
}

/// Grants in a rendered manifest that are neither declared nor the hook's. Those of the hook are used in the suite `scenario`.
pub(crate) fn undeclared(rendered: &[Value], optional: &[Call]) -> Vec<String> {
    let mut declared = operator().calls();
    declared.extend(optional.iter().cloned());
    let roles =
        rendered.iter().filter(|object| matches!(object["kind"].as_str(), Some("Role" | "ClusterRole")));
    let roles = roles.filter(|object| object["metadata"]["name"] != format!("{RELEASE}-uninstall").as_str());
    let rules =
        roles.flat_map(|role| serde_json::from_value::<Vec<PolicyRule>>(role["rules"].clone()).unwrap());
    let grants: Vec<_> = rules.flat_map(|rule| calls(&rule)).collect();
    let spare = grants.into_iter().filter(|grant| !declared.iter().any(|call| covers(grant, call)));
    spare.map(|grant| format!("granted and not declared: {grant}")).collect()
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
