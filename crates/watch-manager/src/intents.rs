//! The kinds that each registrar asks for. Pure: takes a registrar's new intents, returns which kinds it left and
//! joined. `dispatcher` carries that out; nothing here knows about objects or servers.

use std::collections::HashMap;
use std::sync::Arc;

use kube::core::GroupVersionKind;

use crate::interest::Scope;

/// A kind, shared.
pub(crate) type Gvk = Arc<GroupVersionKind>;

/// A registrar; never reused, so a late message for a dropped registrar is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RegistrarId(pub(crate) u64);

/// One stay of a kind among a registrar's intents. Removing and adding a kind again makes a new one, so an event
/// of the former stay is recognised as late.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Epoch(pub(crate) u64);

/// One stay and its place in the registrar's backlog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stay {
    pub(crate) epoch: Epoch,
    pub(crate) slot: usize,
    pub(crate) scope: Scope,
}

/// The intents of all registrars.
#[derive(Debug, Clone, Default)]
pub(crate) struct Intents {
    by_registrar: HashMap<RegistrarId, HashMap<Gvk, Stay>>,
}

/// The difference between a registrar's old and new intents, sorted by kind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Difference {
    pub(crate) left: Vec<Gvk>,
    pub(crate) joined: Vec<(Gvk, Stay)>,
}

// === impl Intents ===

impl Intents {
    /// Replaces the intents of `id`. A stay in both the old and the new intents is not part of the difference.
    pub(crate) fn assign(&mut self, id: RegistrarId, desired: HashMap<Gvk, Stay>) -> Difference {
        let current = self.by_registrar.remove(&id).unwrap_or_default();
        let left = missing(&current, &desired).into_iter().map(|(gvk, _)| gvk).collect();
        let difference = Difference { left, joined: missing(&desired, &current) };
        if !desired.is_empty() {
            self.by_registrar.insert(id, desired);
        }
        difference
    }
}

/// The stays of `a` that are not in `b`.
fn missing(a: &HashMap<Gvk, Stay>, b: &HashMap<Gvk, Stay>) -> Vec<(Gvk, Stay)> {
    let same = |gvk: &Gvk, stay: &Stay| b.get(gvk).is_some_and(|other| other.epoch == stay.epoch);
    let mut only: Vec<_> = a
        .iter()
        .filter(|(gvk, stay)| !same(gvk, stay))
        .map(|(gvk, stay)| (Arc::clone(gvk), stay.clone()))
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
