//! The controller: asks every plug-in that an Extension has registered for the Machine, and takes the zone that is left.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use controller_declaration::{Declaration, DeclaredAccess};
use examples::ranking::{Question, Zone};
use examples::{Cluster, Condition, Watched, drive, mapped, watched};
use futures::{FutureExt, stream};
use kube::ResourceExt;
use kube::runtime::controller::Action;
use kube::runtime::reflector::Store;
use tokio::sync::Notify;

use crate::certificates::{self, Identity};
use crate::endpoint::Endpoint;
use crate::kinds::{self, Extension, FailurePolicy, Machine, MachineStatus};
use crate::reports::{self, Reports};

/// After a plug-in has failed; the breaker's pause is as long.
const AGAIN: Duration = Duration::from_secs(1);
/// While this process calls a plug-in for the first time.
const SOON: Duration = Duration::from_millis(100);

struct Placement {
    cluster: Cluster,
    identity: Identity,
    reports: Reports,
    extensions: Watched<Extension>,
    /// Those that are registered or were tried to be, for what has to be forgotten.
    registry: Store<Extension>,
    /// The plug-ins that have answered the discovery call, by the uid of their Extension.
    endpoints: Mutex<HashMap<String, Arc<Endpoint>>>,
    changed: Arc<Notify>,
}

pub(crate) fn declaration() -> Declaration {
    let report = ["/entries", "/pod", "/shard", "/metadata/labels", "/metadata/ownerReferences"];
    Declaration::new(
        "placement",
        "Asks every plug-in that an Extension has registered, and takes the zone that is left.",
    )
    .access(DeclaredAccess::to(kinds::GROUP, "machines").watches().writes(["/status"]))
    .access(DeclaredAccess::to(kinds::GROUP, "extensions").watches())
    .access(
        DeclaredAccess::to(reports::GROUP, reports::RESOURCE).watches().creates().deletes().writes(report),
    )
    .access(DeclaredAccess::to("", "secrets").gets().creates())
    .access(DeclaredAccess::to("", "configmaps").creates().writes(["/data/ca.crt"]))
}

pub(crate) async fn run(cluster: Cluster) -> Result<()> {
    let identity = certificates::identity(&cluster).await?;
    let (reports, reporting) = Reports::new(&cluster)?;
    let placing = async {
        // Before the first list: an Extension that is listed and not reported about is one that this process does not know.
        reports.registered().await?;
        control(cluster, identity, reports).await
    };
    futures::try_join!(placing, reporting.map(Ok)).map(drop)
}

async fn control(cluster: Cluster, identity: Identity, reports: Reports) -> Result<()> {
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
    let registering = examples::controller::<Extension>(&cluster, ());
    let (registry, endpoints) = (registering.store(), Mutex::default());
    let registering = registering.reconcile_all_on(notified);
    let placement =
        Arc::new(Placement { cluster, identity, reports, extensions, registry, endpoints, changed });
    let registering = drive(registering, Arc::clone(&placement), |extension, context| {
        register(extension, Arc::clone(&context))
    });
    let placing = drive(machines, placement, |machine, context| place(machine, Arc::clone(&context)));
    futures::try_join!(registering, placing).map(drop)
}

fn zone(machine: &Machine) -> Option<&String> {
    machine.status.as_ref()?.zone.as_ref()
}

// === registering ===

/// Discovers a plug-in when what its Extension says of it has changed, and reports what is known about it. The former endpoint is
/// called until the new one has answered, so that an upgrade fails no Machine.
#[allow(clippy::redundant_allocation, reason = "a kube Controller hands its context out in an Arc")]
async fn register(extension: Arc<Extension>, placement: Arc<Arc<Placement>>) -> Result<Action> {
    let extension = extension.as_ref();
    let mut known = placement.endpoint(extension);
    let mut failure = None;
    if extension.spec.endpoint.is_none() {
        failure = Some(("NoEndpoint", "no plug-in has said where it is: is one running?".to_owned()));
    } else if !known.as_ref().is_some_and(|endpoint| endpoint.is_current(extension)) {
        match Endpoint::discover(extension, &placement.identity, Arc::clone(&placement.changed)).await {
            Ok(endpoint) => known = Some(placement.keep(extension, endpoint)),
            Err(error) => failure = Some(("DiscoveryFailed", format!("{error:#}"))),
        }
    }
    let again = failure.as_ref().is_some_and(|(reason, _)| *reason == "DiscoveryFailed");
    if failure.is_none() && known.as_ref().is_some_and(|endpoint| endpoint.known().circuit == "Open") {
        failure = Some(("CircuitOpen", "its last calls have failed: is the plug-in running?".to_owned()));
    }
    placement.reports.report(extension, known.as_deref(), failure);
    placement.reports.keep(&placement.registry.state());
    Ok(if again { Action::requeue(AGAIN) } else { Action::await_change() })
}

// === impl Placement ===

impl Placement {
    fn endpoint(&self, extension: &Extension) -> Option<Arc<Endpoint>> {
        let endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        endpoints.get(&extension.uid()?).cloned()
    }

    fn keep(&self, extension: &Extension, endpoint: Endpoint) -> Arc<Endpoint> {
        let (endpoint, live) = (Arc::new(endpoint), self.registry.state());
        let mut endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        // Those of deleted Extensions go here: their calls that are under way keep their own reference.
        endpoints.retain(|uid, _| live.iter().any(|extension| extension.uid().as_ref() == Some(uid)));
        endpoints.insert(extension.uid().unwrap_or_default(), Arc::clone(&endpoint));
        endpoint
    }

    /// The plug-in has answered a discovery call, of this process or of another.
    fn is_discovered(&self, extension: &Extension) -> bool {
        let elsewhere = || extension.status.as_ref().is_some_and(|status| status.discovered);
        self.endpoint(extension).is_some() || elsewhere()
    }

    /// An Extension takes part from its first discovery on, also when its plug-in has gone since; one that is not to be done
    /// without takes part before that.
    async fn registered_for(&self, machine: &Machine) -> Result<Vec<Arc<Extension>>> {
        let takes_part = |extension: &Arc<Extension>| {
            let counts =
                self.is_discovered(extension) || extension.spec.failure_policy == FailurePolicy::Fail;
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
        if !placement.reports.has(&extension) {
            // A controller that has just started does not leave out what others call already.
            return Ok(Action::requeue(SOON));
        }
        if !placement.is_discovered(&extension) {
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
    let asked = (!asked.is_empty()).then(|| format!("asked {}", asked.join(", ")));
    let mut message = asked.into_iter().chain(ignored).collect::<Vec<_>>().join("; ");
    if message.is_empty() {
        "no plug-in is registered for it".clone_into(&mut message);
    }
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
