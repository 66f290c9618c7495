//! The one owner of the next policy set: watch events in, policy sets and reports out.
//!
//! Slow work (compiling a template, waiting for its CRD) runs beside the loop as jobs that the loop owns; their
//! results come back as events. Nothing is reported before the policy set that holds it is in force.

mod constraints;
mod inventory;
mod jobs;
mod templates;

use constraint_framework::policyset::{Compiler, PolicySetBuilder};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use pod_status::readiness::ReadinessSource;
use pod_status::{ParentChanges, ParentRef, ReadinessTracker, StatusReporter};
use tokio_util::sync::CancellationToken;
use watch_manager::{Registrar, WatchEvent, WatchManager};

use crate::handle::PolicyPublisher;

use super::kinds::{CONFIG, NAMESPACE, SYNC_SET, TEMPLATE};
use super::status::Outcome;

/// Outcomes that may wait for the next policy set. While events keep coming the loop prefers them, and this is
/// how far it lets the reports fall behind.
const OUTCOMES: usize = 256;

/// The watches of the ingest loop, one registrar for each purpose.
#[derive(Debug)]
pub struct Registrars {
    templates: Registrar,
    constraints: Registrar,
    sync: Registrar,
    inventory: Registrar,
    namespaces: Registrar,
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
    templates: templates::Templates,
    constraints: constraints::Constraints,
    sync: inventory::Synced,
    namespaces: ReadinessSource,
    jobs: FuturesUnordered<BoxFuture<'static, jobs::Done>>,
    /// Questions to the API server whether a synced kind is served.
    looks: FuturesUnordered<BoxFuture<'static, inventory::Look>>,
    /// The policy set has changed since it was last published.
    changed: bool,
    outcomes: Vec<Outcome>,
    lists: Vec<ReadinessSource>,
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
        };
        registrars.templates.add(TEMPLATE.clone());
        registrars.sync.replace([SYNC_SET.clone(), CONFIG.clone()]);
        registrars.namespaces.add(NAMESPACE.clone());
        Ok(registrars)
    }
}

impl Ingest {
    /// A loop that has seen nothing yet. Its readiness sources are declared in `tracker` before it returns.
    pub fn new(
        client: kube::Client,
        manager: WatchManager,
        registrars: Registrars,
        publisher: PolicyPublisher,
        reporter: StatusReporter,
        parents: ParentChanges,
        tracker: &ReadinessTracker,
    ) -> Self {
        let namespaces = tracker.source("namespaces");
        namespaces.list_begins();
        Self {
            client,
            manager,
            registrars,
            policies: PolicySetBuilder::new(Compiler::default()),
            publisher,
            reporter,
            parents,
            templates: templates::Templates::new(tracker.source("templates")),
            constraints: constraints::Constraints::default(),
            sync: inventory::Synced::new(tracker.source("sync sources")),
            namespaces,
            jobs: FuturesUnordered::new(),
            looks: FuturesUnordered::new(),
            changed: false,
            outcomes: Vec::new(),
            lists: Vec::new(),
        }
    }

    /// Runs until `shutdown`, or until the watch manager ends. Dropping it at any point leaves the cluster as it
    /// is: whoever runs next starts from what is there.
    pub async fn run(mut self, shutdown: CancellationToken) {
        loop {
            let due = self.changed || !self.outcomes.is_empty() || !self.lists.is_empty();
            if self.outcomes.len() >= OUTCOMES {
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
                Some(done) = self.jobs.next() => self.on_done(done),
                Some(look) = self.looks.next() => self.on_look(look),
                Some(event) = self.registrars.constraints.next() => self.on_constraint(event),
                Some(event) = self.registrars.sync.next() => self.on_sync(event),
                Some(event) = self.registrars.inventory.next() => self.on_inventory(event),
                Some(event) = self.registrars.namespaces.next() => self.on_namespace(&event),
                () = std::future::ready(()), if due => self.publish(),
            }
        }
    }

    /// Puts the next policy set in force, then says so.
    fn publish(&mut self) {
        if std::mem::take(&mut self.changed) {
            self.publisher.publish(self.policies.build());
        }
        for outcome in std::mem::take(&mut self.outcomes) {
            outcome.tell(&self.reporter);
        }
        for list in std::mem::take(&mut self.lists) {
            list.list_ends();
        }
    }

    /// Namespaces are read from the watch manager's store; here they only count for readiness.
    fn on_namespace(&mut self, event: &WatchEvent) {
        if matches!(event.kind, watch_manager::EventKind::Synced) {
            self.lists.push(self.namespaces.clone());
        }
    }

    fn parent_changed(&self, parent: &ParentRef) {
        self.parents.changed(parent.clone());
    }
}
