//! Manifests from files and folders: YAML with several documents, JSON, and lists.

mod parts;

use std::fmt::{self, Write as _};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;
use walkdir::WalkDir;

use super::manifest::{Manifest, ManifestError, Place};
use super::resource::is_asset;
use super::snippet::hint;
use go_compat::sigs_yaml::{Placed, YamlError};

/// The reason why a file gave no manifests.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// It cannot be read.
    #[error("{}: {}", self.place(), self.reason())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// It is neither YAML nor JSON.
    #[error("{}: {}", self.place(), self.reason())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The place and the reason.
        source: YamlError,
        /// The advice on what to do, if there is any.
        hint: &'static str,
    },
}

impl LoadError {
    fn place(&self) -> Place {
        let (file, (line, column)) = match self {
            Self::Read { path, .. } => (path, (0, 0)),
            Self::Syntax { path, source, .. } => (path, source.place().unwrap_or_default()),
        };
        Place { file: file.clone(), line, column }
    }

    /// The message without the place.
    fn reason(&self) -> String {
        match self {
            Self::Read { source, .. } => format!("cannot be read: {source}"),
            Self::Syntax { path, source, hint } => {
                format!("is not {}: {}{hint}", format_of(path), source.reason())
            }
        }
    }
}

impl From<LoadError> for ManifestError {
    fn from(error: LoadError) -> Self {
        Self { place: Some(error.place()), message: error.reason() }
    }
}

/// JSON is read as YAML, of which it is a part.
fn format_of(path: &Path) -> &'static str {
    if path.extension().is_some_and(|extension| extension == "json") { "JSON" } else { "YAML" }
}

/// The contents of a path.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The objects, in the order of their paths.
    pub manifests: Vec<Manifest>,
    /// The errors of what could not be read.
    pub errors: Vec<LoadError>,
    /// The entries of a folder that were not read.
    pub skipped: Vec<Skipped>,
}

/// An entry of a folder that was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The path of the entry.
    pub path: PathBuf,
    /// The reason why it was not.
    pub reason: SkipReason,
}

/// The reason why an entry of a folder was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// Manifests end in `.yaml`, `.yml` or `.json`.
    Extension,
    /// A named pipe, a socket or a device: reading it might never end.
    Special,
    /// A link to a folder that it is in.
    Loop,
}

impl SkipReason {
    /// Returns true if a manifest may have been missed. Other files beside manifests are usual.
    pub const fn is_surprising(self) -> bool {
        !matches!(self, Self::Extension)
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self.reason {
            SkipReason::Extension => "does not end in .yaml, .yml or .json",
            SkipReason::Special => "is a pipe, a socket or a device; name it by itself to read it",
            SkipReason::Loop => "is a link to a folder that holds it",
        };
        write!(f, "{}: {reason}", self.path.display())
    }
}

/// Reads `root`: a file of any name, a pipe or a device; or of a folder every `.yaml`, `.yml` and `.json` file at any
/// depth, in the order of their paths. What cannot be read is an error beside the manifests that could.
pub fn load(root: &Path) -> Loaded {
    let mut loaded = Loaded::default();
    for entry in WalkDir::new(root).sort_by_file_name().follow_links(true) {
        match entry {
            Ok(entry) if entry.file_type().is_dir() => {}
            Ok(entry) => loaded.take(root, entry.path(), entry.file_type().is_file()),
            Err(error) if error.loop_ancestor().is_some() => {
                let path = error.path().unwrap_or(root).to_owned();
                loaded.skipped.push(Skipped { path, reason: SkipReason::Loop });
            }
            Err(error) => {
                let path = error.path().unwrap_or(root).to_owned();
                // The words of walkdir name the path once more.
                let source = error.into_io_error().unwrap_or_else(|| io::ErrorKind::Other.into());
                loaded.errors.push(LoadError::Read { path, source });
            }
        }
    }
    loaded
}

impl Loaded {
    /// Returns everything that keeps `path` from having been read as a whole: what is wrong, what was not read and should
    /// perhaps have been, or that there is no object in it.
    pub fn read_errors(&self, path: &Path) -> Vec<String> {
        let surprising = self.skipped.iter().filter(|entry| entry.reason.is_surprising());
        let errors = self.errors.iter().map(ToString::to_string);
        let mut errors: Vec<_> = errors.chain(surprising.map(ToString::to_string)).collect();
        if errors.is_empty() && self.manifests.is_empty() {
            errors.push(self.emptiness(path));
        }
        errors
    }

    /// Returns why a path that could be read gave nothing.
    pub(super) fn emptiness(&self, path: &Path) -> String {
        const SHOWN: usize = 3;
        let mut text = format!("{} holds no object", path.display());
        for (position, entry) in self.skipped.iter().take(SHOWN).enumerate() {
            let _ = write!(text, "{}{entry}", if position == 0 { " (skipped: " } else { ", " });
        }
        match self.skipped.len().checked_sub(SHOWN) {
            None if self.skipped.is_empty() => {}
            None | Some(0) => text.push(')'),
            Some(more) => {
                let _ = write!(text, " and {more} more)");
            }
        }
        text
    }

    fn take(&mut self, root: &Path, path: &Path, is_file: bool) {
        let reason = match is_file {
            _ if path == root => None,
            false => Some(SkipReason::Special),
            true => (!is_manifest(path)).then_some(SkipReason::Extension),
        };
        if let Some(reason) = reason {
            return self.skipped.push(Skipped { path: path.to_owned(), reason });
        }
        match load_file(path) {
            Ok(found) => self.manifests.extend(found),
            Err(error) => self.errors.push(error),
        }
    }
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
pub(crate) fn load_reader(path: &Path, file: &mut dyn Read) -> Result<Vec<Manifest>, LoadError> {
    let refused = |source| LoadError::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(refused)?;
    let text =
        decoded(bytes).map_err(|reason| refused(io::Error::new(io::ErrorKind::InvalidData, reason)))?;
    let documents = parts::documents_of(&text).map_err(|source| LoadError::Syntax {
        path: path.to_owned(),
        source,
        hint: hint(&text, path),
    })?;
    let mut manifests = Vec::new();
    for document in documents.into_iter().filter(|document| !document.value.is_null()) {
        let duplicate = document.duplicate.clone();
        for (line, object) in items(document) {
            manifests.push(Manifest { path: path.to_owned(), line, object, duplicate: duplicate.clone() });
        }
    }
    Ok(manifests)
}

/// Text is UTF-8: what `kubectl` makes of UTF-16 depends on where its documents end.
fn decoded(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        match error.as_bytes() {
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "it is UTF-16; save it as UTF-8".to_owned(),
            _ => {
                let line = valid.iter().filter(|byte| **byte == b'\n').count().saturating_add(1);
                format!("line {line} is not UTF-8; save it as UTF-8")
            }
        }
    })
}

/// The items of a list stand for themselves, and so do those of a list in a list.
///
/// A list is what `kubectl` takes for one: a `List`, or an object of a kind such as `PodList` with `items`. The items of
/// a typed list may leave out what its kind says: those of a `PodList` of `v1` are Pods of `v1`. An array is not a list, unless it is
/// one of assets, as some tools export them; one of none, too.
pub(super) fn items(document: Placed) -> Vec<(u64, Value)> {
    let Placed { line, mut value, item_lines, .. } = document;
    if let Value::Array(assets) = &mut value
        && (assets.is_empty() || assets.iter().any(is_asset))
    {
        let lines = item_lines.into_iter().chain(std::iter::repeat(line));
        return lines.zip(std::mem::take(assets)).collect();
    }
    let Some(item_kind) = item_kind(&value) else {
        return vec![(line, value)];
    };
    let api_version = value.get("apiVersion").cloned().unwrap_or_default();
    match value.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => {
            let lines = item_lines.into_iter().chain(std::iter::repeat(line));
            let typed = items.into_iter().map(|item| typed(item, &item_kind, &api_version));
            let inner = typed.zip(lines).map(|(value, line)| Placed { line, value, ..Placed::default() });
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

/// The kind of a list's items, empty where each says its own; `None` for what is not a list.
fn item_kind(value: &Value) -> Option<String> {
    let kind = value.get("kind").and_then(Value::as_str)?.strip_suffix("List")?;
    (kind.is_empty() || value.get("items").is_some_and(Value::is_array)).then(|| kind.to_owned())
}

fn typed(mut item: Value, kind: &str, api_version: &Value) -> Value {
    let bare = |field: &str| item.get(field).is_none_or(|value| value.is_null() || *value == "");
    if kind.is_empty() || !bare("kind") || !bare("apiVersion") {
        return item;
    }
    if let Some(fields) = item.as_object_mut() {
        fields.insert("kind".to_owned(), kind.into());
        fields.insert("apiVersion".to_owned(), api_version.clone());
    }
    item
}

/// Returns true if a file of a folder or an archive holds manifests.
pub(super) fn is_manifest(path: &Path) -> bool {
    is_yaml(path) || path.extension().is_some_and(|extension| extension == "json")
}

/// Returns true if a file is YAML by its name.
pub(super) fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
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
        let Loaded { manifests, errors, skipped } = load(folder.path());
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(skipped.len(), 1);
        assert!(skipped[0].to_string().ends_with("c.txt: does not end in .yaml, .yml or .json"));
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
        let Loaded { manifests, errors, .. } = load(folder.path());
        assert_eq!((manifests.len(), errors.len()), (1, 1));
        assert!(errors[0].to_string().contains("bad.yaml"), "{}", errors[0]);
    }

    #[test]
    fn what_is_not_utf_8_is_refused_with_its_line() {
        let refusal = |bytes: &[u8]| load_reader(Path::new("x"), &mut &*bytes).unwrap_err().to_string();
        assert_eq!(refusal(b"\xff\xfek\0"), "x: cannot be read: it is UTF-16; save it as UTF-8");
        assert_eq!(
            refusal(b"kind: A\n# caf\xe9\n"),
            "x: cannot be read: line 2 is not UTF-8; save it as UTF-8"
        );
        let with_mark = load_reader(Path::new("x"), &mut &b"\xef\xbb\xbfkind: A\r\n---\r\nkind: B\r\n"[..]);
        assert_eq!(with_mark.unwrap().len(), 2);
    }

    #[test]
    fn a_path_that_was_not_read_as_a_whole_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let said = || load(root).read_errors(root).join("\n").replace(&root.display().to_string(), "x");
        assert_eq!(said(), "x holds no object");
        fs::write(root.join("a.txt"), "").unwrap();
        assert_eq!(said(), "x holds no object (skipped: x/a.txt: does not end in .yaml, .yml or .json)");
        fs::write(root.join("a.yaml"), "kind: A").unwrap();
        assert_eq!(said(), "");
        std::os::unix::fs::symlink("nothing", root.join("b.yaml")).unwrap();
        assert_eq!(said(), "x/b.yaml: cannot be read: No such file or directory (os error 2)");
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        let Loaded { manifests, errors, .. } = load(Path::new("no/such/folder"));
        assert_eq!((manifests.len(), errors.len()), (0, 1));
    }

    #[test]
    fn a_pipe_is_read_where_it_is_named_and_named_where_it_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe.yaml");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let Loaded { manifests, skipped, .. } = load(folder.path());
        assert_eq!((manifests.len(), skipped[0].reason), (0, SkipReason::Special));
        std::thread::scope(|scope| {
            scope.spawn(|| fs::write(&pipe, "kind: A").unwrap());
            assert_eq!(load(&pipe).manifests.len(), 1);
        });
        assert!(load(Path::new("/dev/null")).errors.is_empty());
    }

    #[test]
    fn a_circle_of_links_ends() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.yaml"), "kind: A").unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("again")).unwrap();
        let Loaded { manifests, errors, skipped } = load(folder.path());
        assert_eq!((manifests.len(), errors.len()), (1, 0));
        assert_eq!(skipped, [Skipped { path: folder.path().join("again"), reason: SkipReason::Loop }]);
    }

    #[test]
    fn typed_lists_are_their_items() {
        let text =
            "apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a}\n- {kind: X, apiVersion: y/v1}\n";
        let manifests = load_reader(Path::new("x"), &mut text.as_bytes()).unwrap();
        assert_eq!(
            manifests[0].object,
            serde_json::json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}})
        );
        assert_eq!((manifests[0].line, manifests[1].object["kind"].as_str()), (4, Some("X")));
        let text = "apiVersion: x/v1\nkind: AllowList\nspec: {}\n";
        let manifests = load_reader(Path::new("x"), &mut text.as_bytes()).unwrap();
        assert_eq!(manifests[0].object["kind"], "AllowList");
    }
}
