//! Values of the chart: those of Gatekeeper's chart, and those that are refused.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::gatekeeper;
use crate::helm::{NAMESPACE, RELEASE, chart, helm, refused, run, workspace};

/// The chart, rendered with these values.
pub(crate) async fn rendered(set: &str) -> String {
    helm(None, &["template", RELEASE, chart().to_str().unwrap(), "-n", NAMESPACE, "--set", set]).await
}

fn read(path: &std::path::Path) -> Value {
    let mut documents = go_compat::sigs_yaml::documents(&std::fs::read_to_string(path).unwrap()).unwrap();
    documents.swap_remove(0).value
}

/// The keys of `theirs` that `ours` does not have, the parts behind dots, each without those below it.
fn unknown(theirs: &Value, ours: &Value, path: &str, found: &mut Vec<String>) {
    for (key, value) in theirs.as_object().into_iter().flatten() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match ours.get(key) {
            None => found.push(path),
            // A map that is empty by default takes any key.
            Some(ours) if ours.as_object().is_some_and(|map| !map.is_empty()) => {
                unknown(value, ours, &path, found)
            }
            Some(_) => {}
        }
    }
}

#[test]
fn each_value_of_gatekeepers_chart_is_one_of_ours_or_in_the_guide() {
    let ours = read(&chart().join("values.yaml"));
    let mut open = Vec::new();
    unknown(&read(&gatekeeper::file("charts/gatekeeper/values.yaml")), &ours, "", &mut open);
    assert!(open.len() > 60, "{open:?}");
    let guide = std::fs::read_to_string(workspace("docs/migrate.md")).unwrap();
    let (_, table) = guide.split_once("| value of Gatekeeper's chart |").unwrap();
    let rows = table.split("\n\n").next().unwrap().lines().skip(2);
    let named: BTreeSet<_> = rows
        .flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2))
        .map(str::to_owned)
        .collect();
    let is_named = |key: &String| {
        named.iter().any(|name| {
            key == name || key.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('.'))
        })
    };
    open.retain(|key| !is_named(key));
    assert_eq!(open, [""; 0], "in Gatekeeper's chart, and neither here nor in docs/migrate.md");
    let has = |key: &&String| ours.pointer(&format!("/{}", key.replace('.', "/"))).is_some();
    let wrong: Vec<_> = named.iter().filter(has).collect();
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
        ("pdb.controllerManager.minAvailable=100%", "no node with a pod could be drained"),
        // 2.01 pods are three.
        ("pdb.controllerManager.minAvailable=67%", "no node with a pod could be drained"),
        ("pdb.controllerManager.minAvailable=most", "at '/pdb/controllerManager/minAvailable'"),
        ("constraintViolationsLimit=1001", "at '/constraintViolationsLimit'"),
    ] {
        let chart = chart();
        let message = refused(None, &["template", RELEASE, chart.to_str().unwrap(), "--set", set]).await;
        assert!(message.contains(expected), "{set}: {message}");
    }
    let (chart, three) = (chart(), "pdb.controllerManager.minAvailable=3");
    let message = refused(None, &["template", RELEASE, chart.to_str().unwrap(), "--set-string", three]).await;
    assert!(message.contains("no node with a pod could be drained"), "{message}");
    assert!(rendered("pdb.controllerManager.minAvailable=66%").await.contains("minAvailable: 66%\n"));
}

/// The paths of all values; maps that are empty by default, or have no keys of their own, are one value.
fn paths(values: &Value, path: &str, found: &mut Vec<String>) {
    for (key, value) in values.as_object().into_iter().flatten() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        if !path.ends_with("nodeSelector") && !path.ends_with("labels") {
            paths(value, &path, found);
        }
        found.push(path);
    }
}

/// `null` takes a default away: what needs the value says so, and the rest renders without it.
#[tokio::test]
async fn a_value_that_is_taken_away_is_missed_by_name_or_not_at_all() {
    let mut all = Vec::new();
    paths(&read(&chart().join("values.yaml")), "", &mut all);
    assert!(all.len() > 60, "{all:?}");
    let everything = format!("{EVERYTHING},");
    for path in all {
        let (chart, set) = (chart(), format!("{everything}{path}=null"));
        match run(None, &["template", RELEASE, chart.to_str().unwrap(), "--set", &set]).await {
            Ok(rendered) => {
                go_compat::sigs_yaml::documents(&rendered).unwrap_or_else(|error| panic!("{path}: {error}"));
                let is_empty =
                    |line: &&str| line.contains("<nil>") || line.ends_with('=') || line.ends_with("=\"");
                assert_eq!(rendered.lines().find(is_empty), None, "{path}");
            }
            Err(message) => assert!(message.contains("missing property"), "{path}: {message}"),
        }
    }
}

/// Turns on every object of the chart.
const EVERYTHING: &str = "metrics.serviceMonitor.enabled=true,metrics.alerts.enabled=true,metrics.dashboard.enabled=true,\
                          certManager.enabled=true,controllerManager.networkPolicy.enabled=true";

#[tokio::test]
async fn annotations_are_those_of_all_objects() {
    let set = format!(
        "{EVERYTHING},commonAnnotations.owner=platform,controllerManager.serviceAccount.annotations.role=a"
    );
    let objects = go_compat::sigs_yaml::documents(&rendered(&set).await).unwrap();
    assert!(objects.len() > 20, "{}", objects.len());
    for object in objects {
        let metadata = &object.value["metadata"];
        assert_eq!(
            metadata["annotations"]["owner"], "platform",
            "{} {}",
            object.value["kind"], metadata["name"]
        );
    }
}

/// The container of the Deployment.
async fn container(set: &str) -> Value {
    let objects = go_compat::sigs_yaml::documents(&rendered(set).await).unwrap();
    let object = objects.into_iter().find(|document| document.value["kind"] == "Deployment").unwrap();
    object.value["spec"]["template"]["spec"]["containers"][0].clone()
}

#[tokio::test]
async fn arguments_are_texts_whatever_is_in_them() {
    let set = "controllerManager.exemptNamespaces={a: b},otlpEndpoint=a: b,logLevel=info: # no comment";
    let container = container(set).await;
    let args: Vec<_> =
        container["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
    for expected in ["--exempt-namespace=a: b", "--otlp-endpoint=a: b", "--log=info: # no comment"] {
        assert!(args.contains(&expected), "{args:?}");
    }
}

#[tokio::test]
async fn further_environment_variables_are_those_of_the_pods() {
    let set = "extraEnvs[0].name=OTEL_RESOURCE_ATTRIBUTES,extraEnvs[0].value=cluster=a";
    let container = container(set).await;
    let variables = container["env"].as_array().unwrap();
    assert_eq!(
        variables.last().unwrap(),
        &serde_json::json!({"name": "OTEL_RESOURCE_ATTRIBUTES", "value": "cluster=a"})
    );
    assert!(variables.iter().any(|variable| variable["name"] == "POD_UID"), "{variables:?}");
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
            "--otlp-endpoint=collector:4318\"\n            - \"--otlp-metric-interval=30s\"\n",
        ),
        (
            "controllerManager.exemptNamespaces={a,b}",
            "--exempt-namespace=a\"\n            - \"--exempt-namespace=b\"\n",
        ),
        ("controllerManager.exemptNamespacePrefixes={a-}", "--exempt-namespace-prefix=a-\"\n"),
        ("controllerManager.exemptNamespaceSuffixes={-a}", "--exempt-namespace-suffix=-a\"\n"),
        ("controllerManager.tlsMinVersion=1.2", "--tls-min-version=1.2\"\n"),
        // As Gatekeeper has it; the directive `WARNING` would be a module of that name.
        ("logLevel=WARNING", "--log=warn\"\n"),
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
    let two = rendered("replicas=2").await;
    assert!(two.contains("kind: PodDisruptionBudget"), "{two}");
    // Pods that never become ready are not waited for.
    assert!(two.contains("unhealthyPodEvictionPolicy: AlwaysAllow\n"), "{two}");
    assert!(!rendered("replicas=1").await.contains("kind: PodDisruptionBudget"));
}

#[tokio::test]
async fn names_are_short_enough_for_a_release_with_the_longest_name() {
    let name = "a".repeat(53);
    let chart = chart();
    let set = "besideGatekeeper=true,metrics.serviceMonitor.enabled=true,metrics.dashboard.enabled=true";
    let rendered = helm(None, &["template", &name, chart.to_str().unwrap(), "--set", set]).await;
    let service = format!("--cert-service-name={}-webhook-service\"\n", "a".repeat(47));
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
