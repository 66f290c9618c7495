//! The phases of a watch, and the requests that it asks for. `machine` moves from one to the next; there are no
//! decisions here.

use std::time::{Duration, Instant};

use crate::source::{Freshness, Page, WatchTarget};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Phase {
    /// `resume` is what follows if the kind is still served in the same way, or discovery fails.
    Discover {
        freshness: Freshness,
        resume: Option<Box<Phase>>,
    },
    List(Listing),
    Connect {
        target: WatchTarget,
        version: String,
    },
    Follow(Following),
    /// With `recovers`, the wait ends early when the server is seen to be back, but once in this time.
    Wait {
        until: Instant,
        recovers: Option<Duration>,
        then: Box<Phase>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Listing {
    pub(super) target: WatchTarget,
    pub(super) page: Page,
    /// Pages whose continue token had expired.
    pub(super) expired: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Following {
    pub(super) target: WatchTarget,
    pub(super) version: String,
    pub(super) since: Instant,
}

/// The next action of a watch.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    Discover(Freshness),
    List(WatchTarget, Page),
    Connect(WatchTarget, String),
    /// Read the next message of the open watch.
    Read,
    Sleep(Duration),
}
