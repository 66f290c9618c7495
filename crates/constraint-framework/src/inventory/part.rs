//! Parts of the inventory merged to one value.

use std::collections::BTreeMap;
use std::sync::Arc;

use rego_compat::Value as RegoValue;

/// Values with their paths. A value that is taken whole has everything below it, so that parts there are ignored.
#[derive(Debug, Default)]
pub(super) struct Parts {
    whole: Option<RegoValue>,
    below: BTreeMap<Arc<str>, Parts>,
}

impl Parts {
    pub(super) fn put(&mut self, path: &[Arc<str>], part: RegoValue) {
        match path.split_first() {
            None => self.whole = Some(part),
            Some((head, rest)) => self.below.entry(head.clone()).or_default().put(rest, part),
        }
    }

    /// Returns the value of all parts, over what is there already.
    pub(super) fn over(self, base: Option<&RegoValue>) -> RegoValue {
        if let Some(whole) = self.whole {
            return whole;
        }
        let below = |key: &RegoValue| base?.as_object().ok()?.get(key);
        let branches = self.below.into_iter().map(|(key, parts)| {
            let key = RegoValue::from(&*key);
            let branch = parts.over(below(&key));
            (key, branch)
        });
        let Some(base) = base else {
            return RegoValue::from(branches.collect::<BTreeMap<_, _>>());
        };
        // A clone shares everything, and writing to it copies one level: the rest stays shared with the view.
        let mut merged = base.clone();
        if let Ok(pairs) = merged.as_object_mut() {
            branches.for_each(|(key, branch)| {
                pairs.insert(key, branch);
            });
        }
        merged
    }
}
