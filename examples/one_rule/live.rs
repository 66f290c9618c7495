//! The forms that the API server enforces: our own webhook, and ValidatingAdmissionPolicies. Each is in force in a namespace of
//! its own.

use std::time::Duration;

use anyhow::{Context, Result};
use examples::Cluster;
use examples::cluster::{bounded, is_not_found};
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use k8s_openapi::ByteString;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::client::Body;
use kube::core::GroupVersionKind;
use serde_json::{Value, json};
use tokio::time::{interval, timeout};

use crate::cases::{BEFORE, Case, deployment};
use crate::manifests;
use crate::offline::set;
use crate::verdict::Verdict;

/// The API server learns of policies from watches, which takes far less.
const DEADLINE: Duration = Duration::from_secs(60);
const PERIOD: Duration = Duration::from_millis(100);
const MANAGER: &str = "one-rule";
const ADMISSION: &str = "admissionregistration.k8s.io/v1";

/// The forms, each in force in a namespace of its own.
pub(crate) const FORMS: [&str; 5] = ["own", "native", "inverted", "warn", "audit"];

/// The API server. What is made in it begins with the name of the cluster's namespace, which itself is not made.
pub(crate) struct Live {
    cluster: Cluster,
}

// === impl Live ===

impl Live {
    pub(crate) fn new(cluster: Cluster) -> Self {
        Self { cluster }
    }

    /// The namespace in which a form is in force.
    fn namespace(&self, form: &str) -> String {
        format!("{}-{form}", self.cluster.namespace)
    }

    /// Makes the namespace of a form, with the Deployments that are older than the rule.
    pub(crate) async fn prepare(&self, form: &str) -> Result<()> {
        let namespace = self.namespace(form);
        let labels = json!({"metadata": {"name": namespace}});
        self.apply("v1", "Namespace", &namespace, labels).await?;
        for (name, replicas) in BEFORE {
            let case = Case { name, method: Method::POST, path: "", body: deployment(name, json!(replicas)) };
            let created = async {
                let mut ticks = interval(PERIOD);
                loop {
                    ticks.tick().await;
                    let status = self.send(form, &case, false).await?.status();
                    // 409: a former run has left it. What was withdrawn is enforced for a moment more.
                    if status.is_success() || status == 409 {
                        return anyhow::Ok(());
                    }
                }
            };
            timeout(DEADLINE, created).await.with_context(|| format!("{name} cannot be created"))??;
        }
        Ok(())
    }

    /// Takes every form out of force, also what a killed run has left: no server answers for its webhook, which therefore refuses every request.
    /// The namespaces stay, with the Deployments that are older than the rule.
    pub(crate) async fn withdraw(&self) -> Result<()> {
        for form in FORMS {
            let name = self.namespace(form);
            let policy = ["ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"];
            let kinds = if form == "own" { &["ValidatingWebhookConfiguration"][..] } else { &policy };
            for kind in kinds {
                let (api, parameters) = (api(&self.cluster, ADMISSION, kind), DeleteParams::default());
                let deleted = bounded(api.delete(&name, &parameters)).await;
                match deleted {
                    Err(error) if !is_not_found(&error) => {
                        return Err(error.context(format!("{kind} {name}")));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Registers the webhook for the namespace of `own`.
    pub(crate) async fn register_webhook(&self, url: &str, authority: &str) -> Result<()> {
        let rules = json!([
            {"operations": ["CREATE", "UPDATE", "DELETE"], "apiGroups": ["apps"], "apiVersions": ["v1"],
             "resources": ["deployments", "deployments/scale"]}
        ]);
        let configuration = json!({"webhooks": [{
            "name": "one-rule.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": format!("{url}/validate"), "caBundle": ByteString(authority.as_bytes().to_vec())},
            "namespaceSelector": self.only("own"), "rules": rules, "timeoutSeconds": 10,
        }]});
        self.apply(ADMISSION, "ValidatingWebhookConfiguration", &self.namespace("own"), configuration).await
    }

    /// Puts a policy in force in the namespace of a form.
    pub(crate) async fn bind(&self, form: &str, manifest: &str, actions: &[&str]) -> Result<()> {
        let name = self.namespace(form);
        for mut object in manifests::all(manifest)? {
            let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let (version, kind) = (text("apiVersion"), text("kind"));
            if kind.ends_with("Binding") {
                set(&mut object, "/spec", "policyName", json!(name));
                set(&mut object, "/spec", "validationActions", json!(actions));
                set(&mut object, "/spec", "matchResources", json!({"namespaceSelector": self.only(form)}));
            }
            self.apply(&version, &kind, &name, json!({"spec": object.get("spec")})).await?;
        }
        Ok(())
    }

    fn only(&self, form: &str) -> Value {
        json!({"matchLabels": {"kubernetes.io/metadata.name": self.namespace(form)}})
    }

    async fn apply(&self, version: &str, kind: &str, name: &str, fields: Value) -> Result<()> {
        let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}});
        json_patch::merge(&mut object, &fields);
        let api = api(&self.cluster, version, kind);
        let applied =
            bounded(api.patch(name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(object))).await;
        applied.map(drop).with_context(|| format!("{kind} {name}"))
    }

    /// Asks until the answer is `expected`: the API server enforces a policy some time after it was stored.
    pub(crate) async fn until(
        &self,
        form: &str,
        case: &Case,
        expected: impl Fn(&Verdict) -> bool,
    ) -> Result<()> {
        let enforced = async {
            let mut ticks = interval(PERIOD);
            loop {
                ticks.tick().await;
                if expected(&self.ask(form, case).await?) {
                    return anyhow::Ok(());
                }
            }
        };
        timeout(DEADLINE, enforced).await.with_context(|| format!("{form} is not enforced"))?
    }

    /// The API server's answer to a case in the namespace of a form.
    pub(crate) async fn ask(&self, form: &str, case: &Case) -> Result<Verdict> {
        let response = self.send(form, case, true).await?;
        let warnings = response.headers().get_all(http::header::WARNING).iter();
        let warnings: Vec<_> = warnings.filter_map(|text| Some(text.to_str().ok()?.to_owned())).collect();
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        let body: Value = serde_json::from_slice(&body)?;
        let message = body.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
        match (status.as_u16(), warnings.as_slice()) {
            (403 | 422, _) => Ok(Verdict::Denied(message)),
            (200..300, []) => Ok(Verdict::Admitted),
            (200..300, warnings) => Ok(Verdict::Warned(warnings.join("; "))),
            _ => anyhow::bail!("{}: {status}: {message}", case.name),
        }
    }

    async fn send(&self, form: &str, case: &Case, dry_run: bool) -> Result<Response<Body>> {
        let query = if dry_run { "?dryRun=All" } else { "" };
        let path =
            format!("/apis/apps/v1/namespaces/{}/deployments{}{query}", self.namespace(form), case.path);
        let content =
            if case.method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let body = if case.body.is_null() { Vec::new() } else { serde_json::to_vec(&case.body)? };
        let request =
            Request::builder().method(case.method.clone()).uri(path).header("Content-Type", content);
        bounded(self.cluster.client.send(request.body(Body::from(body))?)).await
    }
}

/// The objects of a kind without namespaces.
fn api(cluster: &Cluster, version: &str, kind: &str) -> Api<DynamicObject> {
    let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    Api::all_with(cluster.client.clone(), &resource)
}
