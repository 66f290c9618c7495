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

/// The objects that share a store and its watches: those of a kind, or those of them that one field selector selects.
///
/// Only the server evaluates field selectors, and it grants access to single objects by them. So registrars with other
/// field selectors, or with none, have other watches: what one asks for decides neither what another may see, nor what
/// the other's selector matches.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct StoreKey {
    pub(crate) gvk: Gvk,
    pub(crate) fields: Option<Arc<str>>,
}

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
    pub(crate) left: Vec<StoreKey>,
    pub(crate) joined: Vec<(Gvk, Stay)>,
}

// === impl Intents ===

impl Intents {
    /// Replaces the intents of `id`. A stay in both the old and the new intents is not part of the difference.
    pub(crate) fn assign(&mut self, id: RegistrarId, desired: HashMap<Gvk, Stay>) -> Difference {
        let current = self.by_registrar.remove(&id).unwrap_or_default();
        let left = missing(&current, &desired).into_iter().map(|(gvk, stay)| stay.store(&gvk)).collect();
        let difference = Difference { left, joined: missing(&desired, &current) };
        if !desired.is_empty() {
            self.by_registrar.insert(id, desired);
        }
        difference
    }
}

// === impl StoreKey ===

impl StoreKey {
    pub(crate) fn new(gvk: &Gvk, scope: &Scope) -> Self {
        Self { gvk: Arc::clone(gvk), fields: scope.fields().map(Arc::from) }
    }
}

// === impl Stay ===

impl Stay {
    /// The store of its objects.
    pub(crate) fn store(&self, gvk: &Gvk) -> StoreKey {
        StoreKey::new(gvk, &self.scope)
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
