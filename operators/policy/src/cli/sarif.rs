//! SARIF 2.1.0, which code scanning services read: the document, for all commands that report about files.

mod range;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::manifest::ManifestError;
use range::Files;

/// Everything one run of a command has to say.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// The command, such as `webtroller test`.
    pub(crate) tool: &'static str,
    /// The descriptions of the rules, by identifier; empty where the identifier is enough.
    pub(crate) rules: BTreeMap<String, String>,
    /// The results.
    pub(crate) results: Vec<Note>,
    /// The failures that kept the command from doing its work.
    pub(crate) failures: Vec<Note>,
    /// Further properties of the run.
    pub(crate) properties: Option<Value>,
}

/// One thing to say, about one place.
#[derive(Debug)]
pub(crate) struct Note {
    /// The rule that says it; empty for failures.
    pub(crate) rule: String,
    /// `error`, `warning` or `note`.
    pub(crate) level: &'static str,
    pub(crate) message: String,
    /// The file and a line in it, from 1.
    pub(crate) place: Option<(String, u64)>,
    /// The column in that line, from 1; 0 where the whole line is meant.
    pub(crate) column: u64,
    /// The subject in the file: a pointer, or an object's kind and name.
    pub(crate) about: String,
}

impl From<&ManifestError> for Note {
    /// A failure.
    fn from(error: &ManifestError) -> Self {
        let place = error.place.as_ref();
        Self {
            rule: String::new(),
            level: "error",
            message: error.message.clone(),
            place: place.map(|place| (place.file.display().to_string(), place.line)),
            column: place.map_or(0, |place| place.column),
            about: String::new(),
        }
    }
}

impl Log {
    /// The document, with a newline at its end.
    pub(crate) fn render(&self) -> String {
        let rules: Vec<Value> = self.rules.iter().map(|(id, text)| rule(id, text)).collect();
        let driver = json!({
            "name": self.tool, "version": env!("CARGO_PKG_VERSION"), "rules": rules,
        });
        let mut files = Files::default();
        let failures: Vec<Value> = self.failures.iter().map(|note| notification(note, &mut files)).collect();
        let results: Vec<Value> = self.results.iter().map(|note| result(note, &mut files)).collect();
        let mut run = json!({
            "tool": {"driver": driver},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": self.failures.is_empty(), "toolExecutionNotifications": failures,
            }],
            "results": results,
        });
        if let (Some(properties), Some(fields)) = (&self.properties, run.as_object_mut()) {
            fields.insert("properties".to_owned(), properties.clone());
        }
        let sarif = json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [run],
        });
        format!("{sarif:#}\n")
    }
}

/// The description of a rule. Viewers show nothing else of it, so that one without a text has its name in words.
fn rule(id: &str, text: &str) -> Value {
    let words = id.replace(['-', '_'], " ");
    let text = if text.is_empty() { words.as_str() } else { text };
    let first = text.split_once(". ").map_or(text, |(first, _)| first);
    json!({"id": id, "shortDescription": {"text": first}, "fullDescription": {"text": text}})
}

fn result(note: &Note, files: &mut Files) -> Value {
    json!({
        "ruleId": note.rule, "level": note.level, "message": {"text": note.message},
        "locations": locations(note, files),
    })
}

fn notification(note: &Note, files: &mut Files) -> Value {
    json!({"level": note.level, "message": {"text": note.message}, "locations": locations(note, files)})
}

fn locations(note: &Note, files: &mut Files) -> Vec<Value> {
    let Some((file, line)) = &note.place else {
        return Vec::new();
    };
    let region = files.region(file, *line, note.column);
    let mut location =
        json!({"physicalLocation": {"artifactLocation": {"uri": uri(file)}, "region": region}});
    if let Some(fields) = location.as_object_mut().filter(|_| !note.about.is_empty()) {
        fields.insert("logicalLocations".to_owned(), json!([{"fullyQualifiedName": note.about}]));
    }
    vec![location]
}

/// A path as a URI reference: relative paths stay relative, to whatever the reader of the log takes as its root.
fn uri(file: &str) -> String {
    let relative = file.strip_prefix("./").unwrap_or(file);
    let mut uri = if Path::new(file).is_absolute() { "file://".to_owned() } else { String::new() };
    for byte in relative.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte))
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uri_references() {
        for (file, expected) in [
            ("a/b.yaml", "a/b.yaml"),
            ("./a.yaml", "a.yaml"),
            ("../a.yaml", "../a.yaml"),
            ("/tmp/a b.yaml", "file:///tmp/a%20b.yaml"),
            ("<stdin>", "%3Cstdin%3E"),
            ("é:#%.yaml", "%C3%A9%3A%23%25.yaml"),
        ] {
            assert_eq!(uri(file), expected);
        }
    }
}
