//! `/metrics` after a day's work in small: each name that the documents, the dashboard and the alerts use is there.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tokio::time::timeout;

use crate::cluster::{Cluster, NAMESPACE, workspace};
use crate::collector::Collector;
use crate::operator::{Operator, PATIENCE, ask};
use crate::queries::{self, Scrape};

/// Words that look like a metric's name.
fn names(text: &str) -> BTreeSet<String> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let words = text.split(|letter| !is_part(letter));
    let prefixes = ["gatekeeper_", "webtroller_", "pod_status_", "watch_manager_"];
    let is_name =
        |word: &&str| prefixes.iter().any(|prefix| word.starts_with(prefix) && word.len() > prefix.len());
    words.filter(is_name).map(|name| name.trim_end_matches("_bucket").to_owned()).collect()
}

/// The part of the page with those that a day without faults does not show.
const RARE: &str = "\n## When something goes wrong\n";

/// A metric that only faults show was missing from the page, and the scrape of a cluster found that once in many runs.
#[test]
fn each_metric_of_the_code_is_in_the_documents() {
    let page = names(&std::fs::read_to_string(workspace("docs/metrics.md")).unwrap());
    let folders = ["operators/policy/src", "crates/pod-status/src", "crates/watch-manager/src"];
    let files = folders.into_iter().flat_map(|folder| walkdir::WalkDir::new(workspace(folder)));
    let mut found = BTreeSet::new();
    for file in files.map(Result::unwrap).filter(|file| file.file_type().is_file()) {
        let code = std::fs::read_to_string(file.path()).unwrap();
        for of_macro in ["counter!(", "gauge!(", "histogram!("] {
            let calls = code.split(of_macro).skip(1).filter_map(|call| call.trim_start().strip_prefix('"'));
            found.extend(calls.filter_map(|call| Some(call.split_once('"')?.0.to_owned())));
        }
    }
    assert!(found.len() > 50, "{found:?}");
    let missing: Vec<_> = found.difference(&page).collect();
    assert!(missing.is_empty(), "not in docs/metrics.md: {missing:?}");
}

/// The labels behind each name in series or in a query, as in `name{label="value"}`.
fn labels(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut found = BTreeMap::<String, BTreeSet<String>>::new();
    for (before, behind) in text.match_indices('{').map(|(at, _)| text.split_at(at)) {
        let name = before.rsplit(|letter| !is_part(letter)).next().unwrap();
        let inside = behind.trim_start_matches('{').split('}').next().unwrap();
        let keys = inside.split(',').map(|label| label.split(['=', '!']).next().unwrap().trim().to_owned());
        found.entry(name.to_owned()).or_default().extend(keys.filter(|key| !key.is_empty()));
    }
    found
}

/// The queries of the dashboard.
fn dashboard() -> Vec<String> {
    fn expressions(value: &Value, found: &mut Vec<String>) {
        found.extend(value.get("expr").and_then(Value::as_str).map(queries::of_job));
        let (list, object) = (value.as_array(), value.as_object());
        let parts = list.into_iter().flatten().chain(object.into_iter().flat_map(|object| object.values()));
        parts.for_each(|part| expressions(part, found));
    }
    let file = std::fs::read_to_string(workspace("charts/webtroller/files/dashboard.json")).unwrap();
    let mut found = Vec::new();
    expressions(&serde_json::from_str(&file).unwrap(), &mut found);
    found
}

/// The queries of the dashboard and the alerts.
fn queries() -> Vec<String> {
    let alerts = queries::alerts().into_iter().map(|(_, expression)| expression);
    dashboard().into_iter().chain(alerts).collect()
}

/// Labels that Prometheus adds.
const ADDED: [&str; 4] = ["pod", "namespace", "instance", "job"];

/// Each label that a query selects or groups by is one of the series, or one that Prometheus adds.
fn labels_exist(metrics: &str) {
    let known = labels(metrics);
    let has = |name: &str, label: &str| {
        let series = [name.to_owned(), format!("{name}_bucket")];
        series.iter().any(|name| known.get(name).is_some_and(|labels| labels.contains(label)))
    };
    let queries = queries();
    assert!(queries.len() > 30, "{queries:?}");
    for query in queries {
        for (name, selected) in labels(&query) {
            let missing: Vec<_> = selected
                .iter()
                .filter(|label| !ADDED.contains(&label.as_str()) && !has(&name, label))
                .collect();
            assert!(missing.is_empty(), "{query}: {name} has no {missing:?}");
        }
        for (before, behind) in query.match_indices('{').map(|(at, _)| query.split_at(at)) {
            let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            let name = before.rsplit(|letter| !is_part(letter)).next().unwrap();
            let selectors = behind.trim_start_matches('{').split('}').next().unwrap().split(',');
            let is_equality = |selector: &&str| {
                let (label, value) = selector.split_once('=').unwrap_or_default();
                !ADDED.contains(&label) && !label.ends_with('!') && !value.starts_with('~')
            };
            let wanted: Vec<_> = selectors.filter(is_equality).collect();
            if wanted.is_empty() {
                continue;
            }
            let mut series = metrics.lines().filter(|line| line.starts_with(&format!("{name}{{")));
            // A series that begins with its first event is not seen to rise, and a sum with one that is absent is empty.
            let exists = series.any(|line| wanted.iter().all(|label| line.contains(label.trim())));
            assert!(exists, "{query}: no series of {name} has {wanted:?}");
        }
        let groups = query.split("by (").skip(1).filter_map(|rest| rest.split(')').next());
        for label in groups.flat_map(|group| group.split(',')).map(str::trim) {
            let used = names(&query);
            assert!(
                ADDED.contains(&label) || used.iter().any(|name| has(name, label)),
                "{query}: nothing has {label}"
            );
        }
    }
}

/// Prometheus 3 refuses an answer that does not name its format, whatever is in it.
async fn both_ports_answer_as_prometheus_reads_it(operator: &Operator) {
    for address in [&operator.health, &operator.prometheus] {
        let answer = ask(address, "GET", "/metrics").await.unwrap().to_lowercase();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("\r\ncontent-type: text/plain; version=0.0.4; charset=utf-8\r\n"), "{head}");
        assert!(body.contains("webtroller_ready 1\n"), "{body}");
        let answer = ask(address, "HEAD", "/metrics").await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\n"), "{answer}");
        let answer = ask(address, "POST", "/metrics").await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
    }
}

#[tokio::test]
async fn every_metric_that_is_documented_drawn_or_alerted_on_is_there() {
    let cluster = Cluster::start().await;
    let identity = ["webtroller-0", NAMESPACE, cluster.pod_uid.as_str()];
    let mut collector = Collector::start().await;
    let more = ["--log-denies", "--otlp-endpoint", &collector.address, "--otlp-metric-interval", "200ms"];
    let mut operator = Operator::start_with(&cluster.shipped, identity, &more).await;
    operator.log("webhook registered").await;
    cluster.quickstart().await;
    cluster
        .apply(
            "{apiVersion: syncset.gatekeeper.sh/v1alpha1, kind: SyncSet, metadata: {name: a}, \
             spec: {gvks: [{group: '', version: v1, kind: Namespace}]}}",
        )
        .await;
    cluster.must(&["wait", "--for=condition=Ingested", "--timeout=60s", "syncset/a"]).await;
    let bad = workspace("examples/quickstart/review/two-replicas.yaml");
    assert!(!cluster.kubectl(&["create", "-f", bad.to_str().unwrap()]).await.success);
    let mut line = operator.line("denied admission").await;
    let uid = line["fields"]["request_uid"].as_str().unwrap().to_owned();
    assert_eq!((uid.len(), &line["span"]["request_uid"]), (36, &Value::from(uid)), "{line}");
    assert_eq!(line["span"]["resource_name"], line["fields"]["resource_name"], "{line}");
    let line = line["fields"].take();
    for (key, value) in [
        ("process", "admission"),
        ("event_type", "violation"),
        ("constraint_name", "three-to-ten-replicas"),
        ("constraint_kind", "K8sReplicaLimits"),
        ("constraint_action", "deny"),
        ("constraint_enforcement_actions", ""),
        ("resource_kind", "Deployment"),
        ("resource_namespace", "default"),
    ] {
        assert_eq!(line[key], value, "{line}");
    }
    cluster.must(&["delete", "crd", "k8sreplicalimits.constraints.gatekeeper.sh"]).await;
    operator
        .until_metrics(|metrics| metrics.contains("webtroller_repairs_total{object=\"constraint CRD\"} 1"))
        .await;
    operator
        .until_metrics(|metrics| metrics.contains("gatekeeper_constraint_templates{status=\"active\"} 1\n"))
        .await;

    operator.until_metrics(|metrics| metrics.contains("gatekeeper_audit_last_run_end_time")).await;

    both_ports_answer_as_prometheus_reads_it(&operator).await;
    let metrics = operator.metrics().await;
    for expected in [
        "gatekeeper_validation_request_count_total{admission_status=\"deny\",admission_dryrun=\"false\"} 1\n",
        "gatekeeper_constraint_templates{status=\"active\"} 1\n",
        "gatekeeper_constraint_template_ingestion_count_total{status=\"active\"} 1\n",
        "gatekeeper_sync{kind=\"Namespace\",status=\"active\"}",
        "webtroller_violations_total{action=\"deny\"} 1\n",
        "webtroller_ready 1\n",
        "webtroller_evaluations_total{result=\"answered\"} 1\n",
        "webtroller_index_candidates_total 1\n",
        "webtroller_budget_exhausted_total{limit=\"time\"} 0\n",
        "webtroller_events_total{component=\"gatekeeper-webhook\",result=\"dropped\"} 0\n",
    ] {
        assert!(metrics.contains(expected), "{expected} is missing:\n{metrics}");
    }
    let found = names(&metrics);
    let read = |path: &str| std::fs::read_to_string(workspace(path)).unwrap();
    let page = read("docs/metrics.md");
    let rare = page.split_once(RARE).unwrap().1.split("\n## ").next().unwrap();
    let documents = ["charts/webtroller/files/dashboard.json", "charts/webtroller/templates/alerts.yaml"];
    let texts = documents.map(|path| (path, read(path)));
    for (path, text) in [("docs/metrics.md", page.replace(rare, ""))].into_iter().chain(texts) {
        let wanted = names(&text);
        assert!(!wanted.is_empty(), "{path}");
        let missing: Vec<_> = wanted.difference(&found).collect();
        assert!(missing.is_empty(), "{path}: {missing:?}");
    }
    // And the page has each that is there.
    let page = names(&page);
    let stored = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let unknown: Vec<_> = stored.map(|(name, _)| name).filter(|name| !page.contains(*name)).collect();
    assert_eq!(unknown, [""; 0], "not in docs/metrics.md");
    labels_exist(&metrics);
    queries::hold(&dashboard(), &Scrape::of(&operator.prometheus).await);
    // A collector gets the same metrics as Prometheus.
    let known = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let known: BTreeMap<_, _> = known.map(|(name, kind)| (name.to_owned(), kind)).collect();
    let complete = async {
        while !known.iter().all(|(name, kind)| collector.kinds().get(name) == Some(kind)) {
            collector.last.changed().await.unwrap();
        }
    };
    if timeout(PATIENCE, complete).await.is_err() {
        panic!("Prometheus gets {known:?}, the collector {:?}", collector.kinds());
    }
    // What a scoped constraint does here is in a key of its own.
    cluster.quickstart().await;
    let scoped = "{\"spec\":{\"enforcementAction\":\"scoped\",\"scopedEnforcementActions\":[{\"action\":\"deny\",\
                  \"enforcementPoints\":[{\"name\":\"validation.gatekeeper.sh\"}]},{\"action\":\"warn\",\
                  \"enforcementPoints\":[{\"name\":\"*\"}]}]}}";
    let constraint = "k8sreplicalimits/three-to-ten-replicas";
    cluster.must(&["patch", constraint, "--type=merge", "-p", scoped]).await;
    cluster.enforced(constraint).await;
    assert!(!cluster.kubectl(&["create", "-f", bad.to_str().unwrap()]).await.success);
    let line = operator.log("denied admission").await;
    let actions = [&line["constraint_action"], &line["constraint_enforcement_actions"]];
    assert_eq!(actions, ["scoped", "deny,warn"], "{line}");
    operator.stop().await;
}
