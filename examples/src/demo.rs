//! A demo: a control plane, controllers in processes of their own, and waits that end when something *is* so.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use control_plane::ControlPlane;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, DeleteParams, PostParams};
use kube::core::Selector;
use kube::{Config, Resource};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout;
use watch_manager::Interest;

use crate::cluster::bounded;
use crate::failpoint::Fault;
use crate::output::print;
use crate::process::{Launch, Running};
use crate::states::{first, states};
use crate::{Arguments, Cluster, Place};

/// Far more than any step takes; a demo that waits for longer has failed.
const DEADLINE: Duration = Duration::from_secs(120);

/// The cluster, the processes and the output of a demo.
pub struct Demo {
    cluster: Cluster,
    kubeconfig: Option<PathBuf>,
    kill: Option<Place>,
    freeze: Option<Place>,
    /// The role of which a process was started that freezes.
    frozen: Option<String>,
    /// Roles that run as two processes, and whether they have been started.
    twice: BTreeMap<String, bool>,
    running: BTreeMap<String, Running>,
    failed: (Sender<String>, Receiver<String>),
    // Dropped last: the controllers end before the API server does.
    _plane: Option<ControlPlane>,
}

// === impl Demo ===

impl Demo {
    /// Starts a control plane, or takes the cluster of the kubeconfig with `--here`.
    pub(crate) async fn begin(arguments: &Arguments) -> Result<Self> {
        let plane = match arguments.here {
            true => None,
            false => {
                print("Starting etcd, kube-apiserver and kube-controller-manager.");
                Some(ControlPlane::start().await?)
            }
        };
        let config = match &plane {
            Some(plane) => plane.config(),
            None => Config::infer().await?,
        };
        let cluster = Cluster::connect(config, &arguments.namespace, "user", None)?;
        if plane.is_some() && arguments.namespace != "default" {
            let namespace = json!({"metadata": {"name": arguments.namespace}});
            let namespaces: Api<Namespace> = Api::all(cluster.client.clone());
            bounded(namespaces.create(&PostParams::default(), &serde_json::from_value(namespace)?)).await?;
        }
        Ok(Self {
            cluster,
            kubeconfig: plane.as_ref().map(|plane| plane.kubeconfig().to_owned()),
            kill: arguments.kill.clone(),
            freeze: arguments.freeze.clone(),
            frozen: None,
            // The one that is not frozen does the work.
            twice: arguments
                .twice
                .iter()
                .chain(arguments.freeze.as_ref().map(|place| &place.role))
                .map(|role| (role.clone(), false))
                .collect(),
            running: BTreeMap::new(),
            failed: channel(16),
            _plane: plane,
        })
    }

    /// The cluster, as the user of the demo sees it.
    #[must_use]
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Prints the heading of a part of the demo.
    pub fn chapter(&self, text: &str) {
        print(format_args!("\n{text}"));
    }

    /// Starts a role of the pattern in a process of its own.
    pub fn start(&mut self, role: &str) {
        self.start_as(role, role, &[]);
    }

    /// Starts a role under another name, with further arguments: a second release of it, for instance.
    pub fn start_as(&mut self, name: &str, role: &str, options: &[&str]) {
        print(format_args!("  $ {role} {}", options.join(" ")));
        let (namespace, kubeconfig) = (self.cluster.namespace.clone(), self.kubeconfig.clone());
        let options = options.iter().copied().map(str::to_owned).collect();
        let launch = Launch { role: role.to_owned(), namespace, kubeconfig, options };
        let kill = self.kill.take_if(|kill| kill.role == name).map(|kill| Fault::KillAfter(kill.write));
        let freeze = self.freeze.take_if(|freeze| freeze.role == name);
        self.frozen = freeze.as_ref().map(|freeze| freeze.role.clone()).or(self.frozen.take());
        let fault = kill.or(freeze.map(|freeze| Fault::FreezeBefore(freeze.write)));
        if let Some(started) = self.twice.get_mut(name) {
            *started = true;
            if fault == Some(Fault::FreezeBefore(1)) {
                let [first, second] = Running::start_frozen(launch, self.failed.0.clone());
                self.running.extend([(name.to_owned(), first), (second_of(name), second)]);
                return;
            }
            let second = Running::start(launch.clone(), None, self.failed.0.clone());
            self.running.insert(second_of(name), second);
        }
        self.running.insert(name.to_owned(), Running::start(launch, fault, self.failed.0.clone()));
    }

    /// The processes of a role.
    fn take(&mut self, name: &str) -> Vec<Running> {
        [name.to_owned(), second_of(name)].iter().filter_map(|name| self.running.remove(name)).collect()
    }

    /// Kills a role that runs.
    pub async fn stop(&mut self, name: &str) {
        for running in self.take(name) {
            running.stop().await;
            print(format_args!("  $ kill {name}"));
        }
    }

    /// Asks a role to finish what it has begun, as a kubelet does, and waits for its end.
    pub async fn retire(&mut self, name: &str) {
        for running in self.take(name) {
            running.retire().await;
            print(format_args!("  $ {name} has ended"));
        }
    }

    /// Lets a process that was frozen go on with what it had begun, however late, and end.
    pub async fn thaw(&mut self) {
        if let Some(running) = self.frozen.take().and_then(|name| self.running.remove(&name)) {
            running.retire().await;
        }
    }

    /// Deletes an object and does not wait for its end.
    ///
    /// # Errors
    ///
    /// Errors of the API server.
    pub async fn delete<K>(&self, name: &str) -> Result<()>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        bounded(self.cluster.api::<K>().delete(name, &DeleteParams::default())).await?;
        Ok(())
    }

    /// Waits until an object exists for which `holds`, and returns it.
    ///
    /// # Errors
    ///
    /// After two minutes, or when a controller ends, with `what` was waited for.
    pub async fn until<K>(&mut self, name: &str, what: &str, holds: impl Fn(&K) -> bool) -> Result<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    {
        let this = self.cluster.interest::<K>(&()).fields(format!("metadata.name={name}"));
        let found = self.until_in(this, what, |found: &[K]| found.iter().any(&holds)).await?;
        found.into_iter().next().with_context(|| format!("{name} is gone again"))
    }

    /// Waits until an object no longer exists.
    ///
    /// # Errors
    ///
    /// As [`until`](Self::until).
    pub async fn until_gone<K>(&mut self, name: &str) -> Result<()>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    {
        let this = self.cluster.interest::<K>(&()).fields(format!("metadata.name={name}"));
        self.until_in(this, "be gone", |found: &[K]| found.is_empty()).await.map(drop)
    }

    /// Waits until all objects of a kind with these labels satisfy `hold`, and returns them.
    ///
    /// # Errors
    ///
    /// As [`until`](Self::until).
    pub async fn until_all<K>(
        &mut self,
        labels: Selector,
        what: &str,
        hold: impl Fn(&[K]) -> bool,
    ) -> Result<Vec<K>>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    {
        self.until_in(self.cluster.interest::<K>(&()).labels(labels), what, hold).await
    }

    /// As [`until_all`](Self::until_all), for a kind that is known at run time.
    ///
    /// # Errors
    ///
    /// As [`until`](Self::until).
    pub async fn until_in<K>(
        &mut self,
        interest: Interest,
        what: &str,
        hold: impl Fn(&[K]) -> bool,
    ) -> Result<Vec<K>>
    where
        K: DeserializeOwned + Send,
    {
        let name = interest.gvk().kind.clone();
        let wanted = first(states(&self.cluster.client, interest), |state: &Vec<K>| hold(state));
        tokio::select! {
            found = timeout(DEADLINE, wanted) => found.with_context(|| format!("{name} must {what}, and does not"))?,
            Some(reason) = self.failed.1.recv() => Err(anyhow!("{reason}, while {name} must {what}")),
        }
    }

    /// Says so when the role that was to be killed, frozen or doubled is not in the demo: a misspelt one is killed nowhere.
    pub(crate) fn check_roles(&self) -> Result<()> {
        for (place, fate) in [(&self.kill, "killed"), (&self.freeze, "frozen")] {
            if let Some(Place { role, .. }) = place {
                bail!("`{role}` was to be {fate}, and this demo starts no such role");
            }
        }
        match self.twice.iter().find(|(_, started)| !**started) {
            Some((role, _)) => bail!("`{role}` was to run twice, and this demo starts no such role"),
            None => Ok(()),
        }
    }

    /// Ends every role, and what it has started: first the controllers, which would write down that the plug-ins have ended.
    pub(crate) async fn end(mut self, controllers: &[&str]) {
        for running in controllers.iter().flat_map(|role| self.take(role)).collect::<Vec<_>>() {
            running.detach().await;
        }
        for (_, running) in std::mem::take(&mut self.running) {
            running.detach().await;
        }
    }
}

fn second_of(role: &str) -> String {
    format!("{role}, the second")
}
