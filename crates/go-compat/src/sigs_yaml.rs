//! `sigs.k8s.io/yaml`: manifests as Kubernetes' own tools read them, with YAML 1.1's words and numbers.
//!
//! `kubectl` and `gator` read manifests through a port of libyaml, so `enabled: no` is false and `mode: 0644` is a
//! number. A stricter or newer reader would give policies other objects than the cluster gets. Documents are composed by
//! [`crate::yaml`].
//!
//! ```
//! let documents = go_compat::sigs_yaml::documents("enabled: no\nmode: 0644\n")?;
//! assert_eq!(documents[0].value.to_string(), r#"{"enabled":false,"mode":420}"#);
//! # Ok::<(), go_compat::sigs_yaml::YamlError>(())
//! ```

mod block;
mod compose;
mod json;
mod scalar;

pub use block::block;
pub use compose::{DuplicateKey, Placed, YamlError};

pub use crate::yaml::Words;

/// Nesting that any Kubernetes object stays far below; serde_json reads no deeper than 128 either.
const DEPTH: usize = 100;

/// Parses all documents of a text, each with the line it starts at. JSON is read as what it is.
///
/// # Errors
/// The first place that is neither.
pub fn documents(text: &str) -> Result<Vec<Placed>, YamlError> {
    documents_with(text, Words::Yaml11)
}

/// Parses as [`documents`] does, with other words for booleans.
///
/// # Errors
/// The first place that is neither YAML nor JSON.
pub fn documents_with(text: &str, words: Words) -> Result<Vec<Placed>, YamlError> {
    read(text, words, DEPTH)
}

/// Parses as [`documents`] does, with another bound on nesting: schemas take two levels for each one of the objects
/// they describe.
///
/// # Errors
/// The first place that is neither YAML nor JSON, or that nests deeper.
pub fn nested_documents(text: &str, depth: usize) -> Result<Vec<Placed>, YamlError> {
    read(text, Words::Yaml11, depth)
}

fn read(text: &str, words: Words, depth: usize) -> Result<Vec<Placed>, YamlError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match json::documents(text) {
        Some(documents) => Ok(documents),
        None => compose::documents(text, words, depth),
    }
}

#[cfg(test)]
use serde_json::Value;
#[cfg(test)]
mod tests;
