//! The shipped roles against the API server's audit log: nothing was forbidden, and no right is left over.

use std::collections::BTreeSet;

use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use kube::Api;
use serde_json::Value;

use crate::helm::{NAMESPACE, RELEASE};

const USER: &str = "system:serviceaccount:gatekeeper-system:webtroller";

/// One way in which a rule was or was not used: group, resource with subresource, verb.
type Right = (String, String, String);

/// The requests of the operator's service account.
pub(crate) fn requests(log: &[Value]) -> Vec<&Value> {
    log.iter().filter(|event| event["user"]["username"] == USER).collect()
}

/// The requests that the roles did not allow.
pub(crate) fn forbidden(log: &[Value]) -> Vec<String> {
    let refused = requests(log).into_iter().filter(|event| event["responseStatus"]["code"] == 403);
    refused.map(|event| format!("{} {}", event["verb"], event["requestURI"])).collect()
}

/// The verbs of the roles that no request used.
pub(crate) async fn unused(client: kube::Client, log: &[Value]) -> BTreeSet<Right> {
    let cluster: Api<ClusterRole> = Api::all(client.clone());
    let own: Api<Role> = Api::namespaced(client, NAMESPACE);
    let mut rules = cluster.get(RELEASE).await.unwrap().rules.unwrap_or_default();
    rules.extend(own.get(RELEASE).await.unwrap().rules.unwrap_or_default());
    let used: BTreeSet<Right> = requests(log).into_iter().filter_map(used).flatten().collect();
    rules.iter().flat_map(rights).filter(|right| !used.iter().any(|used| covers(right, used))).collect()
}

/// The rights that a request needs. A server-side apply that creates its object (201) needs `create` too.
fn used(event: &Value) -> Option<Vec<Right>> {
    let object = &event["objectRef"];
    let resource = object["resource"].as_str()?;
    let resource = match object["subresource"].as_str() {
        Some(subresource) => format!("{resource}/{subresource}"),
        None => resource.to_owned(),
    };
    let group = object["apiGroup"].as_str().unwrap_or_default().to_owned();
    let verb = event["verb"].as_str()?;
    let created = verb == "patch" && event["responseStatus"]["code"] == 201;
    let verbs = [Some(verb), created.then_some("create")];
    Some(verbs.into_iter().flatten().map(|verb| (group.clone(), resource.clone(), verb.to_owned())).collect())
}

fn rights(rule: &PolicyRule) -> Vec<Right> {
    let mut rights = Vec::new();
    for group in rule.api_groups.iter().flatten() {
        for resource in rule.resources.iter().flatten() {
            rights.extend(rule.verbs.iter().map(|verb| (group.clone(), resource.clone(), verb.clone())));
        }
    }
    rights
}

fn covers(right: &Right, used: &Right) -> bool {
    let resource = match right.1.strip_prefix("*/") {
        Some(subresource) => used.1.rsplit_once('/').is_some_and(|(_, other)| other == subresource),
        None => right.1 == "*" || right.1 == used.1,
    };
    (right.0 == "*" || right.0 == used.0) && resource && right.2 == used.2
}
