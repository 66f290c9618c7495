//! A running control plane: how a test starts it, speaks to it, and breaks it.
//!
//! It owns the processes. Their command lines are in `launch.rs`, their ends in `supervisor.rs`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use rustix::process::Signal;
use serde_json::Value;
use tokio::sync::OnceCell;
use tokio::time::{Instant, interval, timeout};

use crate::assets::Assets;
use crate::certificate::{Authority, ServingCertificate};
use crate::launch::Launch;
use crate::ready::Probe;
use crate::supervisor::{Janitor, Supervised, append};
use crate::{Component, Error, Options, build};

/// The number of attempts to start when a port was lost to another process.
const ATTEMPTS: usize = 3;

/// Longer than the 10 s that the controller manager gives its controllers to finish.
const TO_STOP: Duration = Duration::from_secs(30);

/// Upper bound on the time from the effect of a request to its line in the audit log.
const TO_LOG: Duration = Duration::from_secs(60);

/// A real etcd, kube-apiserver and kube-controller-manager, which end when this value is dropped or this
/// process ends, however it ends.
///
/// Clients belong to the runtime that made them: ask for a new one in each test.
#[derive(Debug)]
pub struct ControlPlane {
    // Fields are dropped in this order: first the processes, then their folder.
    running: BTreeMap<Component, Supervised>,
    janitor: Janitor,
    launch: Launch,
    authority: Authority,
    config: Config,
}

// === impl ControlPlane ===

impl ControlPlane {
    /// Starts a control plane and waits until every component is ready: seconds, and on a machine that
    /// has never built the programs minutes.
    ///
    /// Cancel-safe: a start that is dropped leaves nothing running.
    ///
    /// # Errors
    ///
    /// When the programs cannot be found or built, or a component does not become ready; the error then
    /// holds the end of its log.
    pub async fn start() -> Result<Self, Error> {
        Self::start_with(Options::default()).await
    }

    /// The control plane that all tests of this binary share, started by the first that asks.
    ///
    /// It cannot be stopped or paused, because that takes `&mut`. Give each test its own
    /// [`namespace`](Self::namespace) or its own names.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start); the next caller tries again.
    pub async fn shared() -> Result<&'static Self, Error> {
        static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
        SHARED.get_or_try_init(Self::start).await
    }

    async fn start_with(options: Options) -> Result<Self, Error> {
        let located = tokio::task::spawn_blocking(Assets::locate).await;
        let assets =
            located.map_err(std::io::Error::from).map_err(Error::io("run the build of the programs"))??;
        for _ in 1..ATTEMPTS {
            match Self::attempt(assets.clone(), &options).await {
                Err(error) if error.is_retryable() => {}
                decided => return decided,
            }
        }
        Self::attempt(assets, &options).await
    }

    async fn attempt(assets: Assets, options: &Options) -> Result<Self, Error> {
        let folder = tempfile::Builder::new().prefix("control-plane-").tempdir();
        let folder = folder.map_err(Error::io("create a temporary folder"))?.keep();
        let janitor = Janitor::hire(&folder).map_err(Error::io("start `sh`"))?;
        let authority = Authority::create(&folder)?;
        let launch = Launch::prepare(&folder, &authority, assets, options)?;
        let kubeconfig = Kubeconfig::read_from(&launch.kubeconfig)?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        let mut plane = Self { running: BTreeMap::new(), janitor, launch, authority, config };
        for component in Component::IN_START_ORDER {
            plane.launch(component)?;
            plane.ready(component).await?;
        }
        Ok(plane)
    }

    /// The folder with etcd, kube-apiserver, kube-controller-manager and kubectl, built first where they
    /// are neither named by `KUBEBUILDER_ASSETS` nor there from an earlier run. Blocks.
    ///
    /// # Errors
    ///
    /// When the programs cannot be found or built.
    pub fn programs() -> Result<PathBuf, Error> {
        Assets::locate().map(Assets::into_folder)
    }

    /// The Kubernetes release that the modules in `go.mod` pin, such as `v1.36.3`. What runs may differ
    /// when `KUBEBUILDER_ASSETS` is set.
    #[must_use]
    pub fn pinned_version() -> &'static str {
        build::kubernetes_version()
    }

    /// A new client that may do everything (group `system:masters`), for the calling runtime.
    ///
    /// # Errors
    ///
    /// When the client library refuses its configuration.
    pub fn client(&self) -> Result<Client, Error> {
        Client::try_from(self.config()).map_err(Error::kube("make a client"))
    }

    /// A new client that acts as `user` in `groups`, through impersonation, and so under RBAC.
    ///
    /// The API server adds `system:authenticated` by itself. A service account is
    /// `system:serviceaccount:<namespace>:<name>` in its two groups `system:serviceaccounts` and
    /// `system:serviceaccounts:<namespace>`.
    ///
    /// # Errors
    ///
    /// When the client library refuses its configuration.
    pub fn client_as(&self, user: &str, groups: &[&str]) -> Result<Client, Error> {
        let mut config = self.config();
        config.auth_info.impersonate = Some(user.to_owned());
        config.auth_info.impersonate_groups = Some(groups.iter().copied().map(str::to_owned).collect());
        Client::try_from(config).map_err(Error::kube(format!("make a client for {user}")))
    }

    /// The configuration behind [`client`](Self::client), for a test that sets timeouts of its own.
    #[must_use]
    pub fn config(&self) -> Config {
        self.config.clone()
    }

    /// A kubeconfig file with the same rights as [`client`](Self::client).
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.launch.kubeconfig
    }

    /// `kubectl`, pointed at this control plane and at nothing in the developer's home.
    #[must_use]
    pub fn kubectl(&self) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(self.launch.kubectl());
        command.env("KUBERC", "off");
        // It takes a third of the processor time of tests that ask it often, and a third less with these: it ends before the garbage
        // collector would be of use.
        command.envs([("GOGC", "off"), ("GOMEMLIMIT", "256MiB"), ("GOMAXPROCS", "1")]);
        command
            .env("KUBECONFIG", &self.launch.kubeconfig)
            .env("KUBECACHEDIR", self.launch.folder.join("kubectl"));
        command.stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    /// A new serving certificate for 127.0.0.1, for a webhook that the API server calls by URL.
    ///
    /// # Errors
    ///
    /// When the certificate library refuses.
    pub fn serving_certificate(&self) -> Result<ServingCertificate, Error> {
        self.authority.serving()
    }

    /// Returns what the API server has logged about requests so far, oldest first, as `audit.k8s.io/v1` events.
    ///
    /// A request whose answer has arrived in full is in here with stage `ResponseComplete`, because the API
    /// server writes the line before it ends the answer; a watch is here with `ResponseStarted` while open.
    ///
    /// # Errors
    ///
    /// When the log cannot be read.
    pub fn audit_log(&self) -> Result<Vec<Value>, Error> {
        let path = self.launch.audit_log();
        let log = fs::read_to_string(&path).map_err(Error::io(format!("read {}", path.display())))?;
        // A line that is being written right now is not JSON yet.
        Ok(log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    /// As [`Self::audit_log`], once the log satisfies `is_complete`, or after a minute as it is then. A watch may deliver a change
    /// before the API server logs the request that made it, so a test that reacts to the change waits for the log with this.
    ///
    /// # Errors
    ///
    /// When the log cannot be read.
    pub async fn audit_log_until(&self, is_complete: impl Fn(&[Value]) -> bool) -> Result<Vec<Value>, Error> {
        let mut ticks = interval(Duration::from_millis(100));
        let begun = Instant::now();
        loop {
            let log = self.audit_log()?;
            if is_complete(&log) || begun.elapsed() > TO_LOG {
                return Ok(log);
            }
            ticks.tick().await;
        }
    }

    /// Returns where `component` writes its log.
    #[must_use]
    pub fn log(&self, component: Component) -> PathBuf {
        self.launch.log(component)
    }

    /// The process id of `component`, when it runs.
    #[must_use]
    pub fn process_id(&self, component: Component) -> Option<u32> {
        self.running.get(&component).map(Supervised::id)
    }

    /// Asks `component` to end, waits for it, and kills it when it has not after 30 seconds.
    ///
    /// # Errors
    ///
    /// When the process cannot be signalled.
    pub async fn stop(&mut self, component: Component) -> Result<(), Error> {
        let Some(mut process) = self.running.remove(&component) else {
            return Ok(());
        };
        // A paused process hears the first signal only once the second lets it go on.
        for signal in [Signal::TERM, Signal::CONT] {
            process.signal(signal).map_err(Error::io(format!("stop {component}")))?;
        }
        // Dropping the process kills it if it is still there at the deadline.
        let _in_time = timeout(TO_STOP, ended(&mut process)).await;
        Ok(())
    }

    /// Ends `component` at once, as a crash does.
    pub fn kill(&mut self, component: Component) {
        self.running.remove(&component);
    }

    /// Starts `component` again, on the same port and data, after stopping it if it runs; waits until ready.
    ///
    /// # Errors
    ///
    /// When it does not become ready.
    pub async fn restart(&mut self, component: Component) -> Result<(), Error> {
        self.stop(component).await?;
        self.launch(component)?;
        self.ready(component).await
    }

    /// Freezes `component`, and returns once it is frozen: connections to it stay open and unanswered.
    ///
    /// # Errors
    ///
    /// When it does not run, or the process cannot be signalled.
    pub fn pause(&mut self, component: Component) -> Result<(), Error> {
        self.process(component)?.pause().map_err(Error::io(format!("pause {component}")))
    }

    /// Lets a paused `component` go on.
    ///
    /// # Errors
    ///
    /// When it does not run, or the process cannot be signalled.
    pub fn resume(&mut self, component: Component) -> Result<(), Error> {
        self.process(component)?.signal(Signal::CONT).map_err(Error::io(format!("resume {component}")))
    }

    /// Waits until `component` says that it is ready.
    ///
    /// # Errors
    ///
    /// When it does not run, has ended, or two minutes pass.
    pub async fn ready(&mut self, component: Component) -> Result<(), Error> {
        let mut config = self.config.clone();
        let url = self.launch.url(component);
        config.cluster_url = url.parse().unwrap_or(config.cluster_url);
        let log = self.launch.log(component);
        let process = self.running.get_mut(&component).ok_or(Error::NotRunning { component })?;
        Probe { component, config, log: &log }.until_ready(process).await
    }

    fn process(&self, component: Component) -> Result<&Supervised, Error> {
        self.running.get(&component).ok_or(Error::NotRunning { component })
    }

    fn launch(&mut self, component: Component) -> Result<(), Error> {
        let starting = || Error::io(format!("start {component}"));
        let log = append(&self.launch.log(component)).map_err(starting())?;
        let witness = self.janitor.witness().map_err(starting())?;
        let (program, flags) = (self.launch.program(component), self.launch.flags(component));
        let process = Supervised::start(&program, flags, Stdio::from(log), witness, |command| {
            // Proxies, GODEBUG and the like of the developer's shell are no part of a test.
            command.env_clear().env("HOME", &self.launch.folder).current_dir(&self.launch.folder);
        });
        self.running.insert(component, process.map_err(starting())?);
        Ok(())
    }
}

impl Options {
    /// Starts a control plane with these settings; see [`ControlPlane::start`].
    ///
    /// # Errors
    ///
    /// As [`ControlPlane::start`].
    pub async fn start(self) -> Result<ControlPlane, Error> {
        ControlPlane::start_with(self).await
    }
}

/// Returns when the process has ended.
async fn ended(process: &mut Supervised) {
    let mut ticks = interval(Duration::from_millis(20));
    while let Ok(None) = process.try_wait() {
        ticks.tick().await;
    }
}
