//! The spans of a manager, as a subscriber sees them. A process of its own: while a subscriber comes, a thread that meets
//! an event for the first time may note for ever that no subscriber wants it.

#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Subscriber};
use watch_manager::testing::FakeApi;
use watch_manager::{CancellationToken, GroupVersionKind, WatchManager};

/// Collects the fields of the spans `watch`, and the text of all events.
#[derive(Default, Clone)]
struct Spans(Arc<Mutex<(Vec<String>, String)>>);

struct Text<'a>(&'a mut String);

impl Visit for Text<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push_str(&format!("{field}={value:?} "));
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("watch_manager")
    }

    fn register_callsite(&self, _: &'static tracing::Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut text = String::new();
        span.record(&mut Text(&mut text));
        self.0.lock().unwrap().0.push(format!("{} {text}", span.metadata().name()));
        Id::from_u64(1)
    }

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Text(&mut self.0.lock().unwrap().1));
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[tokio::test(start_paused = true)]
async fn each_watch_has_a_span_with_its_kind_and_no_object_is_logged() {
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(spans.clone());
    let gvk = |kind| GroupVersionKind::gvk("example.com", "v1", kind);
    let api = FakeApi::new();
    let (manager, driver) = WatchManager::builder_with_source(api.clone()).build();
    tokio::spawn(driver.run(CancellationToken::new()));
    for kind in ["A", "B"] {
        api.serve(&gvk(kind), "things");
        let secret = json!({"metadata": {"name": "x"}, "data": {"password": "hunter2"}});
        api.apply(&gvk(kind), secret).unwrap();
    }
    let registrar = manager.registrar("r").unwrap();
    registrar.replace([gvk("A"), gvk("B")]);
    let is_ready = |kind| registrar.status(&gvk(kind)).is_some_and(|status| status.is_ready());
    while !(is_ready("A") && is_ready("B")) {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let (watches, events) = spans.0.lock().unwrap().clone();
    for kind in ["A", "B"] {
        let fields = format!("watch group=example.com version=v1 kind={kind} ");
        assert_eq!(watches.iter().filter(|span| span.starts_with(&fields)).count(), 1, "{watches:?}");
    }
    assert!(!events.contains("hunter2") && events.contains("ready"), "{events}");
}
