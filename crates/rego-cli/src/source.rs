//! Loads modules and documents from files and folders, where OPA's loader would put them.
//!
//! A document of a folder is rooted at the names of the folders between. `prefix.path:FILE` roots it deeper.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use rego_compat::{Module, RegoVersion};

use crate::command_error::{CommandError, CommandErrors, Place};
use crate::merged::{MergeError, Merged};
use go_compat::filepath;
use go_compat::json::marshal;
use go_compat::sigs_yaml;

/// Modules by name, and one document made of all others.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    modules: BTreeMap<String, Module>,
    data: Merged,
    /// Files that are part of `data`, with where they are rooted.
    documents: Vec<(Vec<String>, String, String)>,
    seen: BTreeSet<(Vec<String>, PathBuf)>,
    errors: Vec<CommandError>,
}

/// The files that count.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    /// Names of files and folders to leave out.
    ignored: Vec<String>,
    /// Leave out everything but modules.
    only_modules: bool,
}

impl Selection {
    /// Leaves out what matches patterns of file names. A malformed one matches nothing.
    /// Source: OPA `loader/loader.go`, `GlobExcludeName`.
    pub(crate) fn ignoring(patterns: &[String]) -> Self {
        Self { ignored: patterns.to_vec(), only_modules: false }
    }

    pub(crate) const fn only_modules(mut self) -> Self {
        self.only_modules = true;
        self
    }

    fn skips(&self, path: &Path, is_folder: bool, depth: usize) -> bool {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let matches = |pattern: &String| filepath::matches(pattern.as_bytes(), name) == Ok(true);
        let module = path.extension().is_some_and(|extension| extension == "rego");
        (depth > 0 && self.ignored.iter().any(matches)) || (self.only_modules && !is_folder && !module)
    }
}

impl Sources {
    /// Loads every path; returns all errors together.
    pub(crate) fn load(
        paths: &[String],
        version: RegoVersion,
        selection: &Selection,
    ) -> Result<Self, CommandErrors> {
        let mut sources = Self::default();
        for path in paths {
            let (root, path) = split_prefix(path);
            let mut walk = Walk { sources: &mut sources, version, selection, folders: Vec::new() };
            walk.path(Path::new(path), &root, 0);
        }
        if sources.errors.is_empty() { Ok(sources) } else { Err(CommandErrors(sources.errors)) }
    }

    /// Returns the modules, by their names.
    pub(crate) fn modules(&self) -> Vec<Module> {
        self.modules.values().cloned().collect()
    }

    /// Returns the document, as JSON.
    pub(crate) fn data(&self) -> String {
        self.data.to_json()
    }

    /// Returns the rules in whose place the files have something, which OPA refuses.
    pub(crate) fn conflicts(&self) -> Vec<CommandError> {
        let mut errors = Vec::new();
        for module in self.modules.values() {
            for (name, line, column) in module.rule_places() {
                let mut path = module.package().to_vec();
                path.push(name.to_owned());
                if self.data.has(&path) {
                    errors.push(CommandError {
                        code: Some("rego_compile_error"),
                        message: format!("conflicting rule for data path {} found", path.join("/")),
                        help: "rename the rule, or root the file elsewhere".to_owned(),
                        place: Some(Place { file: module.name().to_owned(), row: line, column }),
                    });
                }
            }
        }
        errors
    }

    fn refused(&self, file: &str, error: MergeError) -> CommandError {
        CommandError::plain(match error {
            MergeError::Syntax(error) => format!("{file}: {error}"),
            MergeError::NotAnObject => format!("{file}: document must be of type object"),
            MergeError::Conflict(path) => {
                let other = self.documents.iter().find(|(root, _, text)| {
                    let mut data = Merged::default();
                    data.add(root, text).is_ok() && data.has(&path)
                });
                let also = other.map_or_else(
                    || ", data from multiple files must not overlap".to_owned(),
                    |(_, other, _)| format!(", also defined in {other}"),
                );
                format!("{file}: merge error: conflicting values at data.{}{also}", path.join("."))
            }
        })
    }
}

/// One argument being walked.
struct Walk<'a> {
    sources: &'a mut Sources,
    version: RegoVersion,
    selection: &'a Selection,
    /// The folders that lead to where the walk is, without links.
    folders: Vec<PathBuf>,
}

impl Walk<'_> {
    fn path(&mut self, path: &Path, root: &[String], depth: usize) {
        let (is_folder, is_special) = match std::fs::metadata(path) {
            Ok(found) => (found.is_dir(), !found.is_dir() && !found.is_file()),
            Err(error) => return self.error(CommandError::plain(reason("stat", path, &error))),
        };
        if self.selection.skips(path, is_folder, depth) {
            return;
        }
        if is_special && depth > 0 {
            let message =
                format!("open {}: not a regular file; name it by itself to read it", path.display());
            return self.error(CommandError::plain(message));
        }
        if is_folder {
            self.folder(path, root, depth);
        } else if self.sources.seen.insert((root.to_vec(), cleaned(path))) {
            self.file(path, root, depth);
        }
    }

    fn folder(&mut self, path: &Path, root: &[String], depth: usize) {
        let mut root = root.to_vec();
        if depth > 0 {
            root.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if self.folders.contains(&real) {
            let message = format!("stat {}: too many levels of symbolic links", path.display());
            return self.error(CommandError::plain(message));
        }
        let entries: Result<Vec<_>, _> = std::fs::read_dir(path).and_then(Iterator::collect);
        let mut names: Vec<_> = match entries {
            Ok(entries) => entries.into_iter().map(|entry| entry.file_name()).collect(),
            Err(error) => return self.error(CommandError::plain(reason("open", path, &error))),
        };
        names.sort();
        self.folders.push(real);
        for name in names {
            self.path(&cleaned(&path.join(name)), &root, depth.saturating_add(1));
        }
        self.folders.pop();
    }

    fn file(&mut self, path: &Path, root: &[String], depth: usize) {
        let name = path.display().to_string();
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let known = matches!(extension, "rego" | "json" | "yaml" | "yml");
        if !known && depth > 0 {
            return;
        }
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) => return self.error(CommandError::plain(reason("open", path, &error))),
        };
        match extension {
            "rego" => match self.module(&name, bytes) {
                Ok(module) => self.keep(&name, module),
                Err(errors) => self.sources.errors.extend(errors.0),
            },
            "json" => self.document(&name, root, String::from_utf8_lossy(&bytes).into_owned()),
            "yaml" | "yml" => self.yaml(&name, root, &bytes),
            _ => self.unknown(&name, root, bytes),
        }
    }

    fn module(&self, name: &str, bytes: Vec<u8>) -> Result<Module, CommandErrors> {
        let text =
            String::from_utf8(bytes).map_err(|error| CommandErrors(vec![illegal_text(name, &error)]))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let bounds = super::restrictions().bounds();
        let parsed = Module::parse_within(name, text, self.version, bounds);
        parsed
            .map_err(|diagnostics| CommandErrors(diagnostics.iter().map(CommandError::diagnostic).collect()))
    }

    fn keep(&mut self, name: &str, module: Module) {
        self.sources.modules.insert(name.trim_matches('/').to_owned(), module);
    }

    fn document(&mut self, name: &str, root: &[String], text: String) {
        match self.sources.data.add(root, &text) {
            Ok(()) => self.sources.documents.push((root.to_vec(), name.to_owned(), text)),
            Err(refused) => {
                let error = self.sources.refused(name, refused);
                self.error(error);
            }
        }
    }

    fn yaml(&mut self, name: &str, root: &[String], bytes: &[u8]) {
        match first_document(&String::from_utf8_lossy(bytes)) {
            Ok(text) => self.document(name, root, text),
            Err(error) => {
                let message = format!("{name}: error converting YAML to JSON: yaml: {error}");
                self.error(CommandError::plain(message));
            }
        }
    }

    /// Reads a file without a known ending that was named on the command line, as whatever it can be read as.
    fn unknown(&mut self, name: &str, root: &[String], bytes: Vec<u8>) {
        if let Ok(module) = self.module(name, bytes.clone()) {
            return self.keep(name, module);
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok() {
            return self.document(name, root, text);
        }
        match first_document(&text) {
            Ok(text) => self.document(name, root, text),
            Err(_) => self.error(CommandError::plain(format!("{name}: can't recognize file type"))),
        }
    }

    fn error(&mut self, error: CommandError) {
        self.sources.errors.push(error);
    }
}

/// Returns the first document of YAML text as JSON; text without any is `null`.
pub(crate) fn first_document(text: &str) -> Result<String, sigs_yaml::YamlError> {
    let documents = sigs_yaml::documents_with(text, sigs_yaml::Words::Yaml12)?;
    Ok(documents.first().map_or_else(|| "null".to_owned(), |first| marshal(&first.value)))
}

/// Splits `a.b:path`, which roots the files at `path` under `data.a.b`; a URL's colon does not count.
fn split_prefix(argument: &str) -> (Vec<String>, &str) {
    let path = argument.strip_prefix("file://").unwrap_or(argument);
    match path.split_once(':') {
        Some((prefix, rest)) if !prefix.is_empty() && !rest.starts_with("//") => {
            let rest = rest.strip_prefix("file://").unwrap_or(rest);
            (prefix.split('.').map(str::to_owned).collect(), rest)
        }
        _ => (Vec::new(), path),
    }
}

/// Returns the path without `.` and without names that `..` takes back.
fn cleaned(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if clean.file_name().is_some() => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

/// Returns the error in Go's words: `stat a/b: no such file or directory`.
pub(crate) fn reason(doing: &str, path: &Path, error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_ascii_lowercase());
    let text: String = first.into_iter().chain(characters).collect();
    format!("{doing} {}: {text}", path.display())
}

fn illegal_text(name: &str, error: &std::string::FromUtf8Error) -> CommandError {
    let before = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
    let before = String::from_utf8_lossy(before);
    let count = |number: usize| u32::try_from(number.saturating_add(1)).unwrap_or(u32::MAX);
    let row = count(before.matches('\n').count());
    let column = count(before.chars().rev().take_while(|c| *c != '\n').count());
    CommandError {
        code: Some("rego_parse_error"),
        message: "illegal utf-8 character".to_owned(),
        help: String::new(),
        place: Some(Place { file: name.to_owned(), row, column }),
    }
}
