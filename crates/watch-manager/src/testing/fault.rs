//! What goes wrong with a request by order of the test. `testing` looks it up; `feed` has to cope.

use std::collections::VecDeque;

use crate::source::SourceError;

/// How a request fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// 403.
    Forbidden,
    /// 404, although the kind may be served.
    NotFound,
    /// 410.
    Expired,
    /// 503, or a connection that broke.
    Unavailable,
    /// A watch that ends as soon as it is open. Only for [`Verb::Watch`](crate::Verb::Watch).
    ClosedAtOnce,
    /// A watch that opens and then says that its version has expired, which is how API servers say it. Only
    /// for [`Verb::Watch`](crate::Verb::Watch).
    ExpiredAtOnce,
    /// A watch that is open and never says anything. Only for [`Verb::Watch`](crate::Verb::Watch).
    Silent,
}

/// What the next requests of one verb meet.
#[derive(Default)]
pub(super) struct Faults {
    pub(super) once: VecDeque<Fault>,
    pub(super) always: Option<Fault>,
}

// === impl Fault ===

impl From<Fault> for SourceError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Forbidden => Self::Forbidden("no access, by order of the test".to_owned()),
            Fault::NotFound => Self::NotServed,
            Fault::Expired => Self::Expired,
            Fault::Unavailable | Fault::ClosedAtOnce | Fault::ExpiredAtOnce | Fault::Silent => {
                Self::Unavailable("unavailable, by order of the test".to_owned())
            }
        }
    }
}
