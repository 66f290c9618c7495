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

/// The CRD of another program has one of the names that a template's kind needs.
#[tokio::test]
async fn a_template_whose_names_are_taken_is_stalled_until_they_are_free() {
    let cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    let other = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, \
        metadata: {name: others.constraints.gatekeeper.sh}, spec: {group: constraints.gatekeeper.sh, scope: Cluster, \
        names: {kind: Other, plural: others, shortNames: [broken]}, versions: [{name: v1beta1, served: true, \
        storage: true, schema: {openAPIV3Schema: {type: object}}}]}}";
    cluster.apply(other).await;
    let established = ["wait", "--for=condition=Established", "crd/others.constraints.gatekeeper.sh"];
    cluster.must(&established).await;
    cluster.apply(&BROKEN.replace("no_such_function(input.review, msg)", "msg := \"hello\"")).await;
    let broken = ["constrainttemplate", "broken"];
    let failed = "Ingested=False IngestError;Enforced=False IngestError;Ready=False IngestError;Stalled=True IngestError;";
    cluster.until(&broken, CONDITIONS, failed).await;
    let message = cluster.get(&broken, "{.status.byPod[0].errors[0].message}").await;
    assert!(message.contains("\"broken\" is already in use"), "{message}");

    cluster.must(&["delete", "crd", "others.constraints.gatekeeper.sh"]).await;
    cluster.enforced("constrainttemplate/broken").await;
    operator.stop().await;
}

/// Another program's webhook or policy refuses what the operator writes.
#[tokio::test]
async fn a_template_whose_definition_is_forbidden_is_in_progress_for_a_minute_and_then_stalled() {
    const FORBIDS: &str = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: forbids}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [apiextensions.k8s.io], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [customresourcedefinitions]}
  validations: [{expression: "!object.metadata.name.endsWith('.constraints.gatekeeper.sh')", message: not here, reason: Forbidden}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: forbids}
spec: {policyName: forbids, validationActions: [Deny]}
"#;
    let probe = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, \
        metadata: {name: probes.constraints.gatekeeper.sh}, spec: {group: constraints.gatekeeper.sh, scope: Cluster, \
        names: {kind: Probe, plural: probes}, versions: [{name: v1beta1, served: true, storage: true, \
        schema: {openAPIV3Schema: {type: object}}}]}}";
    let cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    cluster.apply(FORBIDS).await;
    let is_forbidden =
        async { while cluster.feed(&["create", "--dry-run=server", "-f", "-"], probe).await.success {} };
    tokio::time::timeout(std::time::Duration::from_secs(60), is_forbidden).await.unwrap();

    cluster.apply(&BROKEN.replace("no_such_function(input.review, msg)", "msg := \"hello\"")).await;
    let broken = ["constrainttemplate", "broken"];
    let of = |last: &str, reason: &str| {
        format!("Ingested=False {reason};Enforced=False {reason};Ready=False {reason};{last}=True {reason};")
    };
    cluster.until(&broken, CONDITIONS, &of("Reconciling", "IngestRetried")).await;
    cluster.until(&broken, CONDITIONS, &of("Stalled", "IngestError")).await;
    let message = cluster.get(&broken, "{.status.byPod[0].errors[0].message}").await;
    assert!(message.contains("not here (HTTP 403)"), "{message}");

    cluster.must(&["delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", "forbids"]).await;
    cluster.enforced("constrainttemplate/broken").await;
    operator.stop().await;
}

#[tokio::test]
async fn a_constraint_for_a_point_that_no_pod_runs_is_stalled_and_one_for_the_command_line_is_done() {
    let cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    cluster.quickstart().await;
    let object = ["k8sreplicalimits", "three-to-ten-replicas"];
    for (points, conditions) in [
        ("{name: gator.gatekeeper.sh}", "Enforced=False NothingToEnforce;Ready=True NothingToEnforce;"),
        (
            "{name: vap.k8s.io}",
            "Enforced=False NotEnforcing;Ready=False NotEnforcing;Stalled=True NotEnforcing;",
        ),
        (
            "{name: gator.gatekeeper.sh}, {name: validation.gatekeeper.sh}",
            "Enforced=True EnforcedByAllPods;Ready=True EnforcedByAllPods;",
        ),
        (
            "{name: validation.gatekeeper.sh}, {name: vap.k8s.io}",
            "Enforced=False NotEnforcing;Ready=False NotEnforcing;Stalled=True NotEnforcing;",
        ),
        ("{name: audit.gatekeeper.sh}", "Enforced=True EnforcedByAllPods;Ready=True EnforcedByAllPods;"),
    ] {
        let patch = format!(
            "spec: {{enforcementAction: scoped, scopedEnforcementActions: [{{action: deny, enforcementPoints: [{points}]}}]}}"
        );
        cluster.must(&["patch", object[0], object[1], "--type=merge", "-p", &patch]).await;
        // The condition of the audit is beside these.
        let reported = r#"{range .status.conditions[?(@.type!="Audited")]}{.type}={.status} {.reason};{end}"#;
        cluster.until(&object, reported, &format!("Ingested=True IngestedByAllPods;{conditions}")).await;
    }
    operator.stop().await;
}
