//! A manager on a server in memory, under paused time: waiting costs nothing and is the same in every run.

use std::time::Duration;

use proptest::prelude::ProptestConfig;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use watch_manager::testing::FakeApi;
use watch_manager::{
    Builder, CancellationToken, Config, EventKind, GroupVersionKind, GvkStatus, Registrar, StoreHandle,
    WatchEvent, WatchManager,
};

/// Longer than any delay of the manager; virtual.
const PATIENCE: Duration = Duration::from_secs(3600);

pub(crate) struct Bench {
    pub(crate) api: FakeApi,
    pub(crate) manager: WatchManager,
    pub(crate) driver: JoinHandle<()>,
    pub(crate) shutdown: CancellationToken,
}

/// The same delays in every run.
pub(crate) fn config() -> Config {
    let mut config = Config::default();
    config.jitter_seed = Some(1);
    config
}

pub(crate) fn gvk(kind: &str) -> GroupVersionKind {
    GroupVersionKind::gvk("example.com", "v1", kind)
}

pub(crate) fn object(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "default"}, "spec": {}})
}

/// The number of cases of a property test; a longer run has more.
pub(crate) fn cases(default: u32) -> ProptestConfig {
    ProptestConfig {
        cases: std::env::var("WATCH_MANAGER_CASES").map_or(default, |text| text.parse().unwrap()),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Plays a case of a property test under paused time.
pub(crate) fn paused(play: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.unwrap().block_on(play);
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(config())
    }

    pub(crate) fn with(config: Config) -> Self {
        let api = FakeApi::new();
        Self::of(WatchManager::builder_with_source(api.clone()).config(config), api)
    }

    /// Everything goes through a `kube::Client`: paths, status codes, JSON.
    pub(crate) fn over_http(config: Config) -> Self {
        let api = FakeApi::new();
        Self::of(WatchManager::builder(api.client()).config(config), api)
    }

    fn of(builder: Builder, api: FakeApi) -> Self {
        let (manager, driver) = builder.build();
        let shutdown = CancellationToken::new();
        Self { api, manager, driver: tokio::spawn(driver.run(shutdown.clone())), shutdown }
    }

    pub(crate) fn registrar(&self, name: &str) -> Registrar {
        self.manager.registrar(name).unwrap()
    }

    /// A server with these objects of a kind, and a registrar that has received them.
    pub(crate) async fn synced(&self, kind: &str, names: &[&str]) -> Registrar {
        self.api.serve(&gvk(kind), "things");
        for name in names {
            self.api.apply(&gvk(kind), object(name)).unwrap();
        }
        let mut registrar = self.registrar("first");
        let _ = registrar.add(gvk(kind));
        let mut said = until(&mut registrar, "ready").await;
        said.retain(|line| line.starts_with("apply"));
        said.sort();
        let mut expected: Vec<_> = names.iter().map(|name| format!("apply {name}")).collect();
        expected.sort();
        assert_eq!(said, expected);
        // A watch that is cut off in its first second would count as a failure of its own.
        tokio::time::advance(Duration::from_secs(2)).await;
        registrar
    }

    pub(crate) fn store(&self, kind: &str) -> StoreHandle {
        self.manager.store(&gvk(kind)).expect("the kind is watched")
    }

    pub(crate) fn names(&self, kind: &str) -> Vec<String> {
        let mut names: Vec<_> =
            self.store(kind).objects().iter().map(|object| object.name().to_owned()).collect();
        names.sort();
        names
    }
}

/// The next event, in words. Whether a listing is seen depends on who runs first.
pub(crate) async fn next(registrar: &mut Registrar) -> String {
    loop {
        let event = timeout(PATIENCE, registrar.next()).await.expect("no event for an hour");
        let event = describe(&event.expect("the stream ended"));
        if event != "listing" {
            return event;
        }
    }
}

/// The events up to and with the first that is `last`.
pub(crate) async fn until(registrar: &mut Registrar, last: &str) -> Vec<String> {
    let mut said = Vec::new();
    loop {
        let event = next(registrar).await;
        let found = event == last;
        said.push(event);
        if found {
            return said;
        }
    }
}

/// The events of this time.
pub(crate) async fn during(registrar: &mut Registrar, time: Duration) -> Vec<String> {
    let mut said = Vec::new();
    let end = tokio::time::Instant::now() + time;
    while let Ok(event) = tokio::time::timeout_at(end, registrar.next()).await {
        said.push(describe(&event.expect("the stream ended")));
    }
    said.retain(|line| line != "listing");
    said
}

pub(crate) fn describe(event: &WatchEvent) -> String {
    match &event.kind {
        EventKind::Applied(object) => format!("apply {}", object.name()),
        EventKind::Deleted(object) => format!("delete {}", object.name()),
        EventKind::Synced => "synced".to_owned(),
        EventKind::Status(GvkStatus::Pending) => "pending".to_owned(),
        EventKind::Status(GvkStatus::Listing) => "listing".to_owned(),
        EventKind::Status(GvkStatus::Ready) => "ready".to_owned(),
        EventKind::Status(GvkStatus::Stale { .. }) => "stale".to_owned(),
        EventKind::Status(GvkStatus::Degraded { .. }) => "degraded".to_owned(),
        EventKind::Status(GvkStatus::Forbidden { verb, .. }) => format!("forbidden {verb}"),
        EventKind::Status(GvkStatus::Unwatchable { verb, .. }) => format!("unwatchable {verb}"),
        other => format!("{other:?}"),
    }
}
