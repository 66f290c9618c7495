//! Reads the documents of a file or of standard input, and tells CRDs from schemas.

use std::io::Read;
use std::path::Path;

use serde_json::Value;

use crate::yaml::{self, YamlError};

/// As deep as `schema-merge` looks.
const DEPTH: usize = 512;

/// A document and where it stands.
pub(super) struct Source {
    pub(super) file: String,
    /// The line it starts at.
    pub(super) line: u64,
    pub(super) content: Content,
}

/// What a document is.
pub(super) enum Content {
    Crd(Value),
    Schema(Value),
}

/// Why there is nothing to work on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(super) enum SourceError {
    /// The file cannot be read.
    #[error("{file}: cannot be read: {source}")]
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
    /// A command that takes one document got none or several.
    #[error("{file}: holds {found} documents, and exactly one is wanted")]
    Count { file: String, found: usize },
    /// A mount path is none.
    #[error(transparent)]
    Mount(#[from] schema_merge::MergeError),
    /// The schemas that are compared are not of one kind.
    #[error("a CustomResourceDefinition cannot be compared with a bare schema")]
    Mixed,
    /// The output is gone.
    #[error("cannot write: {0}")]
    Write(std::io::Error),
}

/// Reads all documents of a file; `-` is `input`.
pub(super) fn read(path: &Path, input: &mut dyn Read) -> Result<Vec<Source>, SourceError> {
    let standard = path == Path::new("-");
    let file = if standard { "<stdin>".to_owned() } else { path.display().to_string() };
    let mut text = String::new();
    let read = if standard {
        input.read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|mut opened| opened.read_to_string(&mut text))
    };
    read.map_err(|source| SourceError::Read { file: file.clone(), source })?;
    let documents = yaml::nested_documents(&text, DEPTH)
        .map_err(|source| SourceError::Syntax { file: file.clone(), source })?;
    let mut sources = Vec::new();
    let documents: Vec<_> = documents.into_iter().filter(|document| !document.value.is_null()).collect();
    if documents.is_empty() {
        return Err(SourceError::Empty { file });
    }
    for document in documents {
        for value in items(document.value) {
            let content = content(value).map_err(|found| SourceError::Kind {
                file: file.clone(),
                line: document.line,
                found,
            })?;
            sources.push(Source { file: file.clone(), line: document.line, content });
        }
    }
    Ok(sources)
}

/// Reads the only document of a file.
pub(super) fn read_one(path: &Path, input: &mut dyn Read) -> Result<Source, SourceError> {
    let mut sources = read(path, input)?;
    match (sources.pop(), sources.len()) {
        (Some(source), 0) => Ok(source),
        (last, rest) => {
            let found = rest.saturating_add(usize::from(last.is_some()));
            Err(SourceError::Count { file: path.display().to_string(), found })
        }
    }
}

fn items(document: Value) -> Vec<Value> {
    match (document.get("kind").and_then(Value::as_str), document.get("items")) {
        (Some("List" | "CustomResourceDefinitionList"), Some(Value::Array(items))) => items.clone(),
        _ => vec![document],
    }
}

/// Something with apiVersion or kind is an object; everything else is taken for a schema.
fn content(value: Value) -> Result<Content, String> {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    match (text("apiVersion"), text("kind")) {
        (Some("apiextensions.k8s.io/v1"), Some("CustomResourceDefinition")) => Ok(Content::Crd(value)),
        (Some("apiextensions.k8s.io/v1beta1"), Some("CustomResourceDefinition")) => {
            Err("apiextensions.k8s.io/v1beta1, which no API server has served since 1.22,".to_owned())
        }
        (Some(version), Some(kind)) => Err(format!("{kind} of {version}")),
        (None, Some(kind)) => Err(format!("{kind} without an apiVersion")),
        (Some(version), None) => Err(format!("something of {version} without a kind")),
        (None, None) => Ok(Content::Schema(value)),
    }
}
