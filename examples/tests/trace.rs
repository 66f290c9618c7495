//! One change of a user is one trace through three controllers, on a real API server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says no by panicking")]
#![allow(missing_docs, clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "tests")]
#![allow(dead_code, reason = "the rest of the pattern is for its demo")]

#[path = "../patterns/related_objects/fleet.rs"]
mod fleet;
#[path = "../patterns/related_objects/kinds.rs"]
mod kinds;
#[path = "../patterns/related_objects/machine.rs"]
mod machine;
#[path = "../patterns/related_objects/machine_set.rs"]
mod machine_set;
#[path = "../patterns/related_objects/rollout.rs"]
mod rollout;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use control_plane::ControlPlane;
use examples::{Cluster, trace};
use kinds::{Fleet, Machine, MachineSet};
use kube::api::{ListParams, Patch, PatchParams};
use kube::runtime::wait::await_condition;
use kube::{CustomResourceExt, ResourceExt};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::Instrument;

/// Far more than it takes.
const DEADLINE: Duration = Duration::from_secs(300);

/// The attribute of a write with the name of its controller.
fn controller(span: &SpanData) -> Option<String> {
    let attribute = span.attributes.iter().find(|attribute| attribute.key.as_str() == "controller");
    attribute.map(|attribute| attribute.value.to_string())
}

/// The names of a span and of all that led to it, the user's change first.
fn names_up_to<'a>(spans: &'a [SpanData], last: &'a SpanData) -> Vec<&'a str> {
    let by_id: BTreeMap<_, _> =
        spans.iter().map(|span| (span.span_context.span_id().to_bytes(), span)).collect();
    let before = |span: &&'a SpanData| by_id.get(&span.parent_span_id.to_bytes()).copied();
    let mut names: Vec<_> =
        std::iter::successors(Some(last), before).map(|span| span.name.as_ref()).collect();
    names.reverse();
    names
}

/// Applies a Fleet of one Machine as a user does, with three controllers in this process, until the Fleet is complete.
/// Returns the identifier of the trace.
async fn run_a_fleet(plane: &ControlPlane) -> String {
    let user = cluster(plane, "user");
    user.install(&[Fleet::crd(), MachineSet::crd(), Machine::crd()]).await.unwrap();
    let mut controllers = controllers(plane);
    let change = trace::change("Fleet web");
    let trace = trace::trace_id(&change).expect("the change is traced");
    run_machines(&user, 1).instrument(change).await;
    // The spans that are open end with the controllers.
    controllers.shutdown().await;
    trace
}

fn cluster(plane: &ControlPlane, role: &str) -> Cluster {
    Cluster::connect(plane.config(), "default", role, None).unwrap()
}

fn controllers(plane: &ControlPlane) -> JoinSet<anyhow::Result<()>> {
    let mut controllers = JoinSet::new();
    controllers.spawn(fleet::run(cluster(plane, "fleet")));
    controllers.spawn(machine_set::run(cluster(plane, "machineset")));
    controllers.spawn(machine::run(cluster(plane, "machine")));
    controllers
}

async fn run_machines(user: &Cluster, replicas: u32) {
    let spec =
        json!({"replicas": replicas, "maxUnavailable": 1, "historyLimit": 1, "template": {"image": "v1"}});
    user.apply::<Fleet>("web", json!({"spec": spec})).await.unwrap();
    let runs = |fleet: Option<&Fleet>| {
        fleet.and_then(|fleet| fleet.status.as_ref()).is_some_and(|it| it.ready == replicas)
    };
    timeout(DEADLINE, await_condition(user.api::<Fleet>(), "web", runs)).await.expect("it must run").unwrap();
}

/// Another client writes the annotation of a MachineSet, and owns it from then on. The Fleet's next change arrives nevertheless.
async fn a_trace_that_somebody_has_taken_stops_no_controller(plane: &ControlPlane) {
    let user = cluster(plane, "user");
    let sets = user.api::<MachineSet>();
    let set = sets.list(&ListParams::default()).await.unwrap().items.remove(0).name_any();
    let theirs = json!({"metadata": {"annotations": {trace::ANNOTATION: "theirs"}}});
    let annotate = PatchParams { field_manager: Some("kubectl-annotate".into()), ..PatchParams::default() };
    sets.patch(&set, &annotate, &Patch::Merge(theirs)).await.unwrap();
    let mut controllers = controllers(plane);
    run_machines(&user, 2).instrument(trace::change("Fleet web, again")).await;
    controllers.shutdown().await;
    assert_eq!(sets.get(&set).await.unwrap().annotations()[trace::ANNOTATION], "theirs");

    // It is taken away: the next change is traced again.
    let none = json!({"metadata": {"annotations": {trace::ANNOTATION: null}}});
    sets.patch(&set, &annotate, &Patch::Merge(none)).await.unwrap();
    let mut controllers = self::controllers(plane);
    let change = trace::change("Fleet web, a third time");
    let trace = trace::trace_id(&change).unwrap();
    run_machines(&user, 3).instrument(change).await;
    controllers.shutdown().await;
    assert!(sets.get(&set).await.unwrap().annotations()[trace::ANNOTATION].contains(&trace));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_a_user_is_one_trace_through_three_controllers() {
    let memory = InMemorySpanExporter::default();
    let builder = SdkTracerProvider::builder().with_simple_exporter(memory.clone());
    #[cfg(feature = "otlp")]
    let (collector, builder) = {
        let (address, collector) = collector::start().await;
        (collector, builder.with_span_processor(trace::otlp(&format!("http://{address}")).unwrap()))
    };
    let provider = builder.build();
    trace::install(&provider).unwrap();
    let plane = ControlPlane::start().await.unwrap();
    let trace = run_a_fleet(&plane).await;

    let spans = memory.get_finished_spans().unwrap();
    let traces: BTreeSet<_> = spans.iter().map(|span| span.span_context.trace_id().to_string()).collect();
    assert_eq!(traces, BTreeSet::from([trace]), "{spans:#?}");
    let writers: BTreeSet<_> = spans.iter().filter_map(controller).collect();
    assert_eq!(writers.iter().collect::<Vec<_>>(), ["fleet", "machine", "machineset", "user"]);

    let last = spans.iter().find(|span| controller(span).as_deref() == Some("machine")).unwrap();
    let set = format!(
        "web-{}",
        spans.iter().find_map(|span| span.name.strip_prefix("reconcile MachineSet web-")).unwrap()
    );
    let path = "/apis/related-objects.example.com/v1/namespaces/default/machines";
    assert_eq!(
        names_up_to(&spans, last),
        [
            "change: Fleet web",
            "reconcile Fleet web",
            &format!("reconcile MachineSet {set}"),
            &format!("reconcile Machine {set}-0"),
            &format!("PATCH {path}/{set}-0/status"),
        ]
    );

    a_trace_that_somebody_has_taken_stops_no_controller(&plane).await;

    #[cfg(feature = "otlp")]
    {
        tokio::task::spawn_blocking(move || provider.shutdown()).await.unwrap().unwrap();
        let received = collector.received();
        for span in &spans {
            let id = span.span_context.span_id().to_bytes();
            assert!(received.windows(id.len()).any(|bytes| bytes == id), "{} did not arrive", span.name);
        }
    }
}

/// A collector that keeps what it is sent. Protobuf writes identifiers as they are.
#[cfg(feature = "otlp")]
mod collector {
    use std::convert::Infallible;
    use std::net::SocketAddr;
    use std::sync::{Arc, Mutex};

    use http_body_util::{BodyExt, Full};
    use hyper::body::{Bytes, Incoming};
    use hyper::service::service_fn;
    use hyper::{Request, Response};
    use hyper_util::rt::TokioIo;
    use tokio::net::TcpListener;
    use tokio::task::JoinHandle;

    pub(crate) struct Collector {
        bytes: Arc<Mutex<Vec<u8>>>,
        task: JoinHandle<()>,
    }

    pub(crate) async fn start() -> (SocketAddr, Collector) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, bytes) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<u8>>>::default());
        let kept = Arc::clone(&bytes);
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let kept = Arc::clone(&kept);
                let keep = service_fn(move |request: Request<Incoming>| {
                    let kept = Arc::clone(&kept);
                    async move {
                        assert_eq!(request.uri().path(), "/v1/traces");
                        let body = request.into_body().collect().await.unwrap().to_bytes();
                        kept.lock().unwrap().extend_from_slice(&body);
                        Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
                    }
                });
                let connection =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), keep);
                tokio::spawn(connection);
            }
        });
        (address, Collector { bytes, task })
    }

    impl Collector {
        /// Ends the collector and returns what has arrived.
        pub(crate) fn received(self) -> Vec<u8> {
            self.task.abort();
            self.bytes.lock().unwrap().clone()
        }
    }
}
