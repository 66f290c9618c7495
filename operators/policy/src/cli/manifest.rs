//! One object of the input, where it stands, and what keeps it from being used.

use std::fmt;
use std::path::{Path, PathBuf};

use go_compat::sigs_yaml::DuplicateKey;
use serde_json::Value;

/// One object and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The file.
    pub path: PathBuf,
    /// The line at which the object starts, from 1.
    pub line: u64,
    /// The object.
    pub object: Value,
    /// A key that its document defines twice; the last value counts.
    pub duplicate: Option<DuplicateKey>,
}

/// The place of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) file: PathBuf,
    /// From 1; 0 where the whole file is meant.
    pub(super) line: u64,
    /// From 1, in characters; 0 where the whole line is meant.
    pub(super) column: u64,
}

/// The reason why a manifest is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ManifestError {
    pub(super) place: Option<Place>,
    pub(super) message: String,
}

/// All errors of what a command reads, in the order of its inputs.
pub(super) type ManifestErrors = schema_merge::Errors<ManifestError>;

/// The value at a pointer whose names need no escapes, such as `/spec/validations/0/message`: [`Value::pointer`] copies each
/// name twice to replace escapes, which shows where it is asked for a dozen times for each of many objects.
pub(super) fn at<'a>(object: &'a Value, pointer: &str) -> Option<&'a Value> {
    let step = |value: &'a Value, name: &str| match value {
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        value => value.get(name),
    };
    pointer.split('/').skip(1).try_fold(object, step)
}

/// The text [`at`] a pointer; empty where there is none.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    at(object, pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The text of a file that was read before, for the lines of messages. `None` for a pipe or a device: it has given what it
/// had, and another read would wait for more.
pub(super) fn text_again(path: &Path) -> Option<String> {
    if path.is_file() { std::fs::read_to_string(path).ok() } else { None }
}

impl Place {
    /// Returns where a manifest begins.
    pub(super) fn of(manifest: &Manifest) -> Self {
        Self { file: manifest.path.clone(), line: manifest.line, column: 0 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (0, _) => write!(f, "{}", self.file.display()),
            (line, 0) => write!(f, "{}:{line}", self.file.display()),
            (line, column) => write!(f, "{}:{line}:{column}", self.file.display()),
        }
    }
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for ManifestError {}

impl ManifestError {
    /// An error of one manifest.
    pub(super) fn at(manifest: &Manifest, message: impl Into<String>) -> Self {
        Self { place: Some(Place::of(manifest)), message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{at, text_again};

    #[test]
    fn a_pipe_is_not_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe.yaml");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(text_again(&pipe), None);
        std::fs::write(folder.path().join("a.yaml"), "a: 1").unwrap();
        assert_eq!(text_again(&folder.path().join("a.yaml")).as_deref(), Some("a: 1"));
    }

    #[test]
    fn names_and_positions_lead_where_json_pointers_do() {
        let object = json!({"a": [{"b": 1}, 2], "c": {"0": {"d": null}}, "": 3});
        for pointer in ["", "/", "/a", "/a/0", "/a/0/b", "/a/1", "/a/2", "/a/b", "/c/0/d", "/c/0/d/e", "/x/y"]
        {
            assert_eq!(at(&object, pointer), object.pointer(pointer), "{pointer}");
        }
    }
}
