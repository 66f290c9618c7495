//! The review: one thing to be judged, the same for every constraint and every enforcement point.

use std::sync::OnceLock;

use rego_compat::Value as RegoValue;
use serde_json::{Map, Value};

use super::cel::CelViews;
use super::{Document, Unreadable};

/// Where the object of a review came from, for `match.source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewSource {
    /// The user's own object.
    Original,
    /// An object that a generator would create, such as the Pod of a Deployment.
    Generated,
}

/// One thing to be judged. Build it with a target; it is never changed afterwards.
#[derive(Debug, Default)]
pub struct Review {
    /// The name of the target that built it, whose constraints judge it; those of every target do where it is empty.
    pub target: String,
    /// The object after the change; on DELETE a target fills it from the old one.
    pub object: Option<Document>,
    /// The object before the change.
    pub old_object: Option<Document>,
    /// The Namespace object that holds the object.
    pub namespace_object: Option<Document>,
    /// The admission operation; empty where there is none, as in an audit.
    pub operation: String,
    /// Where the object came from; `None` when the enforcement point cannot know.
    pub source: Option<ReviewSource>,
    /// Every other field that policies see below `input.review`.
    pub attributes: Map<String, Value>,
    pub(crate) rego: OnceLock<Result<RegoValue, Unreadable>>,
    pub(crate) cel: OnceLock<CelViews>,
}

impl Review {
    /// Returns what policies see as `input.review`, built on the first call.
    ///
    /// Absent objects are `null`. A cluster-scoped object has no namespace object: `null`.
    ///
    /// # Errors
    /// One of the objects cannot be read, see [`super::Json::rego`].
    pub fn rego(&self) -> Result<&RegoValue, Unreadable> {
        self.rego.get_or_init(|| self.for_rego()).as_ref().map_err(|error| *error)
    }

    fn for_rego(&self) -> Result<RegoValue, Unreadable> {
        let document = |document: &Option<Document>| {
            document.as_ref().map_or(Ok(RegoValue::Null), |document| document.rego().cloned())
        };
        let mut fields = std::collections::BTreeMap::new();
        for (key, value) in &self.attributes {
            fields.insert(RegoValue::from(key.as_str()), RegoValue::from(value.clone()));
        }
        fields.insert("operation".into(), self.operation.as_str().into());
        fields.insert("object".into(), document(&self.object)?);
        fields.insert("oldObject".into(), document(&self.old_object)?);
        fields.insert("namespaceObject".into(), document(&self.namespace_object)?);
        Ok(RegoValue::from(fields))
    }

    /// Whether somebody asked for one of the objects as JSON and it could not be parsed.
    pub(crate) fn is_unreadable(&self) -> bool {
        self.documents().any(|document| document.body().is_unreadable())
    }

    fn documents(&self) -> impl Iterator<Item = &Document> {
        self.objects().chain(&self.namespace_object)
    }

    /// The namespace that namespace lists are compared with: a Namespace's own name, or the one the object is in;
    /// `None` for other cluster-scoped objects.
    pub fn namespace_of<'a>(&'a self, object: &'a Document) -> Option<&'a str> {
        if object.is_namespace() {
            return Some(object.name());
        }
        match &self.namespace_object {
            Some(namespace) => Some(namespace.name()),
            None => Some(object.namespace()).filter(|name| !name.is_empty()),
        }
    }

    /// What CEL sees of the request and the namespace, built on the first call.
    pub(crate) fn cel(&self) -> &CelViews {
        self.cel.get_or_init(|| CelViews::of(self))
    }

    /// The objects that matching looks at: new, then old.
    pub fn objects(&self) -> impl Iterator<Item = &Document> {
        self.object.iter().chain(&self.old_object)
    }
}
