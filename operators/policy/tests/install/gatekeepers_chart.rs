//! Gatekeeper's own chart, rendered and given to `webtroller migrate check`: what it ships is not reported, and each value that changes
//! what is enforced, or what a process does, is.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::gatekeeper;
use crate::helm::{NAMESPACE, helm};

/// Renders the chart with these values, and checks it. Returns the exit code, and the rules and messages of the findings.
async fn check(sets: &[&str]) -> (i32, Vec<String>) {
    let chart = gatekeeper::file("charts/gatekeeper");
    let mut args = vec!["template", "gatekeeper", chart.to_str().unwrap(), "-n", NAMESPACE];
    args.extend(sets.iter().flat_map(|set| ["--set", *set]));
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("dump.yaml");
    std::fs::write(&dump, helm(None, &args).await).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_webtroller"));
    command
        .args(["migrate", "check", "-o", "json", "-"])
        .stdin(Stdio::from(std::fs::File::open(&dump).unwrap()));
    let Output { status, stdout, stderr } = command.output().unwrap();
    let report: Value = serde_json::from_slice(&stdout).unwrap();
    assert_eq!(report["problems"], Value::Array(Vec::new()), "{}", String::from_utf8_lossy(&stderr));
    let findings = report["findings"].as_array().unwrap().iter();
    let found = findings.filter(|finding| finding["level"] != "note");
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    let found = found.map(|finding| format!("{}: {}", text(finding, "rule"), text(finding, "message")));
    (status.code().unwrap(), found.collect())
}

#[tokio::test]
async fn what_gatekeepers_chart_ships_is_not_reported() {
    assert_eq!(check(&[]).await, (0, Vec::new()));
}

#[tokio::test]
async fn each_value_of_gatekeepers_chart_that_changes_enforcement_is_reported() {
    for (sets, expected) in [
        (&["validatingWebhookTimeoutSeconds=15"][..], "webhook-settings: timeoutSeconds is 15"),
        (
            &["validatingWebhookExemptNamespacesLabels.kubernetes\\.io/metadata\\.name={kube-system}"],
            "webhook-settings: namespaceSelector exempts kube-system:",
        ),
        (
            &["validatingWebhookExemptNamespacesLabels.team={a}"],
            "webhook-settings: namespaceSelector is not taken over",
        ),
        (&["validatingWebhookScope=Namespaced"], "webhook-settings: its rules are narrowed by scope"),
        (
            &[
                "validatingWebhookCustomRules[0].apiGroups={apps}",
                "validatingWebhookCustomRules[0].apiVersions={*}",
                "validatingWebhookCustomRules[0].operations={CREATE,UPDATE}",
                "validatingWebhookCustomRules[0].resources={*}",
            ],
            "webhook-settings: its rules are narrowed by apiGroups",
        ),
        (
            &["validatingWebhookSubResources={pods/exec}"],
            "webhook-settings: requests for pods/ephemeralcontainers, pods/log,",
        ),
        (
            &["validatingWebhookCheckIgnoreFailurePolicy=Ignore"],
            "webhook-settings: check-ignore-label.gatekeeper.sh has failurePolicy Ignore",
        ),
        (&["validatingWebhookFailurePolicy=Fail"], "webhook-settings: failurePolicy is Fail"),
        (&["enableDeleteOperations=true"], "webhook-settings: DELETE is reviewed"),
        (&["auditInterval=0"], "flag-different: --audit-interval: 0 compares nothing"),
        (
            &["metricsBackends={opentelemetry}"],
            "flag-different: --metrics-backend=opentelemetry sends nothing",
        ),
        (&["constraintViolationsLimit=5000"], "flag-refused: error: invalid value '5000'"),
        (
            &["auditFromCache=true", "audit.containerName=auditor", "image.repository=example.com/policy"],
            "flag-refused: --audit-from-cache",
        ),
    ] {
        let (code, found) = check(sets).await;
        assert!(code == 1 && found.iter().any(|found| found.starts_with(expected)), "{sets:?}: {found:?}");
    }
}

/// A limit that Gatekeeper takes is taken.
#[tokio::test]
async fn a_thousand_violations_in_a_status_are_taken() {
    assert_eq!(check(&["constraintViolationsLimit=1000"]).await, (0, Vec::new()));
}
