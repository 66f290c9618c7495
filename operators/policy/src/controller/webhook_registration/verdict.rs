//! The decision about the stored configuration, without I/O.

/// The action on the stored configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It sends requests to the webhook as this pod, or a newer one, wants it; with its epoch.
    Good(u64),
    /// It has to be written, with this epoch.
    Write(u64),
    /// A newer pod has to repair it, or to sign it.
    Wait,
}

/// The stored configuration, as a pod judges it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) epoch: u64,
    pub(super) intact: bool,
    /// It is what this pod wants.
    pub(super) wanted: bool,
    /// The run that has written it has ended.
    pub(super) abandoned: bool,
}

/// Judges the stored configuration.
pub(super) fn verdict(live: Option<Facts>, mine: Option<u64>) -> Verdict {
    match (live, mine) {
        (None, mine) => Verdict::Write(mine.unwrap_or(1)),
        (Some(live), _) if live.wanted => Verdict::Good(live.epoch),
        (Some(live), None) => Verdict::Write(live.epoch.saturating_add(1)),
        (Some(live), Some(mine)) if live.epoch <= mine => Verdict::Write(mine),
        (Some(live), Some(mine)) if live.intact && !live.abandoned => Verdict::Good(mine),
        (Some(_), Some(_)) => Verdict::Wait,
    }
}
