//! Large sets of parents: the whole aggregator, from its Lease to the statuses, against an API server in memory that
//! holds little more than the statuses. Prints times, which nothing depends on, and bounds the memory.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::client::Body;
use kube::core::{ApiResource, GroupVersionKind};
use pod_status::{
    Aggregator, AggregatorConfig, Decision, Entry, LeaseClaim, Member, Parent, ParentKey, ParentKind,
    ParentRef, PodIdentity, Reported, Shape, aggregate,
};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

type Answer = UnsyncBoxBody<Bytes, std::io::Error>;

/// Entries in one report object: 16 KiB.
const SHARD: usize = 100;

fn shape(_: &ParentRef) -> Option<Shape> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("test", "v1", "Policy"));
    Some(Shape::new(resource, "policyUID").enforced_by(["webhook"]).enforced_field("enforced"))
}

/// Pods that have reported every policy.
struct Server {
    parents: usize,
    pods: usize,
    /// The policies as they are answered, so that what is measured is not this server.
    policies: Mutex<BTreeMap<String, Bytes>>,
    lease: Mutex<Option<Value>>,
    /// The number of reads and writes of policies.
    requests: watch::Sender<(usize, usize)>,
}

fn member(pod: usize) -> Value {
    let id = format!("pod-{pod}");
    json!({"id": id, "uid": format!("{id}-uid"), "incarnation": "i1", "operations": ["webhook"]})
}

fn report(pod: usize, shard: usize, entries: &[Value]) -> Value {
    json!({
        "apiVersion": "status.webtroller.dev/v1alpha1", "kind": "PodReport",
        "metadata": {
            "name": format!("pod-{pod}-{shard}"), "uid": format!("uid-{pod}-{shard}"), "resourceVersion": "1",
            "labels": {"status.webtroller.dev/shard": shard.to_string()},
        },
        "pod": member(pod), "shard": shard, "entries": entries,
    })
}

impl Server {
    fn reports(&self) -> Vec<Value> {
        let numbers: Vec<usize> = (0..self.parents).collect();
        let entry = |number: &usize| {
            json!({
                "group": "test", "kind": "Policy", "name": format!("policy-{number}"), "uid": format!("uid-{number}"),
                "generation": 1, "sequence": 1, "detail": {"enforced": true},
            })
        };
        let of_pod = |pod| {
            let shards = numbers.chunks(SHARD).zip(1..);
            let shards = shards.map(move |(numbers, shard)| {
                report(pod, shard, &numbers.iter().map(entry).collect::<Vec<_>>())
            });
            shards.chain([report(pod, 0, &[])]).collect::<Vec<_>>()
        };
        (0..self.pods).flat_map(of_pod).collect()
    }

    fn policy(name: &str, status: &Value) -> Bytes {
        let number = name.trim_start_matches("policy-");
        let policy = json!({
            "apiVersion": "test/v1", "kind": "Policy", "status": status,
            "metadata": {
                "name": name, "uid": format!("uid-{number}"), "generation": 1, "resourceVersion": "1",
                "managedFields": [{
                    "manager": "pod-status-aggregator", "operation": "Apply", "subresource": "status",
                    "fieldsType": "FieldsV1", "fieldsV1": {"f:status": {"f:conditions": {}}},
                }],
            },
        });
        Bytes::from(policy.to_string())
    }

    fn list(&self, path: &str, query: &str) -> Vec<Value> {
        match path.rsplit('/').next().unwrap() {
            // The registrations.
            "podreports" if query.contains("labelSelector") => {
                (0..self.pods).map(|pod| report(pod, 0, &[])).collect()
            }
            "podreports" => self.reports(),
            "pods" => {
                let pod = |pod| json!({"metadata": {"name": format!("pod-{pod}"), "uid": format!("pod-{pod}-uid")}});
                (0..self.pods).map(pod).collect()
            }
            other => panic!("{other} is not listed"),
        }
    }

    fn answer(&self, method: &Method, path: &str, query: &str, body: Value) -> (u16, Bytes) {
        let name = path.trim_end_matches("/status").rsplit('/').next().unwrap();
        match (method, path.contains("/policies/")) {
            (&Method::GET, true) => {
                self.requests.send_modify(|(reads, _)| *reads += 1);
                (
                    200,
                    self.policies
                        .lock()
                        .unwrap()
                        .entry(name.to_owned())
                        .or_insert_with(|| Self::policy(name, &Value::Null))
                        .clone(),
                )
            }
            (_, true) => {
                let policy = Self::policy(name, &body["status"]);
                self.policies.lock().unwrap().insert(name.to_owned(), policy.clone());
                self.requests.send_modify(|(_, writes)| *writes += 1);
                (200, policy)
            }
            _ => {
                let (code, answer) = self.answer_other(method, path, query, body);
                (code, Bytes::from(answer.to_string()))
            }
        }
    }

    fn answer_other(&self, method: &Method, path: &str, query: &str, body: Value) -> (u16, Value) {
        if path.contains("/leases") {
            let mut lease = self.lease.lock().unwrap();
            return match (method, lease.clone()) {
                (&Method::GET, Some(known)) => (200, known),
                (&Method::GET, None) => {
                    (404, json!({"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound"}))
                }
                _ => {
                    let mut stored = body;
                    stored["metadata"]["resourceVersion"] = "1".into();
                    *lease = Some(stored.clone());
                    (200, stored)
                }
            };
        }
        let items = self.list(path, query);
        (
            200,
            json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}),
        )
    }

    async fn serve(self: Arc<Self>, request: Request<Body>) -> Result<Response<Answer>, http::Error> {
        let (parts, body) = request.into_parts();
        let query = parts.uri.query().unwrap_or_default().to_owned();
        if query.contains("watch=") {
            let silent = futures::stream::pending::<Result<Frame<Bytes>, std::io::Error>>();
            return Response::builder().body(StreamBody::new(silent).boxed_unsync());
        }
        let bytes = body.collect_bytes().await.unwrap();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        let (code, answer) = self.answer(&parts.method, parts.uri.path(), &query, body);
        Response::builder()
            .status(code)
            .body(Full::new(answer).map_err(|never| match never {}).boxed_unsync())
    }
}

/// The memory of this process in MiB: `VmRSS`, or `VmHWM`, the most that there was.
fn memory(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

async fn decide_about(parents: usize, pods: usize) {
    let before = memory("VmRSS:");
    let server = Arc::new(Server {
        parents,
        pods,
        policies: Mutex::default(),
        lease: Mutex::default(),
        requests: watch::Sender::default(),
    });
    let serving = server.clone();
    let service = tower::service_fn(move |request| serving.clone().serve(request));
    let client = kube::Client::new(service, "default");
    let identity = PodIdentity::detached("ns", "one", ["status"]);
    // One term, however slow the machine is: the next one would read every parent again.
    let claim = LeaseClaim::new(&identity, "pod-status-aggregator").duration(Duration::from_secs(600));
    let aggregator = Aggregator::new(client, AggregatorConfig::new(&identity, shape).claim(claim));
    let (changes, mut marks) = (aggregator.parent_changes(), aggregator.high_water_marks());
    let announce = || {
        (0..parents)
            .for_each(|number| changes.changed(ParentRef::new("test", "Policy", format!("policy-{number}"))));
    };
    announce();
    changes.listed(ParentKind::new("test", "Policy"));
    let shutdown = CancellationToken::new();
    let began = Instant::now();
    let running = tokio::spawn(aggregator.run(shutdown.clone()));
    marks.wait_for(|marks| marks.of("test", "Policy").is_complete()).await.unwrap();
    let first = began.elapsed();
    assert_eq!(*server.requests.borrow(), (parents, parents), "each parent is read and written once");
    assert_eq!(marks.borrow().of("test", "Policy").enforced, parents);
    let began = Instant::now();
    announce();
    let mut requests = server.requests.subscribe();
    requests.wait_for(|(reads, _)| *reads == 2 * parents).await.unwrap();
    let again = began.elapsed();
    shutdown.cancel();
    running.await.unwrap();
    assert_eq!(*server.requests.borrow(), (2 * parents, parents), "nothing has changed");
    let stored: usize = server.policies.lock().unwrap().values().map(Bytes::len).sum();
    let most = memory("VmHWM:").saturating_sub(before);
    println!(
        "{parents} parents × {pods} pods: first statuses after {first:.1?}, all decided about anew in {again:.1?}, \
         at most {most} MiB more, of which {} MiB are the policies in the server",
        stored / 1024 / 1024
    );
    assert!(most < 300, "{most} MiB");
}

/// The decisions alone, without requests: every status is computed from all entries and compared with the stored one.
#[test]
fn the_statuses_of_large_sets_are_computed_anew_from_all_entries() {
    for (parents, pods) in [(500, 60), (10_000, 5)] {
        let members: Vec<Member> =
            (0..pods).map(|pod| serde_json::from_value(member(pod)).unwrap()).collect();
        let shape = shape(&ParentRef::new("test", "Policy", "p")).unwrap();
        let now = Time(Timestamp::now());
        let known: Vec<(Parent, Vec<Reported>)> = (0..parents)
            .map(|number| {
                let parent = ParentRef::new("test", "Policy", format!("policy-{number}"));
                let key = ParentKey::new(parent, format!("uid-{number}"));
                let entry = Entry::new(key.clone(), 1).detail(json!({"enforced": true}));
                let reported = members.iter().map(|member| Reported::new(member.clone(), entry.clone()));
                (Parent::new(key, 1), reported.collect())
            })
            .collect();
        let decide = |(parent, reported): &(Parent, Vec<Reported>)| {
            aggregate(&shape, parent, &members, reported, &now)
        };
        let began = Instant::now();
        let decisions: Vec<Decision> = known.iter().map(decide).collect();
        let first = began.elapsed();
        let stored: Vec<_> = known
            .into_iter()
            .zip(decisions)
            .map(|((parent, reported), decision)| match decision {
                Decision::Write(status) => (parent.with_status(Value::Object(status)), reported),
                decision => panic!("{decision:?}"),
            })
            .collect();
        let began = Instant::now();
        assert!(stored.iter().all(|known| decide(known) == Decision::Unchanged));
        println!(
            "{parents} parents × {pods} pods: computed in {first:.2?}, again in {:.2?}",
            began.elapsed()
        );
    }
}

#[tokio::test]
async fn an_aggregator_decides_about_large_sets_of_parents_in_little_memory() {
    for (parents, pods) in [(500, 60), (10_000, 5)] {
        decide_about(parents, pods).await;
    }
}
