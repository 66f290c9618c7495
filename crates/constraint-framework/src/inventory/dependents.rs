//! The verdicts that a change of the inventory makes outdated.
//!
//! Worked example: `unique-ingress-host` reads `data.inventory.namespace[_][_].Ingress[_]` and compares
//! `spec.rules[_].host` there with `input.review.object.spec.rules[_].host`. An Ingress whose host changes from `a` to `b`
//! can change the verdict on objects with the hosts `a` and `b`, and on no other: the keys are the hashes of the two.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use rego_compat::Value as RegoValue;

use super::object::Stored;
use super::reads::{JoinedRead, Reads};
use super::resource_tree::covers;
use super::{Inventory, Path};

/// The hash of a value that a policy compares with objects of the inventory. Equal values have equal keys;
/// distinct values may collide.
pub type DependencyKey = u64;

/// The verdicts of a constraint that a change of the inventory may have outdated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dependents {
    /// All verdicts of the constraint.
    All,
    /// Verdicts on reviews that have one of these keys.
    Keyed(BTreeSet<DependencyKey>),
}

/// One place where two inventories differ.
pub(super) struct Difference {
    path: Path,
    before: Option<Arc<Stored>>,
    after: Option<Arc<Stored>>,
}

impl Default for Dependents {
    fn default() -> Self {
        Self::Keyed(BTreeSet::new())
    }
}

impl Dependents {
    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Keyed(keys) if keys.is_empty())
    }

    /// Adds the verdicts of `other`.
    pub fn merge(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::All, _) => {}
            (_, Self::All) => *self = Self::All,
            (Self::Keyed(keys), Self::Keyed(more)) => keys.extend(more),
        }
    }
}

impl Inventory {
    /// Returns the verdicts of a reader that may differ between `older` and this inventory.
    pub(crate) fn dependents(&self, older: &Self, reads: &Reads) -> Dependents {
        let mut found = Dependents::default();
        for difference in self.differences(older) {
            found.merge(dependents(reads, &difference));
        }
        found
    }

    /// Returns the places where two inventories differ. Levels that they share are not looked into.
    fn differences(&self, older: &Self) -> Vec<Difference> {
        let mut found = Vec::new();
        self.root.differences(&older.root, &mut Vec::new(), &mut |path, before, after| {
            // A watch that lists again puts every object again; the same text changes no verdict.
            let changed = before.map(|stored| stored.text()) != after.map(|stored| stored.text());
            if changed {
                found.push(Difference { path: path.into(), before: before.cloned(), after: after.cloned() });
            }
        });
        found
    }
}

fn dependents(reads: &Reads, difference: &Difference) -> Dependents {
    let path = &difference.path;
    let whole = reads.whole().iter().chain(&reads.narrowed);
    // Without an equation, any input may depend on the object.
    if whole.into_iter().any(|read| covers(read, path)) {
        return Dependents::All;
    }
    let mut found = Dependents::default();
    for (position, read) in reads.joined.iter().enumerate().filter(|(_, read)| covers(&read.path, path)) {
        found.merge(joined(position, read, difference));
    }
    found
}

/// Returns the verdicts that a change of an object outdates. Every one of the equations has to hold, so that the first is
/// enough.
fn joined(position: usize, read: &JoinedRead, difference: &Difference) -> Dependents {
    let Some((join, _)) = read.joins.first() else { return Dependents::All };
    // An input that gives no value for its side is compared with nothing known, and so with every object.
    let mut keys = BTreeSet::from([unknown(position)]);
    // The old value too: an Ingress that gives up a host ends the conflict of another.
    for stored in difference.before.iter().chain(&difference.after) {
        let Some(values) = join.values(&difference.path, stored) else { return Dependents::All };
        keys.extend(values.iter().map(|value| key(position, value)));
    }
    Dependents::Keyed(keys)
}

impl Reads {
    /// Returns true if there is a read whose changes concern every input.
    pub(crate) fn has_whole(&self) -> bool {
        let unpicked = |read: &JoinedRead| read.joins.is_empty();
        !self.whole().is_empty() || !self.narrowed.is_empty() || self.joined.iter().any(unpicked)
    }

    /// Returns the keys of an input.
    pub(crate) fn keys(&self, input: &RegoValue) -> Vec<DependencyKey> {
        let mut keys = Vec::new();
        for (position, read) in self.joined.iter().enumerate() {
            let Some((_, sought)) = read.joins.first() else { continue };
            match sought.values(input, input) {
                Some(values) => keys.extend(values.iter().map(|value| key(position, value))),
                None => keys.push(unknown(position)),
            }
        }
        keys
    }
}

/// Returns the key of an input of which it is not known what it is compared with: each change concerns it.
fn unknown(position: usize) -> DependencyKey {
    key(position, &RegoValue::Undefined)
}

fn key(position: usize, value: &RegoValue) -> DependencyKey {
    let mut hasher = DefaultHasher::new();
    position.hash(&mut hasher);
    match value {
        // 1 and 1.0 are equal, and so are -0 and 0.
        RegoValue::Number(number) => number.as_f64().map(|number| (number + 0.0).to_bits()).hash(&mut hasher),
        // What is equal has equally many parts, which may be numbers.
        RegoValue::Array(list) => list.len().hash(&mut hasher),
        RegoValue::Set(set) => set.len().hash(&mut hasher),
        RegoValue::Object(object) => object.len().hash(&mut hasher),
        other => other.to_json_str().hash(&mut hasher),
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_equal_keys_however_they_are_written() {
        let value = |text| RegoValue::from_json_str(text).unwrap();
        for (one, other) in [("1", "1.0"), ("0", "-0.0"), ("[1]", "[1.0]"), ("{\"a\": 100}", "{\"a\": 1e2}")]
        {
            assert_eq!(value(one), value(other));
            assert_eq!(key(0, &value(one)), key(0, &value(other)), "{one} {other}");
        }
        assert_ne!(key(0, &value("1")), key(1, &value("1")));
        assert_ne!(key(0, &value("\"a\"")), key(0, &value("\"b\"")));
    }
}
