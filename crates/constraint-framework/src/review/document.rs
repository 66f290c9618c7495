//! A Kubernetes object: its type and metadata read at once, the rest when a policy asks.
//!
//! A review that no constraint matches is never parsed beyond its metadata.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Json, UnreadableError};

/// An immutable Kubernetes object. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Document(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    head: Head,
    body: Json,
}

/// The parts of an object that matching reads.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Head {
    api_version: Option<String>,
    kind: Option<String>,
    metadata: Option<HeadMetadata>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HeadMetadata {
    name: Option<String>,
    generate_name: Option<String>,
    namespace: Option<String>,
    labels: Option<BTreeMap<String, String>>,
}

impl Document {
    /// Creates a document from the text of a JSON object.
    ///
    /// # Errors
    /// When the object's type or metadata do not have the types that Kubernetes gives them.
    pub fn from_raw(raw: Box<RawValue>) -> serde_json::Result<Self> {
        // A list would pass for a struct with every field absent.
        if !raw.get().starts_with('{') {
            return Err(serde::de::Error::custom("a Kubernetes object must be a JSON object"));
        }
        let head = serde_json::from_str(raw.get())?;
        Ok(Self(Arc::new(Inner { head, body: Json::from_raw(raw) })))
    }

    /// Creates a document from JSON text, without parsing more of it than type and metadata.
    ///
    /// # Errors
    /// The text is not JSON, and those of [`Document::from_raw`].
    pub fn from_json_string(text: String) -> serde_json::Result<Self> {
        Self::from_raw(RawValue::from_string(text)?)
    }

    /// Creates a document from a JSON value.
    ///
    /// # Errors
    /// As [`Document::from_raw`].
    pub fn from_value(value: &Value) -> serde_json::Result<Self> {
        Self::from_raw(serde_json::value::to_raw_value(value)?)
    }

    /// Returns the same object without shared state: its parsed forms are freed with it. For a caller that holds many
    /// objects and reviews each once.
    pub fn detached(&self) -> Self {
        let Inner { head, body } = &*self.0;
        Self(Arc::new(Inner { head: head.clone(), body: body.detached() }))
    }

    /// Returns the whole object.
    pub fn body(&self) -> &Json {
        &self.0.body
    }

    /// Returns the object as a JSON value, parsed on the first call.
    ///
    /// # Errors
    /// As [`Json::json`].
    pub fn json(&self) -> Result<&Value, UnreadableError> {
        self.0.body.json()
    }

    /// Returns the object for Rego, parsed on the first call.
    ///
    /// # Errors
    /// As [`Json::rego`].
    pub fn rego(&self) -> Result<&rego_compat::Value, UnreadableError> {
        self.0.body.rego()
    }

    /// Returns the API group; empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version().rsplit_once('/').map_or("", |(group, _)| group)
    }

    /// Returns the API version without the group.
    pub fn version(&self) -> &str {
        self.api_version().rsplit_once('/').map_or(self.api_version(), |(_, version)| version)
    }

    /// Returns group and version as written; empty when absent.
    pub fn api_version(&self) -> &str {
        self.0.head.api_version.as_deref().unwrap_or_default()
    }

    /// Returns the kind; empty when absent.
    pub fn kind(&self) -> &str {
        self.0.head.kind.as_deref().unwrap_or_default()
    }

    /// Returns `metadata.name`; empty when absent.
    pub fn name(&self) -> &str {
        self.metadata().and_then(|metadata| metadata.name.as_deref()).unwrap_or_default()
    }

    /// Returns `metadata.generateName`; empty when absent.
    pub fn generate_name(&self) -> &str {
        self.metadata().and_then(|metadata| metadata.generate_name.as_deref()).unwrap_or_default()
    }

    /// Returns `metadata.namespace`; empty when absent.
    pub fn namespace(&self) -> &str {
        self.metadata().and_then(|metadata| metadata.namespace.as_deref()).unwrap_or_default()
    }

    /// Returns the value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.metadata()?.labels.as_ref()?.get(key).map(String::as_str)
    }

    /// Returns every label with its value.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let labels = self.metadata().and_then(|metadata| metadata.labels.as_ref());
        labels.into_iter().flatten().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Returns true if this is a core `Namespace` object.
    pub fn is_namespace(&self) -> bool {
        self.kind() == "Namespace" && self.group().is_empty()
    }

    fn metadata(&self) -> Option<&HeadMetadata> {
        self.0.head.metadata.as_ref()
    }
}

impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || self.body().text() == other.body().text()
            || self.body().parse().is_ok_and(|value| Ok(value) == other.body().parse())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_head_is_read_without_parsing_the_rest() {
        let document = Document::from_value(&json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "shop", "labels": {"a": "b"}}
        }))
        .unwrap();
        assert_eq!((document.group(), document.version(), document.kind()), ("apps", "v1", "Deployment"));
        assert_eq!((document.name(), document.namespace(), document.label("a")), ("web", "shop", Some("b")));
        assert!(!document.body().is_parsed());
    }

    #[test]
    fn a_detached_document_is_equal_and_parsed_by_itself() {
        let document = Document::from_value(&json!({"kind": "Pod", "metadata": {"name": "web"}})).unwrap();
        let detached = document.detached();
        assert_eq!(
            (detached.json(), detached.name()),
            (Ok(&json!({"kind": "Pod", "metadata": {"name": "web"}})), "web")
        );
        assert!(!document.body().is_parsed() && document == detached);
    }

    #[test]
    fn a_core_object_has_the_empty_group() {
        let document = Document::from_value(&json!({"apiVersion": "v1", "kind": "Namespace"})).unwrap();
        assert_eq!((document.group(), document.version()), ("", "v1"));
        assert!(document.is_namespace());
    }

    #[test]
    fn metadata_of_a_wrong_type_is_an_error() {
        assert!(Document::from_value(&json!({"metadata": {"labels": {"a": 1}}})).is_err());
        assert!(Document::from_value(&json!([])).is_err());
    }

    #[test]
    fn absent_and_null_metadata_are_empty() {
        for value in [json!({}), json!({"metadata": null}), json!({"metadata": {"labels": null}})] {
            let document = Document::from_value(&value).unwrap();
            assert_eq!((document.name(), document.label("a")), ("", None));
        }
    }
}
