//! Faults that a test orders. `testing` applies them to requests and open watches.

use std::collections::VecDeque;
use std::time::Duration;

use crate::event::Verb;
use crate::source::SourceError;

/// The message of an answer that a test ordered.
pub(super) const BY_ORDER: &str = "by order of the test";

/// The failure of a request, or the misbehaviour of a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// 403: access is forbidden.
    Forbidden,
    /// 404, although the kind may be served.
    NotFound,
    /// 410: the resourceVersion is too old.
    Expired,
    /// 503, or a connection that broke.
    Unavailable,
    /// Another HTTP status.
    Status(u16),
    /// 429 with `Retry-After`.
    TooManyRequests {
        /// The delay in seconds.
        retry_after: u32,
    },
    /// No answer at all.
    Hang,
    /// A body that ends in the middle.
    Truncated,
    /// A watch that ends as soon as it is open. Only for [`Verb::Watch`](crate::Verb::Watch), like those below.
    ClosedAtOnce,
    /// A watch that ends after this many events.
    ClosedAfter(u32),
    /// A watch that opens and then reports that its version has expired, which is how API servers report it.
    ExpiredAtOnce,
    /// A watch that is open and never sends anything: a half-open connection.
    Silent,
    /// A watch that sends each event twice.
    Duplicates,
    /// A watch that sends events in pairs, the later one first.
    Reordered,
    /// A watch that sends this many bookmarks before each event.
    Bookmarks(u32),
}

/// A kind of request to the server in memory: those of a manager, and those of a client besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SourceCall {
    /// A request that a manager makes too.
    Of(Verb),
    /// Read one object.
    Get,
    /// Create, replace, patch or delete objects.
    Write,
}

impl From<Verb> for SourceCall {
    fn from(verb: Verb) -> Self {
        Self::Of(verb)
    }
}

/// The reason why a request fails.
pub(super) enum Failed {
    ByOrder(Fault),
    Truthfully(SourceError),
}

/// The faults of the next requests of one kind.
#[derive(Default)]
pub(super) struct Faults {
    pub(super) once: VecDeque<Fault>,
    pub(super) always: Option<Fault>,
}

// === impl Fault ===

impl Fault {
    /// The status code of the answer; `None` if the fault is not one.
    pub(super) fn code(self) -> Option<u16> {
        match self {
            Self::Forbidden => Some(403),
            Self::NotFound => Some(404),
            Self::Expired => Some(410),
            Self::Unavailable => Some(503),
            Self::Status(code) => Some(code),
            Self::TooManyRequests { .. } => Some(429),
            _ => None,
        }
    }

    /// The seconds after which the client may ask again.
    pub(super) fn retry_after(self) -> Option<u32> {
        match self {
            Self::TooManyRequests { retry_after } => Some(retry_after),
            _ => None,
        }
    }

    /// Returns true if the watch opens and misbehaves then.
    pub(super) fn opens(self) -> bool {
        use Fault::{Bookmarks, ClosedAfter, ClosedAtOnce, Duplicates, ExpiredAtOnce, Reordered, Silent};
        matches!(
            self,
            ClosedAtOnce
                | ClosedAfter(_)
                | ExpiredAtOnce
                | Silent
                | Duplicates
                | Reordered
                | Bookmarks(_)
                | Self::Truncated
        )
    }
}

impl From<Fault> for SourceError {
    fn from(fault: Fault) -> Self {
        match fault.code() {
            Some(code) => {
                let retry_after = Duration::from_secs(fault.retry_after().unwrap_or_default().into());
                Self::of_status(code, BY_ORDER, retry_after)
            }
            None => Self::Unavailable("unavailable, by order of the test".to_owned()),
        }
    }
}

// === impl Failed ===

impl From<SourceError> for Failed {
    fn from(error: SourceError) -> Self {
        Self::Truthfully(error)
    }
}

impl From<Failed> for SourceError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::ByOrder(fault) => fault.into(),
            Failed::Truthfully(error) => error,
        }
    }
}
