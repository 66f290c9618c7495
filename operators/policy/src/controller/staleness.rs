//! The watches that are cut off while the API server can be reached: policies or data of these kinds may have changed
//! unseen, so a pod with one is not ready.
//!
//! If the API server is unreachable, readiness does not change: no requests arrive then, and after the registration's timeout
//! the process ends. A pod that became unready with the API server would only be missing when that returns.

use std::time::{Duration, Instant};

use watch_manager::{GvkStatus, KindStatus, WatchManager};

/// Reconnecting takes seconds, also when the API server starts anew; what takes longer is a fault.
const RECONNECT: Duration = Duration::from_secs(30);

/// Returns the kinds whose watches have been cut off for longer than reconnecting takes, and why.
pub fn stale_watches(manager: &WatchManager) -> Vec<String> {
    let kinds = manager.watched().into_iter();
    let watches: Vec<_> = kinds
        .filter_map(|kind| {
            // No store: the last registrar has left the kind in this moment, or the driver has ended, and the process with it.
            let KindStatus { status, since, last_contact, .. } = manager.kind_status(&kind)?;
            let name = format!("{} ({}/{})", kind.kind, kind.group, kind.version);
            Some(Watched { name, status, since, last_contact })
        })
        .collect();
    stale(&watches, Instant::now())
}

struct Watched {
    name: String,
    status: GvkStatus,
    since: Instant,
    last_contact: Option<Instant>,
}

fn stale(watches: &[Watched], now: Instant) -> Vec<String> {
    let age = |at: Instant| now.saturating_duration_since(at);
    let is_reached = watches.iter().any(|watch| watch.last_contact.is_some_and(|at| age(at) < RECONNECT));
    let is_cut_off = |watch: &&Watched| is_broken(watch, now) && age(watch.since) >= RECONNECT;
    let cut_off = watches.iter().filter(|_| is_reached).filter(is_cut_off);
    cut_off
        .map(|watch| {
            let seconds = age(watch.since).as_secs();
            format!("{}: changes have not been seen for {seconds} s: {}", watch.name, watch.status)
        })
        .collect()
}

/// Returns true if changes of the kind are not seen.
fn is_broken(watch: &Watched, now: Instant) -> bool {
    let is_silent = |at: Instant| now.saturating_duration_since(at) >= RECONNECT;
    match watch.status {
        GvkStatus::Ready => false,
        // The server does not serve the kind: there is nothing to be seen.
        GvkStatus::Pending => false,
        // A list that still receives pages is slow, not stale.
        GvkStatus::Listing => watch.last_contact.is_none_or(is_silent),
        GvkStatus::Stale { .. } | GvkStatus::Degraded { .. } => true,
        GvkStatus::Forbidden { .. } | GvkStatus::Unwatchable { .. } | GvkStatus::NotNamespaced => true,
        // The store of a kind that registrars still ask for has ended with the driver.
        GvkStatus::Closed => true,
        // A state that this version does not know does not prove that changes are seen.
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(name: &str, status: GvkStatus, since: u64, contact: u64, start: Instant) -> Watched {
        let at = |seconds| start.checked_add(Duration::from_secs(seconds)).unwrap();
        Watched { name: name.to_owned(), status, since: at(since), last_contact: Some(at(contact)) }
    }

    #[test]
    fn a_long_list_counts_only_while_no_pages_come() {
        let start = Instant::now();
        let now = start.checked_add(Duration::from_secs(200)).unwrap();
        let listing = |contact| {
            let ready = watched("A", GvkStatus::Ready, 0, 199, start);
            stale(&[ready, watched("B", GvkStatus::Listing, 100, contact, start)], now).len()
        };
        assert_eq!((listing(171), listing(170)), (0, 1));
    }

    #[test]
    fn a_state_in_which_changes_are_not_seen_counts() {
        let start = Instant::now();
        let now = start.checked_add(Duration::from_secs(30)).unwrap();
        let is_stale = |status| {
            let reached = watched("A", GvkStatus::Ready, 0, 29, start);
            !stale(&[reached, watched("B", status, 0, 29, start)], now).is_empty()
        };
        assert!([GvkStatus::NotNamespaced, GvkStatus::Closed].into_iter().all(is_stale));
        assert!(![GvkStatus::Ready, GvkStatus::Pending].into_iter().any(is_stale));
    }

    #[test]
    fn one_kind_that_stays_cut_off_counts_and_all_kinds_together_do_not() {
        let start = Instant::now();
        let at = |seconds| start.checked_add(Duration::from_secs(seconds)).unwrap();
        let watches = |contact| {
            [
                watched("A", GvkStatus::Ready, 0, contact, start),
                watched("B", GvkStatus::Listing, 100, 99, start),
                watched("C", GvkStatus::Pending, 0, 0, start),
            ]
        };
        let stale_at = |contact, now| stale(&watches(contact), at(now)).len();
        assert_eq!(stale_at(129, 129), 0, "it may still reconnect");
        assert_eq!(stale_at(129, 130), 1);
        assert_eq!(stale_at(101, 131), 0, "the API server has been silent for 30 s");
        assert!(stale(&watches(129), at(142))[0].starts_with("B: changes have not been seen for 42 s"));
    }
}
