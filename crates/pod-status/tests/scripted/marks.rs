//! The high-water marks of a term: never more than what is known.

use std::time::Duration;

use http::Method;
use kube::core::{ApiResource, GroupVersionKind};
use metrics_exporter_prometheus::PrometheusBuilder;
use pod_status::{
    Aggregator, AggregatorConfig, HighWaterMark, HighWaterMarks, ParentChanges, ParentKind, ParentRef,
    PodIdentity, Shape,
};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::aggregator::{
    is_true, parent, policy_path, put_member, put_policy, put_report, run, update_policy,
};
use crate::api::{Seen, Server};

const SHORT: Duration = Duration::from_secs(10);

struct Term {
    changes: ParentChanges,
    marks: watch::Receiver<HighWaterMarks>,
    shutdown: CancellationToken,
    task: JoinHandle<()>,
}

fn sharded(_: &ParentRef) -> Option<Shape> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("test", "v1", "Policy"));
    Some(Shape::new(resource, "policyUID").enforced_by(["webhook"]))
}

fn direct(parent: &ParentRef) -> Option<Shape> {
    sharded(parent).map(Shape::direct)
}

/// An aggregator whose host has listed these policies.
fn start(server: &Server, shape: fn(&ParentRef) -> Option<Shape>, policies: &[&str]) -> Term {
    let identity = PodIdentity::detached("ns", "one", ["status"]);
    let aggregator = Aggregator::new(server.client("one"), AggregatorConfig::new(&identity, shape));
    let (changes, marks) = (aggregator.parent_changes(), aggregator.high_water_marks());
    policies.iter().for_each(|name| changes.changed(parent(name)));
    changes.listed(ParentKind::new("test", "Policy"));
    let shutdown = CancellationToken::new();
    let task = tokio::spawn(aggregator.run(shutdown.clone()));
    Term { changes, marks, shutdown, task }
}

impl Term {
    fn mark(&self) -> HighWaterMark {
        self.marks.borrow().of("test", "Policy")
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_marks_of_a_term_are_of_all_parents() {
    let server = Server::default();
    let names: Vec<String> = (0..80).map(|number| format!("p{number:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.iter().for_each(|name| put_policy(&server, name, 1));
    put_member(&server, &run("a"), &names, 1);
    // 80 parents in batches of 32, with an answer every 2 s; one is refused, one not answered.
    server.set_latency(Duration::from_secs(2));
    server.refuse("/policies/p00", 500, true);
    server.leave_unanswered("/policies/p01");
    let mut term = start(&server, sharded, &names);
    for _ in 0..20 {
        term.marks.changed().await.unwrap();
        let mark = term.mark();
        if !term.marks.borrow().is_known() {
            continue;
        }
        assert_eq!((mark.enforced, mark.total), (78, 80), "{mark}");
        let condition = mark.condition(1, None, &serde_json::from_str("\"2026-01-01T00:00:00Z\"").unwrap());
        assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("False", "WaitingForPods"));
        return;
    }
    panic!("no marks");
}

#[tokio::test(start_paused = true)]
async fn a_generation_that_cannot_be_read_is_not_enforced_although_the_last_one_was() {
    let server = Server::default();
    put_policy(&server, "p", 1);
    put_member(&server, &run("a"), &["p"], 1);
    let term = start(&server, sharded, &["p"]);
    sleep(SHORT).await;
    assert!(term.mark().is_complete(), "{}", term.mark());
    server.refuse_reads("/policies/p", true);
    update_policy(&server, "p", 2);
    put_report(&server, &run("a"), 1, &["p"], 2);
    sleep(SHORT).await;
    assert_eq!((term.mark().enforced, term.mark().total), (0, 1));
    server.refuse_reads("/policies/p", false);
    sleep(Duration::from_secs(40)).await;
    assert!(term.mark().is_complete(), "{}", term.mark());
}

#[tokio::test(start_paused = true)]
async fn a_parent_that_no_report_names_leaves_when_it_is_deleted() {
    for shape in [direct, sharded] {
        let server = Server::default();
        put_policy(&server, "p", 1);
        put_policy(&server, "q", 1);
        put_member(&server, &run("a"), &[], 1);
        let term = start(&server, shape, &["p", "q"]);
        sleep(SHORT).await;
        assert_eq!((term.mark().enforced, term.mark().total), (0, 2));
        assert_eq!(term.mark().oldest.unwrap().pods, ["a"]);
        server.delete(&policy_path("p"));
        term.changes.removed(&parent("p"));
        sleep(SHORT).await;
        assert_eq!((term.mark().enforced, term.mark().total), (0, 1));
        server.delete(&policy_path("q"));
        term.changes.kind_removed(&ParentKind::new("test", "Policy"));
        sleep(SHORT).await;
        assert_eq!((term.mark().total, term.mark().is_complete()), (0, false));
        assert!(term.marks.borrow().is_known());
    }
}

/// Writes of the status of policy p.
fn writes(server: &Server) -> usize {
    let is_write = |seen: &&Seen| seen.verb == Method::PATCH && seen.path.ends_with("/policies/p/status");
    server.seen().iter().filter(is_write).count()
}

/// §6 of the reference counts two writes of the aggregator for a change, however many pods there are. It is one more for
/// each pod whose report comes after the others have been quiet for the debounce.
#[tokio::test(start_paused = true)]
async fn a_change_costs_two_writes_of_the_status_and_at_most_one_more_than_there_are_pods() {
    for pods in [3, 10] {
        let ids: Vec<String> = (0..pods).map(|number| format!("pod-{number}")).collect();
        for (pause, expected) in [(Duration::from_millis(20), 2), (Duration::from_secs(1), pods + 1)] {
            let server = Server::default();
            put_policy(&server, "p", 1);
            ids.iter().for_each(|id| put_member(&server, &run(id), &["p"], 1));
            let term = start(&server, sharded, &["p"]);
            sleep(SHORT).await;
            assert!(term.mark().is_complete());
            let before = writes(&server);
            update_policy(&server, "p", 2);
            term.changes.changed(parent("p"));
            sleep(Duration::from_secs(1)).await;
            for id in &ids {
                put_report(&server, &run(id), 1, &["p"], 2);
                sleep(pause).await;
            }
            sleep(SHORT).await;
            assert!(term.mark().is_complete());
            assert_eq!(writes(&server) - before, expected, "{pods} pods, {pause:?} apart");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_gauges_grow_older_and_are_reset_when_the_term_ends() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let gauge = |name: &str| {
        let (rendered, name) = (handle.render(), format!("{name} "));
        let line = rendered.lines().find_map(|line| line.strip_prefix(&name)).map(str::to_owned);
        line.unwrap_or_else(|| panic!("{name}is not in\n{rendered}")).parse::<f64>().unwrap()
    };
    let server = Server::default();
    ["p", "q"].iter().for_each(|name| put_policy(&server, name, 1));
    put_member(&server, &run("a"), &["p", "q"], 1);
    put_member(&server, &run("b"), &["p"], 1);
    let term = start(&server, sharded, &["p", "q"]);
    sleep(SHORT).await;
    assert!(is_true(&server, "p"));
    let labels = r#"group="test",kind="Policy""#;
    let [enforced, waiting] =
        ["enforced", "waiting"].map(|state| format!(r#"pod_status_parents{{{labels},state="{state}"}}"#));
    let [seconds, pods] =
        ["seconds", "pods"].map(|name| format!("pod_status_oldest_waiting_{name}{{{labels}}}"));
    let all = || [&enforced, &waiting, &pods].map(|name| gauge(name).to_string());
    assert_eq!(all(), ["1", "1", "1"]);
    let before = gauge(&seconds);
    sleep(Duration::from_secs(60)).await;
    assert!((50.0..70.0).contains(&(gauge(&seconds) - before)), "{before} s, then {} s", gauge(&seconds));
    term.shutdown.cancel();
    term.task.await.unwrap();
    assert!(!term.marks.borrow().is_known());
    assert_eq!(all(), ["0", "0", "0"]);
    assert!(gauge(&seconds) < 0.1, "another process aggregates");
}
