//! Errors in manifests, each with a JSON pointer to its place.

use std::fmt;

/// An error in a manifest: its place, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldError {
    /// JSON pointer (RFC 6901) from the root of the manifest.
    pub pointer: String,
    /// The error and how to fix it.
    pub message: String,
}

impl FieldError {
    /// Creates an error at `pointer`.
    pub fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), message: message.into() }
    }

    /// Returns the same error with `prefix` before the pointer: the place as seen from a parent.
    #[must_use]
    pub fn under(mut self, prefix: &str) -> Self {
        self.pointer.insert_str(0, prefix);
        self
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => f.write_str(&self.message),
            pointer => write!(f, "{pointer}: {}", self.message),
        }
    }
}

/// All errors of one manifest, in the order of their pointers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldErrors(Vec<FieldError>);

impl FieldErrors {
    /// Sorts and deduplicates `errors`; `Ok(())` when there are none.
    ///
    /// # Errors
    /// The errors themselves, when there is at least one.
    pub fn check(mut errors: Vec<FieldError>) -> Result<(), Self> {
        errors.sort();
        errors.dedup();
        if errors.is_empty() { Ok(()) } else { Err(Self(errors)) }
    }

    /// Merges several lists into one.
    pub(crate) fn all(lists: impl Iterator<Item = Self>) -> Self {
        lists.flat_map(|list| list.0).collect()
    }

    /// Returns the errors, sorted by pointer.
    pub fn iter(&self) -> std::slice::Iter<'_, FieldError> {
        self.0.iter()
    }
}

impl From<FieldError> for FieldErrors {
    fn from(error: FieldError) -> Self {
        Self(vec![error])
    }
}

impl FromIterator<FieldError> for FieldErrors {
    fn from_iter<I: IntoIterator<Item = FieldError>>(errors: I) -> Self {
        let mut errors: Vec<_> = errors.into_iter().collect();
        errors.sort();
        errors.dedup();
        Self(errors)
    }
}

impl IntoIterator for FieldErrors {
    type Item = FieldError;
    type IntoIter = std::vec::IntoIter<FieldError>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a FieldErrors {
    type Item = &'a FieldError;
    type IntoIter = std::slice::Iter<'a, FieldError>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl fmt::Display for FieldErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, error) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for FieldErrors {}

/// Escapes one segment of a JSON pointer (RFC 6901 §3).
pub(crate) fn pointer_segment(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Decodes `value`, turning serde's first complaint into a pointer and a message.
pub(crate) fn decode<T: serde::de::DeserializeOwned>(value: &serde_json::Value) -> Result<T, FieldError> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let pointer = error.path().iter().map(path_segment).collect::<String>();
        FieldError::new(pointer, error.into_inner().to_string())
    })
}

fn path_segment(segment: &serde_path_to_error::Segment) -> String {
    use serde_path_to_error::Segment;
    match segment {
        Segment::Map { key } => format!("/{}", pointer_segment(key)),
        Segment::Seq { index } => format!("/{index}"),
        Segment::Enum { variant } => format!("/{variant}"),
        Segment::Unknown => "/?".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_sorted_and_deduplicated() {
        let twice = || FieldError::new("/b", "no");
        let errors = FieldErrors::check(vec![twice(), FieldError::new("/a", "no"), twice()]).unwrap_err();
        assert_eq!(errors.to_string(), "/a: no; /b: no");
    }

    #[test]
    fn decode_names_the_pointer_of_the_first_bad_value() {
        let error =
            decode::<std::collections::BTreeMap<String, Vec<u8>>>(&serde_json::json!({"a/b": [1, "x"]}))
                .unwrap_err();
        assert_eq!(error.pointer, "/a~1b/1");
    }
}
