//! The rights of the controllers of a demo: those that they declare, and no others.
//!
//! Each role runs as a service account of its own, which the demo impersonates because nothing here has its token.

use std::fmt::Debug;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use controller_declaration::{Declaration, check as compare, check_consistency, of_user};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding};
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{interval, timeout};

use crate::Cluster;
use crate::cluster::bounded;
use crate::output::print;

/// The API server's authorizer reads roles from a watch, which takes far less.
const DEADLINE: Duration = Duration::from_secs(60);
const PERIOD: Duration = Duration::from_millis(50);

/// The user as whom a role runs in a demo.
pub(crate) fn username(namespace: &str, role: &str) -> String {
    format!("system:serviceaccount:{namespace}:{role}")
}

/// A page about what each controller does, with a graph.
#[must_use]
pub fn page(declarations: &[Declaration]) -> String {
    controller_declaration::render_page("What each controller does", declarations)
}

/// The roles as a manifest. A ClusterRole has the namespace in its name, so that demos do not share it.
///
/// # Errors
///
/// When a role cannot be written as YAML.
pub fn manifest(declarations: &[Declaration], namespace: &str) -> Result<String> {
    let mut texts = Vec::new();
    for declaration in declarations {
        texts.push(yaml(&declaration.role(namespace))?);
        if let Some(mut role) = declaration.cluster_role() {
            role.metadata.name = Some(cluster_name(declaration, namespace));
            texts.push(yaml(&role)?);
        }
    }
    Ok(texts.join("---\n"))
}

/// Returns an object as YAML.
///
/// # Errors
///
/// Returns an error if the value cannot be serialized as JSON.
pub(crate) fn yaml(object: &impl Serialize) -> Result<String> {
    Ok(go_compat::sigs_yaml::block(&serde_json::to_string(object)?)?)
}

fn cluster_name(declaration: &Declaration, namespace: &str) -> String {
    format!("{namespace}:{}", declaration.name())
}

/// Grants each controller what it declares, as the service account of its name, and waits until the authorizer knows.
///
/// # Errors
///
/// When declarations contradict each other, or what the API server answers.
pub async fn grant(cluster: &Cluster, declarations: &[Declaration]) -> Result<()> {
    check_consistency(declarations)?;
    for declaration in declarations {
        let (name, namespace) = (declaration.name(), cluster.namespace.as_str());
        let subjects = json!([{"kind": "ServiceAccount", "name": name, "namespace": namespace}]);
        let refer = |kind: &str, name: &str| json!({"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}, "subjects": subjects});
        let role = declaration.role(namespace);
        let rules = role.rules.unwrap_or_default();
        let metadata = json!({"annotations": role.metadata.annotations});
        cluster.apply::<Role>(name, json!({"metadata": metadata, "rules": rules})).await?;
        cluster.apply::<RoleBinding>(name, refer("Role", name)).await?;
        until_granted(cluster, name, Some(namespace), &rules).await?;
        if let Some(role) = declaration.cluster_role() {
            let (rules, cluster_name) =
                (role.rules.unwrap_or_default(), cluster_name(declaration, namespace));
            let metadata = json!({"annotations": role.metadata.annotations});
            let fields = json!({"metadata": metadata, "rules": rules});
            apply_cluster::<ClusterRole>(cluster, &cluster_name, fields).await?;
            let binding = refer("ClusterRole", &cluster_name);
            apply_cluster::<ClusterRoleBinding>(cluster, &cluster_name, binding).await?;
            until_granted(cluster, name, None, &rules).await?;
        }
    }
    Ok(())
}

async fn apply_cluster<K>(cluster: &Cluster, name: &str, mut fields: Value) -> Result<()>
where
    K: kube::Resource<DynamicType = (), Scope = k8s_openapi::ClusterResourceScope>,
    K: Clone + DeserializeOwned + Debug,
{
    let types = json!({"apiVersion": K::api_version(&()), "kind": K::kind(&()), "metadata": {"name": name}});
    json_patch::merge(&mut fields, &types);
    let api: Api<K> = Api::all(cluster.client.clone());
    bounded(api.patch(name, &PatchParams::apply(&cluster.role), &Patch::Apply(fields))).await.map(drop)
}

/// A role arrives whole at the authorizer, so one right of it stands for all.
async fn until_granted(
    cluster: &Cluster,
    role: &str,
    namespace: Option<&str>,
    rules: &[PolicyRule],
) -> Result<()> {
    let Some(rule) = rules.first() else { return Ok(()) };
    let first = |all: &Option<Vec<String>>| all.as_ref().and_then(|all| all.first().cloned());
    let resource = first(&rule.resources).unwrap_or_default();
    let (resource, subresource) = match resource.split_once('/') {
        Some((resource, subresource)) => (resource.to_owned(), Some(subresource.to_owned())),
        None => (resource, None),
    };
    let mut review = SubjectAccessReview::default();
    review.spec.user = Some(username(&cluster.namespace, role));
    review.spec.resource_attributes = Some(ResourceAttributes {
        group: first(&rule.api_groups),
        resource: Some(resource),
        subresource,
        verb: rule.verbs.first().cloned(),
        namespace: namespace.map(str::to_owned),
        ..ResourceAttributes::default()
    });
    let reviews: Api<SubjectAccessReview> = Api::all(cluster.client.clone());
    let granted = async {
        let mut ticks = interval(PERIOD);
        loop {
            ticks.tick().await;
            let answer = bounded(reviews.create(&PostParams::default(), &review)).await?;
            if answer.status.is_some_and(|status| status.allowed) {
                return anyhow::Ok(());
            }
        }
    };
    timeout(DEADLINE, granted)
        .await
        .with_context(|| format!("`{role}` does not get the rights it declares"))?
}

/// Compares an audit log with the declarations, and prints the differences.
///
/// # Errors
///
/// When the log cannot be read, or there are differences.
pub(crate) fn check(declarations: &[Declaration], namespace: &str, log: &Path) -> Result<()> {
    let text = std::fs::read_to_string(log).with_context(|| format!("read {}", log.display()))?;
    let event = |(number, line): (usize, &str)| {
        event(line).with_context(|| format!("{}: line {}", log.display(), number.saturating_add(1)))
    };
    let log = text.lines().enumerate().map(event).collect::<Result<Vec<_>>>()?;
    let mut differs = false;
    for declaration in declarations {
        let differences = differences(declaration, namespace, &log);
        differences.iter().for_each(|line| print(format_args!("{}: {line}", declaration.name())));
        differs |= !differences.is_empty();
    }
    match differs {
        true => bail!("the controllers and their declarations differ"),
        false => Ok(()),
    }
}

fn event(line: &str) -> Result<Value> {
    let event: Value = serde_json::from_str(line).context("it is not an event")?;
    let is_list = event.get("kind").is_some_and(|kind| kind == "EventList");
    ensure!(!is_list, "it is an EventList: write its items, each in a line of its own");
    Ok(event)
}

fn differences(declaration: &Declaration, namespace: &str, log: &[Value]) -> Vec<String> {
    let user = username(namespace, declaration.name());
    let report = compare(declaration, of_user(log, &user));
    let mut lines: Vec<_> = report.to_string().lines().map(str::to_owned).collect();
    // A sidecar declares nothing, and asks for nothing.
    if !lines.is_empty() && of_user(log, &user).next().is_none() {
        return vec![format!("the log has no request of {user}: does it run as this service account?")];
    }
    let is_write = |event: &Value| ["create", "patch", "update"].iter().any(|verb| event["verb"] == *verb);
    if report.bodies == 0 && of_user(log, &user).any(is_write) {
        let advice =
            "the log has no bodies of requests, so no written field was compared: audit at the level Request";
        lines.push(advice.to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use controller_declaration::DeclaredAccess;

    use super::*;

    /// As in a cluster whose controllers run as the user of a kubeconfig.
    #[test]
    fn a_log_without_requests_of_a_controller_says_so() {
        let declaration = Declaration::new("a", "A.")
            .access(DeclaredAccess::to("", "configmaps").watches().writes(["/data"]));
        let event = |user: &str, verb: &str| json!({"user": {"username": user}, "verb": verb, "objectRef": {"resource": "configmaps"}});
        let said = |log: &[Value]| differences(&declaration, "shop", log);
        let none =
            "the log has no request of system:serviceaccount:shop:a: does it run as this service account?";
        assert_eq!(said(&[]), [none]);
        assert_eq!(said(&[event("admin", "list")]), [none]);
        let own = ["list", "watch"].map(|verb| event("system:serviceaccount:shop:a", verb));
        assert_eq!(said(&own)[0], "declared and never made: patch configmaps");
    }

    #[test]
    fn a_list_of_events_is_refused() {
        let error = event(r#"{"kind": "EventList", "items": []}"#).unwrap_err().to_string();
        assert!(error.starts_with("it is an EventList"), "{error}");
        assert!(event(r#"{"kind": "Event"}"#).is_ok() && event("{").is_err());
    }
}
