//! Counts what the controllers restored after another client changed or deleted it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Counters of repairs, one for each kind of object. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Repairs(Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl Repairs {
    /// Logs and counts a repair of the object `name`.
    pub(super) fn count(&self, object: &'static str, name: &str) {
        tracing::warn!(object, name, "changed or deleted by another client; restoring it");
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(object).or_default();
        *count = count.saturating_add(1);
    }

    /// The counters in the Prometheus text format.
    pub fn exposition(&self) -> String {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = "# HELP webtroller_repairs_total Objects restored after another client changed or deleted them.\n\
                        # TYPE webtroller_repairs_total counter\n"
            .to_owned();
        for (object, count) in counts.iter() {
            text.push_str(&format!("webtroller_repairs_total{{object=\"{object}\"}} {count}\n"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repairs_are_counted_by_kind_of_object() {
        let repairs = Repairs::default();
        repairs.clone().count("constraint CRD", "a");
        repairs.count("constraint CRD", "b");
        assert!(repairs.exposition().ends_with("webtroller_repairs_total{object=\"constraint CRD\"} 2\n"));
    }
}
