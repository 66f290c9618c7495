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
    /// JSON as it came, whatever it is.
    Raw(Box<RawValue>),
}

impl Document {
    /// Returns true if there is something under a path.
    fn has(&self, path: &[String]) -> bool {
        let Some((name, rest)) = path.split_first() else { return true };
        match self {
            Self::Object(fields) => fields.get(name).is_some_and(|document| document.has(rest)),
            Self::Raw(raw) => {
                let fields: Result<BTreeMap<String, Box<RawValue>>, _> = serde_json::from_str(raw.get());
                let inner = fields.ok().and_then(|mut fields| fields.remove(name));
                inner.is_some_and(|raw| Self::Raw(raw).has(rest))
            }
        }
    }

    /// Returns the fields of an object, taken apart now if it is not yet.
    fn fields(&mut self) -> Option<&mut BTreeMap<String, Self>> {
        if let Self::Raw(raw) = self {
            let fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(raw.get()).ok()?;
            *self = Self::Object(fields.into_iter().map(|(name, raw)| (name, Self::Raw(raw))).collect());
        }
        match self {
            Self::Object(fields) => Some(fields),
            Self::Raw(_) => None,
        }
    }
}

/// The `data` made of the files loaded so far.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    root: BTreeMap<String, Document>,
}

/// The reason why a document cannot be part of `data`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MergeError {
    /// It is not JSON.
    Syntax(String),
    /// `data` is an object, and so is each part of it that a file can be.
    NotAnObject,
    /// Another file has a value there already.
    Conflict(Vec<String>),
}

impl Merged {
    /// Adds a document under a path.
    pub(crate) fn add(&mut self, path: &[String], text: &str) -> Result<(), MergeError> {
        let raw: Box<RawValue> =
            serde_json::from_str(text).map_err(|error| MergeError::Syntax(error.to_string()))?;
        let mut document = Document::Raw(raw);
        for name in path.iter().rev() {
            document = Document::Object(BTreeMap::from([(name.clone(), document)]));
        }
        let Some(mut fields) = document.fields().map(std::mem::take) else {
            return Err(MergeError::NotAnObject);
        };
        if let Some(conflict) = conflict(&mut self.root, &mut fields) {
            return Err(MergeError::Conflict(conflict));
        }
        merge(&mut self.root, fields);
        Ok(())
    }

    /// Returns true if there is something under a path.
    pub(crate) fn has(&self, path: &[String]) -> bool {
        match path.split_first() {
            Some((name, rest)) => self.root.get(name).is_some_and(|document| document.has(rest)),
            None => true,
        }
    }

    /// Returns all of it as JSON.
    pub(crate) fn to_json(&self) -> String {
        let mut out = String::new();
        write(&self.root, &mut out);
        out
    }
}

fn conflict(
    ours: &mut BTreeMap<String, Document>,
    theirs: &mut BTreeMap<String, Document>,
) -> Option<Vec<String>> {
    theirs.iter_mut().find_map(|(name, theirs)| match (ours.get_mut(name)?.fields(), theirs.fields()) {
        (Some(ours), Some(theirs)) => {
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
            Document::Raw(raw) => out.push_str(raw.get()),
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
        assert_eq!(data.add(&[], r#"{"a": {"b": 1}, "c": 2}"#), Err(MergeError::Conflict(path(&["a", "b"]))));
        assert_eq!(data.add(&[], r#"{"a": [1]}"#), Err(MergeError::Conflict(path(&["a"]))));
        assert_eq!(data.add(&[], "[1]"), Err(MergeError::NotAnObject));
        assert!(matches!(data.add(&[], "{"), Err(MergeError::Syntax(_))));
        assert_eq!(data.to_json(), r#"{"a":{"b":1}}"#);
    }
}
