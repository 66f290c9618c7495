//! YAML as Kubernetes' own tools read it: YAML 1.1 words and numbers, libyaml's leniency about indentation.
//!
//! `kubectl` and `gator` read manifests through a port of libyaml, so `enabled: no` is false and `mode: 0644` is a
//! number. A stricter or newer reader would give policies other objects than the cluster gets.

mod compose;
mod scalar;

use serde_json::Value;

pub use compose::{Placed, YamlError};

/// All documents of a text, each with the line it starts at. JSON is read as what it is.
///
/// # Errors
/// The first place that is neither.
pub fn documents(text: &str) -> Result<Vec<Placed>, YamlError> {
    if text.trim_start().starts_with(['{', '[']) {
        let values: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(text).into_iter().collect();
        if let Ok(values) = values {
            return Ok(values.into_iter().map(|value| Placed { line: 1, value }).collect());
        }
    }
    compose::documents(text)
}

#[cfg(test)]
mod tests;
