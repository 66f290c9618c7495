//! The settings of Gatekeeper's webhook that have been changed by hand, or by a value of its chart: each is a setting here
//! too, or does not exist.

use std::collections::BTreeSet;

use serde_json::Value;

use super::diagnostic::{Diagnostic, Rule};
use super::policies::diagnostic;
use super::{Entry, MigrateCheckArgs};
use crate::config::SUBRESOURCES;

/// The webhook that enforces constraints.
pub(super) const WEBHOOK: &str = "validation.gatekeeper.sh";
/// A webhook that webtroller's configurations have, and Gatekeeper's do not.
const OWN_WEBHOOK: &str = "config.validation.gatekeeper.sh";
/// The webhook that keeps Namespaces from exempting themselves.
const LABEL_GUARD: &str = "check-ignore-label.gatekeeper.sh";
const IGNORE_LABEL: &str = "admission.gatekeeper.sh/ignore";
const NAME_LABEL: &str = "kubernetes.io/metadata.name";
/// Seconds that the API server waits for the webhook.
const TIMEOUT: u64 = 3;

fn named<'a>(configuration: &'a Value, wanted: &str) -> Option<&'a Value> {
    let webhooks = configuration.get("webhooks").and_then(Value::as_array)?;
    webhooks.iter().find(|webhook| webhook.get("name").is_some_and(|name| name == wanted))
}

/// Gatekeeper's webhook that enforces constraints; `None` in a configuration that webtroller has written.
pub(super) fn enforcing_webhook(configuration: &Value) -> Option<&Value> {
    named(configuration, WEBHOOK).filter(|_| named(configuration, OWN_WEBHOOK).is_none())
}

/// Reports what differs from the configuration that Gatekeeper's manifests and chart have by default.
pub(super) fn look(entry: &Entry, args: &MigrateCheckArgs, diagnostics: &mut Vec<Diagnostic>) {
    let Some(webhook) = enforcing_webhook(&entry.object) else { return };
    let service = webhook.pointer("/clientConfig/service/namespace").and_then(Value::as_str);
    let mut messages = Vec::new();
    fields(webhook, &mut messages);
    rules(webhook, &mut messages);
    namespaces(webhook.get("namespaceSelector"), service.unwrap_or(&args.namespace), &mut messages);
    let guard = named(&entry.object, LABEL_GUARD);
    if guard.and_then(|guard| guard.get("failurePolicy")).is_some_and(|policy| policy == "Ignore") {
        messages.push(format!("{LABEL_GUARD} has failurePolicy Ignore: it is always Fail here"));
    }
    diagnostics.extend(messages.into_iter().map(|message| diagnostic(Rule::WebhookSettings, entry, message)));
}

fn fields(webhook: &Value, messages: &mut Vec<String>) {
    if webhook.get("failurePolicy").is_some_and(|policy| policy == "Fail") {
        let message =
            "failurePolicy is Fail: set validatingWebhookFailurePolicy=Fail (--failure-policy fail)";
        messages.push(message.to_owned());
    }
    let timeout = webhook.get("timeoutSeconds").and_then(Value::as_u64);
    if let Some(seconds) = timeout.filter(|seconds| *seconds != TIMEOUT) {
        messages.push(format!("timeoutSeconds is {seconds}: it is always {TIMEOUT} here"));
    }
    if webhook.get("matchPolicy").is_some_and(|policy| policy == "Equivalent") {
        messages.push("matchPolicy is Equivalent: it is Exact here, as Gatekeeper ships it".to_owned());
    }
    let is_set = |value: &Value| value.as_object().is_some_and(|map| !map.is_empty()) || value.is_array();
    for field in ["objectSelector", "matchConditions"] {
        if webhook.get(field).is_some_and(is_set) {
            messages
                .push(format!("{field} is not taken over: exclude Namespaces with spec.match of the Config"));
        }
    }
}

fn rules(webhook: &Value, messages: &mut Vec<String>) {
    let rules = || webhook.get("rules").and_then(Value::as_array).into_iter().flatten();
    let operations: BTreeSet<_> = rules().flat_map(|rule| texts(rule.get("operations"))).collect();
    for (operation, value) in [("DELETE", "enableDeleteOperations"), ("CONNECT", "enableConnectOperations")] {
        if operations.contains(operation) || operations.contains("*") {
            messages.push(format!("{operation} is reviewed: set {value}=true (--webhook-operations)"));
        }
    }
    let narrowed: Vec<_> = rules().map(narrowed).collect();
    if !narrowed.is_empty() && narrowed.iter().all(|fields| !fields.is_empty()) {
        let fields: BTreeSet<_> = narrowed.into_iter().flatten().collect();
        let fields = Vec::from_iter(fields).join(", ");
        messages.push(format!(
            "its rules are narrowed by {fields}: requests for all resources are reviewed here"
        ));
    } else {
        let resources: BTreeSet<_> = rules().flat_map(|rule| texts(rule.get("resources"))).collect();
        subresources(&resources, messages);
    }
}

/// The fields by which a rule leaves out some resources.
fn narrowed(rule: &Value) -> Vec<&'static str> {
    let lists = ["apiGroups", "apiVersions", "resources"];
    let is_narrow = |field: &&str| {
        let values = texts(rule.get(*field));
        !(values.contains("*") || *field == "resources" && values.contains("*/*"))
    };
    let scope = rule.get("scope").and_then(Value::as_str).filter(|scope| *scope != "*");
    lists.into_iter().filter(is_narrow).chain(scope.map(|_| "scope")).collect()
}

/// `*` stands for main resources only: each subresource has to be named.
fn subresources(theirs: &BTreeSet<&str>, messages: &mut Vec<String>) {
    let theirs: BTreeSet<_> = theirs.iter().copied().filter(|resource| resource.contains('/')).collect();
    let has = |subresource: &str| {
        let (resource, part) = subresource.split_once('/').unwrap_or_default();
        let named = [subresource, "*/*", &format!("{resource}/*"), &format!("*/{part}")];
        named.iter().any(|name| theirs.contains(name))
    };
    let lost: Vec<_> = theirs.iter().copied().filter(|name| !SUBRESOURCES.contains(name)).collect();
    if !lost.is_empty() {
        messages.push(format!("requests for {} are reviewed, and not here", lost.join(", ")));
    }
    let added: Vec<_> = SUBRESOURCES.into_iter().filter(|name| !has(name)).collect();
    if !added.is_empty() {
        messages.push(format!("requests for {} are not reviewed, and are here", added.join(", ")));
    }
}

/// Compares a selector with Gatekeeper's: all Namespaces but its own and those with the label that exempts them.
fn namespaces(selector: Option<&Value>, own: &str, messages: &mut Vec<String>) {
    let list = |name: &str| selector.and_then(|selector| selector.get(name));
    let expressions = list("matchExpressions").and_then(Value::as_array).into_iter().flatten();
    let (mut honours_label, mut selects_otherwise) = (false, list("matchLabels").is_some());
    for expression in expressions {
        let text = |name: &str| expression.get(name).and_then(Value::as_str).unwrap_or_default();
        match (text("key"), text("operator")) {
            (IGNORE_LABEL, "DoesNotExist") => honours_label = true,
            (NAME_LABEL, "NotIn") => {
                let others: Vec<_> =
                    texts(expression.get("values")).into_iter().filter(|name| *name != own).collect();
                if !others.is_empty() {
                    messages.push(format!(
                        "namespaceSelector exempts {}: exclude such Namespaces with spec.match of the Config",
                        others.join(", ")
                    ));
                }
            }
            _ => selects_otherwise = true,
        }
    }
    if selects_otherwise {
        let message = "namespaceSelector is not taken over: exclude Namespaces with spec.match of the Config";
        messages.push(message.to_owned());
    }
    if !honours_label {
        messages.push(format!(
            "namespaceSelector does not exempt Namespaces with the label {IGNORE_LABEL}: they are exempt here"
        ));
    }
}

fn texts(list: Option<&Value>) -> BTreeSet<&str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::json;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: MigrateCheckArgs,
    }

    /// The webhook as Gatekeeper's manifest and chart have it by default.
    fn shipped() -> Value {
        let resources: Vec<_> = ["*"].into_iter().chain(SUBRESOURCES).collect();
        json!({
            "name": WEBHOOK, "failurePolicy": "Ignore", "objectSelector": {}, "matchPolicy": "Exact", "timeoutSeconds": 3,
            "clientConfig": {"service": {"name": "gatekeeper-webhook-service", "namespace": "policies"}},
            "namespaceSelector": {"matchExpressions": [
                {"key": IGNORE_LABEL, "operator": "DoesNotExist"},
                {"key": NAME_LABEL, "operator": "NotIn", "values": ["policies"]}
            ]},
            "rules": [{"operations": ["CREATE", "UPDATE"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": resources}]
        })
    }

    fn settings(webhook: &Value, others: &[Value]) -> Vec<String> {
        let webhooks: Vec<_> = others.iter().chain([webhook]).collect();
        let object = json!({"kind": "ValidatingWebhookConfiguration", "webhooks": webhooks});
        let mut diagnostics = Vec::new();
        let args = Command::parse_from(["check"]).args;
        look(&Entry { object, place: None }, &args, &mut diagnostics);
        diagnostics.into_iter().map(|diagnostic| diagnostic.message).collect()
    }

    #[test]
    fn what_was_set_by_hand_is_named_and_what_gatekeeper_ships_is_not() {
        assert_eq!(settings(&shipped(), &[]), [""; 0]);
        let all = json!(["CREATE", "DELETE", "CONNECT"]);
        let kube_system = json!(["kube-system", "policies"]);
        for (pointer, value, expected) in [
            ("/failurePolicy", json!("Fail"), &["failurePolicy is Fail"][..]),
            ("/timeoutSeconds", json!(20), &["timeoutSeconds is 20: it is always 3 here"]),
            ("/matchPolicy", json!("Equivalent"), &["matchPolicy is Equivalent"]),
            ("/objectSelector", json!({"matchLabels": {"a": "b"}}), &["objectSelector is not taken over"]),
            ("/matchConditions", json!([{"name": "c"}]), &["matchConditions is not taken over"]),
            ("/rules/0/operations", all, &["DELETE is reviewed", "CONNECT is reviewed"]),
            ("/rules/0/apiGroups", json!(["apps"]), &["narrowed by apiGroups:"]),
            ("/rules/0/apiVersions", json!(["v1"]), &["narrowed by apiVersions:"]),
            ("/rules/0/resources", json!(["pods"]), &["narrowed by resources:"]),
            ("/rules/0/resources", json!(["*/*"]), &["requests for */* are reviewed, and not here"]),
            ("/rules/0/scope", json!("Namespaced"), &["narrowed by scope:"]),
            ("/namespaceSelector/matchExpressions/1/values", kube_system, &["exempts kube-system:"]),
            ("/namespaceSelector/matchExpressions/1/operator", json!("In"), &["is not taken over"]),
            ("/namespaceSelector/matchExpressions/1/key", json!("team"), &["is not taken over"]),
            ("/namespaceSelector", json!({}), &["does not exempt Namespaces with the label"]),
            ("/namespaceSelector/matchLabels", json!({"a": "b"}), &["is not taken over"]),
        ] {
            let mut changed = shipped();
            let (parent, field) = pointer.rsplit_once('/').unwrap();
            let parent = changed.pointer_mut(parent).unwrap();
            match parent.as_array_mut() {
                Some(list) => list[field.parse::<usize>().unwrap()] = value,
                None => parent[field] = value,
            }
            let found = settings(&changed, &[]);
            assert_eq!(found.len(), expected.len(), "{pointer}: {found:?}");
            let says = |(found, expected): (&String, &&str)| found.contains(expected);
            assert!(found.iter().zip(expected).all(says), "{pointer}: {found:?}");
            assert_eq!(settings(&changed, &[json!({"name": OWN_WEBHOOK})]), [""; 0], "{pointer}");
        }
    }

    /// A rule that is whole is enough, and then each subresource counts.
    #[test]
    fn subresources_that_are_reviewed_on_one_side_only_are_named() {
        let mut webhook = shipped();
        webhook["rules"][0]["resources"] = json!(["*", "pods/*", "*/scale", "services/proxy", "nodes/proxy"]);
        let narrow = json!({"apiGroups": ["apps"], "apiVersions": ["*"], "resources": ["deployments"]});
        webhook["rules"].as_array_mut().unwrap().push(narrow);
        let expected = [
            "requests for */scale, pods/* are reviewed, and not here",
            "requests for services/status are not reviewed, and are here",
        ];
        assert_eq!(settings(&webhook, &[]), expected);
    }

    #[test]
    fn the_guard_of_the_label_fails_closed_here() {
        let guard = |policy: &str| [json!({"name": LABEL_GUARD, "failurePolicy": policy})];
        assert_eq!(settings(&shipped(), &guard("Fail")), [""; 0]);
        let found = settings(&shipped(), &guard("Ignore"));
        assert_eq!(
            found,
            ["check-ignore-label.gatekeeper.sh has failurePolicy Ignore: it is always Fail here"]
        );
    }
}
