//! The bytes of all bodies that a server holds.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::eviction::Peer;

/// The first bytes of each body are not counted, so that ordinary reviews pass while large ones fill the budget. The
/// limit on requests bounds them.
const FREE: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct InFlight {
    limit: usize,
    held: Mutex<BTreeMap<Peer, usize>>,
}

/// Bytes that count until this is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<InFlight>,
    peer: Peer,
    size: usize,
}

impl InFlight {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, held: Mutex::new(BTreeMap::new()) })
    }

    pub(crate) fn reserve(self: &Arc<Self>, peer: Peer) -> Reservation {
        Reservation { budget: self.clone(), peer, size: 0 }
    }

    fn change(&self, peer: Peer, from: usize, to: usize) -> bool {
        let (from, to) = (from.saturating_sub(FREE), to.saturating_sub(FREE));
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let total: usize = held.values().fold(0, |sum, size| sum.saturating_add(*size));
        let own = held.get(&peer).copied().unwrap_or_default().saturating_sub(from).saturating_add(to);
        let total = total.saturating_sub(from).saturating_add(to);
        if to > from && (total > self.limit || own > self.limit.div_ceil(2)) {
            return false;
        }
        if own == 0 {
            held.remove(&peer)
        } else {
            held.insert(peer, own)
        };
        true
    }
}

impl Reservation {
    /// Counts `size` bytes in all. Returns false, and changes nothing, if they exceed the limit.
    pub(crate) fn grow(&mut self, size: usize) -> bool {
        let grown = self.budget.change(self.peer, self.size, size);
        if grown {
            self.size = size;
        }
        grown
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.change(self.peer, self.size, 0);
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn peer(last: u8) -> Peer {
        IpAddr::from([10, 0, 0, last]).into()
    }

    #[test]
    fn one_peer_has_half_and_all_have_no_more_than_the_limit() {
        let budget = InFlight::new(1000);
        let (mut one, mut two, mut three) =
            (budget.reserve(peer(1)), budget.reserve(peer(2)), budget.reserve(peer(3)));
        assert!(one.grow(FREE + 500) && !one.grow(FREE + 501) && one.grow(FREE + 500));
        assert!(two.grow(FREE + 500) && three.grow(FREE) && !three.grow(FREE + 1));
        drop(one);
        assert!(three.grow(FREE + 500));
        drop((two, three));
        assert!(budget.held.lock().unwrap().is_empty());
    }
}
