//! Keeps the certificates of all pods the same, and rotates them before they expire.
//!
//! The Secret is the one source: each pod watches it, serves what it holds and registers its authorities. Any pod takes
//! the next step of a rotation, by a write on the condition that the Secret is as it was read. A Secret that is deleted
//! or damaged is written again with the certificates that the pods have, so their authority stays the same.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use admission_server::{CertificateSet, RotationTimes, ServingCertificate, TlsOptions};
use futures::StreamExt;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::core::GroupVersionKind;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;
use watch_manager::{Interest, WatchedObject};

use crate::api_error::reason;
use crate::own_watch::{OwnEvent, OwnWatches};
use crate::runtime::RunError;
use crate::runtime::args::{CertificateArgs, ServeArgs};

use super::handover::{Effects, Handover};
use super::secret::{self, Hosts, RENEW, Stored};
use super::{Cluster, hosts};

/// The longest time between two checks of the clock.
const CHECK: Duration = Duration::from_secs(60);
/// The shortest time between two writes of this pod.
const PAUSE: Duration = Duration::from_secs(1);
/// Another program's certificate that expires sooner than this is reported in the log.
const EXPIRES_SOON: Duration = Duration::from_secs(30 * 24 * 60 * 60);

impl Cluster {
    /// Returns the certificates of the Secret, which may be made for it, or those of the files.
    pub(super) async fn certificates(&self, args: &ServeArgs) -> Result<CertificateSet, RunError> {
        let (hosts, certificates) = (hosts(args, &self.identity), &args.certificates);
        match certificates.folder() {
            None => {
                let name = &certificates.cert_secret_name;
                secret::ensure(&self.secrets(), name, &hosts, &certificates.times()).await
            }
            Some(folder) => FileKeeper::read(folder, &hosts.required)
                .await
                .map(CertificateSet::new)
                .map_err(RunError::CertificateFiles),
        }
    }

    /// Starts following the Secret, or the files.
    pub(super) fn keep_certificates(&self, args: &ServeArgs, set: CertificateSet, effects: Effects) {
        let (hosts, drain) = (hosts(args, &self.identity), self.shutdown.drain.clone());
        if let Some(folder) = args.certificates.folder() {
            let host = hosts.required;
            let handover = Handover::new(effects, host.clone(), set.serving.clone());
            let keeper = FileKeeper { folder: folder.to_owned(), host, handover, read: set.serving };
            return self.supervisor.background("certificate files", keeper.run(drain));
        }
        let keeper = SecretKeeper {
            client: self.client.clone(),
            secrets: self.secrets(),
            namespace: self.identity.namespace.clone(),
            name: args.certificates.cert_secret_name.clone(),
            times: args.certificates.times(),
            handover: Handover::new(effects.clone(), hosts.required.clone(), set.serving.clone()),
            hosts,
            effects,
            announced: set.next.is_some().then(Instant::now),
            set,
        };
        self.supervisor.background("certificates", keeper.run(drain));
    }

    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &self.identity.namespace)
    }
}

/// Returns what clients must speak and show.
pub(super) async fn tls_options(args: &CertificateArgs) -> Result<TlsOptions, RunError> {
    let mut options = TlsOptions::default();
    options.min_version = args.tls_min_version.into();
    if let Some(path) = args.client_authority() {
        let read = tokio::fs::read_to_string(&path).await;
        let failed =
            |error: std::io::Error| RunError::CertificateFiles(format!("{}: {error}", path.display()));
        options.client_authority = Some(read.map_err(failed)?);
        options.client_name = Some(args.client_cn_name.clone());
    }
    Ok(options)
}

/// Follows the Secret.
pub(super) struct SecretKeeper {
    pub(super) client: kube::Client,
    pub(super) secrets: Api<Secret>,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) hosts: Hosts,
    pub(super) times: RotationTimes,
    pub(super) effects: Effects,
    pub(super) handover: Handover,
    /// The certificates that this process serves, or is about to serve.
    pub(super) set: CertificateSet,
    /// The time when this process learned of the next certificate. Clocks of two machines are not compared.
    pub(super) announced: Option<Instant>,
}

impl SecretKeeper {
    /// Runs until `shutdown`.
    pub(super) async fn run(mut self, shutdown: CancellationToken) {
        tokio::select! {
            () = self.keep() => {}
            () = shutdown.cancelled() => {}
        }
    }

    async fn keep(&mut self) {
        let interest = Interest::new(GroupVersionKind::gvk("", "v1", "Secret"))
            .namespaces([self.namespace.as_str()])
            .fields(format!("metadata.name={}", self.name));
        let mut events = OwnWatches::new(self.client.clone()).watch(interest);
        let half = self.times.overlap.checked_div(2).unwrap_or(CHECK);
        let mut clock = interval(half.clamp(PAUSE, CHECK));
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut stored, mut listed, mut written) = (None, false, None::<Instant>);
        loop {
            tokio::select! {
                event = events.next() => match event {
                    None => return,
                    Some(OwnEvent::Listed(secrets)) => {
                        (stored, listed) = (secrets.first().and_then(|secret| parse(secret)), true);
                    }
                    Some(OwnEvent::Changed(secret)) => stored = parse(&secret),
                    Some(OwnEvent::Gone(_)) => stored = None,
                    Some(OwnEvent::Failed(reason)) => {
                        tracing::warn!(reason, secret = self.name, "cannot be watched, will retry");
                    }
                },
                _ = clock.tick() => {}
                () = sleep(PAUSE), if self.handover.is_waiting() => {}
            }
            if !listed {
                continue;
            }
            let next = self.follow(stored.as_ref());
            self.handover.follow(&self.set.serving).await;
            let Some(next) = next else { continue };
            let next = match next {
                Step::Write(set) => Some(set),
                Step::Rotate => self.rotate(stored.as_ref()).await,
            };
            if let Some(set) = next.filter(|_| written.is_none_or(|last| last.elapsed() >= PAUSE)) {
                written = Some(Instant::now());
                self.write(stored.as_ref(), &set).await;
            }
        }
    }

    /// Applies what is stored, and returns what is to be done about it.
    fn follow(&mut self, stored: Option<&Secret>) -> Option<Step> {
        let now = SystemTime::now();
        match stored.map(|secret| secret::read(secret, &self.hosts, now)) {
            None => self.restore(stored, "deleted", now),
            Some(Stored::Empty) => self.restore(stored, "empty", now),
            Some(Stored::Broken { is_own: true, reason }) => self.restore(stored, &reason, now),
            Some(Stored::Broken { is_own: false, reason }) => {
                tracing::error!(
                    secret = self.name,
                    reason,
                    "cannot be used and was not written by webtroller: renew it, or delete it to get a new one"
                );
                None
            }
            Some(Stored::Own(set)) => {
                self.adopt(set);
                Some(Step::Rotate)
            }
            Some(Stored::Foreign(certificate)) => {
                let soon = now.checked_add(EXPIRES_SOON).unwrap_or(now);
                if certificate.expires().is_ok_and(|expires| expires < soon) {
                    tracing::warn!(
                        secret = self.name,
                        "expires within 30 days and is not renewed by webtroller"
                    );
                }
                self.adopt(CertificateSet::new(certificate));
                None
            }
        }
    }

    fn adopt(&mut self, set: CertificateSet) {
        if set == self.set {
            return;
        }
        let phase = if set.next.is_some() { "the next one is announced" } else { "in use" };
        tracing::info!(secret = self.name, phase, "certificates changed");
        if set.next != self.set.next {
            self.announced = set.next.is_some().then(Instant::now);
        }
        self.set = set;
    }

    fn restore(&self, stored: Option<&Secret>, reason: &str, now: SystemTime) -> Option<Step> {
        tracing::warn!(secret = self.name, reason, "is restored");
        if self.set.serving.verify(&self.hosts.required, now).is_ok() {
            return Some(Step::Write(self.set.clone()));
        }
        match secret::fresh(stored, &self.hosts, &self.times, now) {
            Ok(set) => Some(Step::Write(set)),
            Err(error) => {
                tracing::error!(%error, "no certificate can be made");
                None
            }
        }
    }

    async fn rotate(&self, stored: Option<&Secret>) -> Option<CertificateSet> {
        let authority = &self.set.serving.authority;
        let is_trusted = self.set.next.is_some() && self.effects.is_registered(authority).await;
        let trusted_for = self.announced.filter(|_| is_trusted).map(|announced| announced.elapsed());
        let renew = stored.is_some_and(|secret| secret::annotation(secret, RENEW).is_some());
        let step = self.set.step(SystemTime::now(), &self.times, &self.hosts.all, trusted_for, renew);
        step.unwrap_or_else(|error| {
            tracing::error!(%error, "the certificate cannot be renewed");
            None
        })
    }

    async fn write(&self, stored: Option<&Secret>, set: &CertificateSet) {
        match secret::write(&self.secrets, &self.name, stored, set, &self.hosts).await {
            Ok(()) => {}
            // Another pod was faster; the watch brings what it wrote.
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {}
            Err(error) => {
                tracing::warn!(error = reason(&error), secret = self.name, "cannot be written, will retry")
            }
        }
    }
}

/// The API server stores no Secret of another shape.
fn parse(secret: &WatchedObject) -> Option<Secret> {
    let parsed = secret.parse();
    parsed.inspect_err(|error| tracing::error!(secret = secret.name(), %error, "cannot be read")).ok()
}

/// The action on the Secret.
enum Step {
    Write(CertificateSet),
    /// Nothing is wrong with it: see whether a rotation is due.
    Rotate,
}

/// Follows the files of a mounted Secret: `tls.crt`, `tls.key` and `ca.crt`, which another program renews.
///
/// The kubelets of two pods bring new files up to two minutes apart.
pub(super) struct FileKeeper {
    pub(super) folder: PathBuf,
    pub(super) host: String,
    pub(super) handover: Handover,
    /// The certificate that was read last.
    pub(super) read: ServingCertificate,
}

impl FileKeeper {
    /// Reads the files.
    ///
    /// # Errors
    /// The reason for which they cannot be served.
    pub(super) async fn read(folder: &std::path::Path, host: &str) -> Result<ServingCertificate, String> {
        let text = async |name: &str| {
            let path = folder.join(name);
            tokio::fs::read_to_string(&path).await.map_err(|error| format!("{}: {error}", path.display()))
        };
        let certificate = ServingCertificate {
            authority: text("ca.crt").await?,
            certificate: text("tls.crt").await?,
            key: text("tls.key").await?,
        };
        certificate
            .verify(host, SystemTime::now())
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(certificate)
    }

    /// Runs until `shutdown`.
    pub(super) async fn run(mut self, shutdown: CancellationToken) {
        let mut clock = interval(PAUSE.saturating_mul(5));
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = clock.tick() => {}
                () = sleep(PAUSE), if self.handover.is_waiting() => {}
                () = shutdown.cancelled() => return,
            }
            match Self::read(&self.folder, &self.host).await {
                Ok(read) => {
                    if read != self.read {
                        tracing::info!(folder = %self.folder.display(), "certificates changed");
                    }
                    self.handover.follow(&read).await;
                    self.read = read;
                }
                Err(reason) => {
                    tracing::warn!(reason, "the certificate files cannot be used; the former ones stay")
                }
            }
        }
    }
}
