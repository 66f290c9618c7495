//! The metrics that are measured, as a recorder shows them.

use std::time::Duration;

use kube::core::{ApiResource, GroupVersionKind};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use pod_status::{
    Aggregator, AggregatorConfig, Deadline, MissingSemantics, ParentKey, ParentRef, PodIdentity,
    ReadinessTracker, ReporterConfig, Rollout, Shape, StatusReporter, readiness,
};
use tokio::time::{Instant, advance, sleep};
use tokio_util::sync::CancellationToken;

use crate::aggregator::{is_true, parent, put_member, put_policy, run};
use crate::api::Server;
use crate::documented::rows;

fn number(handle: &PrometheusHandle, name: &str) -> f64 {
    let rendered = handle.render();
    let line = rendered.lines().find(|line| line.starts_with(name)).unwrap_or(name);
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

fn coordinated(_: &ParentRef) -> Option<Shape> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("test", "v1", "Policy"));
    let rollout = Rollout::Coordinated { deadline: Deadline::Never };
    Some(Shape::new(resource, "policyUID").enforced_by(["webhook"]).rollout(rollout))
}

/// The pod reports that it enforces generation 1.
fn switch(server: &Server, pod: &str) {
    let path = format!("/apis/status.webtroller.dev/v1alpha1/namespaces/ns/podreports/{pod}-1");
    server.edit(&path, |report| {
        report["entries"][0]["enforcing"] = 1.into();
        report["entries"][0]["sequence"] = 9.into();
    });
}

#[tokio::test(start_paused = true)]
async fn the_skew_of_a_switch_is_the_time_between_the_first_and_the_last_pod() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let server = Server::default();
    put_policy(&server, "p", 1);
    for pod in ["a", "b", "c"] {
        put_member(&server, &run(pod), &["p"], 1);
    }
    let identity = PodIdentity::detached("ns", "one", ["status"]);
    let aggregator = Aggregator::new(server.client("one"), AggregatorConfig::new(&identity, coordinated));
    aggregator.parent_changes().changed(parent("p"));
    let _aggregator = tokio::spawn(aggregator.run(CancellationToken::new()));
    sleep(Duration::from_secs(30)).await;
    assert!(!is_true(&server, "p"), "activated, and no pod has switched");
    for (pod, wait) in [("b", 2), ("a", 5), ("c", 30)] {
        switch(&server, pod);
        sleep(Duration::from_secs(wait)).await;
    }
    assert!(is_true(&server, "p"));
    assert!((number(&handle, "pod_status_switch_skew_seconds_count") - 1.0).abs() < 0.1);
    let skew = number(&handle, "pod_status_switch_skew_seconds_sum");
    assert!((6.9..7.1).contains(&skew), "{skew} s");
    assert!(number(&handle, r#"pod_status_watch_staleness_seconds{kind="PodReport"}"#) < 41.0);
}

/// A pod of another namespace, in which there is no aggregator.
async fn serve_without_an_acknowledgement(server: &Server) {
    let identity = PodIdentity::detached("other", "c", ["webhook"]);
    let (reporter, driver) = StatusReporter::new(server.client("c"), identity, ReporterConfig::default());
    let _driver = tokio::spawn(driver.run(CancellationToken::new()));
    let policy = readiness::GiveUpPolicy::default().permanent(readiness::OnError::GiveUp);
    let tracker = ReadinessTracker::new(policy);
    let source = tracker.source("policies").missing(MissingSemantics::Looser);
    let key = ParentKey::new(parent("p"), "uid");
    source.expect(&key, 1);
    source.list_ends();
    source.fail(&key, 1, readiness::ErrorClass::Permanent, "broken");
    tracker.seal();
    reporter.may_serve(&tracker).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn every_metric_of_the_guide_is_recorded_with_its_labels() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let server = Server::default();
    put_policy(&server, "p", 1);
    for pod in ["a", "b"] {
        put_member(&server, &run(pod), &["p"], 1);
    }
    let tracker = ReadinessTracker::new(readiness::GiveUpPolicy::default());
    let source = tracker.source("policies");
    let key = ParentKey::new(parent("p"), "uid");
    source.expect(&key, 1);
    source.observe(&key, 1);
    server.add_pod();
    let identity =
        PodIdentity::from_variables(|name| Some(name.to_lowercase().replace('_', "-")), ["webhook"]).unwrap();
    let config = ReporterConfig::default().fence(Duration::from_secs(30));
    let (reporter, driver) = StatusReporter::new(server.client("pod"), identity, config);
    let _driver = tokio::spawn(driver.run(CancellationToken::new()));
    reporter.registered().await.unwrap();
    serve_without_an_acknowledgement(&server).await;
    let identity = PodIdentity::detached("ns", "one", ["status"]);
    let aggregator = Aggregator::new(server.client("one"), AggregatorConfig::new(&identity, coordinated));
    aggregator.parent_changes().changed(parent("p"));
    let _aggregator = tokio::spawn(aggregator.run(CancellationToken::new()));
    sleep(Duration::from_secs(30)).await;
    for pod in ["a", "b"] {
        switch(&server, pod);
        sleep(Duration::from_secs(3)).await;
    }
    assert!(is_true(&server, "p"));
    server.cut_off("pod", true);
    server.delete("/api/v1/namespaces/ns/pods/b");
    sleep(Duration::from_secs(60)).await;
    reporter.permit().check().unwrap_err();
    let rendered = handle.render();
    let names = rows("Metrics");
    assert!(names.len() >= 12, "{names:?}");
    for (name, labels) in names {
        let is_there = |line: &str| {
            let rest = line.strip_prefix(&name).map(|rest| rest.strip_prefix("_count").unwrap_or(rest));
            rest.is_some_and(|rest| rest.starts_with(['{', ' ']))
                && labels.iter().all(|label| line.contains(&format!("{label}=\"")))
        };
        assert!(rendered.lines().any(is_there), "{name} {labels:?} is not in\n{rendered}");
    }
    for expected in [
        r#"pod_status_report_writes_total{verb="apply",code="2xx"}"#,
        r#"pod_status_report_writes_total{verb="apply",code="none"}"#,
        r#"pod_status_members{state="active"} 1"#,
    ] {
        assert!(rendered.contains(expected), "{expected} is not in\n{rendered}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_to_ingest_is_that_from_the_event_to_its_being_in_force() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let tracker = ReadinessTracker::new(readiness::GiveUpPolicy::default());
    let source = tracker.source("policies");
    let key = ParentKey::new(parent("p"), "uid");
    let began = Instant::now();
    for generation in 1..=2 {
        source.expect(&key, generation);
        advance(Duration::from_secs(3)).await;
        source.observe(&key, generation);
        source.observe(&key, generation);
    }
    assert!((number(&handle, "pod_status_time_to_ingest_seconds_count") - 2.0).abs() < 0.1);
    let sum = number(&handle, "pod_status_time_to_ingest_seconds_sum");
    assert!((sum - began.elapsed().as_secs_f64()).abs() < 0.1, "{sum} s");
}
