//! The connections (or requests) that are there, and which of them has to go when another one comes.
//!
//! Pure: time is the number of the last event.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

/// The state of an entry, in the order in which entries are evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// A connection that has sent no request yet.
    Silent,
    /// A connection between two requests.
    Idle,
    /// A request whose body is incomplete.
    Reading,
    /// A complete request that is being judged. Never evicted.
    Busy,
}

/// The peer of a connection: an IPv4 address or an IPv6 /64, which one host controls as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Peer(IpAddr);

impl From<IpAddr> for Peer {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self(IpAddr::V4(address)),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Self(IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0)))
            }
        }
    }
}

/// The result of [`Roster::admit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It is on the roster under this number; `evicted` no longer is.
    Admitted { id: u64, evicted: Option<u64> },
    /// Everything that is there is busy.
    Refused,
}

#[derive(Debug)]
struct Entry {
    peer: Peer,
    phase: Phase,
    /// The number of the event that put it into its phase.
    since: u64,
}

/// A bounded set of entries. Each peer has at most `per_peer` of at most `limit`.
#[derive(Debug)]
pub(crate) struct Roster {
    limit: usize,
    per_peer: usize,
    events: u64,
    entries: BTreeMap<u64, Entry>,
    peers: BTreeMap<Peer, usize>,
}

impl Roster {
    pub(crate) fn new(limit: usize, per_peer: usize) -> Self {
        let limit = limit.max(1);
        let per_peer = per_peer.clamp(1, limit);
        Self { limit, per_peer, events: 0, entries: BTreeMap::new(), peers: BTreeMap::new() }
    }

    /// Puts a newcomer on the roster. Where its peer, or the roster, is full, one entry is evicted for it.
    ///
    /// For example with room for 2, entries `a` (silent), `b` (busy): the newcomer `c` evicts `a`; a further `d` evicts
    /// `c` while that is silent, and is refused once `c` is busy too.
    pub(crate) fn admit(&mut self, peer: Peer, phase: Phase) -> Admission {
        let of_peer = self.peers.get(&peer).copied().unwrap_or_default();
        let evicted = if of_peer >= self.per_peer {
            self.victim(|entry| entry.peer == peer)
        } else if self.entries.len() >= self.limit {
            self.victim(|_| true)
        } else {
            return Admission::Admitted { id: self.insert(peer, phase), evicted: None };
        };
        let Some(evicted) = evicted else { return Admission::Refused };
        self.remove(evicted);
        Admission::Admitted { id: self.insert(peer, phase), evicted: Some(evicted) }
    }

    /// Moves an entry to another phase. Unknown numbers are those of evicted entries.
    pub(crate) fn mark(&mut self, id: u64, phase: Phase) {
        self.events = self.events.saturating_add(1);
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.phase = phase;
            entry.since = self.events;
        }
    }

    pub(crate) fn remove(&mut self, id: u64) {
        let Some(entry) = self.entries.remove(&id) else { return };
        if let Some(count) = self.peers.get_mut(&entry.peer) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.peers.remove(&entry.peer);
            }
        }
    }

    fn insert(&mut self, peer: Peer, phase: Phase) -> u64 {
        self.events = self.events.saturating_add(1);
        self.entries.insert(self.events, Entry { peer, phase, since: self.events });
        let count = self.peers.entry(peer).or_default();
        *count = count.saturating_add(1);
        self.events
    }

    /// The entry to evict: by phase, then of the peer that has most, then the one that has been so for longest.
    fn victim(&self, eligible: impl Fn(&Entry) -> bool) -> Option<u64> {
        let count = |entry: &Entry| self.peers.get(&entry.peer).copied().unwrap_or_default();
        self.entries
            .iter()
            .filter(|(_, entry)| entry.phase != Phase::Busy && eligible(entry))
            .min_by_key(|(_, entry)| (entry.phase, std::cmp::Reverse(count(entry)), entry.since))
            .map(|(id, _)| *id)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn peer(last: u8) -> Peer {
        IpAddr::from([10, 0, 0, last]).into()
    }

    fn admitted(admission: Admission) -> (u64, Option<u64>) {
        let Admission::Admitted { id, evicted } = admission else { panic!("refused") };
        (id, evicted)
    }

    #[test]
    fn a_silent_connection_goes_before_an_idle_one_and_a_busy_one_stays() {
        let mut roster = Roster::new(2, 2);
        let (busy, _) = admitted(roster.admit(peer(1), Phase::Silent));
        let (idle, _) = admitted(roster.admit(peer(1), Phase::Silent));
        roster.mark(busy, Phase::Busy);
        roster.mark(idle, Phase::Idle);
        let (silent, evicted) = admitted(roster.admit(peer(2), Phase::Silent));
        assert_eq!(evicted, Some(idle));
        let (other, evicted) = admitted(roster.admit(peer(3), Phase::Silent));
        assert_eq!(evicted, Some(silent));
        roster.mark(other, Phase::Busy);
        assert_eq!(roster.admit(peer(4), Phase::Silent), Admission::Refused);
        roster.remove(busy);
        assert_eq!(admitted(roster.admit(peer(4), Phase::Silent)).1, None);
    }

    #[test]
    fn a_peer_that_is_at_its_limit_evicts_its_own() {
        let mut roster = Roster::new(10, 2);
        let (other, _) = admitted(roster.admit(peer(1), Phase::Silent));
        let (first, _) = admitted(roster.admit(peer(2), Phase::Silent));
        admitted(roster.admit(peer(2), Phase::Silent));
        assert_eq!(admitted(roster.admit(peer(2), Phase::Silent)).1, Some(first));
        assert!(roster.entries.contains_key(&other));
    }

    #[test]
    fn the_peer_with_most_connections_loses_one() {
        let mut roster = Roster::new(4, 3);
        let (other, _) = admitted(roster.admit(peer(1), Phase::Silent));
        let many: Vec<_> = (0..3).map(|_| admitted(roster.admit(peer(2), Phase::Silent)).0).collect();
        assert_eq!(admitted(roster.admit(peer(3), Phase::Silent)).1, many.first().copied());
        assert!(roster.entries.contains_key(&other));
    }

    #[test]
    fn addresses_of_one_host_are_one_peer() {
        let peer = |text: &str| Peer::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(peer("2001:db8::1"), peer("2001:db8::ffff:2"));
        assert_ne!(peer("2001:db8::1"), peer("2001:db8:0:1::1"));
        assert_eq!(peer("::ffff:10.0.0.1"), peer("10.0.0.1"));
        assert_ne!(peer("10.0.0.1"), peer("10.0.0.2"));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Admit(u8),
        Mark(usize, Phase),
        Remove(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let phase = prop::sample::select(vec![Phase::Silent, Phase::Idle, Phase::Reading, Phase::Busy]);
        prop_oneof![
            3 => (0_u8..4).prop_map(Step::Admit),
            2 => (any::<usize>(), phase).prop_map(|(which, phase)| Step::Mark(which, phase)),
            1 => any::<usize>().prop_map(Step::Remove),
        ]
    }

    proptest! {
        /// The limits hold, only what is not busy is evicted, and a newcomer is refused only where all are busy.
        #[test]
        fn a_newcomer_always_gets_in_unless_all_are_busy(steps in prop::collection::vec(step(), 0..200)) {
            let mut roster = Roster::new(5, 3);
            let mut known = BTreeSet::new();
            for step in steps {
                let pick = |which: usize| known.iter().nth(which.checked_rem(known.len()).unwrap_or_default()).copied();
                match step {
                    Step::Mark(which, phase) => { pick(which).inspect(|id| roster.mark(*id, phase)); }
                    Step::Remove(which) => if let Some(id) = pick(which) { roster.remove(id); known.remove(&id); },
                    Step::Admit(last) => {
                        let busy = |entry: &&Entry| entry.phase == Phase::Busy;
                        let all = roster.entries.values().filter(busy).count();
                        let own = roster.entries.values().filter(|entry| entry.peer == peer(last));
                        let own = own.filter(busy).count();
                        let before: BTreeSet<_> = roster.entries.iter()
                            .filter(|(_, entry)| entry.phase == Phase::Busy).map(|(id, _)| *id).collect();
                        match roster.admit(peer(last), Phase::Silent) {
                            Admission::Refused => prop_assert!(all == 5 || own == 3),
                            Admission::Admitted { id, evicted } => {
                                known.insert(id);
                                if let Some(evicted) = evicted {
                                    prop_assert!(!before.contains(&evicted));
                                    known.remove(&evicted);
                                }
                            }
                        }
                    }
                }
                prop_assert_eq!(roster.entries.keys().copied().collect::<BTreeSet<_>>(), known.clone());
                prop_assert!(roster.entries.len() <= 5);
                prop_assert_eq!(roster.peers.values().sum::<usize>(), roster.entries.len());
                prop_assert!(roster.peers.values().all(|count| *count <= 3));
            }
        }
    }
}
