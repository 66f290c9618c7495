//! The aggregator: that it goes on whatever fails, and whom it waits for.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use metrics_exporter_prometheus::PrometheusBuilder;
use pod_status::{
    Aggregator, AggregatorConfig, Follow, FollowSelection, Followed, ParentChanges, ParentRef, PodIdentity,
    Shape,
};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::api::{Fault, Server};

pub fn shape(_: &ParentRef) -> Option<Shape> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("test", "v1", "Policy"));
    Some(Shape::new(resource, "policyUID").enforced_by(["webhook"]))
}

pub fn parent(name: &str) -> ParentRef {
    ParentRef::new("test", "Policy", name)
}

pub fn policy_path(name: &str) -> String {
    format!("/apis/test/v1/policies/{name}")
}

pub fn put_policy(server: &Server, name: &str, generation: i64) {
    let metadata = json!({"name": name, "uid": format!("{name}-uid"), "generation": generation});
    server.put(&policy_path(name), json!({"apiVersion": "test/v1", "kind": "Policy", "metadata": metadata}));
}

pub fn update_policy(server: &Server, name: &str, generation: i64) {
    server.edit(&policy_path(name), |policy| policy["metadata"]["generation"] = generation.into());
}

pub fn put_pod(server: &Server, id: &str) {
    let metadata = json!({"name": id, "uid": format!("{id}-uid")});
    let path = format!("/api/v1/namespaces/ns/pods/{id}");
    server.put(&path, json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}));
}

/// A report object. Shard 0 is the registration; the other holds one entry for each policy.
pub fn put_report(server: &Server, run: &Value, shard: u32, policies: &[&str], generation: i64) {
    let name = format!("{}-{shard}", run["id"].as_str().unwrap());
    let entries: Vec<Value> = policies
        .iter()
        .map(|name| {
            json!({
                "group": "test", "kind": "Policy", "name": name, "uid": format!("{name}-uid"),
                "generation": generation, "sequence": generation,
            })
        })
        .collect();
    let report = json!({
        "apiVersion": "status.webtroller.dev/v1alpha1", "kind": "PodReport",
        "metadata": {"name": name, "labels": {"status.webtroller.dev/shard": shard.to_string()}},
        "pod": run, "shard": shard, "entries": entries,
    });
    server.put(&format!("/apis/status.webtroller.dev/v1alpha1/namespaces/ns/podreports/{name}"), report);
}

pub fn run(id: &str) -> Value {
    json!({"id": id, "uid": format!("{id}-uid"), "incarnation": "i1", "operations": ["webhook"]})
}

/// A pod that exists, is registered, and reports about these policies.
pub fn put_member(server: &Server, run: &Value, policies: &[&str], generation: i64) {
    put_pod(server, run["id"].as_str().unwrap());
    put_report(server, run, 0, &[], 0);
    put_report(server, run, 1, policies, generation);
}

/// An aggregator whose host knows these policies.
pub fn start(server: &Server, name: &str, policies: &[&str]) -> tokio::task::JoinHandle<()> {
    start_with(server.client(name), name, policies)
}

fn start_with(client: kube::Client, name: &str, policies: &[&str]) -> tokio::task::JoinHandle<()> {
    let (aggregator, changes) = start_announcing(client, name, policies);
    changes.all_announced();
    aggregator
}

/// An aggregator whose host knows these policies, and may come to know more.
pub fn start_announcing(
    client: kube::Client,
    name: &str,
    policies: &[&str],
) -> (tokio::task::JoinHandle<()>, ParentChanges) {
    let identity = PodIdentity::detached("ns", name, ["status"]);
    let aggregator = Aggregator::new(client, AggregatorConfig::new(&identity, shape));
    let changes = aggregator.parent_changes();
    for policy in policies {
        changes.changed(parent(policy));
    }
    (tokio::spawn(aggregator.run(CancellationToken::new())), changes)
}

/// The status and the reason of the condition `Enforced`.
pub fn enforced(server: &Server, name: &str) -> (String, String) {
    let policy = server.get(&policy_path(name)).unwrap();
    let conditions = policy["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.into_iter().find(|condition| condition["type"] == "Enforced").unwrap_or_default();
    let word = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    (word("status"), word("reason"))
}

pub fn is_true(server: &Server, name: &str) -> bool {
    enforced(server, name).0 == "True"
}

/// Such as Gatekeeper's own definition of a SyncSet, until ours is applied again. The answer is the same as for a parent that is gone.
#[tokio::test(start_paused = true)]
async fn a_kind_without_the_subresource_is_not_gone_and_has_its_status_when_it_has_the_subresource() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let server = Server::default();
    put_policy(&server, "p", 1);
    put_policy(&server, "q", 1);
    put_member(&server, &run("a"), &["p", "q"], 1);
    server.refuse("policies/p/status", 404, true);
    let identity = PodIdentity::detached("ns", "one", ["status"]);
    let aggregator = Aggregator::new(server.client("one"), AggregatorConfig::new(&identity, shape));
    let (changes, marks) = (aggregator.parent_changes(), aggregator.high_water_marks());
    changes.changed(parent("p"));
    changes.changed(parent("q"));
    let _aggregator = tokio::spawn(aggregator.run(CancellationToken::new()));
    sleep(Duration::from_secs(600)).await;
    assert!(is_true(&server, "q"), "no other parent waits for it");
    let tried = |server: &Server| server.seen().iter().filter(|seen| seen.path.ends_with("p/status")).count();
    let attempts = tried(&server);
    assert!((10..30).contains(&attempts), "{attempts} attempts in ten minutes");
    let mark = marks.borrow().of("test", "Policy");
    assert_eq!((mark.enforced, mark.total, mark.unwritable), (1, 2, 1));
    let message = mark.oldest.unwrap().message;
    assert!(message.contains("without the subresource status"), "{message}");
    let gauge = r#"pod_status_unwritable_parents{group="test",kind="Policy"}"#;
    assert!(handle.render().contains(&format!("{gauge} 1")), "{}", handle.render());

    server.refuse("policies/p/status", 404, false);
    sleep(Duration::from_secs(65)).await;
    assert!(is_true(&server, "p"), "the host has not announced it again");
    assert!(handle.render().contains(&format!("{gauge} 0")), "{}", handle.render());
    server.delete(&policy_path("p"));
    changes.removed(&parent("p"));
    sleep(Duration::from_secs(5)).await;
    assert_eq!(marks.borrow().of("test", "Policy").total, 1, "a parent that is gone is forgotten");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_never_answered_does_not_stop_the_aggregator() {
    for ordinal in 0..12 {
        let server = Server::default();
        put_policy(&server, "p", 1);
        put_member(&server, &run("a"), &["p"], 1);
        server.script(std::iter::repeat_n(Fault::None, ordinal).chain([Fault::Vanish]));
        let _aggregator = start(&server, "one", &["p"]);
        sleep(Duration::from_secs(90)).await;
        assert!(is_true(&server, "p"), "request {ordinal} was not answered");
        put_report(&server, &run("a"), 1, &["p"], 2);
        update_policy(&server, "p", 2);
        put_report(&server, &run("a"), 1, &["p", "q"], 2);
        sleep(Duration::from_secs(90)).await;
        assert!(is_true(&server, "p"), "request {ordinal} was not answered");
        assert_eq!(server.get(&policy_path("p")).unwrap()["status"]["observedGeneration"], 2);
    }
}

/// `Retry-After: 3600` on any one request: a list of the registrations, a parent, a watch that opens, the Lease.
#[tokio::test(start_paused = true)]
async fn an_advice_to_wait_for_an_hour_stops_the_aggregator_for_at_most_a_minute() {
    for (code, ordinal) in [429, 503].into_iter().flat_map(|code| (0..12).map(move |at| (code, at))) {
        let server = Server::default();
        put_policy(&server, "p", 1);
        put_member(&server, &run("a"), &["p"], 1);
        server.script(std::iter::repeat_n(Fault::None, ordinal).chain([Fault::Refuse(code, 3600)]));
        let _aggregator = start(&server, "one", &["p"]);
        sleep(Duration::from_secs(120)).await;
        assert!(is_true(&server, "p"), "request {ordinal} was refused with {code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_term_decides_about_parents_whose_reporters_have_all_vanished() {
    let server = Server::default();
    put_policy(&server, "p", 1);
    put_member(&server, &run("a"), &["p"], 1);
    let killed = start(&server, "one", &["p"]);
    sleep(Duration::from_secs(10)).await;
    assert!(is_true(&server, "p"));
    killed.abort();
    server.delete("/api/v1/namespaces/ns/pods/a");
    server.delete_reports();
    update_policy(&server, "p", 2);
    // It knew the policy before its term began.
    let _second = start(&server, "two", &["p"]);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(enforced(&server, "p"), ("Unknown".into(), "NoPods".into()));
}

#[tokio::test(start_paused = true)]
async fn statuses_are_written_by_a_slow_api_server() {
    let server = Server::default();
    let names: Vec<String> = (0..40).map(|number| format!("p{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.iter().for_each(|name| put_policy(&server, name, 1));
    for id in ["a", "b", "c"] {
        put_member(&server, &run(id), &names, 1);
    }
    server.set_latency(Duration::from_secs(2));
    let _aggregators = ["one", "two", "three"].map(|name| start(&server, name, &names));
    sleep(Duration::from_secs(60)).await;
    let missing: Vec<&&str> = names.iter().filter(|name| !is_true(&server, name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[tokio::test(start_paused = true)]
async fn a_process_that_is_dead_stays_dead_although_its_reports_cannot_be_deleted() {
    let server = Server::default();
    put_policy(&server, "p", 1);
    put_member(&server, &run("a"), &["p"], 1);
    let dead = json!({
        "id": "laptop", "incarnation": "i1", "operations": ["webhook"], "ttlSeconds": 60, "heartbeat": 7,
    });
    put_report(&server, &dead, 0, &[], 0);
    server.refuse("laptop", 500, true);
    let _aggregator = start(&server, "one", &["p"]);
    sleep(Duration::from_secs(30)).await;
    assert_eq!(enforced(&server, "p"), ("Unknown".into(), "WaitingForPods".into()));
    sleep(Duration::from_secs(60)).await;
    // A new generation each time, because one that is proven stays so.
    for generation in 2..20 {
        update_policy(&server, "p", generation);
        put_report(&server, &run("a"), 1, &["p"], generation);
        sleep(Duration::from_secs(30)).await;
        assert!(is_true(&server, "p"), "generation {generation} waits for a process that is dead");
    }
    assert!(server.get("/apis/status.webtroller.dev/v1alpha1/namespaces/ns/podreports/laptop-0").is_some());
}

/// Seconds until `Enforced` is true for a generation that pod `b` has not reported, or nothing in 3 minutes.
async fn waits_for(server: &Server, generation: i64) -> Option<u64> {
    update_policy(server, "p", generation);
    put_report(server, &run("a"), 1, &["p"], generation);
    for second in 0..180 {
        sleep(Duration::from_secs(1)).await;
        let policy = server.get(&policy_path("p")).unwrap();
        if policy["status"]["observedGeneration"] == generation && is_true(server, "p") {
            return Some(second);
        }
    }
    None
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_waited_for_until_it_has_ended_or_fenced_itself() {
    let fenced = json!({
        "id": "b", "uid": "b-uid", "incarnation": "i1", "operations": ["webhook"], "ttlSeconds": 30, "heartbeat": 1,
    });
    let mut stopped = run("b");
    stopped["stopped"] = true.into();
    let terminating = |server: &Server| {
        let path = "/api/v1/namespaces/ns/pods/b";
        server.edit(path, |pod| pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into());
    };
    let deleted = |server: &Server| server.delete("/api/v1/namespaces/ns/pods/b");
    let stops = |server: &Server| put_report(server, &stopped, 0, &[], 0);
    type Change<'a> = &'a dyn Fn(&Server);
    let cases: [(&str, Value, &[Change<'_>], std::ops::RangeInclusive<u64>); 6] = [
        ("terminating, and may serve", run("b"), &[&terminating], 181..=181),
        ("terminating, and has stopped", run("b"), &[&terminating, &stops], 0..=5),
        ("deleted", run("b"), &[&deleted], 0..=5),
        ("deleted by force, with a fence", fenced.clone(), &[&deleted], 25..=40),
        ("silent, with a fence", fenced.clone(), &[], 25..=40),
        ("silent, without a fence", run("b"), &[], 181..=181),
    ];
    for (name, member, changes, expected) in cases {
        let server = Server::default();
        put_policy(&server, "p", 1);
        put_member(&server, &run("a"), &["p"], 1);
        put_member(&server, &member, &["p"], 1);
        let _aggregator = start(&server, "one", &["p"]);
        sleep(Duration::from_secs(3)).await;
        assert!(is_true(&server, "p"), "{name}");
        changes.iter().for_each(|change| change(&server));
        let waited = waits_for(&server, 2).await.unwrap_or(181);
        assert!(expected.contains(&waited), "{name}: {waited} s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_whose_reports_are_all_deleted_is_still_waited_for() {
    let server = Server::default();
    put_policy(&server, "p", 1);
    for id in ["a", "b"] {
        put_member(&server, &run(id), &["p"], 1);
    }
    let _aggregator = start(&server, "one", &["p"]);
    sleep(Duration::from_secs(3)).await;
    for shard in 0..2 {
        server.delete(&format!("/apis/status.webtroller.dev/v1alpha1/namespaces/ns/podreports/b-{shard}"));
    }
    assert_eq!(waits_for(&server, 2).await, None, "it still runs and may serve generation 1");
}

/// 40 policies at a generation that three pods enforce.
fn put_forty(server: &Server, generation: i64) -> Vec<String> {
    let names: Vec<String> = (0..40).map(|number| format!("p{number:02}")).collect();
    let policies: Vec<&str> = names.iter().map(String::as_str).collect();
    for name in &policies {
        put_policy(server, name, generation);
    }
    for id in ["a", "b", "c"] {
        put_member(server, &run(id), &policies, generation);
    }
    names
}

fn is_true_for(server: &Server, name: &str, generation: i64) -> bool {
    let policy = server.get(&policy_path(name)).unwrap();
    policy["status"]["observedGeneration"] == generation && is_true(server, name)
}

#[tokio::test(start_paused = true)]
async fn statuses_are_written_by_a_server_that_refuses_four_of_five_requests() {
    for (patient, seed) in
        [true, false].into_iter().flat_map(|patient| (0..8).map(move |seed| (patient, seed)))
    {
        let server = Server::default();
        server.refuse_four_of_five(seed);
        let names = put_forty(&server, 1);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let client = if patient { server.patient_client("one") } else { server.client("one") };
        let aggregator = start_with(client, "one", &names);
        let mut seconds = 0;
        // Most take one minute, and the first lists and the Lease are the larger part of it.
        while !names.iter().all(|name| is_true_for(&server, name, 1)) && seconds < 600 {
            sleep(Duration::from_secs(1)).await;
            seconds += 1;
        }
        let done = names.iter().filter(|name| is_true_for(&server, name, 1)).count();
        let requests = server.seen().iter().filter(|seen| seen.path.contains("/policies/")).count();
        println!(
            "patient client {patient}, seed {seed}: {done} of 40 statuses after {seconds} s, {requests} requests"
        );
        assert_eq!(done, 40);
        aggregator.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_parent_that_cannot_be_read_or_written_delays_no_other() {
    let server = Server::default();
    let names = put_forty(&server, 1);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    server.refuse("/policies/p00", 500, true);
    server.refuse("/policies/p01", 403, true);
    server.leave_unanswered("/policies/p02");
    let _aggregator = start(&server, "one", &names);
    sleep(Duration::from_secs(5)).await;
    for generation in 2..62 {
        names[3..].iter().for_each(|name| update_policy(&server, name, generation));
        for id in ["a", "b", "c"] {
            put_report(&server, &run(id), 1, &names, generation);
        }
        sleep(Duration::from_secs(5)).await;
        let late: Vec<_> = names[3..].iter().filter(|name| !is_true_for(&server, name, generation)).collect();
        assert!(late.is_empty(), "generation {generation}: {late:?}");
    }
    for bad in ["p00", "p01", "p02"] {
        let path = format!("/policies/{bad}");
        let requests = server.seen().iter().filter(|seen| seen.path.contains(&path)).count();
        assert!((5..=60).contains(&requests), "{bad}: {requests} requests in five minutes");
    }
    server.refuse("/policies/p00", 500, false);
    update_policy(&server, "p00", 61);
    sleep(Duration::from_secs(65)).await;
    assert!(is_true_for(&server, "p00", 61), "it is tried again");
}

/// A host whose watch of the reports says what the test sends, and whose watch of the pods stands still.
#[derive(Debug)]
struct Host(Mutex<Option<UnboundedReceiver<Followed>>>);

impl Follow for Host {
    fn follow(&self, selection: &FollowSelection) -> BoxStream<'static, Followed> {
        if selection.resource.kind == "Pod" {
            return stream::iter([Followed::Begin, Followed::End]).chain(stream::pending()).boxed();
        }
        let reports = self.0.lock().unwrap().take().unwrap();
        stream::unfold(reports, |mut reports| async { Some((reports.recv().await?, reports)) }).boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn watches_of_a_host_that_stand_still_make_no_policy_enforced() {
    let server = Server::default();
    put_policy(&server, "p", 1);
    put_member(&server, &run("a"), &["p"], 1);
    let report = |name: &str| -> DynamicObject {
        let path = format!("/apis/status.webtroller.dev/v1alpha1/namespaces/ns/podreports/{name}");
        serde_json::from_value(server.get(&path).unwrap()).unwrap()
    };
    let (send, reports) = unbounded_channel();
    let tell = |names: [&str; 2]| {
        names.into_iter().for_each(|name| send.send(Followed::Applied(report(name))).unwrap());
    };
    send.send(Followed::Begin).unwrap();
    tell(["a-0", "a-1"]);
    send.send(Followed::End).unwrap();

    let identity = PodIdentity::detached("ns", "one", ["status"]);
    let config = AggregatorConfig::new(&identity, shape).follow(Arc::new(Host(Mutex::new(Some(reports)))));
    let aggregator = Aggregator::new(server.client("one"), config);
    let changes = aggregator.parent_changes();
    changes.changed(parent("p"));
    let _aggregator = tokio::spawn(aggregator.run(CancellationToken::new()));
    let is_true_after_a_change = async || {
        changes.changed(parent("p"));
        sleep(Duration::from_secs(60)).await;
        is_true(&server, "p")
    };
    assert!(is_true_after_a_change().await);

    // A pod that has joined is not heard of.
    let report_all = |run: &Value, generation| put_member(&server, run, &["p"], generation);
    update_policy(&server, "p", 2);
    report_all(&run("a"), 2);
    report_all(&run("b"), 2);
    tell(["a-0", "a-1"]);
    assert!(!is_true_after_a_change().await, "a pod was not heard of");
    tell(["b-0", "b-1"]);
    assert!(is_true_after_a_change().await);

    // A container that was started again is not heard of, and its former run had reported.
    update_policy(&server, "p", 3);
    report_all(&run("a"), 3);
    tell(["a-0", "a-1"]);
    let mut again = run("a");
    again["incarnation"] = "i2".into();
    report_all(&again, 3);
    report_all(&run("b"), 3);
    tell(["b-0", "b-1"]);
    assert!(!is_true_after_a_change().await, "the report of a former run counted");
    tell(["a-0", "a-1"]);
    assert!(is_true_after_a_change().await);
}
