//! `webtroller uninstall` beside a server in memory.

use kube::core::GroupVersionKind;
use pod_status::SHARD_LABEL;
use serde_json::Value;
use watch_manager::Verb;
use watch_manager::testing::{FakeApi, Fault, SourceCall};

use super::*;
use crate::controller::webhook_registration::EPOCH;

const GATEKEEPERS: &str = "gatekeeper-validating-webhook-configuration";
const OURS: &str = "webtroller-validating-webhook-configuration";
const SYSTEM: &str = "gatekeeper-system";

fn configurations() -> GroupVersionKind {
    GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration")
}

fn deployments() -> GroupVersionKind {
    GroupVersionKind::gvk("apps", "v1", "Deployment")
}

fn reports() -> GroupVersionKind {
    GroupVersionKind::gvk("status.webtroller.dev", "v1alpha1", "PodReport")
}

fn server() -> FakeApi {
    let api = FakeApi::new();
    let pods = GroupVersionKind::gvk("", "v1", "Pod");
    for (kind, plural) in [
        (configurations(), "validatingwebhookconfigurations"),
        (deployments(), "deployments"),
        (reports(), "podreports"),
        (pods, "pods"),
    ] {
        api.serve(&kind, plural);
    }
    api.set_cluster_scoped(&configurations());
    api
}

fn configuration(api: &FakeApi, name: &str, annotation: &str) {
    let metadata = json!({"name": name, "annotations": {annotation: "1"}});
    api.apply(&configurations(), json!({"metadata": metadata, "webhooks": []})).unwrap();
}

fn deployment(api: &FakeApi, namespace: &str, name: &str, label: &str, args: &[&str]) {
    let labels = json!({"app.kubernetes.io/name": label});
    let template = json!({"spec": {"containers": [{"name": "manager", "args": args}]}});
    let spec = json!({"selector": {"matchLabels": {"app": "a"}}, "template": template});
    let metadata = json!({"name": name, "namespace": namespace, "labels": labels});
    api.apply(&deployments(), json!({"metadata": metadata, "spec": spec})).unwrap();
}

fn registered(api: &FakeApi, run: Value) {
    let metadata = json!({"name": "a", "namespace": SYSTEM, "labels": {SHARD_LABEL: "0"}});
    api.apply(&reports(), json!({"metadata": metadata, "pod": run, "shard": 0})).unwrap();
}

async fn uninstall(
    api: &FakeApi,
    deployment: Option<&str>,
    configuration: Option<&str>,
) -> Result<Removed, String> {
    let removal = Uninstall {
        configuration: configuration.map(str::to_owned),
        namespace: SYSTEM.to_owned(),
        deployment: deployment.map(str::to_owned),
        patience: Duration::from_secs(90),
    };
    removal.run(&api.client(), |_| {}).await.map_err(|error| error.to_string())
}

async fn left(api: &FakeApi) -> Vec<String> {
    let all: Api<ValidatingWebhookConfiguration> = Api::all(api.client());
    all.list(&ListParams::default()).await.unwrap().into_iter().map(|found| found.name_any()).collect()
}

fn removed(name: &str, existed: bool) -> Result<Removed, String> {
    Ok(Removed { configuration: name.to_owned(), existed })
}

/// As `error`, by parts.
fn refused(outcome: &Result<Removed, String>, parts: &[&str]) {
    let error = outcome.as_ref().expect_err("refused");
    for part in parts {
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_configuration_is_the_one_in_the_arguments_of_the_deployment() {
    for args in [
        &["serve", "--validating-webhook-configuration-name=webtroller-validating-webhook-configuration"][..],
        &["-validating-webhook-configuration-name", OURS],
        &["--validating-webhook-configuration-name=a", "--validating-webhook-configuration-name", OURS],
    ] {
        let api = server();
        configuration(&api, GATEKEEPERS, "helm.sh/chart");
        configuration(&api, OURS, EPOCH);
        deployment(&api, SYSTEM, "webtroller", "webtroller", args);
        let given = uninstall(&api, Some("webtroller"), Some(GATEKEEPERS)).await;
        refused(&given, &["keep webtroller-validating-webhook-configuration, and not gatekeeper-validating"]);
        // The server in memory has no answer of the kind Scale.
        api.fail_always(&deployments(), SourceCall::Write, Fault::NotFound);
        assert_eq!(uninstall(&api, Some("webtroller"), None).await, removed(OURS, true));
        assert_eq!(left(&api).await, [GATEKEEPERS]);
        assert_eq!(uninstall(&api, Some("webtroller"), Some(OURS)).await, removed(OURS, false));
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_that_does_not_exist_is_refused_while_webtroller_has_registered_another() {
    let api = server();
    configuration(&api, OURS, EPOCH);
    let outcome = uninstall(&api, None, None).await;
    refused(
        &outcome,
        &["no webhook configuration gatekeeper-", "add --validating-webhook-configuration-name webtroller-"],
    );
    assert_eq!(left(&api).await, [OURS]);
    assert_eq!(uninstall(&api, None, Some(OURS)).await, removed(OURS, true));
    assert_eq!(uninstall(&api, None, None).await, removed(GATEKEEPERS, false));
}

#[tokio::test(start_paused = true)]
async fn what_is_another_programs_stays() {
    let api = server();
    configuration(&api, GATEKEEPERS, "helm.sh/chart");
    deployment(&api, SYSTEM, "gatekeeper-controller-manager", "gatekeeper", &[]);
    let outcome = uninstall(&api, None, None).await;
    refused(
        &outcome,
        &["gatekeeper-validating-webhook-configuration was not written by webtroller, and stays"],
    );
    let outcome = uninstall(&api, Some("gatekeeper-controller-manager"), None).await;
    refused(&outcome, &["gatekeeper-system/gatekeeper-controller-manager is not webtroller's", LABEL_PART]);
    assert_eq!(left(&api).await, [GATEKEEPERS]);
    assert_eq!(api.calls(&deployments(), SourceCall::Write), 0);

    // What another run of the command has emptied is removed.
    configuration(&api, GATEKEEPERS, UNINSTALLED);
    assert_eq!(uninstall(&api, None, None).await, removed(GATEKEEPERS, true));
}

const LABEL_PART: &str = "app.kubernetes.io/name=webtroller";

#[tokio::test(start_paused = true)]
async fn a_wrong_namespace_or_name_is_refused_while_pods_run_anywhere() {
    let api = server();
    configuration(&api, GATEKEEPERS, EPOCH);
    deployment(&api, "policies", "webtroller", "webtroller", &[]);
    for name in [None, Some("webtroler"), Some("webtroller")] {
        let outcome = uninstall(&api, name, None).await;
        refused(
            &outcome,
            &["policies/webtroller would register", "--deployment webtroller --namespace policies"],
        );
    }
    assert_eq!(left(&api).await, [GATEKEEPERS]);
    // An account without rights to the rest is taken at its word: the hook of a release whose Deployment was deleted by hand.
    api.fail_always(&deployments(), Verb::List, Fault::Forbidden);
    assert_eq!(uninstall(&api, Some("webtroler"), None).await, removed(GATEKEEPERS, true));
    assert_eq!(uninstall(&api, Some("webtroler"), None).await, removed(GATEKEEPERS, false));
}

#[tokio::test(start_paused = true)]
async fn a_process_without_a_deployment_is_waited_for_and_then_refused() {
    let api = server();
    configuration(&api, GATEKEEPERS, EPOCH);
    let run = |beat: u64, stopped: bool| json!({"id": "laptop", "incarnation": "1", "ttlSeconds": 180, "heartbeat": beat, "stopped": stopped});
    registered(&api, run(1, false));
    let beats = async {
        let mut period = interval(Duration::from_secs(60));
        for beat in 1_u64.. {
            period.tick().await;
            registered(&api, run(beat, false));
        }
    };
    let outcome = tokio::select! {
        outcome = uninstall(&api, None, None) => outcome,
        () = beats => unreachable!(),
    };
    refused(&outcome, &["webtroller runs as gatekeeper-system/laptop and would register"]);
    assert_eq!(left(&api).await, [GATEKEEPERS]);

    // It was killed: no heartbeat comes.
    let begun = tokio::time::Instant::now();
    assert_eq!(uninstall(&api, None, None).await, removed(GATEKEEPERS, true));
    assert!(begun.elapsed() > Duration::from_secs(60), "a heartbeat takes so long");

    configuration(&api, GATEKEEPERS, EPOCH);
    registered(&api, run(9, true));
    let begun = tokio::time::Instant::now();
    assert_eq!(uninstall(&api, None, None).await, removed(GATEKEEPERS, true));
    assert!(begun.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn nothing_stays_enforced_without_a_deployment_either() {
    let api = server();
    configuration(&api, GATEKEEPERS, EPOCH);
    let template = GroupVersionKind::gvk("templates.gatekeeper.sh", "v1", "ConstraintTemplate");
    let constraint = GroupVersionKind::gvk("constraints.gatekeeper.sh", "v1beta1", "Numbered");
    let managed = json!([{"manager": "pod-status-aggregator", "operation": "Apply", "apiVersion": "v1",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:status": {}}}]);
    let status = json!({"conditions": [{"type": "Enforced", "status": "True"}]});
    for (kind, plural, name) in
        [(&template, "constrainttemplates", "numbered"), (&constraint, "numbered", "a")]
    {
        api.serve(kind, plural);
        api.set_cluster_scoped(kind);
        let metadata = json!({"name": name, "managedFields": managed});
        let spec = json!({"crd": {"spec": {"names": {"kind": "Numbered"}}}});
        api.apply(kind, json!({"metadata": metadata, "spec": spec, "status": status})).unwrap();
    }
    assert_eq!(uninstall(&api, None, None).await, removed(GATEKEEPERS, true));
    for (kind, plural, name) in [(template, "constrainttemplates", "numbered"), (constraint, "numbered", "a")]
    {
        let resource = kube::core::ApiResource::from_gvk_with_plural(&kind, plural);
        let object =
            Api::<kube::core::DynamicObject>::all_with(api.client(), &resource).get(name).await.unwrap();
        assert!(object.data["status"]["conditions"].is_null(), "{}", object.data);
    }
}
