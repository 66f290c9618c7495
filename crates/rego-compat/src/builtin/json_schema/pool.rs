//! The documents that references lead to: the schema itself, and each part of it that has an id.

use std::collections::HashMap;

use go_compat::url::Url;
use go_compat::utf8;

use crate::builtin::json::path::unescaped;
use crate::meter::Meter;
use crate::value::{Array, Object, Value};

use super::Error;
use super::node::Draft;

/// A document, and the draft it is written in if it says so.
#[derive(Clone)]
pub(super) struct Document {
    pub(super) value: Value,
    pub(super) draft: Option<Draft>,
}

/// Documents by their references.
pub(super) struct Pool {
    documents: HashMap<String, Document>,
    draft: Option<Draft>,
}

/// The drafts, by the name of the schema that schemas in them have to fit, with its text. The texts are those of
/// json-schema.org, but for what the library's copies lack (`writeOnly`) and ask for (`enum` is not empty).
const DRAFTS: [(&str, Draft, &str); 3] = [
    ("http://json-schema.org/draft-04/schema", Draft::Four, include_str!("metaschema/draft-04.json")),
    ("http://json-schema.org/draft-06/schema", Draft::Six, include_str!("metaschema/draft-06.json")),
    ("http://json-schema.org/draft-07/schema", Draft::Seven, include_str!("metaschema/draft-07.json")),
];

/// Returns the draft that a schema says it is written in, if it is a known one.
fn declared_draft(schema: &Value) -> Result<Option<Draft>, String> {
    let Value::Object(pairs) = schema else {
        return if matches!(schema, Value::Bool(_)) { Ok(None) } else { Err("schema is invalid".to_owned()) };
    };
    match pairs.get(&"$schema".into()) {
        None => Ok(None),
        Some(Value::String(text)) => {
            let name = Url::parse(text)?.to_string();
            Ok(DRAFTS.iter().find(|(known, ..)| *known == name).map(|(_, draft, _)| *draft))
        }
        Some(_) => Err("$schema must be of type string".to_owned()),
    }
}

impl Pool {
    /// Collects the parts of a schema, and writes its references in full.
    pub(super) fn new(schema: &Value, meter: &Meter) -> Result<(Self, Document), Error> {
        let draft = declared_draft(schema)?;
        let mut pool = Self { documents: HashMap::new(), draft };
        let value = pool.collect(schema, &Url::default(), meter)?;
        let document = Document { value, draft };
        pool.documents.insert(String::new(), document.clone());
        Ok((pool, document))
    }

    /// Returns a part of a schema with its references in full. An id counts for all that is in the same object.
    fn collect(&mut self, value: &Value, base: &Url, meter: &Meter) -> Result<Value, Error> {
        meter.spend(4)?;
        meter.check_stack()?;
        match value {
            Value::Array(items) => {
                let items = items.iter().map(|item| self.collect(item, base, meter));
                Ok(items.collect::<Result<Array, _>>()?.into_value())
            }
            Value::Object(pairs) => self.collect_object(pairs, base, meter),
            other => Ok(other.clone()),
        }
    }

    fn collect_object(&mut self, pairs: &Object, base: &Url, meter: &Meter) -> Result<Value, Error> {
        let text = |key: &str| match pairs.get(&key.into()) {
            Some(Value::String(text)) => Url::parse(text).ok(),
            _ => None,
        };
        let key = if pairs.contains_key(&"id".into()) { "id" } else { "$id" };
        let id = text(key).map(|id| resolved(base, &id));
        let base = id.as_ref().unwrap_or(base);
        let name = id.as_ref().map(Url::to_string);
        if let Some(name) = &name {
            let placeholder = Document { value: Value::Undefined, draft: self.draft };
            meter.charge(name.len())?;
            if self.documents.insert(name.clone(), placeholder).is_some() {
                return Err(Error::Schema(format!("Reference already exists: \"{name}\"")));
            }
        }
        let mut written = Vec::with_capacity(pairs.len());
        for (key, value) in pairs.iter() {
            let value = match (key.as_string().map(|key| &**key).unwrap_or_default(), value) {
                ("const" | "enum", value) => value.clone(),
                ("$ref", Value::String(_)) => match text("$ref") {
                    Some(reference) => resolved(base, &reference).to_string().into(),
                    None => value.clone(),
                },
                ("properties" | "dependencies" | "patternProperties", Value::Object(parts)) => {
                    let part =
                        |(key, part): (&Value, &Value)| Ok((key.clone(), self.collect(part, base, meter)?));
                    parts.iter().map(part).collect::<Result<Object, Error>>()?.into_value()
                }
                ("properties" | "dependencies" | "patternProperties", value) => value.clone(),
                (_, value) => self.collect(value, base, meter)?,
            };
            written.push((key.clone(), value));
        }
        let value = Object::of(written).into_value();
        if let Some(name) = name {
            self.documents.insert(name, Document { value: value.clone(), draft: self.draft });
        }
        Ok(value)
    }

    /// Returns the document that a reference leads to.
    pub(super) fn get(&mut self, reference: &Url, meter: &Meter) -> Result<Document, Error> {
        let name = reference.to_string();
        if let Some(document) = self.documents.get(&name) {
            return Ok(document.clone());
        }
        let whole = match self.documents.get(&reference.without_fragment().to_string()) {
            Some(whole) => whole,
            None => self.add_metaschema(reference, meter)?,
        };
        let value = pointed(&whole.value, &utf8::lossy(&reference.fragment))?.clone();
        let document = Document { value, draft: whole.draft };
        self.documents.insert(name, document.clone());
        Ok(document)
    }

    /// Adds the schema of a draft that a reference names; there are no other documents beside the schema itself.
    fn add_metaschema(&mut self, reference: &Url, meter: &Meter) -> Result<&Document, Error> {
        if !is_canonical(reference) {
            return Err(Error::Schema(format!("Reference {reference} must be canonical")));
        }
        let base = reference.without_fragment();
        let name = base.to_string();
        let Some((_, draft, text)) = DRAFTS.iter().find(|(known, ..)| *known == name) else {
            return Err(Error::Schema(format!("remote reference loading disabled: {reference}")));
        };
        let schema = Value::from_json_str(text).map_err(|error| Error::Schema(error.to_string()))?;
        let outer = self.draft.replace(*draft);
        let value = self.collect(&schema, &base, meter)?;
        self.draft = outer;
        let document = Document { value, draft: Some(*draft) };
        Ok(self.documents.entry(name).insert_entry(document).into_mut())
    }
}

/// Returns a reference beside the id of its schema, whose fragment does not count.
fn resolved(base: &Url, reference: &Url) -> Url {
    base.without_fragment().resolve_reference(reference)
}

/// Returns true where a URL names its document without another URL.
fn is_canonical(url: &Url) -> bool {
    match url.scheme.as_str() {
        "file" => url.path.starts_with(b"/"),
        "" => false,
        _ => !url.host.is_empty(),
    }
}

/// Returns the part of a document that a JSON pointer names; all of it where the fragment is not a pointer.
fn pointed<'a>(document: &'a Value, pointer: &str) -> Result<&'a Value, String> {
    let Some(tokens) = pointer.strip_prefix('/') else { return Ok(document) };
    let mut value = document;
    for token in tokens.split('/') {
        value = match value {
            Value::Object(pairs) => {
                let key = unescaped(token);
                let found = pairs.get(&key.as_str().into());
                found.ok_or_else(|| format!("Object has no key '{key}'"))?
            }
            Value::Array(items) => {
                let index: i64 = token.parse().map_err(|_| format!("Invalid array index '{token}'"))?;
                let found = usize::try_from(index).ok().and_then(|index| items.get(index));
                found.ok_or_else(|| format!("Out of bound array[0,{}] index '{index}'", items.len()))?
            }
            _ => return Err(format!("Invalid token reference '{token}'")),
        };
    }
    Ok(value)
}
