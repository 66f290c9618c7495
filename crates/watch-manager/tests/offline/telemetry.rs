//! The metrics of a manager, as a recorder sees them.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use watch_manager::Verb;
use watch_manager::testing::Fault;

use crate::bench::{Bench, gvk, object, until};

/// Names and labels of the metrics that were written.
#[derive(Debug, Default, Clone)]
struct Names(Arc<Mutex<BTreeSet<String>>>);

impl Names {
    fn note(&self, key: &Key) {
        let labels: Vec<_> = key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        self.0.lock().unwrap().insert(format!("{} {}", key.name(), labels.join(" ")).trim().to_owned());
    }

    fn contain(&self, text: &str) -> bool {
        self.0.lock().unwrap().iter().any(|name| name == text)
    }
}

impl Recorder for Names {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        self.note(key);
        Counter::noop()
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        self.note(key);
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        self.note(key);
        Histogram::noop()
    }
}

#[tokio::test(start_paused = true)]
async fn the_documented_metrics_are_written() {
    let names = Names::default();
    let _guard = metrics::set_default_local_recorder(&names);
    let bench = Bench::new();
    let mut registrar = bench.synced("A", &["x"]).await;
    bench.api.send_garbage(&gvk("A"));
    while bench.store("A").undecodable() == 0 {
        tokio::task::yield_now().await;
    }
    bench.api.fail_next(&gvk("A"), Verb::Watch, Fault::Expired);
    bench.api.interrupt(&gvk("A"), None);
    until(&mut registrar, "ready").await;
    bench.api.apply(&gvk("A"), object("y")).unwrap();
    until(&mut registrar, "apply y").await;
    bench.manager.record_metrics();
    let kind = "group=example.com version=v1 kind=A";
    for expected in [
        "watch_manager_watched_gvk".to_owned(),
        "watch_manager_intended_watch_gvk".to_owned(),
        format!("watch_manager_requests_total {kind} verb=watch result=ok"),
        format!("watch_manager_requests_total {kind} verb=watch result=expired"),
        format!("watch_manager_starts_total {kind}"),
        format!("watch_manager_restarts_total {kind} reason=closed"),
        "watch_manager_fanout_seconds".to_owned(),
        format!("watch_manager_undecodable_total {kind}"),
        format!("watch_manager_relists_total {kind}"),
        format!("watch_manager_ready_seconds {kind}"),
        format!("watch_manager_objects {kind}"),
        format!("watch_manager_bytes {kind}"),
        "watch_manager_backlog_depth registrar=first".to_owned(),
        "watch_manager_backlog_age_seconds registrar=first".to_owned(),
    ] {
        assert!(names.contain(&expected), "{expected} is missing in {names:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_restart_is_counted_with_its_reason() {
    let names = Names::default();
    let _guard = metrics::set_default_local_recorder(&names);
    let bench = Bench::new();
    let _registrar = bench.synced("A", &[]).await;
    let restarted = |reason: &str| {
        let name =
            format!("watch_manager_restarts_total group=example.com version=v1 kind=A reason={reason}");
        names.contain(&name)
    };
    let reasons = || ["closed", "expired", "unavailable", "silent"].map(restarted);
    assert_eq!(reasons(), [false; 4]);
    bench.api.interrupt(&gvk("A"), None);
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(reasons(), [true, false, false, false]);
    bench.api.interrupt(&gvk("A"), Some(Fault::Expired));
    tokio::time::sleep(Duration::from_secs(20)).await;
    bench.api.fail_next(&gvk("A"), Verb::Watch, Fault::Silent);
    bench.api.interrupt(&gvk("A"), Some(Fault::Unavailable));
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(reasons(), [true, true, true, false]);
    tokio::time::sleep(Duration::from_secs(90)).await;
    assert_eq!(reasons(), [true; 4]);
}

/// Keeps the values of gauges.
#[derive(Default)]
struct Gauges(Mutex<HashMap<String, Arc<AtomicU64>>>);

impl Gauges {
    fn value(&self, name: &str) -> f64 {
        f64::from_bits(self.0.lock().unwrap()[name].load(Ordering::Relaxed))
    }
}

impl Recorder for Gauges {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
        Counter::noop()
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.0.lock().unwrap().entry(key.name().to_owned()).or_default().clone())
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

#[tokio::test(start_paused = true)]
async fn the_gauges_of_several_managers_add_up() {
    let gauges = Gauges::default();
    let _guard = metrics::set_default_local_recorder(&gauges);
    let (one, two) = (Bench::new(), Bench::new());
    let values =
        || ["watch_manager_watched_gvk", "watch_manager_intended_watch_gvk"].map(|name| gauges.value(name));
    let first = one.synced("A", &[]).await;
    let _second = two.synced("B", &[]).await;
    assert_eq!(values(), [2.0, 2.0]);
    drop(first);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(values(), [1.0, 1.0]);
    two.shutdown.cancel();
    two.driver.await.unwrap();
    assert_eq!(values(), [0.0, 0.0]);
}

#[tokio::test(start_paused = true)]
async fn what_is_gone_leaves_no_size_behind() {
    let gauges = Gauges::default();
    let _guard = metrics::set_default_local_recorder(&gauges);
    let bench = Bench::new();
    let registrar = bench.synced("A", &["x"]).await;
    bench.api.apply(&gvk("A"), object("y")).unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    bench.manager.record_metrics();
    let values = || {
        let names =
            ["watch_manager_objects", "watch_manager_backlog_depth", "watch_manager_backlog_age_seconds"];
        names.map(|name| gauges.value(name))
    };
    assert_eq!(values(), [2.0, 1.0, 1.0]);
    drop(registrar);
    tokio::time::sleep(Duration::from_secs(1)).await;
    bench.manager.record_metrics();
    assert_eq!(values(), [0.0; 3]);
}
