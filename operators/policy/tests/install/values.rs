//! Values of the chart: those of Gatekeeper's chart, and those that are refused.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::gatekeeper;
use crate::helm::{NAMESPACE, RELEASE, chart, helm, refused, workspace};

/// The chart, rendered with these values.
pub(crate) async fn rendered(set: &str) -> String {
    helm(None, &["template", RELEASE, chart().to_str().unwrap(), "-n", NAMESPACE, "--set", set]).await
}

/// The keys of the first level, and those of `controllerManager` behind a dot.
fn keys(values: &Value) -> BTreeSet<String> {
    let first = values.as_object().unwrap().keys().cloned();
    let manager = values["controllerManager"].as_object().unwrap().keys();
    first.chain(manager.map(|key| format!("controllerManager.{key}"))).collect()
}

fn read(path: &std::path::Path) -> Value {
    let mut documents = go_compat::sigs_yaml::documents(&std::fs::read_to_string(path).unwrap()).unwrap();
    documents.swap_remove(0).value
}

#[test]
fn each_value_of_gatekeepers_chart_is_one_of_ours_or_in_the_guide() {
    let theirs = keys(&read(&gatekeeper::file("charts/gatekeeper/values.yaml")));
    let ours = keys(&read(&chart().join("values.yaml")));
    assert!(theirs.len() > 80, "{theirs:?}");
    let guide = std::fs::read_to_string(workspace("docs/migrate.md")).unwrap();
    let (_, table) = guide.split_once("| value of Gatekeeper's chart |").unwrap();
    let rows = table.split("\n\n").next().unwrap().lines().skip(2);
    let named: BTreeSet<_> = rows
        .flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2))
        .map(str::to_owned)
        .collect();
    let open: Vec<_> = theirs.difference(&ours).filter(|key| !named.contains(*key)).collect();
    assert_eq!(open, [""; 0], "in Gatekeeper's chart, and neither here nor in docs/migrate.md");
    let wrong: Vec<_> = named.iter().filter(|key| ours.contains(*key)).collect();
    assert_eq!(wrong, [""; 0], "in docs/migrate.md, although the chart has them");
}

#[tokio::test]
async fn values_that_mean_nothing_are_refused() {
    for (set, expected) in [
        ("auditMatchKindOnly=true", "additional properties 'auditMatchKindOnly' not allowed"),
        ("controllerManager.metricsPort=1", "additional properties 'metricsPort' not allowed"),
        ("replicas=0", "at '/replicas'"),
        ("validatingWebhookFailurePolicy=fail", "at '/validatingWebhookFailurePolicy'"),
        ("policyReports=wgPolicy", "at '/policyReports'"),
        ("controllerManager.shutdownDelay=50", "terminationGracePeriodSeconds is 60: set it to 65 or more"),
        ("metrics.port=9090", "have to differ"),
        // The API server refuses these, after some objects are there already.
        ("podAnnotations.a=5", "at '/podAnnotations/a': got number, want string"),
        ("commonAnnotations.a=true", "at '/commonAnnotations/a': got boolean, want string"),
        ("controllerManager.nodeSelector.a=true", "at '/controllerManager/nodeSelector/a'"),
        ("pdb.controllerManager.minAvailable=3", "no node with a pod could be drained"),
    ] {
        let chart = chart();
        let message = refused(None, &["template", RELEASE, chart.to_str().unwrap(), "--set", set]).await;
        assert!(message.contains(expected), "{set}: {message}");
    }
}

#[tokio::test]
async fn values_become_arguments_rules_and_deadlines() {
    for (set, expected) in [
        (
            "disableAudit=true",
            "- --operation=generate\n            - --operation=status\n            - --operation=webhook\n",
        ),
        (
            "otlpEndpoint=collector:4318,otlpMetricInterval=30s",
            "--otlp-endpoint=collector:4318\n            - --otlp-metric-interval=30s\n",
        ),
        (
            "controllerManager.exemptNamespaces={a,b}",
            "--exempt-namespace=a\n            - --exempt-namespace=b\n",
        ),
        ("controllerManager.exemptNamespacePrefixes={a-}", "--exempt-namespace-prefix=a-\n"),
        ("controllerManager.exemptNamespaceSuffixes={-a}", "--exempt-namespace-suffix=-a\n"),
        ("controllerManager.tlsMinVersion=1.2", "--tls-min-version=1.2\n"),
        // As Gatekeeper has it; the directive `WARNING` would be a module of that name.
        ("logLevel=WARNING", "--log=warn\n"),
        // The Job outlives the pods that it waits for.
        ("controllerManager.terminationGracePeriodSeconds=300", "activeDeadlineSeconds: 390\n"),
        ("controllerManager.terminationGracePeriodSeconds=300", "--patience=330\n"),
        (
            "controllerManager.networkPolicy.enabled=true,controllerManager.networkPolicy.ingress[0].from[0].ipBlock.cidr=192.0.2.0/24",
            "  ingress:\n    - from:\n      - ipBlock:\n          cidr: 192.0.2.0/24\n",
        ),
    ] {
        let rendered = rendered(set).await;
        assert!(rendered.contains(expected), "{set}: {expected} is not in:\n{rendered}");
    }
}

#[tokio::test]
async fn one_replica_has_no_budget_that_stops_every_drain() {
    assert!(rendered("replicas=2").await.contains("kind: PodDisruptionBudget"));
    assert!(!rendered("replicas=1").await.contains("kind: PodDisruptionBudget"));
}

#[tokio::test]
async fn names_are_short_enough_for_a_release_with_the_longest_name() {
    let name = "a".repeat(53);
    let chart = chart();
    let set = "besideGatekeeper=true,metrics.serviceMonitor.enabled=true,metrics.dashboard.enabled=true";
    let rendered = helm(None, &["template", &name, chart.to_str().unwrap(), "--set", set]).await;
    let service = format!("--cert-service-name={}-webhook-service\n", "a".repeat(47));
    assert!(rendered.contains(&service), "{rendered}");
    for document in rendered.split("\n---") {
        let object = document.lines().find_map(|line| line.strip_prefix("  name: ")).unwrap_or_default();
        let limited = ["kind: Service\n", "kind: Job\n"].iter().any(|kind| document.contains(kind));
        assert!(!limited || object.len() <= 63, "{object}");
    }
}

/// Helm reads numbers of a file as floating-point ones, and writes a million as 1e+06.
#[tokio::test]
async fn large_numbers_of_a_values_file_are_written_as_integers() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("values.yaml");
    let values = "{auditInterval: 2592000, auditChunkSize: 1000000, revisionHistoryLimit: 1000000, podCountLimit: 1000000, \
                  controllerManager: {shutdownDelay: 1000000, terminationGracePeriodSeconds: 2000000}}";
    std::fs::write(&file, values).unwrap();
    let chart = chart();
    let args = ["template", RELEASE, chart.to_str().unwrap(), "-f", file.to_str().unwrap()];
    let rendered = helm(None, &args).await;
    assert!(rendered.contains("--audit-interval=2592000\n"), "{rendered}");
    let line = rendered.lines().find(|line| line.contains("e+0"));
    assert_eq!(line, None);
}

/// A hook that no node takes keeps the release, and its webhook, from being removed.
#[tokio::test]
async fn the_uninstall_hook_runs_where_the_pods_run() {
    let set = "controllerManager.nodeSelector.pool=system,controllerManager.tolerations[0].key=pool,\
               controllerManager.tolerations[0].operator=Exists,controllerManager.resources.requests.cpu=70m";
    let objects = go_compat::sigs_yaml::documents(&rendered(set).await).unwrap();
    let pod = |kind: &str| {
        let object = objects.iter().find(|document| document.value["kind"] == kind).unwrap();
        object.value["spec"]["template"]["spec"].clone()
    };
    let (pods, hook) = (pod("Deployment"), pod("Job"));
    for field in ["nodeSelector", "tolerations"] {
        assert_ne!(pods[field], Value::Null, "{field}");
        assert_eq!(pods[field], hook[field], "{field}");
    }
    assert_eq!(hook["nodeSelector"]["kubernetes.io/os"], "linux");
    let resources = |pod: &Value| pod["containers"][0]["resources"].clone();
    assert_eq!(resources(&hook)["requests"]["cpu"], "70m");
    assert_eq!(resources(&pods), resources(&hook));
}
