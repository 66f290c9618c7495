//! The manager's own interest in CustomResourceDefinitions: a change of one makes the kinds of its group be
//! discovered at once, instead of when a delay is over. It shares the watch with registrars that ask for them.
//!
//! The name of a definition is `<plural>.<group>`, so metadata suffices.

use std::sync::{Arc, LazyLock};

use kube::core::GroupVersionKind;

use crate::dispatcher::{Command, Step};
use crate::event::{EventKind, GvkStatus, WatchEvent};
use crate::intents::{Gvk, RegistrarId};
use crate::interest::Interest;
use crate::queue::EventQueue;

static DEFINITION: LazyLock<Gvk> = LazyLock::new(|| {
    Arc::new(GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition"))
});

/// Callers' registrars are numbered from 1.
const ID: RegistrarId = RegistrarId(0);

pub(crate) struct Definitions {
    enabled: bool,
    started: bool,
    queue: Arc<EventQueue>,
}

// === impl Definitions ===

impl Definitions {
    pub(crate) fn new(enabled: bool) -> Self {
        Self { enabled, started: false, queue: Arc::default() }
    }

    pub(crate) fn queue(&self) -> &Arc<EventQueue> {
        &self.queue
    }

    /// Starts the watch when it is of use: a kind is not served, or not in namespaces, or its version is left to the server.
    pub(crate) fn on_step(&mut self, gvk: &Gvk, step: &Step) -> Option<Command> {
        let waits = match step {
            Step::Status(GvkStatus::Pending, attempts) => *attempts > 0,
            // Its definition has to be made again.
            Step::Status(GvkStatus::NotNamespaced, _) => true,
            _ => false,
        };
        let useful = gvk.version.is_empty() || waits && **gvk != **DEFINITION && !gvk.group.is_empty();
        if !self.enabled || self.started || !useful {
            return None;
        }
        self.started = true;
        let (_, scope) = Interest::new((**DEFINITION).clone()).metadata_only().into_parts();
        self.queue.change(|backlog| backlog.want(&DEFINITION, &scope));
        Some(Command::Assign(ID, Arc::clone(&self.queue)))
    }

    /// The group whose definition an event is about.
    pub(crate) fn group(event: &WatchEvent) -> Option<String> {
        let (EventKind::Applied(object) | EventKind::Deleted(object)) = &event.kind else { return None };
        object.name().split_once('.').map(|(_, group)| group.to_owned())
    }
}
