//! The controller: asks every plug-in that an Extension has registered for the Machine, and takes the zone that is left.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use controller_declaration::{Access, Declaration};
use examples::ranking::{Question, Zone};
use examples::{Cluster, Condition, Watched, drive, mapped, watched};
use futures::stream;
use kube::ResourceExt;
use kube::runtime::controller::Action;
use tokio::sync::Notify;

use crate::certificates::{self, Identity};
use crate::endpoint::Endpoint;
use crate::kinds::{self, Extension, ExtensionStatus, FailurePolicy, Machine, MachineStatus};

/// After a plug-in has failed; the breaker's pause is as long.
const AGAIN: Duration = Duration::from_secs(1);

struct Placement {
    cluster: Cluster,
    identity: Identity,
    extensions: Watched<Extension>,
    /// The plug-ins that have answered the discovery call, by the uid of their Extension.
    endpoints: Mutex<HashMap<String, Arc<Endpoint>>>,
    changed: Arc<Notify>,
}

pub(crate) fn declaration() -> Declaration {
    Declaration::new(
        "placement",
        "Asks every plug-in that an Extension has registered, and takes the zone that is left.",
    )
    .access(Access::to(kinds::GROUP, "machines").watches().writes(["/status"]))
    .access(Access::to(kinds::GROUP, "extensions").watches().writes(["/status"]))
    .access(Access::to("", "secrets").gets().creates())
    .access(Access::to("", "configmaps").creates().writes(["/data/ca.crt"]))
}

pub(crate) async fn run(cluster: Cluster) -> Result<()> {
    let identity = certificates::identity(&cluster).await?;
    let machines = examples::controller::<Machine>(&cluster, ());
    let all = machines.store();
    let (extensions, events) = watched::<Extension>(&cluster);
    // An Extension that has changed concerns the Machines that wait.
    let machines = machines.reconcile_on(mapped(events, move |_: &Extension| {
        all.state().into_iter().filter(|machine| zone(machine).is_none()).collect()
    }));
    let changed = Arc::new(Notify::new());
    let notified = stream::unfold(Arc::clone(&changed), async |changed| {
        changed.notified().await;
        Some(((), changed))
    });
    let registry = examples::controller::<Extension>(&cluster, ());
    let registry = registry.reconcile_all_on(notified);
    let endpoints = Mutex::new(HashMap::new());
    let placement = Arc::new(Placement { cluster, identity, extensions, endpoints, changed });
    let registering = drive(registry, Arc::clone(&placement), |extension, context| {
        register(extension, Arc::clone(&context))
    });
    let placing = drive(machines, placement, |machine, context| place(machine, Arc::clone(&context)));
    futures::try_join!(registering, placing).map(drop)
}

fn is_discovered(extension: &Extension) -> bool {
    extension.status.as_ref().is_some_and(|status| status.version.is_some())
}

fn zone(machine: &Machine) -> Option<&String> {
    machine.status.as_ref()?.zone.as_ref()
}

// === registering ===

/// Discovers a plug-in when what its Extension says of it has changed, and writes down what is known about it. The former endpoint is
/// called until the new one has answered, so that an upgrade fails no Machine.
#[allow(clippy::redundant_allocation, reason = "a kube Controller hands its context out in an Arc")]
async fn register(extension: Arc<Extension>, placement: Arc<Arc<Placement>>) -> Result<Action> {
    let (extension, cluster) = (extension.as_ref(), &placement.cluster);
    let known = placement.endpoint(extension);
    let mut discovered = Ok(known.clone());
    let nowhere = extension.spec.endpoint.is_none();
    if !nowhere && !known.as_ref().is_some_and(|endpoint| endpoint.is_current(extension)) {
        let found = Endpoint::discover(extension, &placement.identity, Arc::clone(&placement.changed)).await;
        // Complete, or an Extension that is not listed yet would be taken for a deleted one.
        let live = placement.extensions.all().await?;
        discovered = found.map(|endpoint| Some(placement.keep(extension, endpoint, &live)));
    }
    let before = extension.status.clone().unwrap_or_default();
    let failure = discovered.as_ref().err().map(|error| format!("{error:#}"));
    let endpoint = discovered.ok().flatten().or(known);
    let (reason, message) = match &failure {
        Some(failure) => ("DiscoveryFailed", failure.as_str()),
        None if nowhere => ("NoEndpoint", "no plug-in has said where it is: is one running?"),
        None => ("Discovered", "it is called from now on"),
    };
    let ready = (reason, message);
    let generation = extension.metadata.generation;
    let condition = Condition::new(&before.conditions, "Ready", reason == "Discovered", ready, generation);
    let last = endpoint.as_ref().map_or_else(never_called, |_| before.clone());
    let news = endpoint.as_ref().and_then(|endpoint| endpoint.reported.news(endpoint.load()));
    let after = ExtensionStatus {
        endpoint: endpoint.as_ref().map(|endpoint| endpoint.address.clone()).or(before.endpoint.clone()),
        version: endpoint.as_ref().map(|endpoint| endpoint.version.to_owned()).or(before.version.clone()),
        circuit: news.map_or(last.circuit, |load| load.circuit.to_owned()),
        saturated: news.map_or(last.saturated, |load| load.saturated),
        conditions: vec![condition],
    };
    if after != before {
        let version = after.version.clone().unwrap_or_default();
        let busy = if after.saturated { ", saturated" } else { "" };
        let name = extension.name_any();
        let text = format!("Extension {name}: {reason} {version}, circuit {}{busy}", after.circuit);
        // A part of it is taken from the status that was read, which must be the last one. The watch brings that.
        if !cluster.decide_status(&cluster.api(), extension, after).await? {
            return Ok(Action::await_change());
        }
        cluster.say(text);
    }
    if let (Some(endpoint), Some(load)) = (endpoint, news) {
        endpoint.reported.written(load);
    }
    Ok(if failure.is_some() { Action::requeue(AGAIN) } else { Action::await_change() })
}

fn never_called() -> ExtensionStatus {
    ExtensionStatus { circuit: "Closed".to_owned(), ..ExtensionStatus::default() }
}

// === impl Placement ===

impl Placement {
    fn endpoint(&self, extension: &Extension) -> Option<Arc<Endpoint>> {
        let endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        endpoints.get(&extension.uid()?).cloned()
    }

    fn keep(&self, extension: &Extension, endpoint: Endpoint, live: &[Arc<Extension>]) -> Arc<Endpoint> {
        let endpoint = Arc::new(endpoint);
        let mut endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        // Those of deleted Extensions go here: their calls that are under way keep their own reference.
        endpoints.retain(|uid, _| live.iter().any(|extension| extension.uid().as_ref() == Some(uid)));
        endpoints.insert(extension.uid().unwrap_or_default(), Arc::clone(&endpoint));
        endpoint
    }

    /// An Extension takes part from its first discovery on, also when its plug-in has gone since; one that is not to be done
    /// without takes part before that.
    async fn registered_for(&self, machine: &Machine) -> Result<Vec<Arc<Extension>>> {
        let takes_part = |extension: &Arc<Extension>| {
            let counts = is_discovered(extension) || extension.spec.failure_policy == FailurePolicy::Fail;
            counts && extension.metadata.deletion_timestamp.is_none() && extension.selects(machine)
        };
        let mut found: Vec<_> = self.extensions.all().await?.into_iter().filter(takes_part).collect();
        found.sort_by_key(|extension| extension.name_any());
        Ok(found)
    }

    async fn ask(&self, extension: &Extension, question: &Question) -> Result<Vec<Zone>, String> {
        let endpoint = self.endpoint(extension).ok_or("it has not answered the discovery call")?;
        let answer = endpoint.rank(question).await.map_err(|error| format!("{error:#}"))?;
        question.check(&answer)
    }
}

// === placing ===

#[allow(clippy::redundant_allocation, reason = "as above")]
async fn place(machine: Arc<Machine>, placement: Arc<Arc<Placement>>) -> Result<Action> {
    let (machine, cluster) = (machine.as_ref(), &placement.cluster);
    if zone(machine).is_some() {
        return Ok(Action::await_change());
    }
    let mut question = Question::new(&machine.name_any(), machine.spec.cores);
    let (mut asked, mut ignored) = (Vec::new(), Vec::new());
    for extension in placement.registered_for(machine).await? {
        let name = extension.name_any();
        if !is_discovered(&extension) {
            let why = format!("{name}: its plug-in has not answered the discovery call: is it running?");
            report(cluster, machine, None, ("WaitingForExtension", &why)).await?;
            return Ok(Action::await_change());
        }
        match (placement.ask(&extension, &question).await, extension.spec.failure_policy) {
            (Ok(zones), _) => {
                question.zones = zones;
                asked.push(name);
            }
            (Err(error), FailurePolicy::Ignore) => ignored.push(format!("without {name}: {error}")),
            (Err(error), FailurePolicy::Fail) => {
                report(cluster, machine, None, ("ExtensionFailed", &format!("{name}: {error}"))).await?;
                return Ok(Action::requeue(AGAIN));
            }
        }
    }
    let zone = question.zones.first().map(|zone| zone.name.clone());
    let message = [vec![format!("asked {}", asked.join(", "))], ignored].concat().join("; ");
    report(cluster, machine, zone, ("Placed", &message)).await?;
    Ok(Action::await_change())
}

async fn report(cluster: &Cluster, machine: &Machine, zone: Option<String>, why: (&str, &str)) -> Result<()> {
    let before = machine.status.clone().unwrap_or_default();
    let condition =
        Condition::new(&before.conditions, "Placed", zone.is_some(), why, machine.metadata.generation);
    let after = MachineStatus { zone, conditions: vec![condition] };
    if after != before {
        let place = after.zone.as_deref().unwrap_or("nowhere yet");
        let text = format!("Machine {}: {place} ({}: {})", machine.name_any(), why.0, why.1);
        if cluster.decide_status(&cluster.api(), machine, after).await? {
            cluster.say(text);
        }
    }
    Ok(())
}
