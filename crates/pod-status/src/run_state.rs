//! The state of a run in the count of the members: it serves, it does not, or it is gone for good.

use std::collections::BTreeSet;

use tokio::time::Instant;

use crate::membership::Membership;
use crate::report::Member;

/// The state of a run in the count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunState {
    /// It serves, or may serve.
    Member,
    /// It does not serve, but its pod exists.
    Excluded,
    /// Its pod does not exist, and the process has ended or fenced itself.
    Gone,
}

/// Returns the state of a run. `gone` are the uids of pods that are known to be gone: one that nothing is known about may serve.
pub(crate) fn run_state(
    membership: &Membership,
    run: &Member,
    gone: &BTreeSet<String>,
    now: Instant,
) -> RunState {
    let is_over = membership.is_over(run, now);
    let is_gone = match membership.missing_pod(run, now) {
        Some(uid) => gone.contains(uid),
        None => run.uid.is_none() && is_over,
    };
    match (is_gone, is_over) {
        (true, _) => RunState::Gone,
        (false, true) => RunState::Excluded,
        (false, false) => RunState::Member,
    }
}
