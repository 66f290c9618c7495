//! A reporter process: it ingests policies, judges by them, and logs every judgement.
//!
//! A line of the log is `IN time uid generation` when a generation is compiled, or `BY time uid=generation …` when a
//! request was judged by these policies. Requests come from a loop of the process itself and from clients of a
//! socket, one byte each, and are answered with the same line, or with an empty one while the pod must not answer. In a
//! strict rollout `ST from to uid=generation …` says between which times these policies were found to be in force.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, ListParams, WatchEvent, WatchParams};
use pod_status::{
    Activation, Aggregator, AggregatorConfig, Compiled, LeaseClaim, ParentChanges, ParentKey, Permit,
    PodIdentity, ReporterConfig, Schedule, StatusReporter,
};
use serde_json::json;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::FENCE;
use crate::cluster::{policies, shapes};

/// Nanoseconds of the clock that all processes of the machine share.
pub fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(time.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap()
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some()
}

/// The webhook of the process: what is in force, and whether it may answer.
#[derive(Clone)]
struct Webhook {
    in_force: Arc<Mutex<BTreeMap<String, i64>>>,
    /// In a strict rollout, what may be in force, and what is.
    programs: Arc<Mutex<BTreeMap<ParentKey, Compiled<i64>>>>,
    schedule: Option<Schedule>,
    ready: Arc<AtomicBool>,
    permit: Permit,
    log: Arc<Mutex<File>>,
}

impl Webhook {
    /// Judges as a webhook does: by what is in force, and asks for the permit after that.
    fn judge(&self) -> String {
        let time = now();
        let Some(policies) = self.policies() else { return "\n".to_owned() };
        let may_answer = self.ready.load(Ordering::SeqCst) && self.permit.check().is_ok();
        if !may_answer && !is_set("POD_STATUS_LIAR") {
            return "\n".to_owned();
        }
        let policies: Vec<String> =
            policies.iter().map(|(uid, generation)| format!("{uid}={generation}")).collect();
        if self.schedule.is_some() {
            self.write(&format!("ST {time} {} {}\n", now(), policies.join(" ")));
        }
        let line = format!("BY {time} {}\n", policies.join(" "));
        self.write(&line);
        line
    }

    /// Returns what is in force, by uid; nothing while that is undecided.
    fn policies(&self) -> Option<BTreeMap<String, i64>> {
        if self.schedule.is_none() {
            return Some(self.in_force.lock().unwrap().clone());
        }
        let strict =
            self.strict().into_iter().map(|(key, by)| Some((key.uid, by?))).collect::<Option<Vec<_>>>();
        Some(strict?.into_iter().filter_map(|(uid, by)| Some((uid, by?))).collect())
    }

    /// For each policy the generation in force, if it is decided; none if none was ever activated.
    fn strict(&self) -> Vec<(ParentKey, Option<Option<i64>>)> {
        let Some(schedule) = &self.schedule else { return Vec::new() };
        let mut programs = self.programs.lock().unwrap();
        let decided = |(key, programs): (&ParentKey, &mut Compiled<i64>)| {
            let by = schedule.in_force(&key.uid).and_then(|by| Ok(programs.in_force(by)?.copied()));
            (key.clone(), by.ok())
        };
        programs.iter_mut().map(decided).collect()
    }

    /// Reports what is in force.
    async fn follow(self, reporter: StatusReporter) {
        let Some(schedule) = self.schedule.clone() else { return };
        loop {
            schedule.changed().await;
            for (key, by) in self.strict() {
                if let Some(generation) = by.flatten() {
                    reporter.enforcing(&key, generation);
                }
            }
        }
    }

    fn write(&self, line: &str) {
        self.log.lock().unwrap().write_all(line.as_bytes()).unwrap();
    }

    fn enforce(&self, uid: &str, generation: i64) {
        self.in_force.lock().unwrap().insert(uid.to_owned(), generation);
    }

    /// Requests by the process itself and by clients.
    fn serve(&self) {
        let webhook = self.clone();
        std::thread::spawn(move || {
            loop {
                std::thread::park_timeout(Duration::from_millis(5));
                webhook.judge();
            }
        });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::fs::write(std::env::var_os("POD_STATUS_PORT").unwrap(), port.to_string()).unwrap();
        let webhook = self.clone();
        std::thread::spawn(move || {
            while let Ok((mut client, _)) = listener.accept() {
                let webhook = webhook.clone();
                std::thread::spawn(move || {
                    while client.read_exact(&mut [0]).is_ok() {
                        if client.write_all(webhook.judge().as_bytes()).is_err() {
                            return;
                        }
                    }
                });
            }
        });
    }
}

/// Runs until standard input is closed.
pub fn run(log: &std::ffi::OsStr) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = kube::Client::try_from(kube::Config::infer().await.unwrap()).unwrap();
        let identity = PodIdentity::from_downward_api(["webhook"]).unwrap();
        let config = ReporterConfig::default().debounce(Duration::from_millis(20)).fence(FENCE);
        let is_strict = is_set("POD_STATUS_STRICT");
        let config = if is_strict { config.strict(Duration::from_millis(200)) } else { config };
        let (reporter, driver) = StatusReporter::new(client.clone(), identity.clone(), config);
        let answered = CancellationToken::new();
        let reporting = tokio::spawn(driver.run(answered.clone()));
        let log = OpenOptions::new().append(true).open(log).unwrap();
        let webhook = Webhook {
            in_force: Arc::default(),
            programs: Arc::default(),
            schedule: is_strict.then(|| reporter.schedule()),
            ready: Arc::default(),
            permit: reporter.permit(),
            log: Arc::new(Mutex::new(log)),
        };
        webhook.serve();
        let following = tokio::spawn(webhook.clone().follow(reporter.clone()));

        let claim = LeaseClaim::new(&identity, "pod-status-aggregator").duration(Duration::from_secs(3));
        let config =
            AggregatorConfig::new(&identity, shapes()).claim(claim).debounce(Duration::from_millis(20));
        let aggregator = Aggregator::new(client.clone(), config);
        let changes = aggregator.parent_changes();
        let shutdown = ended();
        let aggregating = tokio::spawn(aggregator.run(shutdown.clone()));
        let mut ingester = Ingester {
            api: Api::all_with(client, &policies()),
            reporter: reporter.clone(),
            changes,
            webhook: webhook.clone(),
            slots: BTreeMap::new(),
        };
        tokio::select! {
            () = ingester.run() => {}
            () = shutdown.cancelled() => {}
        }
        webhook.ready.store(false, Ordering::SeqCst);
        answered.cancel();
        reporting.await.unwrap();
        aggregating.abort();
        following.abort();
    });
}

/// Cancelled when the parent process closes the pipe, however it ends.
fn ended() -> CancellationToken {
    let shutdown = CancellationToken::new();
    let ended = shutdown.clone();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read(&mut [0]);
        ended.cancel();
    });
    shutdown
}

struct Ingester {
    api: Api<DynamicObject>,
    reporter: StatusReporter,
    changes: ParentChanges,
    webhook: Webhook,
    slots: BTreeMap<ParentKey, Activation>,
}

impl Ingester {
    /// Ends when the pod is gone.
    async fn run(&mut self) {
        self.reporter.registered().await.unwrap();
        let permit = self.reporter.permit();
        loop {
            // The first list after the registration, and after each time that this pod was cut off.
            if permit.renewed().await.is_err() {
                return;
            }
            let Some(mut version) = self.list().await else {
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            // Without a fence that ended there is nothing to resume.
            let is_granted = permit.resume().is_ok();
            let may_serve = || self.slots.values().all(Activation::may_serve);
            self.webhook.ready.store(is_granted && may_serve(), Ordering::SeqCst);
            while permit.check().is_ok() {
                match self.watch(&version).await {
                    Some(next) => version = next,
                    None => break,
                }
            }
            if permit.check().is_err() {
                self.webhook.ready.store(false, Ordering::SeqCst);
            }
        }
    }

    /// Ingests every policy of a consistent list. Returns its version.
    async fn list(&mut self) -> Option<String> {
        let params = ListParams::default();
        let list = timeout(Duration::from_secs(3), self.api.list(&params)).await.ok()?.ok()?;
        let found: Vec<ParentKey> =
            list.items.iter().map(|policy| ParentKey::of(policy, &policies())).collect();
        let gone: Vec<ParentKey> = self.slots.keys().filter(|key| !found.contains(key)).cloned().collect();
        gone.iter().for_each(|key| self.delete(key));
        for policy in list.items {
            self.apply(&policy, true).await;
        }
        list.metadata.resource_version
    }

    /// Follows the policies for a while. Returns the version to go on from; nothing if they must be listed again.
    async fn watch(&mut self, version: &str) -> Option<String> {
        let mut version = version.to_owned();
        let params = WatchParams::default().timeout(10);
        let opened = timeout(Duration::from_secs(3), self.api.watch(&params, &version)).await;
        let Ok(Ok(events)) = opened else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            return None;
        };
        let (mut events, permit) = (events.boxed(), self.reporter.permit());
        loop {
            let event = tokio::select! {
                _ = permit.fenced() => return None,
                event = timeout(Duration::from_secs(12), events.next()) => event,
            };
            match event {
                Ok(Some(Ok(WatchEvent::Added(policy) | WatchEvent::Modified(policy)))) => {
                    version = policy.resource_version().unwrap();
                    self.apply(&policy, false).await;
                }
                Ok(Some(Ok(WatchEvent::Deleted(policy)))) => {
                    version = policy.resource_version().unwrap();
                    self.delete(&ParentKey::of(&policy, &policies()));
                }
                Ok(Some(Ok(WatchEvent::Bookmark(bookmark)))) => version = bookmark.metadata.resource_version,
                Ok(None) => return Some(version),
                Ok(Some(Ok(WatchEvent::Error(_)) | Err(_))) | Err(_) => return None,
            }
        }
    }

    fn delete(&mut self, key: &ParentKey) {
        self.changes.removed(&key.reference);
        self.webhook.in_force.lock().unwrap().remove(&key.uid);
        self.webhook.programs.lock().unwrap().remove(key);
        self.slots.remove(key);
        self.reporter.removed(key);
    }

    async fn apply(&mut self, policy: &DynamicObject, is_listed: bool) {
        let key = ParentKey::of(policy, &policies());
        let generation = policy.metadata.generation.unwrap();
        self.changes.changed(key.reference.clone());
        let mut slots = self.slots.get(&key).copied().unwrap_or_default();
        let activation = &policy.data["status"]["activation"];
        let activated = activation["generation"].as_i64().filter(|_| activation["uid"] == key.uid.as_str());
        if is_listed && slots == Activation::default() {
            slots.listed(activated);
        }
        let is_new = slots.ingested() < Some(generation);
        if is_new {
            // Compilation takes a while, and not the same while everywhere.
            let longer = if is_set("POD_STATUS_LIAR") { 1000 } else { 0 };
            tokio::time::sleep(Duration::from_millis(20 + longer + now() % 60)).await;
            self.webhook.write(&format!("IN {} {} {generation}\n", now(), key.uid));
        }
        if is_new {
            let mut programs = self.webhook.programs.lock().unwrap();
            programs.entry(key.clone()).or_default().insert(generation, generation);
        }
        let staged = is_new.then(|| slots.staged(generation)).flatten();
        let switched = activated.and_then(|generation| slots.activated(generation)).or(staged);
        if !is_set("POD_STATUS_COORDINATED") && is_new {
            slots.activated(generation);
            self.webhook.enforce(&key.uid, generation);
        } else if let Some(generation) = switched {
            self.webhook.enforce(&key.uid, generation);
        }
        self.slots.insert(key.clone(), slots);
        // Only now: it is in force.
        if is_new {
            self.reporter.ingested(&key, generation, Ok(()), json!({"enforced": true}));
        }
        if let Some(generation) = slots.enforcing().filter(|_| is_set("POD_STATUS_COORDINATED")) {
            self.reporter.enforcing(&key, generation);
        }
        if self.reporter.permit().check().is_ok()
            && self.slots.values().all(Activation::may_serve)
            && !is_listed
        {
            self.webhook.ready.store(true, Ordering::SeqCst);
        }
    }
}
