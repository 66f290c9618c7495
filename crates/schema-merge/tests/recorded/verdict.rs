//! The verdict of an API server on a CRD, and how ours differs from it. The tests that ask a server use the same file.
#![allow(dead_code, reason = "each test uses its own part of this file")]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "only tests include this file"
)]

use std::collections::BTreeSet;

use schema_merge::{Diagnostic, Severity, validate_crd};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The rows of a recording. One nests 200 objects, which is more than serde_json reads by default.
pub(crate) fn rows<Row: DeserializeOwned>(recorded: &str) -> Vec<Row> {
    let row = |line: &str| {
        let mut deserializer = serde_json::Deserializer::from_str(line);
        deserializer.disable_recursion_limit();
        Row::deserialize(&mut deserializer).expect("a row")
    };
    recorded.lines().map(row).collect()
}

/// Answer of the server.
#[derive(Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Answer {
    /// Nothing to say.
    Accepted,
    /// The errors as the server words them.
    Invalid(BTreeSet<String>),
    /// The request could not be decoded, or holds unknown fields under strict validation.
    Undecodable(String),
}

/// The verdict in which a server and `validate_crd` are compared on a schema with rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Both accept it.
    Accepted,
    /// Both refuse it in the same words.
    Refused,
    /// Both refuse it for a syntax error, in other words: ANTLR goes on behind the first one, and we do not.
    SyntaxError,
    /// The server refuses it, and we leave that to the server: it nests deeper than we read.
    LeftToTheServer,
}

/// A CRD with this schema, and with the status subresource if asked for.
pub(crate) fn crd(schema: &Value, status: bool) -> Value {
    let mut version =
        json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    if status {
        version["subresources"] = json!({"status": {}});
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "versions": [version],
            "names": {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"},
        },
    })
}

/// The texts of the diagnostics of one severity.
pub(crate) fn of(diagnostics: &[Diagnostic], severity: Severity) -> BTreeSet<String> {
    diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).map(ToString::to_string).collect()
}

/// Says how the verdicts on a schema without rules differ, if they do.
pub(crate) fn difference(diagnostics: &[Diagnostic], answer: &Answer) -> Option<String> {
    let (decode, errors) = (of(diagnostics, Severity::Decode), of(diagnostics, Severity::Error));
    match answer {
        Answer::Accepted => (!decode.is_empty() || !errors.is_empty())
            .then(|| format!("accepted, but we say {decode:?} {errors:#?}")),
        Answer::Invalid(theirs) => {
            let same = decode.is_empty() && (errors == *theirs || same_but_metadata(&errors, theirs));
            (!same).then(|| format!("{}\n{decode:?}", only(&errors, theirs)))
        }
        // The server stops at the first thing it cannot decode.
        Answer::Undecodable(message) => {
            let said = decode.iter().any(|text| message.contains(text.as_str()));
            (!said).then(|| format!("undecodable: {message}\nours: {decode:#?}"))
        }
    }
}

/// The server prints a default of a whole resource after it has dropped what is unknown in its metadata.
fn same_but_metadata(ours: &BTreeSet<String>, theirs: &BTreeSet<String>) -> bool {
    let masked = |texts: &BTreeSet<String>| -> BTreeSet<String> {
        let mask = |text: &String| match (text.find('{'), text.rfind('}')) {
            (Some(start), Some(end)) if text.contains("\"metadata\":") => {
                format!("{}{}", &text[..start], &text[end..])
            }
            _ => text.clone(),
        };
        texts.iter().map(mask).collect()
    };
    masked(ours) == masked(theirs)
}

fn only(ours: &BTreeSet<String>, theirs: &BTreeSet<String>) -> String {
    let (only_ours, only_theirs): (Vec<_>, Vec<_>) =
        (ours.difference(theirs).collect(), theirs.difference(ours).collect());
    format!("only ours {only_ours:#?}\nonly the server's {only_theirs:#?}")
}

/// The errors that `validate_crd` finds, [`masked`].
pub(crate) fn ours(crd: &Value) -> BTreeSet<String> {
    let errors = validate_crd(crd).into_iter().filter(Diagnostic::is_error);
    errors.map(|diagnostic| masked(&diagnostic.to_string())).collect()
}

/// The verdict on rules that both have in common, or how they differ. The answer is [`Answer::masked`].
pub(crate) fn compared(crd: &Value, answer: &Answer) -> Result<Verdict, String> {
    let (ours, theirs) = (ours(crd), answer.errors());
    match (ours.is_empty(), theirs.is_empty()) {
        (true, true) => Ok(Verdict::Accepted),
        (true, false) => Ok(Verdict::LeftToTheServer),
        (false, false) if ours == theirs => Ok(Verdict::Refused),
        (false, false) if theirs.iter().any(|text| text.contains("Syntax error: ")) => {
            Ok(Verdict::SyntaxError)
        }
        _ => Err(only(&ours, &theirs)),
    }
}

impl Answer {
    /// Without the numbers that the server makes up: of the type of `self`, and of types not known yet.
    pub(crate) fn masked(self) -> Self {
        match self {
            Self::Invalid(texts) => Self::Invalid(texts.iter().map(|text| masked(text)).collect()),
            other => other,
        }
    }

    fn errors(&self) -> BTreeSet<String> {
        match self {
            Self::Accepted => BTreeSet::new(),
            Self::Invalid(texts) => texts.clone(),
            Self::Undecodable(text) => BTreeSet::from([text.clone()]),
        }
    }
}

fn masked(text: &str) -> String {
    let mut masked = String::new();
    let mut rest = text;
    let behind = |rest: &str, word: &str| rest.find(word)?.checked_add(word.len());
    while let Some(at) = ["selfType", "_var"].into_iter().filter_map(|word| behind(rest, word)).min() {
        let (before, numbered) = rest.split_at(at);
        masked.push_str(before);
        rest = numbered.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    masked + rest
}

/// The schema of an object with these rules, for rules about `self.size`, `self.name` and the like.
pub(crate) fn ruled(rules: Value) -> Value {
    let spec = json!({"type": "object", "x-kubernetes-validations": rules, "properties": {
        "a": {"type": "string", "maxLength": 20}, "x-y": {"type": "string", "maxLength": 20},
        "b": {"type": "object", "properties": {"c": {"type": "string", "maxLength": 20}}},
        "size": {"type": "integer"}, "name": {"type": "string", "maxLength": 20}, "flag": {"type": "boolean"},
        "odd-name": {"type": "string", "maxLength": 20}, "namespace": {"type": "string", "maxLength": 20},
        "inner": {"type": "object", "properties": {"deep": {"type": "string", "maxLength": 20}}},
        "list": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 20}},
        "numbers": {"type": "array", "maxItems": 10, "items": {"type": "integer"}},
        "things": {"type": "array", "maxItems": 10, "items": {"type": "object", "properties": {"id": {"type": "string", "maxLength": 20}}}},
        "labels": {"type": "object", "maxProperties": 10, "additionalProperties": {"type": "string", "maxLength": 20}},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "port": {"x-kubernetes-int-or-string": true},
    }});
    resource(spec)
}

/// The schema of a resource with this `spec`.
pub(crate) fn resource(spec: Value) -> Value {
    json!({"type": "object", "properties": {"spec": spec}})
}
