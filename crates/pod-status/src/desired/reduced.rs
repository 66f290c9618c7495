//! Entries that the API server refused as too large even alone, and what is stored in their place.
//!
//! The refusal may be a proxy's mistake of a moment. So the whole entry is kept, and tried again with every comparison of the
//! stored objects. Until one such attempt has failed as well, an entry that claims nothing counts as one that ends by itself.

use std::collections::BTreeMap;

use crate::parent::ParentKey;
use crate::readiness::ErrorClass;
use crate::report::Entry;

#[derive(Debug, Default)]
pub(super) struct Reduced(BTreeMap<ParentKey, Original>);

#[derive(Debug)]
struct Original {
    whole: Entry,
    stage: Stage,
    /// The whole entry was tried again, and refused.
    was_retried: bool,
}

/// The desired entry in place of the whole one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Whole,
    Short,
    Smallest,
}

impl Reduced {
    /// The API server refuses `stored`. Returns what to store in its place.
    pub(super) fn next(&mut self, stored: &Entry) -> Entry {
        let original = self.0.entry(stored.parent.clone()).or_insert_with(|| Original {
            whole: stored.clone(),
            stage: Stage::Whole,
            was_retried: false,
        });
        let name = &stored.parent.reference.name;
        if original.stage == Stage::Whole {
            original.stage = Stage::Short;
            tracing::warn!(name, "the report about this object is refused as too large, and is shortened");
            return original.whole.shortened();
        }
        if std::mem::replace(&mut original.stage, Stage::Smallest) == Stage::Short {
            tracing::warn!(
                name,
                "the shortened report about this object is refused as too large, and becomes an error"
            );
        }
        let class = if original.was_retried { ErrorClass::Permanent } else { ErrorClass::Transient };
        original.whole.smallest(class)
    }

    /// The whole entry in place of which this one is wanted.
    pub(super) fn whole<'a>(&'a self, wanted: &'a Entry) -> &'a Entry {
        self.0.get(&wanted.parent).map_or(wanted, |original| &original.whole)
    }

    /// There is another outcome for the parent, or none.
    pub(super) fn forget(&mut self, parent: &ParentKey) {
        self.0.remove(parent);
    }

    /// These entries are stored. One that is whole needs no replacement any more.
    pub(super) fn stored(&mut self, entries: &[Entry]) {
        if !self.0.is_empty() {
            let is_stored = |key: &ParentKey| entries.iter().any(|entry| entry.parent == *key);
            self.0.retain(|key, original| original.stage != Stage::Whole || !is_stored(key));
        }
    }

    /// The whole entries, which are to be tried again.
    pub(super) fn restore(&mut self) -> Vec<Entry> {
        let reduced = self.0.values_mut().filter(|original| original.stage != Stage::Whole);
        let restored = reduced.map(|original| {
            (original.stage, original.was_retried) = (Stage::Whole, true);
            original.whole.clone()
        });
        restored.collect()
    }
}
