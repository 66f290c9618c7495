//! `schema check`: the API server's verdict, and the lints apart from it.

use schema_merge::{Diagnostic, MountPath, Severity, StructuralOptions, check_structural, validate_crd};
use serde_json::Value;

use super::SchemaCheckArgs;
use super::report::{Level, Note, Report};
use super::source::{Content, Source, Standard, read};

pub(super) fn run(args: &SchemaCheckArgs, input: &mut Standard<'_>) -> Report {
    let mut report = Report::default();
    for path in &args.files {
        let reading = read(path, input);
        report.skipped.extend(reading.foreign);
        report.unread.extend(reading.unread);
        for source in &reading.sources {
            let diagnostics = match &source.content {
                Content::Crd(crd) => validate_crd(crd),
                Content::Schema(schema) => {
                    check_structural(schema, &StructuralOptions::default().status_subresource(args.status))
                }
            };
            let (Content::Crd(value) | Content::Schema(value)) = &source.content;
            let mut words = Vec::new();
            boolean_names(value, &mut String::new(), &mut words);
            let words = words.into_iter().map(|(pointer, name)| boolean_name(source, pointer, &name));
            let kept = diagnostics.into_iter().map(|diagnostic| note(&diagnostic, source)).chain(words);
            report.notes.extend(kept.filter(|note| note.level == Level::Error || !args.errors_only));
        }
    }
    report.settle();
    report
}

/// The properties called `true` or `false`, with their pointers.
fn boolean_names(value: &Value, pointer: &mut String, found: &mut Vec<(String, String)>) {
    let length = pointer.len();
    match value {
        Value::Object(fields) => {
            let is_properties = pointer.ends_with("/properties");
            for (key, below) in fields {
                pointer.push_str(&MountPath::of([key.as_str()]).to_string());
                if is_properties && matches!(key.as_str(), "true" | "false") {
                    found.push((pointer.clone(), key.clone()));
                }
                boolean_names(below, pointer, found);
                pointer.truncate(length);
            }
        }
        Value::Array(items) => {
            for (index, below) in items.iter().enumerate() {
                pointer.push_str(&format!("/{index}"));
                boolean_names(below, pointer, found);
                pointer.truncate(length);
            }
        }
        _ => {}
    }
}

/// `n: {type: integer}` in YAML describes a property that is called `false`.
fn boolean_name(source: &Source, pointer: String, name: &str) -> Note {
    let words = if name == "true" { "y, yes, on and true" } else { "n, no, off and false" };
    let text = format!(
        "{pointer}: the property is called {name:?}: without quotes, YAML 1.1 reads {words} as that word; quote the name that is meant"
    );
    Note {
        file: source.file.clone(),
        others: Vec::new(),
        line: source.line,
        subject: source.subject.clone(),
        level: Level::Warning,
        rule: "yaml-boolean-name",
        pointer,
        text,
    }
}

fn note(diagnostic: &Diagnostic, source: &Source) -> Note {
    let level = match diagnostic.severity {
        // The server drops these fields, with an error or a warning as the client asks.
        Severity::Decode | Severity::Error | Severity::UnknownField => Level::Error,
        Severity::Warning => Level::Warning,
        _ => Level::Lint,
    };
    Note {
        file: source.file.clone(),
        others: Vec::new(),
        line: source.line,
        subject: source.subject.clone(),
        level,
        rule: diagnostic.rule,
        pointer: diagnostic.pointer(),
        text: diagnostic.to_string(),
    }
}
