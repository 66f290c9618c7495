//! Registers the webhook with the API server, and keeps it registered.
//!
//! All pods write the same configuration, except during a rollout that changes it. Then the pod that became ready last
//! has the newest form: its *epoch*, an annotation of the configuration, is one more than that of what it replaced. A
//! pod leaves a configuration of a higher epoch alone while it is intact and the run that wrote it is there, so that old
//! and new pods do not undo each other's writes. When that run ends, another pod of the same form signs in its place; if
//! none does, the form was that of a rollout that was taken back, and a pod that is left writes its own. The authorities of
//! all of them are kept: see `trust`.

mod live;
mod runs;
mod trust;
mod verdict;

use std::time::{Duration, SystemTime};

use futures::StreamExt;
use futures::stream::BoxStream;
use kube::api::DynamicObject;
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, ResourceExt};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use watch_manager::Interest;

use super::crds::fingerprint;
use super::own_crd_controller::Pace;
use super::reachability::Reachability;
use super::repair_log;
use super::{FIELD_MANAGER, WebhookConfiguration};
use crate::api_error::reason;
use crate::own_watch::{OwnEvent, OwnWatches};
use crate::written::written_by;

use live::Live;
pub use runs::Runs;
use trust::{Trust, replace_bundles, trusts};
use verdict::{Facts, Verdict, verdict};

/// The annotation with the epoch.
pub(super) const EPOCH: &str = "webtroller.dev/registration-epoch";
const DIGEST: &str = "webtroller.dev/registration-digest";
/// The annotation with the run that has written the configuration, or signed it because it wants the same.
const RUN: &str = "webtroller.dev/registration-run";
/// The time after which a pod takes over a newer pod's configuration, if that pod has ended or another client has edited it, and no
/// newer pod signs or repairs it.
const ABANDONED: Duration = Duration::from_secs(10);
/// The wait after a write that failed.
const RETRY: Duration = Duration::from_secs(1);
/// The wait before the next look for a pod behind the address.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// After this time every API server knows a change of the configuration.
const PROPAGATION: Duration = Duration::from_secs(1);
const UNTRUSTED: &str = "does not have the authority of this pod's certificate yet";
const RESTORED: &str = "does not send requests here as it should; it is being restored";

/// Keeps the webhook registered.
#[derive(Debug)]
pub struct WebhookRegistration {
    api: Api<DynamicObject>,
    configuration: watch::Receiver<WebhookConfiguration>,
    state: watch::Sender<Option<String>>,
    trusted: watch::Sender<bool>,
    runs: Runs,
    ready: watch::Receiver<bool>,
}

/// The state of a [`WebhookRegistration`].
#[derive(Clone, Debug)]
pub struct RegistrationState {
    /// The reason why requests are not sent as they should be, or `None`.
    pub error: watch::Receiver<Option<String>>,
    /// The API server accepts this pod's certificate, or has nothing registered: the pod may become ready.
    pub trusted: watch::Receiver<bool>,
}

impl WebhookRegistration {
    /// Creates a controller that keeps `configuration` registered under its present name, and the state of that.
    ///
    /// Before `ready` nothing is written but this pod's authority beside those of others, and nothing is registered anew
    /// before a pod is ready behind the address: what is asked for must be answered.
    pub fn new(
        client: kube::Client,
        configuration: watch::Receiver<WebhookConfiguration>,
        runs: Runs,
        ready: watch::Receiver<bool>,
    ) -> (Self, RegistrationState) {
        let resource = ApiResource::from_gvk_with_plural(&kind(), "validatingwebhookconfigurations");
        let (state, error) = watch::channel(Some("the webhook is not registered yet".to_owned()));
        let (trusted, is_trusted) = watch::channel(false);
        let api = Api::all_with(client, &resource);
        let registration = Self { api, configuration, state, trusted, runs, ready };
        (registration, RegistrationState { error, trusted: is_trusted })
    }

    /// Keeps the webhook registered until `shutdown`.
    ///
    /// # Guarantees
    /// Cancel-safe: each write leaves a complete configuration.
    pub async fn run(self, shutdown: CancellationToken) {
        let name = self.configuration.borrow().name.clone();
        let interest = Interest::new(kind()).fields(format!("metadata.name={name}"));
        let client = self.api.clone().into_client();
        let events = OwnWatches::new(client.clone()).watch(interest);
        let keeper = Keeper {
            registration: self,
            reachability: Reachability::new(client),
            waits_for: None,
            live: None,
            trust: Trust::default(),
            extended: None,
            mine: None,
            listed: false,
            announced: false,
            pace: Pace::default(),
            signatures: Pace::default(),
            due: None,
        };
        tokio::select! {
            () = keeper.run(events) => {}
            () = shutdown.cancelled() => {}
        }
    }
}

struct Keeper {
    registration: WebhookRegistration,
    reachability: Reachability,
    /// The reason why nothing is registered yet.
    waits_for: Option<String>,
    live: Option<Live>,
    trust: Trust,
    /// The time when this pod added its authority to what others have registered.
    extended: Option<Instant>,
    /// The epoch of what this pod has written or agreed to.
    mine: Option<u64>,
    /// The first list is complete.
    listed: bool,
    announced: bool,
    pace: Pace,
    /// As `pace`, of signatures in the place of a run that has ended: they are not repairs.
    signatures: Pace,
    /// The time to write.
    due: Option<Instant>,
}

impl Keeper {
    async fn run(mut self, mut events: BoxStream<'static, OwnEvent>) {
        loop {
            let due = self.due.unwrap_or_else(Instant::now);
            tokio::select! {
                Some(event) = events.next() => self.note(event),
                Ok(()) = self.registration.ready.changed() => {}
                () = self.registration.runs.changed() => {}
                Ok(()) = self.registration.configuration.changed() => self.mine = None,
                () = sleep_until(due), if self.due.is_some() => self.write().await,
                else => return,
            }
            self.judge();
        }
    }

    fn note(&mut self, event: OwnEvent) {
        match event {
            OwnEvent::Listed(objects) => {
                (self.live, self.listed) = (objects.first().and_then(|object| Live::read(object)), true);
            }
            OwnEvent::Changed(object) => self.live = Live::read(&object),
            OwnEvent::Gone(_) => self.live = None,
            OwnEvent::Failed(reason) => {
                tracing::warn!(reason, "the webhook configuration cannot be watched, will retry");
            }
        }
    }

    /// Compares, publishes the state, and plans a write where one is needed.
    fn judge(&mut self) {
        if !self.listed {
            return;
        }
        let configuration = self.wanted();
        let is_untrusted = self.is_untrusted();
        if self.live.as_ref().is_some_and(|live| live.uninstalled) {
            self.due = None;
            return self
                .publish_error(&configuration.name, "is being uninstalled; delete it to register again");
        }
        if is_untrusted {
            return self.publish_error(&configuration.name, UNTRUSTED);
        }
        let wanted = configuration.webhooks();
        let facts = self.live.as_ref().map(|live| Facts {
            epoch: live.epoch,
            intact: live.intact,
            wanted: live.webhooks() == Some(&wanted),
            abandoned: self.registration.runs.has_ended(live),
        });
        match verdict(facts, self.mine) {
            Verdict::Good(epoch) => self.agree(epoch, facts.is_some_and(|facts| facts.abandoned)),
            Verdict::Write(_) => {
                self.publish_error(&configuration.name, self.waits_for.as_deref().unwrap_or(RESTORED));
                if *self.registration.ready.borrow() && self.due.is_none() {
                    if self.mine.is_some() {
                        repair_log::note("webhook configuration", &configuration.name);
                    }
                    let pause = self.pace.next();
                    self.due = Instant::now().checked_add(pause);
                }
            }
            Verdict::Wait => {
                self.publish_error(&configuration.name, RESTORED);
                if self.due.is_none() {
                    self.due = Instant::now().checked_add(ABANDONED);
                }
            }
        }
    }

    /// The stored form may stay. One that is abandoned is as this pod wants it, which signs it: pods of another form then know
    /// that it is not to be replaced.
    fn agree(&mut self, epoch: u64, abandoned: bool) {
        self.registration.state.send_if_modified(|state| state.take().is_some());
        let is_ready = *self.registration.ready.borrow();
        if is_ready {
            self.mine = Some(epoch);
            if !std::mem::replace(&mut self.announced, true) {
                let configuration = self.registration.configuration.borrow().name.clone();
                tracing::info!(configuration, "webhook registered");
            }
        }
        if !(is_ready && abandoned) {
            self.due = None;
        } else if self.due.is_none() {
            self.due = Instant::now().checked_add(self.signatures.next());
        }
    }

    /// The configuration with the authorities of all pods.
    fn wanted(&mut self) -> WebhookConfiguration {
        let mut configuration = self.registration.configuration.borrow().clone();
        // What another client has put in since this pod agreed to what was there is not an authority of a pod.
        let ours = self.live.as_ref().filter(|live| live.epoch > 0 && (self.mine.is_none() || live.intact));
        let found = ours.and_then(Live::webhooks);
        configuration.authority = self.trust.bundle(&configuration.authority, found, SystemTime::now());
        configuration
    }

    /// Returns true if what pods have registered lacks this pod's authority, which is then planned to be added. A pod
    /// that is not ready waits for that.
    fn is_untrusted(&mut self) -> bool {
        let is_waiting = !*self.registration.ready.borrow() && !*self.registration.trusted.borrow();
        let propagated = self
            .extended
            .and_then(|at| at.checked_add(PROPAGATION))
            .filter(|propagated| *propagated > Instant::now());
        match (self.lacks_own(), propagated) {
            (true, _) if is_waiting || self.is_left_out() => {
                if self.due.is_none() {
                    self.due = Instant::now().checked_add(self.pace.next());
                }
                true
            }
            (false, Some(propagated)) if is_waiting => {
                self.due = Some(propagated);
                true
            }
            (false, None) if is_waiting => {
                self.due = None;
                self.registration.trusted.send_replace(true);
                false
            }
            _ => false,
        }
    }

    /// Pods have registered something by which this one is not accepted.
    fn lacks_own(&self) -> bool {
        let live = self.live.as_ref().filter(|live| live.epoch > 0 && !live.uninstalled);
        let own = &self.registration.configuration.borrow().authority;
        live.and_then(Live::webhooks).is_some_and(|webhooks| !trusts(webhooks, own))
    }

    /// A newer pod has registered its form, which this one would leave alone, without knowing of this one's authority.
    fn is_left_out(&self) -> bool {
        let newer = |live: &Live| live.intact && self.mine.is_some_and(|mine| live.epoch > mine);
        self.live.as_ref().is_some_and(newer) && self.lacks_own()
    }

    fn publish_error(&self, name: &str, what: &str) {
        let error = format!("the ValidatingWebhookConfiguration {name} {what}");
        self.registration.state.send_if_modified(|state| {
            let changed = state.as_ref() != Some(&error);
            *state = Some(error);
            changed
        });
    }

    /// Writes on the condition that the configuration is as it was judged. What fails is judged again.
    async fn write(&mut self) {
        self.due = None;
        let configuration = self.wanted();
        if !*self.registration.ready.borrow() || self.is_left_out() {
            return self.extend(&configuration).await;
        }
        if self.live.is_none() {
            let wait = self.reachability.wait_reason(&configuration).await;
            if let (Some(reason), None) = (&wait, &self.waits_for) {
                tracing::info!(reason, "webhook not registered yet");
            }
            self.waits_for = wait.map(|reason| format!("is not written yet: {reason}"));
            if self.waits_for.is_some() {
                self.due = Instant::now().checked_add(POLL_INTERVAL);
                return;
            }
        }
        let epoch = match (&self.live, self.mine) {
            (None, mine) => mine.unwrap_or(1),
            (Some(live), Some(mine)) if live.epoch <= mine => mine,
            (Some(live), _) => live.epoch.saturating_add(1),
        };
        let stored = self.store(&configuration, epoch).await;
        if stored.is_ok() {
            if self.mine.is_some_and(|mine| mine < epoch) {
                tracing::warn!(
                    configuration = configuration.name,
                    "taken over: no pod is left of those that registered it in another form"
                );
            }
            self.mine = Some(epoch);
        }
        self.stored(stored);
    }

    /// Adds this pod's authority to what another pod has registered, and changes nothing else.
    async fn extend(&mut self, configuration: &WebhookConfiguration) {
        let Some(live) = self.live.as_ref().filter(|_| self.lacks_own()) else { return };
        let mut extended = live.object.clone();
        let Some(webhooks) = extended.data.get_mut("webhooks") else { return };
        replace_bundles(webhooks, &configuration.authority);
        let digest = fingerprint(webhooks);
        if live.intact {
            extended.annotations_mut().insert(DIGEST.to_owned(), digest);
        }
        let stored = self.replace(&configuration.name, &extended).await;
        if stored.is_ok() {
            self.extended = Some(Instant::now());
            tracing::info!(
                configuration = configuration.name,
                "authority added for the certificate of this pod"
            );
        }
        self.stored(stored);
    }

    /// Takes note of the answer to a write. What fails is judged again.
    fn stored(&mut self, stored: kube::Result<DynamicObject>) {
        match stored {
            Ok(object) => self.live = Some(Live::of(object)),
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {}
            Err(error) => {
                let reason = reason(&error);
                tracing::warn!(reason, "the webhook could not be registered, will retry");
                self.due = Instant::now().checked_add(RETRY.max(self.pace.next()));
            }
        }
    }

    async fn replace(&self, name: &str, object: &DynamicObject) -> kube::Result<DynamicObject> {
        self.registration.api.replace(name, &written_by(FIELD_MANAGER), object).await
    }

    async fn store(&self, configuration: &WebhookConfiguration, epoch: u64) -> kube::Result<DynamicObject> {
        let api = &self.registration.api;
        let mut wanted: DynamicObject =
            serde_json::from_value(configuration.object()).map_err(kube::Error::SerdeError)?;
        let digest = fingerprint(&configuration.webhooks());
        let run = self.registration.runs.own().to_owned();
        let annotations = [(EPOCH, epoch.to_string()), (DIGEST, digest), (RUN, run)];
        wanted.annotations_mut().extend(annotations.map(|(key, value)| (key.to_owned(), value)));
        let Some(live) = &self.live else { return api.create(&written_by(FIELD_MANAGER), &wanted).await };
        let mut replaced = live.object.clone();
        replaced.labels_mut().extend(wanted.labels().clone());
        replaced.annotations_mut().extend(wanted.annotations().clone());
        replaced.data = wanted.data;
        self.replace(&configuration.name, &replaced).await
    }
}

fn kind() -> GroupVersionKind {
    GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration")
}

#[cfg(test)]
mod tests;
