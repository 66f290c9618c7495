//! The suites that a path stands for.

use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::cli::load::{SkipReason, Skipped, is_yaml, load_file, load_reader};
use crate::cli::manifest::{Manifest, text};
use crate::cli::native;
use crate::cli::suite::Suite;

/// A suite as it was found. Its text is kept: a pipe can be read only once.
#[derive(Debug)]
pub(super) struct SuiteFile {
    pub(super) path: PathBuf,
    /// Or why there is none.
    pub(super) text: Result<String, String>,
}

/// The suites of a path.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// In the order of the bytes of their paths.
    pub(super) suites: Vec<SuiteFile>,
    /// Entries of folders that may be suites and were not read.
    pub(super) skipped: Vec<Skipped>,
}

/// Finds the suites of a path: itself, those directly in a folder, or with `/...` all below it. Links to folders are not
/// followed, so that a circle of them ends.
///
/// # Errors
/// An entry that cannot be read, or a regular file without the extension of a suite.
pub(super) fn suites(path: &Path) -> Result<Found, String> {
    let (root, depth) = root(path);
    if root.is_file() && !is_yaml(root) {
        return Err(format!("{}: a suite is a file that ends in .yaml or .yml", root.display()));
    }
    let mut found = Found::default();
    for entry in WalkDir::new(root).max_depth(depth) {
        let entry = entry.map_err(|error| unreadable(root, &error))?;
        let is_named = entry.depth() == 0;
        if is_named || is_yaml(entry.path()) {
            found.take(entry.path(), is_named)?;
        }
    }
    found.suites.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
    Ok(found)
}

/// The folder that a path is about, and how deep it is searched.
fn root(path: &Path) -> (&Path, usize) {
    match path.file_name() {
        Some(name) if name == "..." => {
            (path.parent().filter(|p| *p != Path::new("")).unwrap_or(Path::new(".")), usize::MAX)
        }
        _ => (path, 1),
    }
}

/// The files of templates, and of Kubernetes' own policies, in the folder that [`suites`] searches. What cannot be read is none.
pub(super) fn templates(path: &Path) -> Vec<PathBuf> {
    let (root, depth) = root(path);
    let entries = WalkDir::new(root).min_depth(1).max_depth(depth).sort_by_file_name();
    let files = entries.into_iter().filter_map(Result::ok).filter(|entry| entry.file_type().is_file());
    let holds_policy = |path: &PathBuf| {
        let kind = |manifest: &Manifest| text(&manifest.object, "/kind").to_owned();
        let is_policy = |kind: String| kind == "ConstraintTemplate" || kind == native::KIND;
        load_file(path).is_ok_and(|manifests| manifests.iter().map(kind).any(is_policy))
    };
    files.map(walkdir::DirEntry::into_path).filter(|path| is_yaml(path)).filter(holds_policy).collect()
}

/// The path and the reason, each once.
fn unreadable(root: &Path, error: &walkdir::Error) -> String {
    let path = error.path().unwrap_or(root).display();
    let reason = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
    format!("{path}: cannot be read: {reason}")
}

impl Found {
    /// Reads an entry if it is a suite. Files beside the suites are templates and objects, some of them broken on purpose.
    fn take(&mut self, path: &Path, is_named: bool) -> Result<(), String> {
        let refused = |error| format!("{}: cannot be read: {error}", path.display());
        let metadata = std::fs::metadata(path).map_err(refused)?;
        if metadata.is_dir() {
            return Ok(());
        }
        if !metadata.is_file() && !is_named {
            self.skipped.push(Skipped { path: path.to_owned(), reason: SkipReason::Special });
            return Ok(());
        }
        let bytes = std::fs::read(path).map_err(refused)?;
        if is_suite(path, &bytes) {
            let text = String::from_utf8(bytes).map_err(|error| format!("cannot be read: {error}"));
            self.suites.push(SuiteFile { path: path.to_owned(), text });
        }
        Ok(())
    }
}

/// Returns true for a suite, and for what cannot be read as YAML and was meant to be one, so that it fails.
fn is_suite(path: &Path, bytes: &[u8]) -> bool {
    match load_reader(path, &mut &*bytes) {
        Ok(manifests) => manifests.iter().any(|manifest| Suite::is(&manifest.object)),
        Err(_) => Suite::was_meant(&String::from_utf8_lossy(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const SUITE: &str = "kind: Suite\napiVersion: test.gatekeeper.sh/v1alpha1\ntests: []\n";

    #[test]
    fn a_pipe_is_a_suite_where_it_is_named_and_skipped_by_name_in_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe.yaml");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let found = suites(folder.path()).unwrap();
        assert_eq!((found.suites.len(), found.skipped[0].reason), (0, SkipReason::Special));
        std::thread::scope(|scope| {
            scope.spawn(|| fs::write(&pipe, SUITE).unwrap());
            let found = suites(&pipe).unwrap();
            assert_eq!(found.suites[0].text.as_deref(), Ok(SUITE));
        });
    }

    #[test]
    fn a_file_that_cannot_be_read_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.yaml"), SUITE).unwrap();
        std::os::unix::fs::symlink("nothing", folder.path().join("b.yaml")).unwrap();
        let error = suites(&folder.path().join("...")).unwrap_err();
        assert!(error.contains("b.yaml: cannot be read: No such file"), "{error}");
    }

    #[test]
    fn a_suite_in_another_encoding_is_one_that_fails() {
        let folder = tempfile::tempdir().unwrap();
        let text = [SUITE.as_bytes(), b"# caf\xe9\n"].concat();
        fs::write(folder.path().join("a.yaml"), text).unwrap();
        assert!(suites(folder.path()).unwrap().suites[0].text.is_err());
    }
}
