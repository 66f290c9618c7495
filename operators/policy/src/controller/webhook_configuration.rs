//! The ValidatingWebhookConfiguration. The rules and selectors are those of Gatekeeper's manifests.

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use crate::config::SUBRESOURCES;

/// The operator's own CRDs are never sent to the webhook: with `failurePolicy: Fail`, the only pod could not start
/// again, because it would have to ask itself.
/// The request of a collection, or with a name to be generated, has no name.
const NOT_OWN_CRDS: &str = "request.resource.group != 'apiextensions.k8s.io' || !has(request.name) || \
     !(request.name.endsWith('.gatekeeper.sh') || request.name.endsWith('.webtroller.dev'))";

/// Enforcement can be suspended whatever policies say, and while no pod answers.
const NOT_BREAK_GLASS: &str = "request.resource.group != 'enforcement.webtroller.dev'";

/// The condition of a request that nodes and control planes depend on. It is judged while a pod answers, and admitted
/// while none does. A cluster-scoped request has no namespace.
const VITAL: &str = "(has(request.namespace) && request.namespace in ['kube-system', 'kube-node-lease']) || \
     request.resource.group == 'coordination.k8s.io'";

/// Namespaces with this label are never sent to the webhook.
const IGNORE_LABEL: &str = "admission.gatekeeper.sh/ignore";

/// The path of the validating webhook.
const PATH: &str = "/v1/admit";

/// The way the API server reaches the webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookClient {
    /// Through a Service.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// Directly: the operator runs outside the cluster.
    Url(String),
}

/// A ValidatingWebhookConfiguration to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookConfiguration {
    /// Its name.
    pub name: String,
    /// The place of the webhook.
    pub client: WebhookClient,
    /// PEM certificates that the API server trusts the webhook by.
    pub authority: String,
    /// `Ignore` or `Fail`.
    pub failure_policy: String,
    /// Operations to intercept.
    pub operations: Vec<String>,
    /// The webhook writes Events, but for dry runs.
    pub emits_events: bool,
    /// The operator's own namespace, which is never sent to the webhook: a policy must not keep the operator from
    /// being repaired.
    pub namespace: String,
}

impl WebhookConfiguration {
    /// The webhooks, with every field that the API server would fill in, so that what it stores compares equal.
    pub(super) fn webhooks(&self) -> Value {
        self.object().get_mut("webhooks").map(Value::take).unwrap_or_default()
    }

    pub(super) fn object(&self) -> Value {
        let mut webhooks = self.validation();
        webhooks.extend([self.config_check(), self.label_guard()]);
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": self.name, "labels": {"gatekeeper.sh/system": "yes"}},
            "webhooks": webhooks
        })
    }

    /// The webhook of all policies. Under `Fail` it is two: what nodes and control planes depend on is not refused while
    /// no pod answers.
    fn validation(&self) -> Vec<Value> {
        if self.failure_policy != "Fail" {
            return vec![self.validation_of("validation.gatekeeper.sh", &self.failure_policy, None)];
        }
        let others = json!({"name": "not-vital", "expression": format!("!({VITAL})")});
        let vital = json!({"name": "vital", "expression": VITAL});
        vec![
            self.validation_of("validation.gatekeeper.sh", "Fail", Some(others)),
            self.validation_of("vital.validation.gatekeeper.sh", "Ignore", Some(vital)),
        ]
    }

    fn validation_of(&self, name: &str, failure_policy: &str, condition: Option<Value>) -> Value {
        let resources: Vec<_> = ["*"].into_iter().chain(SUBRESOURCES).collect();
        let conditions = [
            json!({"name": "not-the-operators-own-crds", "expression": NOT_OWN_CRDS}),
            json!({"name": "not-break-glass", "expression": NOT_BREAK_GLASS}),
        ];
        let conditions: Vec<_> = conditions.into_iter().chain(condition).collect();
        json!({
            "name": name,
            "clientConfig": self.client_config(PATH),
            "failurePolicy": failure_policy,
            "matchPolicy": "Exact",
            "sideEffects": if self.emits_events { "NoneOnDryRun" } else { "None" },
            "timeoutSeconds": 3,
            "admissionReviewVersions": ["v1", "v1beta1"],
            "objectSelector": {},
            "namespaceSelector": {"matchExpressions": [
                {"key": IGNORE_LABEL, "operator": "DoesNotExist"},
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [self.namespace]}
            ]},
            "matchConditions": conditions,
            "rules": [{
                "operations": self.operations,
                "apiGroups": ["*"], "apiVersions": ["*"], "resources": resources, "scope": "*"
            }]
        })
    }

    /// The Config is in the operator's own namespace, of which nothing else is sent. It can be written while no pod
    /// answers.
    fn config_check(&self) -> Value {
        json!({
            "name": "config.validation.gatekeeper.sh",
            "clientConfig": self.client_config(PATH),
            "failurePolicy": "Ignore",
            "matchPolicy": "Exact",
            "sideEffects": "None",
            "timeoutSeconds": 3,
            "admissionReviewVersions": ["v1", "v1beta1"],
            "objectSelector": {},
            "namespaceSelector": {"matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "In", "values": [self.namespace]}
            ]},
            "rules": [{
                "operations": ["CREATE", "UPDATE"],
                "apiGroups": ["config.gatekeeper.sh"], "apiVersions": ["*"], "resources": ["configs"], "scope": "*"
            }]
        })
    }

    /// Asks for Namespaces that carry the ignore label, and for no others: while no pod answers, these alone cannot be
    /// written. The operator's own is never asked for.
    fn label_guard(&self) -> Value {
        let labelled = format!("has(object.metadata.labels) && '{IGNORE_LABEL}' in object.metadata.labels");
        json!({
            "name": "check-ignore-label.gatekeeper.sh",
            "clientConfig": self.client_config("/v1/admitlabel"),
            "failurePolicy": "Fail",
            "matchPolicy": "Exact",
            "sideEffects": "None",
            "timeoutSeconds": 3,
            "admissionReviewVersions": ["v1", "v1beta1"],
            "objectSelector": {},
            "namespaceSelector": {},
            "matchConditions": [
                {"name": "carries-the-ignore-label", "expression": labelled},
                {"name": "not-the-operators-own", "expression": format!("!has(request.name) || request.name != '{}'", self.namespace)}
            ],
            "rules": [{
                "operations": ["CREATE", "UPDATE"],
                "apiGroups": [""], "apiVersions": ["*"], "resources": ["namespaces"], "scope": "*"
            }]
        })
    }

    fn client_config(&self, path: &str) -> Value {
        let authority = ByteString(self.authority.clone().into_bytes());
        match &self.client {
            WebhookClient::Url(url) => {
                let base = url.strip_suffix(PATH).unwrap_or(url);
                json!({"caBundle": authority, "url": format!("{base}{path}")})
            }
            WebhookClient::Service { namespace, name } => json!({
                "caBundle": authority,
                "service": {"namespace": namespace, "name": name, "path": path, "port": 443}
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(client: WebhookClient) -> Value {
        webhook(client, false)
    }

    fn webhook(client: WebhookClient, emits_events: bool) -> Value {
        let configuration = WebhookConfiguration {
            name: "n".to_owned(),
            client,
            authority: "PEM".to_owned(),
            failure_policy: "Fail".to_owned(),
            operations: vec!["CREATE".to_owned()],
            emits_events,
            namespace: "system".to_owned(),
        };
        configuration.object()["webhooks"][0].clone()
    }

    #[test]
    fn a_service_or_a_url_but_never_both() {
        let service =
            configuration(WebhookClient::Service { namespace: "system".to_owned(), name: "s".to_owned() });
        assert_eq!(service["clientConfig"]["service"]["path"], "/v1/admit");
        assert_eq!(service["clientConfig"]["caBundle"], "UEVN");
        assert_eq!(service["clientConfig"].get("url"), None);
        let url = configuration(WebhookClient::Url("https://a/v1/admit".to_owned()));
        assert_eq!(url["clientConfig"]["url"], "https://a/v1/admit");
        assert_eq!(url["clientConfig"].get("service"), None);
    }

    #[test]
    fn events_are_side_effects_that_a_dry_run_does_not_have() {
        let side_effects = |emits| webhook(WebhookClient::Url(String::new()), emits)["sideEffects"].clone();
        assert_eq!([side_effects(false), side_effects(true)], ["None", "NoneOnDryRun"]);
    }

    #[test]
    fn the_operators_own_namespace_is_never_sent() {
        let webhook = configuration(WebhookClient::Url(String::new()));
        let own = &webhook["namespaceSelector"]["matchExpressions"][1];
        assert_eq!(
            own,
            &json!({"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["system"]})
        );
    }
}
