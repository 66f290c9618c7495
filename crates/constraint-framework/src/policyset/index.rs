//! From a review's group and kind to the constraints that can match it.
//!
//! The index may name a constraint that does not match after all; it never leaves out one that does.

use std::collections::{BTreeSet, HashMap};

use crate::review::Review;
use crate::target::KindFilter;

/// Positions of constraints by what they filter on.
#[derive(Debug, Default)]
pub(super) struct Index(HashMap<KindFilter, Vec<usize>>);

impl Index {
    pub(super) fn insert(&mut self, position: usize, filters: Vec<KindFilter>) {
        for filter in filters {
            self.0.entry(filter).or_default().push(position);
        }
    }

    /// Positions in ascending order, each once.
    pub(super) fn candidates(&self, review: &Review) -> BTreeSet<usize> {
        let mut candidates = BTreeSet::new();
        // Without an object nothing can be told apart: every constraint must say that it cannot decide.
        if review.objects().next().is_none() {
            return self.0.values().flatten().copied().collect();
        }
        for object in review.objects() {
            for group in [None, Some(object.group().to_owned())] {
                for kind in [None, Some(object.kind().to_owned())] {
                    let filter = KindFilter { group: group.clone(), kind };
                    candidates.extend(self.0.get(&filter).into_iter().flatten());
                }
            }
        }
        candidates
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use crate::review::Document;
    use crate::target::{AdmissionTarget, Target};

    use super::*;

    fn review(group: &str, kind: &str) -> Review {
        let api_version = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") };
        let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}});
        AdmissionTarget.object(Document::from_value(&object).unwrap(), None)
    }

    fn words(all: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
        prop::collection::vec(prop::sample::select(all), 0..3)
    }

    proptest! {
        #[test]
        fn the_index_never_leaves_out_a_constraint_that_matches(
            blocks in prop::collection::vec(
                prop::collection::vec((words(&["", "apps", "*"]), words(&["Pod", "Deployment", "*"])), 0..3), 1..6),
            group in prop::sample::select(vec!["", "apps"]),
            kind in prop::sample::select(vec!["Pod", "Deployment", "Service"]),
        ) {
            let review = review(group, kind);
            let mut index = Index::default();
            let mut matching = BTreeSet::new();
            for (position, block) in blocks.iter().enumerate() {
                let kinds: Vec<_> =
                    block.iter().map(|(groups, kinds)| json!({"apiGroups": groups, "kinds": kinds})).collect();
                let matcher = AdmissionTarget.matcher(Some(&json!({"kinds": kinds}))).unwrap();
                index.insert(position, matcher.kinds());
                if matcher.matches(&review).unwrap() {
                    matching.insert(position);
                }
            }
            prop_assert_eq!(index.candidates(&review), matching);
        }
    }
}
