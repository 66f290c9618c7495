//! Manifests from files and folders: YAML with several documents, JSON, and lists.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;
use walkdir::WalkDir;

use crate::yaml::{self, DuplicateKey, Placed, YamlError};

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

/// Why a file gave no manifests.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// It cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is neither YAML nor JSON.
    #[error("{}: is not YAML: {source}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: YamlError,
    },
}

/// Reads every `.yaml`, `.yml` and `.json` file below `root`, or `root` itself when it is a file; in the order of
/// their paths. What cannot be read is an error beside the manifests that could.
pub fn load(root: &Path) -> (Vec<Manifest>, Vec<LoadError>) {
    let mut manifests = Vec::new();
    let mut errors = Vec::new();
    for entry in WalkDir::new(root).sort_by_file_name().follow_links(true) {
        let path = match entry {
            Ok(entry) if entry.file_type().is_file() => entry.into_path(),
            Ok(_) => continue,
            Err(error) => {
                let path = error.path().unwrap_or(root).to_owned();
                errors.push(LoadError::Read { path, source: error.into() });
                continue;
            }
        };
        if path != root && !is_manifest(&path) {
            continue;
        }
        match load_file(&path) {
            Ok(found) => manifests.extend(found),
            Err(error) => errors.push(error),
        }
    }
    (manifests, errors)
}

/// Reads the objects of one file. Empty documents are skipped, and the items of a `List` stand for themselves.
///
/// # Errors
/// See [`LoadError`].
pub fn load_file(path: &Path) -> Result<Vec<Manifest>, LoadError> {
    let file = std::fs::File::open(path);
    load_reader(path, &mut file.map_err(|source| LoadError::Read { path: path.to_owned(), source })?)
}

/// Reads the objects of an open file, which is called `path` in manifests and errors.
///
/// # Errors
/// See [`LoadError`].
pub(super) fn load_reader(path: &Path, file: &mut dyn Read) -> Result<Vec<Manifest>, LoadError> {
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(|source| LoadError::Read { path: path.to_owned(), source })?;
    let documents =
        yaml::documents(&text).map_err(|source| LoadError::Syntax { path: path.to_owned(), source })?;
    let mut manifests = Vec::new();
    for document in documents.into_iter().filter(|document| !document.value.is_null()) {
        let duplicate = document.duplicate.clone();
        for (line, object) in items(document) {
            manifests.push(Manifest { path: path.to_owned(), line, object, duplicate: duplicate.clone() });
        }
    }
    Ok(manifests)
}

/// The items of a `List` stand for themselves, and so do those of a list in a list.
pub(super) fn items(document: Placed) -> Vec<(u64, Value)> {
    let Placed { line, mut value, item_lines, .. } = document;
    if value.get("kind").and_then(Value::as_str) != Some("List") {
        return vec![(line, value)];
    }
    match value.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => {
            let lines = item_lines.into_iter().chain(std::iter::repeat(line));
            let inner =
                items.into_iter().zip(lines).map(|(value, line)| Placed { line, value, ..Placed::default() });
            inner.flat_map(self::items).collect()
        }
        // A list without items holds nothing; the text is as it was.
        Some(Value::Null) | None => Vec::new(),
        Some(other) => {
            if let Some(items) = value.get_mut("items") {
                *items = other;
            }
            vec![(line, value)]
        }
    }
}

fn is_manifest(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    matches!(extension, "yaml" | "yml" | "json")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn documents_lists_and_json_are_all_manifests() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.yaml"), "kind: A\n---\n---\nkind: B\n").unwrap();
        fs::write(folder.path().join("b.json"), r#"{"kind": "List", "items": [{"kind": "C"}]}"#).unwrap();
        fs::write(folder.path().join("c.txt"), "not: read").unwrap();
        let (manifests, errors) = load(folder.path());
        assert!(errors.is_empty(), "{errors:?}");
        let kinds: Vec<_> =
            manifests.iter().map(|manifest| manifest.object["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["A", "B", "C"]);
    }

    #[test]
    fn lists_in_lists_stand_where_the_outer_item_does() {
        let text =
            "kind: List\nitems:\n- kind: A\n- kind: List\n  items: [{kind: B}, {kind: C}]\n---\nkind: List\n";
        let manifests = load_reader(Path::new("x"), &mut text.as_bytes()).unwrap();
        let places: Vec<_> = manifests
            .iter()
            .map(|manifest| (manifest.line, manifest.object["kind"].as_str().unwrap()))
            .collect();
        assert_eq!(places, [(3, "A"), (4, "B"), (4, "C")]);
    }

    #[test]
    fn one_bad_file_leaves_the_others() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("bad.yaml"), "a: [").unwrap();
        fs::write(folder.path().join("good.yaml"), "kind: A").unwrap();
        let (manifests, errors) = load(folder.path());
        assert_eq!((manifests.len(), errors.len()), (1, 1));
        assert!(errors[0].to_string().contains("bad.yaml"), "{}", errors[0]);
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        let (manifests, errors) = load(Path::new("no/such/folder"));
        assert_eq!((manifests.len(), errors.len()), (0, 1));
    }
}
