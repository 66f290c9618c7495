//! Who wants which kind. Pure: takes a registrar's wishes, says what has to start, stop, join and leave.
//! `switchboard` carries it out; nothing here knows about objects or servers.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use kube::core::GroupVersionKind;

/// A kind, shared.
pub(crate) type Gvk = Arc<GroupVersionKind>;

/// A registrar, never reused: what arrives late for a dropped registrar finds nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RegistrarId(pub(crate) u64);

/// One stay of a kind in a registrar's roster. Removing and adding a kind again makes a new one, so that an
/// event of the former stay is recognised as late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Epoch(pub(crate) u64);

/// The wishes of all registrars.
#[derive(Debug, Clone, Default)]
pub(crate) struct Roster {
    wishes: HashMap<RegistrarId, HashMap<Gvk, Epoch>>,
    wanted_by: HashMap<Gvk, BTreeSet<RegistrarId>>,
}

/// A consequence of a changed wish, in the order in which to carry them out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// The registrar no longer receives events of the kind.
    Leave(RegistrarId, Gvk),
    /// The first registrar wants the kind.
    Start(Gvk),
    /// The registrar receives a snapshot of the kind, then its changes.
    Join(RegistrarId, Gvk, Epoch),
    /// The last registrar has left the kind.
    Stop(Gvk),
}

/// What [`Registrar::replace`](crate::Registrar::replace) changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Replaced {
    /// Kinds that were not in the roster before.
    pub added: Vec<GroupVersionKind>,
    /// Kinds that are not in the roster any more.
    pub removed: Vec<GroupVersionKind>,
}

// === impl Roster ===

impl Roster {
    /// Replaces the wishes of `id`. What is in the old and in the new wishes, with the same epoch, is not
    /// touched.
    pub(crate) fn assign(&mut self, id: RegistrarId, desired: HashMap<Gvk, Epoch>) -> Vec<Change> {
        let current = self.wishes.remove(&id).unwrap_or_default();
        let left = difference(&current, &desired);
        let joined = difference(&desired, &current);
        let mut changes: Vec<Change> =
            left.iter().map(|(gvk, _)| Change::Leave(id, Arc::clone(gvk))).collect();
        for (gvk, epoch) in &joined {
            let interested = self.wanted_by.entry(Arc::clone(gvk)).or_default();
            if interested.is_empty() {
                changes.push(Change::Start(Arc::clone(gvk)));
            }
            interested.insert(id);
            changes.push(Change::Join(id, Arc::clone(gvk), *epoch));
        }
        for (gvk, _) in left.into_iter().filter(|(gvk, _)| !desired.contains_key(gvk)) {
            if self.withdraw(id, &gvk) {
                changes.push(Change::Stop(gvk));
            }
        }
        if !desired.is_empty() {
            self.wishes.insert(id, desired);
        }
        changes
    }

    /// Whether nobody wants the kind any more.
    fn withdraw(&mut self, id: RegistrarId, gvk: &Gvk) -> bool {
        let Some(interested) = self.wanted_by.get_mut(gvk) else {
            return false;
        };
        interested.remove(&id);
        let last = interested.is_empty();
        if last {
            self.wanted_by.remove(gvk);
        }
        last
    }
}

/// What `a` has and `b` has not, in a fixed order.
fn difference(a: &HashMap<Gvk, Epoch>, b: &HashMap<Gvk, Epoch>) -> Vec<(Gvk, Epoch)> {
    let mut only: Vec<(Gvk, Epoch)> = a
        .iter()
        .filter(|(gvk, epoch)| b.get(*gvk) != Some(epoch))
        .map(|(gvk, epoch)| (Arc::clone(gvk), *epoch))
        .collect();
    only.sort_by(|(a, _), (b, _)| sort_key(a).cmp(&sort_key(b)));
    only
}

/// `GroupVersionKind` has no order of its own.
pub(crate) fn sort_key(gvk: &GroupVersionKind) -> (&str, &str, &str) {
    (&gvk.group, &gvk.version, &gvk.kind)
}

#[cfg(test)]
mod tests;
