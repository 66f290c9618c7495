//! The review: one thing to be judged, the same for every constraint and every enforcement point.

use std::sync::OnceLock;

use cel_compat::Value as CelValue;
use rego_compat::Value as RegoValue;
use serde_json::{Map, Value};

use super::{Document, UnreadableError, cel};

/// The origin of the object of a review, for `match.source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewSource {
    /// The user's own object.
    Original,
    /// An object that a generator would create, such as the Pod of a Deployment.
    Generated,
}

/// The input of a decision, immutable: built once, by a target or with [`Review::builder`], and shared by all constraints.
/// The forms that policies see are made when first needed, and kept.
#[derive(Debug, Default)]
pub struct Review {
    content: Content,
    rego: OnceLock<Result<RegoValue, UnreadableError>>,
    cel_request: OnceLock<CelValue>,
    cel_namespace: OnceLock<Result<CelValue, UnreadableError>>,
}

#[derive(Debug, Default)]
struct Content {
    target: String,
    object: Option<Document>,
    old_object: Option<Document>,
    namespace_object: Option<Document>,
    operation: String,
    source: Option<ReviewSource>,
    attributes: Map<String, Value>,
}

/// The builder of a [`Review`]. Fields that are not set are absent.
///
/// ```
/// use constraint_framework::review::{Document, Review};
/// use serde_json::json;
///
/// let letter = Document::from_value(&json!({"to": "Ann"}))?;
/// let review = Review::builder("letters.example").object(letter).operation("SEND").build();
/// assert_eq!((review.operation(), review.object().unwrap().json()?["to"].as_str()), ("SEND", Some("Ann")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct ReviewBuilder(Content);

// === impl ReviewBuilder ===

impl ReviewBuilder {
    /// Sets the object after the change; on DELETE a target takes the old one.
    pub fn object(mut self, object: impl Into<Option<Document>>) -> Self {
        self.0.object = object.into();
        self
    }

    /// Sets the object before the change.
    pub fn old_object(mut self, object: impl Into<Option<Document>>) -> Self {
        self.0.old_object = object.into();
        self
    }

    /// Sets the Namespace object that holds the object.
    pub fn namespace_object(mut self, namespace: impl Into<Option<Document>>) -> Self {
        self.0.namespace_object = namespace.into();
        self
    }

    /// Sets the admission operation; leave it out where there is none, as in an audit.
    pub fn operation(mut self, operation: impl Into<String>) -> Self {
        self.0.operation = operation.into();
        self
    }

    /// Sets the origin of the object; leave it out where the enforcement point cannot know.
    pub fn source(mut self, source: impl Into<Option<ReviewSource>>) -> Self {
        self.0.source = source.into();
        self
    }

    /// Sets every other field that policies see below `input.review`.
    pub fn attributes(mut self, attributes: Map<String, Value>) -> Self {
        self.0.attributes = attributes;
        self
    }

    /// Builds the review.
    #[must_use]
    pub fn build(self) -> Review {
        Review { content: self.0, ..Review::default() }
    }
}

// === impl Review ===

impl Review {
    /// Creates a builder of a review for the constraints of the target of that name; if it is empty, for those of every
    /// target.
    pub fn builder(target: impl Into<String>) -> ReviewBuilder {
        ReviewBuilder(Content { target: target.into(), ..Content::default() })
    }

    /// Returns a builder with the same content, to add fields that only the caller knows, such as the Namespace object.
    /// Parsed forms of this review are dropped.
    pub fn into_builder(self) -> ReviewBuilder {
        ReviewBuilder(self.content)
    }

    /// Returns the name of the target whose constraints judge it; empty for those of every target.
    pub fn target(&self) -> &str {
        &self.content.target
    }

    /// Returns the object after the change; on DELETE the old one.
    pub fn object(&self) -> Option<&Document> {
        self.content.object.as_ref()
    }

    /// Returns the object before the change.
    pub fn old_object(&self) -> Option<&Document> {
        self.content.old_object.as_ref()
    }

    /// Returns the Namespace object that holds the object.
    pub fn namespace_object(&self) -> Option<&Document> {
        self.content.namespace_object.as_ref()
    }

    /// Returns the admission operation; empty where there is none, as in an audit.
    pub fn operation(&self) -> &str {
        &self.content.operation
    }

    /// Returns the origin of the object; `None` when the enforcement point cannot know.
    pub fn source(&self) -> Option<ReviewSource> {
        self.content.source
    }

    /// Returns every other field that policies see below `input.review`.
    pub fn attributes(&self) -> &Map<String, Value> {
        &self.content.attributes
    }

    /// Returns the review as policies see it in `input.review`, built on the first call.
    ///
    /// Absent objects are `null`. A cluster-scoped object has no namespace object: `null`.
    ///
    /// # Errors
    /// One of the objects cannot be read, see [`super::Json::rego`].
    pub fn rego(&self) -> Result<&RegoValue, UnreadableError> {
        self.rego.get_or_init(|| self.for_rego()).as_ref().map_err(|error| *error)
    }

    fn for_rego(&self) -> Result<RegoValue, UnreadableError> {
        let document = |document: Option<&Document>| {
            document.map_or(Ok(RegoValue::Null), |document| document.rego().cloned())
        };
        let mut fields = std::collections::BTreeMap::new();
        for (key, value) in self.attributes() {
            fields.insert(RegoValue::from(key.as_str()), RegoValue::from(value.clone()));
        }
        fields.insert("operation".into(), self.operation().into());
        fields.insert("object".into(), document(self.object())?);
        fields.insert("oldObject".into(), document(self.old_object())?);
        fields.insert("namespaceObject".into(), document(self.namespace_object())?);
        Ok(RegoValue::from(fields))
    }

    /// Returns the namespace that namespace lists are compared with: a Namespace's own name, or the one the object is in;
    /// `None` for other cluster-scoped objects.
    pub fn namespace_of<'a>(&'a self, object: &'a Document) -> Option<&'a str> {
        if object.is_namespace() {
            return Some(object.name());
        }
        match self.namespace_object() {
            Some(namespace) => Some(namespace.name()),
            None => Some(object.namespace()).filter(|name| !name.is_empty()),
        }
    }

    /// Returns the request as CEL sees it, built on the first call.
    pub(crate) fn cel_request(&self) -> &CelValue {
        self.cel_request.get_or_init(|| cel::request(&self.content.operation, &self.content.attributes))
    }

    /// Returns the namespace as CEL sees it, built on the first call.
    pub(crate) fn cel_namespace(&self) -> Result<&CelValue, UnreadableError> {
        let view = || cel::namespace(self.content.namespace_object.as_ref());
        self.cel_namespace.get_or_init(view).as_ref().map_err(|error| *error)
    }

    /// Returns the objects that matching looks at: new, then old.
    pub fn objects(&self) -> impl Iterator<Item = &Document> {
        self.object().into_iter().chain(self.old_object())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Once a policy had been asked, a Namespace that was set later was not seen: fields were public and the views were kept.
    #[test]
    fn a_review_that_is_built_anew_shows_policies_what_was_added() {
        let pod =
            Document::from_value(&json!({"kind": "Pod", "metadata": {"name": "a", "namespace": "shop"}}))
                .unwrap();
        let review = Review::builder("").object(pod).build();
        let seen = |review: &Review| -> Value {
            let input = review.rego().unwrap().to_json_str();
            serde_json::from_str::<Value>(&input).unwrap()["namespaceObject"].clone()
        };
        assert_eq!(seen(&review), Value::Null);
        let shop = Document::from_value(&json!({"kind": "Namespace", "metadata": {"name": "shop"}})).unwrap();
        let review = review.into_builder().namespace_object(shop).build();
        assert_eq!(seen(&review)["metadata"]["name"], "shop");
        assert_eq!(review.namespace_object().map(Document::name), Some("shop"));
    }
}
