//! The conditions that Flux and Helm (kstatus) read: in progress, or failed.

use crate::bad_input::BROKEN;
use crate::cluster::Cluster;

const CONDITIONS: &str = "{range .status.conditions[*]}{.type}={.status} {.reason};{end}";

#[tokio::test]
async fn a_broken_template_is_stalled_and_a_corrected_one_is_not() {
    let cluster = Cluster::start().await;
    cluster.operator().await.stop().await;
    // The webhook would refuse it.
    cluster.must(&["delete", "validatingwebhookconfigurations", "--all"]).await;
    cluster.apply(BROKEN).await;
    let broken = ["constrainttemplate", "broken"];
    let status = cluster.get(&broken, "{.status}").await;
    assert_eq!(status, r#"{"observedGeneration":-1}"#, "no pod has looked");

    let operator = cluster.operator().await;
    let stalled = ["wait", "--for=condition=Stalled", "--timeout=120s", "constrainttemplate/broken"];
    cluster.must(&stalled).await;
    let failed = "Ingested=False IngestError;Enforced=False IngestError;Ready=False IngestError;Stalled=True IngestError;";
    assert_eq!(cluster.get(&broken, CONDITIONS).await, failed);
    let summary = cluster.get(&broken, "{.status.summary}").await;
    assert_eq!(summary, r#"{"enforcing":0,"failed":1,"ingested":0,"pods":1}"#);

    // The list of a template's conditions is one value: the aggregator keeps what another client has added.
    let add = r#"[{"op": "add", "path": "/status/conditions/-", "value":
        {"type": "Reviewed", "status": "True", "reason": "ByHand"}}]"#;
    cluster
        .must(&["patch", "constrainttemplate/broken", "--subresource=status", "--type=json", "-p", add])
        .await;
    cluster.apply(&BROKEN.replace("no_such_function(input.review, msg)", "msg := \"hello\"")).await;
    cluster.enforced("constrainttemplate/broken").await;
    let enforced = "Ingested=True IngestedByAllPods;Enforced=True EnforcedByAllPods;Ready=True EnforcedByAllPods;\
                    Reviewed=True ByHand;";
    assert_eq!(cluster.get(&broken, CONDITIONS).await, enforced);
    operator.stop().await;
}

#[tokio::test]
async fn a_sync_set_whose_kind_comes_later_is_in_progress_until_then() {
    let cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    let early = "{apiVersion: syncset.gatekeeper.sh/v1alpha1, kind: SyncSet, metadata: {name: early}, \
                 spec: {gvks: [{group: example.com, version: v1, kind: Widget}]}}";
    cluster.apply(early).await;
    let waits = "Ingested=False IngestRetried;Ready=False IngestRetried;Reconciling=True IngestRetried;";
    cluster.until(&["syncset", "early"], CONDITIONS, waits).await;

    let definition = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, \
        metadata: {name: widgets.example.com}, spec: {group: example.com, scope: Namespaced, \
        names: {kind: Widget, plural: widgets}, versions: [{name: v1, served: true, storage: true, \
        schema: {openAPIV3Schema: {type: object}}}]}}";
    cluster.apply(definition).await;
    let done = "Ingested=True IngestedByAllPods;Ready=True IngestedByAllPods;";
    cluster.until(&["syncset", "early"], CONDITIONS, done).await;
    operator.stop().await;
}
