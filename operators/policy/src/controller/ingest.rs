//! The one owner of the next policy set: watch events in, policy sets and reports out.
//!
//! Slow work (compiling a template, waiting for its CRD) runs beside the loop as jobs that the loop owns; their
//! results come back as events. Nothing is reported before the policy set that holds it is in force.

mod break_glass;
mod constraint_crd;
mod constraints;
mod followed;
mod gauges;
mod inventory;
mod jobs;
mod sources;
mod templates;

pub(crate) use gauges::gauge_value;

use pod_status::readiness::ErrorClass;
use std::time::Duration;

use constraint_framework::policyset::{Compiler, PolicySetBuilder};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::{BoxStream, FuturesUnordered};
use pod_status::readiness::ReadinessSource;
use pod_status::{MissingSemantics, ParentChanges, ParentRef, ReadinessTracker, StatusReporter};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use watch_manager::{EventKind, Registrar, WatchEvent, WatchManager, WatchedObject};

use crate::in_force::{InForce, PolicyPublisher};
use crate::own_watch::OwnWatches;

use super::crds::{ConstraintCrds, CrdEvent, watch_crds};
use super::enforcement_points::NotEnforced;
use super::kinds::{BREAK_GLASS, CONFIG, NAMESPACE, OtherVersions, SYNC_SET, TEMPLATE};
use super::status::Outcome;

/// Outcomes that may wait for the next policy set. While events keep coming the loop prefers them, and this is
/// how far it lets the reports fall behind.
const OUTCOMES: usize = 256;
/// The longest that a change waits for its policy set, however fast events come.
const PUBLISH_DELAY: Duration = Duration::from_millis(100);

/// The watches of the ingest loop, one registrar for each purpose.
#[derive(Debug)]
pub struct Registrars {
    templates: Registrar,
    constraints: Registrar,
    sync: Registrar,
    inventory: Registrar,
    namespaces: Registrar,
    break_glass: Registrar,
}

/// The services that the ingest loop works with.
pub struct IngestContext {
    /// Reads and writes what is not watched through `manager`.
    pub client: kube::Client,
    /// Watches the constraint CRDs.
    pub(crate) watches: OwnWatches,
    /// Runs the watches.
    pub manager: WatchManager,
    /// The watches, made from `manager`.
    pub registrars: Registrars,
    /// Takes the policy sets.
    pub publisher: PolicyPublisher,
    /// Takes what was ingested.
    pub reporter: StatusReporter,
    /// Takes which objects changed.
    pub parents: ParentChanges,
    /// The operator's namespace.
    pub namespace: String,
    /// Takes the versions in which constraint kinds are watched.
    pub versions: OtherVersions,
    /// The reason why the API server does not send requests to the webhook; `None` when it does.
    pub registration: watch::Receiver<Option<String>>,
}

/// Brings templates, constraints and referential data from the cluster into policy sets.
pub struct Ingest {
    client: kube::Client,
    manager: WatchManager,
    registrars: Registrars,
    policies: PolicySetBuilder,
    publisher: PolicyPublisher,
    reporter: StatusReporter,
    parents: ParentChanges,
    namespace: String,
    registration: watch::Receiver<Option<String>>,
    templates: templates::Templates,
    constraints: constraints::Constraints,
    followed: followed::Followed,
    sync: sources::Synced,
    suspensions: break_glass::Suspensions,
    namespaces: ReadinessSource,
    crds: ConstraintCrds,
    crd_events: BoxStream<'static, CrdEvent>,
    crd_list: ReadinessSource,
    job_factory: jobs::Jobs,
    jobs: FuturesUnordered<jobs::Running>,
    /// Questions to the API server about the kinds to sync.
    discoveries: FuturesUnordered<BoxFuture<'static, sources::DiscoveryResult>>,
    /// The policy set has changed since it was last published.
    changed: bool,
    outcomes: Vec<Outcome>,
    lists: Vec<ReadinessSource>,
    /// Since when something waits to be published.
    due_since: Option<Instant>,
}

impl std::fmt::Debug for IngestContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IngestContext").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Ingest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ingest").field("policies", &self.policies).finish_non_exhaustive()
    }
}

impl Registrars {
    /// Asks for the kinds that are always watched.
    ///
    /// # Errors
    /// When the manager already has registrars of these names.
    pub fn new(manager: &WatchManager) -> Result<Self, watch_manager::Error> {
        let registrars = Self {
            templates: manager.registrar("templates")?,
            constraints: manager.registrar("constraints")?,
            sync: manager.registrar("sync")?,
            inventory: manager.registrar("inventory")?,
            namespaces: manager.registrar("namespaces")?,
            break_glass: manager.registrar("break glass")?,
        };
        let _ = registrars.templates.add(TEMPLATE.clone());
        registrars.sync.replace([SYNC_SET.clone(), CONFIG.clone()]);
        let _ = registrars.namespaces.add(NAMESPACE.clone());
        let _ = registrars.break_glass.add(BREAK_GLASS.clone());
        Ok(registrars)
    }
}

impl Ingest {
    /// Creates a loop that has seen nothing yet. Its readiness sources are declared in `tracker` before it returns.
    pub fn new(context: IngestContext, tracker: &ReadinessTracker) -> Self {
        let (namespaces, crd_list) = (tracker.source("namespaces"), tracker.source("constraint CRDs"));
        namespaces.list_begins();
        crd_list.list_begins();
        let client = context.client;
        Self {
            manager: context.manager,
            registrars: context.registrars,
            policies: PolicySetBuilder::new(Compiler::default()),
            publisher: context.publisher,
            reporter: context.reporter,
            parents: context.parents,
            namespace: context.namespace,
            registration: context.registration,
            templates: templates::Templates::new(
                tracker.source("templates").missing(MissingSemantics::Looser),
            ),
            constraints: constraints::Constraints::default(),
            followed: followed::Followed::new(tracker, context.versions),
            // One that cannot be read is given up as in Gatekeeper: every pod goes without it alike.
            sync: sources::Synced::new(tracker.source("sync sources").missing(MissingSemantics::Looser)),
            suspensions: break_glass::Suspensions::new(tracker.source("break glass")),
            namespaces,
            crds: ConstraintCrds::default(),
            crd_events: watch_crds(&context.watches),
            crd_list,
            job_factory: jobs::Jobs::new(client.clone()),
            client,
            jobs: FuturesUnordered::new(),
            discoveries: FuturesUnordered::new(),
            changed: false,
            outcomes: Vec::new(),
            lists: Vec::new(),
            due_since: None,
        }
    }

    /// Runs until `shutdown`, or until the watch manager ends. Dropping it at any point leaves the cluster as it
    /// is: the next run starts from what is there.
    pub async fn run(mut self, shutdown: CancellationToken) {
        loop {
            let due = self.changed || !self.outcomes.is_empty() || !self.lists.is_empty();
            if due && self.is_overdue() {
                self.publish();
            }
            tokio::select! {
                // Publishing comes last, so that one policy set takes in everything that is already here.
                biased;
                () = shutdown.cancelled() => return,
                event = self.registrars.templates.next() => match event {
                    Some(event) => self.on_template(event),
                    None => return,
                },
                Some(done) = self.jobs.next() => done.into_iter().for_each(|done| self.on_done(done)),
                Some(event) = self.crd_events.next() => self.on_crd(event),
                Some(result) = self.discoveries.next() => self.on_discovery(result),
                Some(event) = self.registrars.break_glass.next() => self.on_break_glass(event),
                () = self.suspensions.expiry() => self.follow_suspensions(),
                Some(event) = self.registrars.constraints.next() => self.on_constraint(event),
                Some(event) = self.registrars.sync.next() => self.on_sync(event),
                Some(event) = self.registrars.inventory.next() => self.on_inventory(event),
                Some(event) = self.registrars.namespaces.next() => self.on_namespace(&event),
                Ok(()) = self.registration.changed() => self.report_everything(),
                () = std::future::ready(()), if due => self.publish(),
            }
        }
    }

    /// Returns true if what waits to be published has waited for too long, because events keep coming.
    fn is_overdue(&mut self) -> bool {
        let since = *self.due_since.get_or_insert_with(Instant::now);
        self.outcomes.len() >= OUTCOMES || since.elapsed() >= PUBLISH_DELAY
    }

    /// Puts the next policy set in force, then says so.
    fn publish(&mut self) {
        self.due_since = None;
        if std::mem::take(&mut self.changed) {
            self.publisher.publish(InForce {
                policies: self.policies.build(),
                excluded: self.sync.excluded.clone(),
                suspension: self.suspensions.text.clone(),
            });
        }
        for outcome in std::mem::take(&mut self.outcomes) {
            outcome.report(&self.reporter);
        }
        for list in std::mem::take(&mut self.lists) {
            list.list_ends();
        }
        self.announce_all();
        self.set_gauges();
    }

    /// Namespaces are read from the watch manager's store; here they only count for readiness.
    fn on_namespace(&mut self, event: &WatchEvent) {
        match &event.kind {
            EventKind::Synced => self.lists.push(self.namespaces.clone()),
            EventKind::Status(status) if !status.is_ready() => {
                self.namespaces.list_fails(ErrorClass::Transient, status.to_string())
            }
            _ => {}
        }
    }

    /// Returns why requests are not judged although policies are in force; `None` when they are.
    fn not_judged(&self) -> Option<NotEnforced> {
        let suspension = self.suspensions.text.as_ref().map(ToString::to_string);
        suspension.or_else(|| self.registration.borrow().clone()).map(NotEnforced::waits)
    }

    /// Requests are judged again, or no longer: everything that is in force is reported anew.
    fn report_everything(&mut self) {
        let placed = self.templates.known.iter().filter(|(_, known)| known.placed);
        let names: Vec<_> = placed.map(|(name, _)| name.clone()).collect();
        for name in names {
            self.report_placed(&name);
        }
        for kind in self.constraints.kinds() {
            self.report_constraints(&kind);
        }
    }

    fn parent_changed(&self, parent: &ParentRef, object: &WatchedObject) {
        self.parents.changed_to(parent.clone(), object.resource_version());
    }
}
