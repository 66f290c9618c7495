//! Bounds on what is looked at, so that no input can exhaust the stack or the clock.
//!
//! The measuring itself does not recurse. Every recursive walk of this crate comes after it.

use serde_json::Value;

/// The bounds on depth and size of a schema or an object.
///
/// The API server bounds a request at 3 MiB and has no bound on depth of its own; the defaults accept anything
/// a person or a generator writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaLimits {
    /// Nested JSON lists and objects. A schema takes two per level of the object it describes.
    pub depth: usize,
    /// JSON values in total.
    pub values: usize,
}

impl Default for SchemaLimits {
    fn default() -> Self {
        Self { depth: 512, values: 1_000_000 }
    }
}

impl SchemaLimits {
    /// Sets the bound on depth.
    #[must_use]
    pub fn with_depth(mut self, depth: usize) -> Self {
        self.depth = depth;
        self
    }

    /// Sets the bound on the number of values.
    #[must_use]
    pub fn with_values(mut self, values: usize) -> Self {
        self.values = values;
        self
    }

    /// Returns the bound that `value` crosses, in words; `None` if there is none.
    pub(crate) fn exceeded(&self, value: &Value) -> Option<String> {
        let mut seen: usize = 0;
        let mut pending = vec![(value, 0_usize)];
        while let Some((value, depth)) = pending.pop() {
            seen = seen.saturating_add(1);
            if depth > self.depth {
                return Some(format!("nested deeper than {} levels", self.depth));
            }
            if seen > self.values {
                return Some(format!("more than {} values", self.values));
            }
            let below = depth.saturating_add(1);
            match value {
                Value::Array(list) => pending.extend(list.iter().map(|value| (value, below))),
                Value::Object(map) => pending.extend(map.values().map(|value| (value, below))),
                _ => {}
            }
        }
        None
    }
}
