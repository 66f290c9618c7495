//! Where the watch of one kind stands. `feed` moves from one to the next; there are no decisions here.

use std::time::Duration;

use kube::core::ApiResource;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::source::{Frames, Page};

pub(super) enum Phase {
    Resolve,
    List(Listing),
    Connect { resource: ApiResource, version: String },
    Follow(Following),
    Wait { delay: Duration, then: Box<Phase> },
}

pub(super) struct Listing {
    pub(super) resource: ApiResource,
    pub(super) page: Page,
    pub(super) expired: u32,
    /// Held until the list is complete.
    pub(super) permit: Option<OwnedSemaphorePermit>,
}

pub(super) struct Following {
    pub(super) resource: ApiResource,
    pub(super) version: String,
    pub(super) frames: Frames,
    pub(super) since: Instant,
    /// Whether a change has come through.
    pub(super) advanced: bool,
}

// === impl Phase ===

impl Phase {
    pub(super) fn wait(delay: Duration, then: Self) -> Self {
        Self::Wait { delay, then: Box::new(then) }
    }
}
