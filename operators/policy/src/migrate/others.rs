//! Everything of Gatekeeper that is not a template or a constraint: objects of kinds that have no effect here, the arguments of its
//! containers, and settings of its webhook.

use std::collections::BTreeSet;

use serde_json::Value;

use super::finding::{Finding, Rule};
use super::policies::finding;
use super::{CheckArgs, Entry, ReadFlags};

const MUTATIONS: &str = "mutations.gatekeeper.sh";
const CONSTRAINTS: &str = "constraints.gatekeeper.sh";
/// The webhook that enforces constraints.
const WEBHOOK: &str = "validation.gatekeeper.sh";
/// A webhook that webtroller's configurations have, and Gatekeeper's do not.
const OWN_WEBHOOK: &str = "config.validation.gatekeeper.sh";
/// The labels of Namespaces that Gatekeeper's manifests and chart select by.
const SELECTED: [&str; 2] = ["admission.gatekeeper.sh/ignore", "kubernetes.io/metadata.name"];
/// The groups that Gatekeeper writes itself, and the suites of `gator verify`.
const NOT_IN_USE: [&str; 2] = ["status.gatekeeper.sh", "test.gatekeeper.sh"];
/// The label of everything that Gatekeeper's manifests and chart install.
const SYSTEM: &str = "/metadata/labels/gatekeeper.sh~1system";

/// Says what there is to say about an object, if it is Gatekeeper's.
pub(super) fn look(entry: &Entry, args: &CheckArgs, flags: ReadFlags<'_>, findings: &mut Vec<Finding>) {
    let mut find = |rule, message: &str| findings.push(finding(rule, entry, message.to_owned()));
    match (entry.group(), entry.text("/kind")) {
        (MUTATIONS, _) => find(Rule::Mutator, "it changes no object: this release mutates nothing"),
        ("externaldata.gatekeeper.sh", "Provider") => {
            find(Rule::Provider, "it is not asked: templates that call external_data are refused")
        }
        ("expansion.gatekeeper.sh", _) => find(
            Rule::ExpansionTemplate,
            "workloads are expanded on the command line only: `webtroller expand`",
        ),
        ("connection.gatekeeper.sh", _) => {
            find(Rule::Connection, "no violations are exported: use logs, Events or metrics")
        }
        ("apps", "Deployment") if is_gatekeepers(entry, args) => deployment(entry, flags, findings),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration") => webhook(entry, findings),
        _ => {}
    }
}

/// Returns true if an object is a part of Gatekeeper, or is about it. A Deployment outside of Gatekeeper's namespace has the label
/// of Gatekeeper's manifests and chart: other programs are called `gatekeeper`, too.
pub(super) fn is_gatekeepers(entry: &Entry, args: &CheckArgs) -> bool {
    let group = entry.group();
    let is_near = || ["", args.namespace.as_str()].contains(&entry.text("/metadata/namespace"));
    match entry.text("/kind") {
        "Deployment" => {
            entry.text(SYSTEM) == "yes" || is_near() && containers(&entry.object).any(is_its_container)
        }
        "ValidatingWebhookConfiguration" => enforcing_webhook(&entry.object).is_some(),
        _ => group.ends_with(".gatekeeper.sh") && !NOT_IN_USE.contains(&group),
    }
}

/// The word by which an object is counted.
pub(super) fn class(entry: &Entry) -> String {
    match entry.group() {
        CONSTRAINTS => "constraints".to_owned(),
        _ => entry.text("/kind").to_owned(),
    }
}

fn containers(deployment: &Value) -> impl Iterator<Item = &Value> {
    deployment.pointer("/spec/template/spec/containers").and_then(Value::as_array).into_iter().flatten()
}

/// The image's name without registry and version is `gatekeeper`.
fn is_its_container(container: &Value) -> bool {
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    let name = image.rsplit('/').next().unwrap_or_default();
    name.split([':', '@']).next() == Some("gatekeeper")
}

fn deployment(entry: &Entry, flags: ReadFlags<'_>, findings: &mut Vec<Finding>) {
    for container in containers(&entry.object).filter(has_its_arguments) {
        let list = container.get("args").and_then(Value::as_array).into_iter().flatten();
        let list: Vec<_> = list.filter_map(Value::as_str).map(str::to_owned).collect();
        let report = flags(&list);
        for (rule, messages) in [(Rule::FlagRefused, report.refused), (Rule::FlagIgnored, report.ignored)] {
            findings.extend(messages.into_iter().map(|message| finding(rule, entry, message)));
        }
    }
}

/// Other containers of the Deployment, such as a proxy, have arguments of their own.
fn has_its_arguments(container: &&Value) -> bool {
    let named = container.get("name").is_some_and(|name| name == "manager");
    named || is_its_container(container)
}

/// Gatekeeper's webhook that enforces constraints; `None` in a configuration that webtroller has written.
fn enforcing_webhook(configuration: &Value) -> Option<&Value> {
    let webhooks = configuration.get("webhooks").and_then(Value::as_array)?;
    let named =
        |wanted| webhooks.iter().find(move |webhook| webhook.get("name").is_some_and(|name| name == wanted));
    named(WEBHOOK).filter(|_| named(OWN_WEBHOOK).is_none())
}

/// Reports what has been set by hand, or by a value of the chart, and is a setting here too or does not exist.
fn webhook(entry: &Entry, findings: &mut Vec<Finding>) {
    let Some(webhook) = enforcing_webhook(&entry.object) else { return };
    let mut find = |message: String| findings.push(finding(Rule::WebhookSettings, entry, message));
    if webhook.get("failurePolicy").is_some_and(|policy| policy == "Fail") {
        find(
            "failurePolicy is Fail: set validatingWebhookFailurePolicy=Fail (--failure-policy fail)"
                .to_owned(),
        );
    }
    let rules = || webhook.get("rules").and_then(Value::as_array).into_iter().flatten();
    let operations: BTreeSet<_> = rules().flat_map(|rule| texts(rule.get("operations"))).collect();
    for (operation, value) in [("DELETE", "enableDeleteOperations"), ("CONNECT", "enableConnectOperations")] {
        if operations.contains(operation) || operations.contains("*") {
            find(format!("{operation} is reviewed: set {value}=true (--webhook-operations)"));
        }
    }
    let is_narrow = |rule: &Value| !texts(rule.get("resources")).contains("*");
    if rules().next().is_some() && rules().all(is_narrow) {
        find("its rules name resources: requests for all resources are reviewed here".to_owned());
    }
    let is_set = |value: &Value| value.as_object().is_some_and(|map| !map.is_empty()) || value.is_array();
    for field in ["objectSelector", "matchConditions", "namespaceSelector"] {
        let value = webhook.get(field).filter(|value| is_set(value));
        if value.is_some_and(|value| field != "namespaceSelector" || selects_otherwise(value)) {
            find(format!("{field} is not taken over: exclude Namespaces with spec.match of the Config"));
        }
    }
}

/// Returns true if Namespaces are selected by more than the labels that everybody's are selected by.
fn selects_otherwise(selector: &Value) -> bool {
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    let mut keys = expressions.into_iter().flatten().map(|expression| expression.get("key"));
    let is_usual =
        |key: Option<&Value>| key.and_then(Value::as_str).is_some_and(|key| SELECTED.contains(&key));
    selector.get("matchLabels").is_some() || keys.any(|key| !is_usual(key))
}

fn texts(list: Option<&Value>) -> BTreeSet<&str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(mut webhook: Value, others: &[&str]) -> Vec<String> {
        webhook["name"] = Value::from(WEBHOOK);
        let webhooks = others.iter().map(|name| json!({"name": name})).chain([webhook]);
        let object =
            json!({"kind": "ValidatingWebhookConfiguration", "webhooks": webhooks.collect::<Vec<_>>()});
        let mut findings = Vec::new();
        self::webhook(&Entry { object, place: None }, &mut findings);
        findings.into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn what_was_set_by_hand_is_named_and_what_gatekeeper_ships_is_not() {
        let shipped = json!({
            "failurePolicy": "Ignore", "objectSelector": {},
            "namespaceSelector": {"matchExpressions": [
                {"key": "admission.gatekeeper.sh/ignore", "operator": "DoesNotExist"},
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["gatekeeper-system"]}
            ]},
            "rules": [{"operations": ["CREATE", "UPDATE"], "resources": ["*", "pods/exec"]}]
        });
        assert_eq!(settings(shipped, &[]), [""; 0]);
        let changed = json!({
            "failurePolicy": "Fail", "objectSelector": {"matchLabels": {"a": "b"}}, "matchConditions": [{"name": "c"}],
            "namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "Exists"}]},
            "rules": [{"operations": ["CREATE", "DELETE", "CONNECT"], "resources": ["pods"]}]
        });
        let words = [
            "failurePolicy",
            "DELETE",
            "CONNECT",
            "rules",
            "objectSelector",
            "matchConditions",
            "namespaceSelector",
        ];
        let found = settings(changed.clone(), &[]);
        assert_eq!(found.len(), words.len(), "{found:?}");
        assert!(words.iter().zip(&found).all(|(word, found)| found.contains(word)), "{found:?}");
        assert_eq!(settings(changed, &[OWN_WEBHOOK]), [""; 0]);
    }

    #[test]
    fn a_container_is_gatekeepers_by_the_name_of_its_image() {
        for (image, expected) in [
            ("openpolicyagent/gatekeeper:v3.23.1", true),
            ("registry.example.com:5000/mirror/gatekeeper@sha256:0", true),
            ("gatekeeper", true),
            ("example.com/gatekeeper-proxy:1", false),
        ] {
            assert_eq!(is_its_container(&json!({"image": image})), expected, "{image}");
        }
    }
}
