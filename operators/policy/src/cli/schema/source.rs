//! Reads the documents of a file or of standard input, and tells CRDs from schemas.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use go_compat::sigs_yaml::{self, Placed, YamlError};

/// As deep as `schema-merge` looks.
const DEPTH: usize = 512;

/// Standard input, which can be read once.
pub(super) struct Standard<'a> {
    reader: &'a mut dyn Read,
    taken: bool,
}

impl<'a> Standard<'a> {
    pub(super) fn new(reader: &'a mut dyn Read) -> Self {
        Self { reader, taken: false }
    }
}

/// A document and where it stands.
pub(super) struct Source {
    pub(super) file: String,
    /// The line it starts at.
    pub(super) line: u64,
    /// The subject, where the file holds several: its name, or its place.
    pub(super) subject: Option<String>,
    pub(super) content: Content,
}

/// The kinds of documents.
pub(super) enum Content {
    Crd(Value),
    Schema(Value),
}

impl Content {
    /// The name of a CRD; schemas have none.
    fn name(&self) -> Option<&str> {
        let Self::Crd(crd) = self else { return None };
        crd.pointer("/metadata/name").and_then(Value::as_str).filter(|name| !name.is_empty())
    }
}

fn unreadable(file: &str, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::IsADirectory => format!("is a folder; name its files, such as {file}/*.yaml"),
        _ => format!("cannot be read: {error}"),
    }
}

/// The reason why there is nothing to work on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(super) enum SourceError {
    /// The file cannot be read.
    #[error("{file}: {}", unreadable(file, source))]
    Read { file: String, source: std::io::Error },
    /// The text is neither YAML nor JSON.
    #[error("{file}: {source}")]
    Syntax { file: String, source: YamlError },
    /// There is nothing in it: most often something upstream has failed.
    #[error("{file}: holds no document")]
    Empty { file: String },
    /// The document is something else.
    #[error(
        "{file}:{line}: {found} is neither a CustomResourceDefinition of apiextensions.k8s.io/v1 nor a JSON schema"
    )]
    Kind { file: String, line: u64, found: String },
    /// A document to merge is a whole CRD.
    #[error("{file}:{line}: a CustomResourceDefinition is not a fragment: name a file with a schema")]
    NoFragment { file: String, line: u64 },
    /// A command that takes one document got none or several.
    #[error("{file}: holds {found} documents, and exactly one is wanted")]
    Count { file: String, found: usize },
    /// Standard input is named again after it has been read.
    #[error("`-` is given twice, and standard input can be read only once: put one of them into a file")]
    Twice,
    /// A mount path is invalid.
    #[error(transparent)]
    Mount(#[from] schema_merge::MergeError),
    /// The schemas that are compared are not of one kind.
    #[error("a CustomResourceDefinition cannot be compared with a bare schema")]
    Mixed,
    /// The document is not a contract.
    #[error("{file}: not a contract: {source}")]
    Contract { file: String, source: serde_json::Error },
    /// A contract is about CRDs.
    #[error("{file}: a bare schema keeps no contract: give a CustomResourceDefinition")]
    Bare { file: String },
    /// The output is gone.
    #[error("cannot write: {0}")]
    Write(std::io::Error),
}

impl SourceError {
    /// The file and the line it is about.
    pub(super) fn place(&self) -> Option<(&str, u64)> {
        match self {
            Self::Read { file, .. }
            | Self::Syntax { file, .. }
            | Self::Empty { file }
            | Self::Contract { file, .. }
            | Self::Bare { file }
            | Self::Count { file, .. } => Some((file, 1)),
            Self::Kind { file, line, .. } | Self::NoFragment { file, line } => Some((file, *line)),
            Self::Twice | Self::Mount(_) | Self::Mixed | Self::Write(_) => None,
        }
    }
}

/// The outcome of reading a file.
#[derive(Default)]
pub(super) struct Reading {
    /// The sources to work on.
    pub(super) sources: Vec<Source>,
    /// Objects of other kinds beside it, as rendered charts have them.
    pub(super) foreign: Vec<SourceError>,
    /// The errors of what should have been readable and is not.
    pub(super) unread: Vec<SourceError>,
}

/// Reads all documents of a file; `-` is `input`. What cannot be read keeps nothing else from being read.
pub(super) fn read(path: &Path, input: &mut Standard<'_>) -> Reading {
    let mut reading = Reading::default();
    let file = file_name(path);
    let documents = match documents(path, &file, input) {
        Ok(documents) => documents,
        Err(error) => {
            reading.unread.push(error);
            return reading;
        }
    };
    let several = documents.len() > 1;
    for document in documents {
        for (item, value) in items(document.value) {
            let (file, line) = (file.clone(), document.line);
            match content(value) {
                Ok(content) => {
                    let subject = Some(place(item, several.then_some(line)));
                    reading.sources.push(Source { file, line, subject, content });
                }
                Err(Other::Foreign(found)) => reading.foreign.push(SourceError::Kind { file, line, found }),
                Err(Other::Unfit(found)) => reading.unread.push(SourceError::Kind { file, line, found }),
            }
        }
    }
    name(&mut reading.sources);
    // Where there is nothing but other kinds, this is most likely not the file that was meant.
    if reading.sources.is_empty() {
        reading.unread.append(&mut reading.foreign);
    }
    reading
}

fn file_name(path: &Path) -> String {
    if path == Path::new("-") { "<stdin>".to_owned() } else { path.display().to_string() }
}

/// Reads the documents of a file that holds neither CRDs nor schemas, and names the file.
pub(super) fn documents_of(
    path: &Path,
    input: &mut Standard<'_>,
) -> Result<(String, Vec<Placed>), SourceError> {
    let file = file_name(path);
    documents(path, &file, input).map(|documents| (file, documents))
}

fn documents(path: &Path, file: &str, input: &mut Standard<'_>) -> Result<Vec<Placed>, SourceError> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        if std::mem::replace(&mut input.taken, true) {
            return Err(SourceError::Twice);
        }
        input.reader.read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|mut opened| opened.read_to_string(&mut text))
    };
    read.map_err(|source| SourceError::Read { file: file.to_owned(), source })?;
    let mut documents = sigs_yaml::nested_documents(&text, DEPTH)
        .map_err(|source| SourceError::Syntax { file: file.to_owned(), source })?;
    documents.retain(|document| !document.value.is_null());
    if documents.is_empty() {
        return Err(SourceError::Empty { file: file.to_owned() });
    }
    Ok(documents)
}

/// Reads the only document of a file.
pub(super) fn read_one(path: &Path, input: &mut Standard<'_>) -> Result<Source, SourceError> {
    let Reading { mut sources, foreign, unread } = read(path, input);
    if let Some(error) = unread.into_iter().chain(foreign).next() {
        return Err(error);
    }
    match (sources.pop(), sources.len()) {
        (Some(source), 0) => Ok(source),
        (last, rest) => {
            let found = rest.saturating_add(usize::from(last.is_some()));
            Err(SourceError::Count { file: path.display().to_string(), found })
        }
    }
}

/// Tells the sources of a file apart: by name, by place where there is no name, and by both where two have the same.
fn name(sources: &mut [Source]) {
    if let [only] = sources {
        only.subject = None;
        return;
    }
    let names: Vec<_> = sources.iter().map(|source| source.content.name().map(str::to_owned)).collect();
    let mut seen = BTreeMap::<&str, usize>::new();
    for name in names.iter().flatten() {
        let count = seen.entry(name).or_default();
        *count = count.saturating_add(1);
    }
    for (source, name) in sources.iter_mut().zip(&names) {
        let Some(text) = name else { continue };
        let shared = seen.get(text.as_str()).is_some_and(|count| *count > 1);
        source.subject = match source.subject.take() {
            Some(place) if shared => Some(format!("{text} ({place})")),
            _ => Some(text.clone()),
        };
    }
}

/// Returns where in its file something stands: which item of a list, and in which document if there are several.
fn place(item: Option<usize>, document: Option<u64>) -> String {
    match (item, document) {
        (Some(item), Some(line)) => format!("items[{item}] of the document at line {line}"),
        (Some(item), None) => format!("items[{item}]"),
        (None, line) => format!("document at line {}", line.unwrap_or(1)),
    }
}

/// The items of a list with their indices, or the document itself.
fn items(document: Value) -> Vec<(Option<usize>, Value)> {
    match (document.get("kind").and_then(Value::as_str), document.get("items")) {
        (Some("List" | "CustomResourceDefinitionList"), Some(Value::Array(items))) => {
            items.iter().cloned().enumerate().map(|(index, item)| (Some(index), item)).collect()
        }
        _ => vec![(None, document)],
    }
}

/// A document that is neither a CRD nor a schema, in words.
enum Other {
    /// An object of another kind.
    Foreign(String),
    /// A CRD of a version that is not served, or not an object at all.
    Unfit(String),
}

/// Something with apiVersion or kind is an object; everything else is taken for a schema.
fn content(value: Value) -> Result<Content, Other> {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    match (text("apiVersion"), text("kind")) {
        (Some("apiextensions.k8s.io/v1"), Some("CustomResourceDefinition")) => Ok(Content::Crd(value)),
        (Some("apiextensions.k8s.io/v1beta1"), Some("CustomResourceDefinition")) => Err(Other::Unfit(
            "apiextensions.k8s.io/v1beta1, which no API server has served since 1.22,".to_owned(),
        )),
        (Some(version), Some(kind @ "CustomResourceDefinition")) => {
            Err(Other::Unfit(format!("{kind} of {version}")))
        }
        (Some(version), Some(kind)) => Err(Other::Foreign(format!("{kind} of {version}"))),
        (None, Some(kind)) => Err(Other::Unfit(format!("{kind} without an apiVersion"))),
        (Some(version), None) => Err(Other::Unfit(format!("something of {version} without a kind"))),
        // Taken for a schema, it would be one that accepts everything.
        (None, None) if value.get("labelPrefix").is_some() => Err(Other::Unfit(
            "a contract, which `webtroller schema contract` checks and compares,".to_owned(),
        )),
        (None, None) => Ok(Content::Schema(value)),
    }
}
