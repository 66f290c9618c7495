//! Watches the operator's own CRDs, and restores one that another client deletes or changes.

use std::time::Duration;

use futures::StreamExt;
use futures::future::join_all;
use kube::api::DynamicObject;
use kube::core::GroupVersionKind;
use serde_json::Value;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use watch_manager::{WatchManager, WatchedObject};

use super::OwnCrds;
use super::own_crds::{OwnCrd, version};
use super::repair_log;
use crate::api_error::reason;
use crate::own_watch::{self, OwnEvent, OwnWatches};
use crate::retry::Waits;

/// Keeps the operator's own CRDs as they are.
pub struct OwnCrdController {
    /// Writes the CRDs.
    pub client: kube::Client,
    /// Watches them.
    pub(crate) watches: OwnWatches,
    /// Learns that a kind is served again.
    pub manager: WatchManager,
    /// The CRDs.
    pub crds: OwnCrds,
}

impl std::fmt::Debug for OwnCrdController {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OwnCrdController").field("crds", &self.crds).finish_non_exhaustive()
    }
}

impl OwnCrdController {
    /// Restores the CRDs until `shutdown`.
    ///
    /// # Guarantees
    /// Cancel-safe: each write leaves a complete CRD.
    pub async fn run(self, shutdown: CancellationToken) {
        let Self { client, watches, manager, crds } = self;
        let keepers = crds.into_each().map(|crd| {
            let keeper = Keeper {
                client: client.clone(),
                watches: watches.clone(),
                manager: manager.clone(),
                crd,
                pace: Pace::default(),
            };
            keeper.run()
        });
        tokio::select! {
            _ = join_all(keepers) => {}
            () = shutdown.cancelled() => {}
        }
    }
}

struct Keeper {
    client: kube::Client,
    watches: OwnWatches,
    manager: WatchManager,
    crd: OwnCrd,
    pace: Pace,
}

impl Keeper {
    async fn run(mut self) {
        let interest = own_watch::crds().fields(format!("metadata.name={}", self.crd.name));
        let mut events = self.watches.watch(interest);
        while let Some(event) = events.next().await {
            match event {
                OwnEvent::Listed(crds) => match crds.first() {
                    Some(crd) => self.look_at(crd).await,
                    None => self.restore().await,
                },
                OwnEvent::Changed(crd) => self.look_at(&crd).await,
                OwnEvent::Gone(_) => self.restore().await,
                OwnEvent::Failed(reason) => {
                    tracing::warn!(crd = self.crd.name, reason, "cannot be watched, will retry");
                }
            }
        }
    }

    /// A change of the status alone leaves the generation, and is not a change here.
    async fn look_at(&mut self, crd: &WatchedObject) {
        // What cannot be read is not as this pod left it.
        let Ok(crd) = &crd.to_dynamic() else { return self.restore().await };
        rediscover(&self.manager, crd);
        if crd.metadata.deletion_timestamp.is_some() || self.crd.settled.as_ref() == Some(&version(crd)) {
            return;
        }
        self.restore().await;
    }

    /// Applies the CRD until that succeeds. A write that changed something is counted.
    async fn restore(&mut self) {
        loop {
            sleep(self.pace.next()).await;
            match self.crd.apply(&self.client).await {
                Ok((crd, changed)) => {
                    if changed {
                        repair_log::note("own CRD", &self.crd.name);
                    } else {
                        self.pace.relax();
                    }
                    return rediscover(&self.manager, &crd);
                }
                Err(error) => {
                    let reason = reason(&error);
                    tracing::warn!(crd = self.crd.name, reason, "cannot be restored, will retry");
                }
            }
        }
    }
}

/// The kinds of a CRD that came back are watched again at once.
fn rediscover(manager: &WatchManager, crd: &DynamicObject) {
    let text = |pointer: &str| crd.data.pointer(pointer).and_then(Value::as_str);
    let (Some(group), Some(kind)) = (text("/spec/group"), text("/spec/names/kind")) else { return };
    let versions = crd.data.pointer("/spec/versions").and_then(Value::as_array);
    for version in versions.into_iter().flatten().filter_map(|version| version.get("name")?.as_str()) {
        manager.rediscover(&GroupVersionKind::gvk(group, version, kind));
    }
}

/// Spaces repairs: the first comes at once, and where another client undoes each one, they become rare.
#[derive(Debug, Default)]
pub(super) struct Pace {
    last: Option<Instant>,
    repairs: u32,
}

impl Pace {
    const WAITS: Waits = Waits { first: Duration::from_millis(500), longest: Duration::from_secs(30) };
    const QUIET: Duration = Duration::from_secs(60);

    /// The wait before the next repair.
    pub(super) fn next(&mut self) -> Duration {
        if self.last.is_none_or(|last| last.elapsed() > Self::QUIET) {
            self.repairs = 0;
        }
        self.last = Some(Instant::now());
        let before = self.repairs;
        self.repairs = before.saturating_add(1);
        Self::WAITS.after(before)
    }

    /// The last repair turned out to be unnecessary.
    fn relax(&mut self) {
        self.repairs = self.repairs.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn repairs_that_are_undone_become_rare_and_quiet_makes_them_prompt_again() {
        let mut pace = Pace::default();
        let waits: Vec<_> = (0..9).map(|_| pace.next().as_millis()).collect();
        assert_eq!(waits, [0, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000]);
        tokio::time::advance(Pace::QUIET + Pace::WAITS.first).await;
        assert_eq!(pace.next(), Duration::ZERO);
    }
}
