//! The spans that the guide names, as a subscriber sees them. A process of its own: while there is one subscriber, a thread
//! without it that meets a span for the first time notes for ever that no subscriber wants it.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::panic)]
// In an integration test every module is private to the binary.
#![allow(unreachable_pub)]

#[allow(dead_code, reason = "the tests in `scripted` use more of it")]
#[path = "../scripted/api.rs"]
mod api;
#[path = "../scripted/documented.rs"]
mod documented;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::core::{ApiResource, GroupVersionKind};
use pod_status::{
    Aggregator, AggregatorConfig, Deadline, ParentKey, ParentRef, PodIdentity, ReporterConfig, Rollout,
    Shape, StatusReporter,
};
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::fmt::format::FmtSpan;

use crate::api::Server;
use crate::documented::rows;

const POLICY: &str = "/apis/test/v1/policies/p";

fn coordinated(_: &ParentRef) -> Option<Shape> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("test", "v1", "Policy"));
    let rollout = Rollout::Coordinated { deadline: Deadline::Never };
    Some(Shape::new(resource, "policyUID").enforced_by(["webhook"]).rollout(rollout))
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn read(&self) -> Vec<Value> {
        let bytes = self.0.lock().unwrap();
        bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn every_span_of_the_guide_is_there_with_its_fields() {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_max_level(tracing_subscriber::filter::LevelFilter::DEBUG)
        .with_span_events(FmtSpan::CLOSE)
        .with_writer(move || writer.clone())
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    let server = Server::default();
    let metadata = json!({"name": "p", "uid": "p-uid", "generation": 1});
    server.put(POLICY, json!({"apiVersion": "test/v1", "kind": "Policy", "metadata": metadata}));
    server.add_pod();
    let variable = |name: &str| Some(name.to_lowercase().replace('_', "-"));
    let identity = PodIdentity::from_variables(variable, ["webhook"]).unwrap();
    let (reporter, driver) =
        StatusReporter::new(server.client("pod"), identity.clone(), ReporterConfig::default());
    let answered = CancellationToken::new();
    let driver = tokio::spawn(driver.run(answered.clone()));
    reporter.registered().await.unwrap();
    let parent = ParentRef::new("test", "Policy", "p");
    let key = ParentKey::new(parent.clone(), "p-uid");
    reporter.ingested(&key, 1, Ok(()), ());
    let config = AggregatorConfig::new(&identity, coordinated);
    let aggregator = Aggregator::new(server.client("one"), config);
    aggregator.parent_changes().changed(parent);
    let shutdown = CancellationToken::new();
    let aggregating = tokio::spawn(aggregator.run(shutdown.clone()));
    sleep(Duration::from_secs(30)).await;
    reporter.enforcing(&key, 1);
    sleep(Duration::from_secs(30)).await;
    assert_eq!(server.get(POLICY).unwrap()["status"]["conditions"][0]["status"], "True");
    shutdown.cancel();
    aggregating.await.unwrap();
    answered.cancel();
    driver.await.unwrap();
    drop(guard);

    let lines = lines.read();
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for span in lines.iter().map(|line| &line["span"]).filter_map(Value::as_object) {
        let fields = span.keys().filter(|field| *field != "name").cloned();
        seen.entry(span["name"].as_str().unwrap_or_default().to_owned()).or_default().extend(fields);
    }
    let documented = rows("Spans");
    assert_eq!(documented.len(), 5, "{documented:?}");
    for (name, fields) in documented {
        let missing: Vec<_> = fields.iter().filter(|field| !seen[&name].contains(*field)).collect();
        assert!(missing.is_empty(), "{name}: {missing:?} of {seen:?}");
    }
    let activated = lines
        .iter()
        .find(|line| line["fields"]["message"].as_str().unwrap_or_default().starts_with("activated"));
    let spans = activated.unwrap()["spans"].as_array().unwrap();
    let names: Vec<&str> = spans.iter().map(|span| span["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["pod_status_term", "pod_status_reconcile"]);
    assert_eq!(spans[1]["parent"], "Policy.test p");
    assert_eq!(spans[1]["generation"], 1);
}
