//! Documents from several files, merged into one `data`: objects grow together, anything else may be there once.
//!
//! Only objects are taken apart, and only as deep as files meet. Everything else stays the text it came as, so that
//! numbers keep their digits.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// A document under `data`.
#[derive(Debug)]
enum Document {
    Object(BTreeMap<String, Document>),
    /// JSON that is no object.
    Other(Box<RawValue>),
}

/// What the files loaded so far make of `data`.
#[derive(Debug, Default)]
pub(super) struct Merged {
    root: BTreeMap<String, Document>,
}

/// Why a document cannot be part of `data`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// It is no JSON.
    Syntax(String),
    /// `data` is an object, and so is each part of it that a file can be.
    NotAnObject,
    /// Another file has a value there already.
    Conflict(Vec<String>),
}

impl Merged {
    /// Adds a document under a path.
    pub(super) fn add(&mut self, path: &[String], text: &str) -> Result<(), Refused> {
        let raw: Box<RawValue> =
            serde_json::from_str(text).map_err(|error| Refused::Syntax(error.to_string()))?;
        let mut document = read(raw)?;
        for name in path.iter().rev() {
            document = Document::Object(BTreeMap::from([(name.clone(), document)]));
        }
        let Document::Object(fields) = document else {
            return Err(Refused::NotAnObject);
        };
        if let Some(conflict) = conflict(&self.root, &fields) {
            return Err(Refused::Conflict(conflict));
        }
        merge(&mut self.root, fields);
        Ok(())
    }

    /// Whether there is something under a path.
    pub(super) fn has(&self, path: &[String]) -> bool {
        let mut fields = &self.root;
        for (index, name) in path.iter().enumerate() {
            match fields.get(name) {
                Some(Document::Object(inner)) => fields = inner,
                Some(Document::Other(_)) => return index.saturating_add(1) == path.len(),
                None => return false,
            }
        }
        true
    }

    /// All of it as JSON.
    pub(super) fn to_json(&self) -> String {
        let mut out = String::new();
        write(&self.root, &mut out);
        out
    }
}

fn read(raw: Box<RawValue>) -> Result<Document, Refused> {
    if !raw.get().starts_with('{') {
        return Ok(Document::Other(raw));
    }
    let fields: BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(raw.get()).map_err(|error| Refused::Syntax(error.to_string()))?;
    let fields: Result<BTreeMap<_, _>, _> =
        fields.into_iter().map(|(name, value)| Ok((name, read(value)?))).collect();
    fields.map(Document::Object)
}

fn conflict(ours: &BTreeMap<String, Document>, theirs: &BTreeMap<String, Document>) -> Option<Vec<String>> {
    theirs.iter().find_map(|(name, theirs)| match (ours.get(name)?, theirs) {
        (Document::Object(ours), Document::Object(theirs)) => {
            let mut path = conflict(ours, theirs)?;
            path.insert(0, name.clone());
            Some(path)
        }
        _ => Some(vec![name.clone()]),
    })
}

fn merge(ours: &mut BTreeMap<String, Document>, theirs: BTreeMap<String, Document>) {
    for (name, theirs) in theirs {
        match (ours.get_mut(&name), theirs) {
            (Some(Document::Object(ours)), Document::Object(theirs)) => merge(ours, theirs),
            (_, theirs) => {
                ours.insert(name, theirs);
            }
        }
    }
}

fn write(fields: &BTreeMap<String, Document>, out: &mut String) {
    out.push('{');
    for (position, (name, document)) in fields.iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        out.push_str(&serde_json::Value::from(name.as_str()).to_string());
        out.push(':');
        match document {
            Document::Object(fields) => write(fields, out),
            Document::Other(raw) => out.push_str(raw.get()),
        }
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn objects_grow_together_and_numbers_keep_their_digits() {
        let mut data = Merged::default();
        data.add(&[], r#"{"a": {"b": 100000000000000000000.10}}"#).unwrap();
        data.add(&path(&["a"]), r#"{"c": [1]}"#).unwrap();
        data.add(&path(&["x", "y"]), "3").unwrap();
        assert_eq!(data.to_json(), r#"{"a":{"b":100000000000000000000.10,"c":[1]},"x":{"y":3}}"#);
        assert!(data.has(&path(&["x", "y"])) && data.has(&path(&["a"])) && !data.has(&path(&["a", "d"])));
        assert!(!data.has(&path(&["x", "y", "z"])));
    }

    #[test]
    fn two_values_in_one_place_are_refused_and_change_nothing() {
        let mut data = Merged::default();
        data.add(&[], r#"{"a": {"b": 1}}"#).unwrap();
        assert_eq!(data.add(&[], r#"{"a": {"b": 1}, "c": 2}"#), Err(Refused::Conflict(path(&["a", "b"]))));
        assert_eq!(data.add(&[], r#"{"a": [1]}"#), Err(Refused::Conflict(path(&["a"]))));
        assert_eq!(data.add(&[], "[1]"), Err(Refused::NotAnObject));
        assert!(matches!(data.add(&[], "{"), Err(Refused::Syntax(_))));
        assert_eq!(data.to_json(), r#"{"a":{"b":1}}"#);
    }
}
