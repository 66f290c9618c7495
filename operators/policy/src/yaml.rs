//! YAML as Kubernetes' own tools read it: YAML 1.1 words and numbers, libyaml's leniency about indentation.
//!
//! `kubectl` and `gator` read manifests through a port of libyaml, so `enabled: no` is false and `mode: 0644` is a
//! number. A stricter or newer reader would give policies other objects than the cluster gets.

mod block;
mod compose;
mod json;
mod scalar;

pub use block::block;
pub use compose::{DuplicateKey, Placed, YamlError};
pub use scalar::Words;

/// All documents of a text, each with the line it starts at. JSON is read as what it is.
///
/// # Errors
/// The first place that is neither.
pub fn documents(text: &str) -> Result<Vec<Placed>, YamlError> {
    documents_with(text, Words::Yaml11)
}

/// As [`documents`], with other words for booleans.
///
/// # Errors
/// The first place that is neither YAML nor JSON.
pub fn documents_with(text: &str, words: Words) -> Result<Vec<Placed>, YamlError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match json::documents(text) {
        Some(documents) => Ok(documents),
        None => compose::documents(text, words),
    }
}

#[cfg(test)]
use serde_json::Value;
#[cfg(test)]
mod tests;
