//! The driver of a [`crate::StatusReporter`]: the one writer of this pod's report objects.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::identity::PodIdentity;
use crate::ledger::{Ledger, Write};
use crate::name::{label_value, pack};
use crate::pace::{Bucket, Debounce, Retry, answered};
use crate::report::{POD_LABEL, PodReport, REGISTRATION, SHARD_LABEL};
use crate::reporter::{Config, Progress, Wish, locked};

/// Writes that may be sent at once before the write interval applies.
const BURST: u32 = 20;

/// What to do next.
#[derive(Debug)]
enum Step {
    Write(u32),
    Verify,
    WaitUntil(Instant),
    End,
}

pub(crate) struct Driver {
    ledger: Arc<Mutex<Ledger>>,
    wishes: watch::Receiver<Wish>,
    progress: watch::Sender<Progress>,
    objects: Objects,
    /// The objects of the burst that is being written. Changes since then wait for the next one.
    batch: VecDeque<u32>,
    debounce: Debounce,
    bucket: Bucket,
    retry: Retry,
    retry_at: Instant,
    verify_every: Duration,
    verify_at: Instant,
    heartbeat_every: Option<Duration>,
    heartbeat_at: Instant,
    withdrawn: bool,
    /// No handle is left, so nobody can wish for anything.
    orphaned: bool,
}

impl Driver {
    pub(crate) fn new(
        ledger: Arc<Mutex<Ledger>>,
        wishes: watch::Receiver<Wish>,
        progress: watch::Sender<Progress>,
        objects: Objects,
        config: &Config,
    ) -> Self {
        let now = Instant::now();
        Self {
            ledger,
            wishes,
            progress,
            batch: VecDeque::from([REGISTRATION]),
            debounce: Debounce::new(config.debounce, config.max_delay),
            bucket: Bucket::new(config.write_interval, BURST, now),
            retry: Retry::new(),
            retry_at: now,
            verify_every: config.verify_every,
            verify_at: now,
            heartbeat_every: objects.identity.heartbeat_period(),
            heartbeat_at: now,
            objects,
            withdrawn: false,
            orphaned: false,
        }
    }

    pub(crate) async fn run(mut self) {
        loop {
            let outcome = match self.next_step(Instant::now()) {
                Step::End => return,
                Step::WaitUntil(due) => {
                    self.wait(due).await;
                    continue;
                }
                Step::Write(shard) => self.write(shard).await,
                Step::Verify => self.verify().await,
            };
            match outcome {
                Ok(()) => self.retry.reset(),
                Err(error) => {
                    let delay = self.retry.after(&error);
                    self.retry_at = later(Instant::now(), delay);
                    tracing::warn!(%error, ?delay, "the status report of this pod is not stored, will retry");
                }
            }
            self.publish();
        }
    }

    fn next_step(&mut self, now: Instant) -> Step {
        let wish = self.note_wish(now);
        if self.retry_at > now {
            return Step::WaitUntil(self.retry_at);
        }
        self.note_occasions(&wish, now);
        if let Some(shard) = self.batch.front() {
            return Step::Write(*shard);
        }
        let ledger = locked(&self.ledger);
        let (is_clean, stored) = (ledger.dirty().next().is_none(), ledger.stored_version());
        drop(ledger);
        match (is_clean, wish.finish) {
            (true, true) => Step::End,
            (false, true) => self.begin_batch(),
            (_, false) if self.verify_at <= now => Step::Verify,
            (true, false) => {
                self.debounce.clear();
                Step::WaitUntil(self.idle_until())
            }
            (false, false) if stored < wish.flush => self.begin_batch(),
            (false, false) => self.debounced(now),
        }
    }

    /// Takes notice of what the handles want. No handle is left to want more than an end.
    fn note_wish(&mut self, now: Instant) -> Wish {
        if self.wishes.has_changed().unwrap_or(false) {
            self.debounce.changed(now);
        }
        let wish = *self.wishes.borrow_and_update();
        Wish { finish: wish.finish || self.orphaned, ..wish }
    }

    /// Changes the ledger for what time and the end bring about: a heartbeat, and the withdrawal of a
    /// process that has no pod to outlive it.
    fn note_occasions(&mut self, wish: &Wish, now: Instant) {
        let Some(period) = self.heartbeat_every else {
            return;
        };
        let mut ledger = locked(&self.ledger);
        if wish.finish && !self.withdrawn {
            self.withdrawn = true;
            ledger.withdraw();
        } else if !wish.finish && self.heartbeat_at <= now {
            self.heartbeat_at = later(now, period);
            ledger.beat();
            if self.batch.front() != Some(&REGISTRATION) {
                self.batch.push_front(REGISTRATION);
            }
        }
    }

    /// Begins a batch if the burst of changes is over.
    fn debounced(&mut self, now: Instant) -> Step {
        if self.debounce.due().is_none() {
            // The change is in the ledger, and the wish that announces it on its way.
            self.debounce.changed(now);
        }
        match self.debounce.due() {
            Some(due) if due > now => Step::WaitUntil(due.min(self.idle_until())),
            _ => self.begin_batch(),
        }
    }

    /// Begins to write what is dirty, which is something when this is called.
    fn begin_batch(&mut self) -> Step {
        self.debounce.clear();
        self.batch = locked(&self.ledger).dirty().collect();
        self.batch.front().map_or(Step::Verify, |shard| Step::Write(*shard))
    }

    /// When something is to be done even if nobody wants anything.
    fn idle_until(&self) -> Instant {
        self.heartbeat_every.map_or(self.verify_at, |_| self.verify_at.min(self.heartbeat_at))
    }

    /// Waits for a wish, at most until `due`.
    async fn wait(&mut self, due: Instant) {
        if self.orphaned {
            return sleep_until(due).await;
        }
        tokio::select! {
            // A wish that is there already is noted before the batch is decided.
            biased;
            changed = self.wishes.changed() => match changed {
                Ok(()) => self.debounce.changed(Instant::now()),
                Err(_) => self.orphaned = true,
            },
            () = sleep_until(due) => {}
        }
    }

    async fn write(&mut self, shard: u32) -> kube::Result<()> {
        sleep_until(self.bucket.take(Instant::now())).await;
        let write = locked(&self.ledger).write(shard);
        let recreated = answered(self.objects.carry_out(&write)).await?;
        self.batch.pop_front();
        locked(&self.ledger).written(&write);
        if recreated {
            // Whoever deleted this object may have deleted others.
            self.verify_at = Instant::now();
        }
        Ok(())
    }

    async fn verify(&mut self) -> kube::Result<()> {
        let found = answered(self.objects.list()).await?;
        self.verify_at = later(Instant::now(), self.verify_every);
        let mut ledger = locked(&self.ledger);
        let before: Vec<u32> = ledger.dirty().collect();
        ledger.verify(&found);
        self.batch = ledger.dirty().filter(|shard| !before.contains(shard)).collect();
        Ok(())
    }

    fn publish(&self) {
        let ledger = locked(&self.ledger);
        let (registered, stored) = (ledger.is_registered(), ledger.stored_version());
        drop(ledger);
        self.progress.send_if_modified(|progress| {
            let now = Progress { registered: progress.registered || registered, stored };
            std::mem::replace(progress, now) != now
        });
    }
}

fn later(now: Instant, delay: Duration) -> Instant {
    now.checked_add(delay).unwrap_or(now)
}

/// The report objects of one pod, in the API server.
pub(crate) struct Objects {
    api: Api<DynamicObject>,
    identity: PodIdentity,
    params: PatchParams,
    type_meta: Value,
    /// The uids of the objects that this run has written.
    uids: BTreeMap<u32, String>,
}

impl Objects {
    pub(crate) fn new(api: Api<DynamicObject>, identity: PodIdentity, config: &Config) -> Self {
        let resource = config.kind.api_resource();
        Self {
            api,
            identity,
            // Forced: the objects are this pod's own, and what somebody else wrote into them is to go.
            params: PatchParams::apply(&config.field_manager).force(),
            type_meta: json!({"apiVersion": resource.api_version, "kind": resource.kind}),
            uids: BTreeMap::new(),
        }
    }

    /// The pod's uid is part of the name, so that a pod on a lost node cannot write into the objects of the
    /// pod that took its name.
    fn name(&self, shard: u32) -> String {
        let shard = shard.to_string();
        match &self.identity.uid {
            Some(uid) => pack(&[&self.identity.name, uid, &shard]),
            None => pack(&[&self.identity.name, &shard]),
        }
    }

    /// Returns whether the object had been deleted by somebody else since this run wrote it.
    async fn carry_out(&mut self, write: &Write) -> kube::Result<bool> {
        let name = self.name(write.shard);
        let Some(report) = &write.report else {
            self.uids.remove(&write.shard);
            return match self.api.delete(&name, &DeleteParams::default()).await {
                Err(kube::Error::Api(status)) if status.is_not_found() => Ok(false),
                other => other.map(|_| false),
            };
        };
        let body = self.body(&name, report)?;
        let stored = self.api.patch(&name, &self.params, &Patch::Apply(&body)).await?;
        let uid = stored.metadata.uid.unwrap_or_default();
        let known = self.uids.insert(write.shard, uid.clone());
        Ok(known.is_some_and(|known| known != uid))
    }

    fn body(&self, name: &str, report: &PodReport) -> kube::Result<Value> {
        let mut body = serde_json::to_value(report).map_err(kube::Error::SerdeError)?;
        let mut metadata = json!({
            "name": name,
            "namespace": self.identity.namespace,
            "labels": {POD_LABEL: label_value(&self.identity.name), SHARD_LABEL: report.shard.to_string()},
        });
        if let (Some(owner), Some(metadata)) = (self.identity.owner_reference(), metadata.as_object_mut()) {
            metadata.insert("ownerReferences".to_owned(), json!([owner]));
        }
        if let (Some(fields), Some(type_meta)) = (body.as_object_mut(), self.type_meta.as_object()) {
            fields.extend(type_meta.clone());
            fields.insert("metadata".to_owned(), metadata);
        }
        Ok(body)
    }

    /// This pod's objects by shard, including those that another run of the same pod has left.
    async fn list(&self) -> kube::Result<BTreeMap<u32, Option<PodReport>>> {
        let params =
            ListParams::default().labels(&format!("{POD_LABEL}={}", label_value(&self.identity.name)));
        let objects = self.api.list(&params).await?;
        let own = objects.items.into_iter().filter_map(|object| {
            let shard = object.metadata.labels.as_ref()?.get(SHARD_LABEL)?.parse().ok()?;
            let is_own = object.metadata.name.as_deref() == Some(self.name(shard).as_str());
            is_own.then(|| (shard, serde_json::from_value(object.data).ok()))
        });
        Ok(own.collect())
    }
}
