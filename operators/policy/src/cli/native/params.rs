//! Values of `params` in the expressions of a policy: the objects that a binding refers to, as the API server finds them
//! (`CollectParams` in `k8s.io/apiserver/pkg/admission/plugin/policy/generic`).

use constraint_framework::review::{Document, Review};
use serde_json::Value;

use crate::cli::manifest::Manifest;

use super::{matching, text};

/// The parameters that a binding refers to.
#[derive(Debug)]
pub(super) enum Params {
    /// Nothing, or the policy has none: `params` is null.
    None,
    /// Objects, each judged with on its own.
    Reference(Reference),
}

/// A `paramRef`, with the objects of the right kind and name.
#[derive(Debug)]
pub(super) struct Reference {
    candidates: Vec<Document>,
    namespace: String,
    /// True if an object of the kind names a namespace.
    is_namespaced: bool,
    /// True if it is an error that there is none.
    denies: bool,
}

impl Params {
    /// Finds the objects among manifests.
    ///
    /// # Errors
    /// The selector is invalid.
    pub(super) fn of(policy: &Value, binding: &Value, all: &[&Manifest]) -> Result<Self, String> {
        let set =
            |object: &Value, pointer: &str| object.pointer(pointer).filter(|value| !value.is_null()).cloned();
        let (Some(kind), Some(reference)) = (set(policy, "/spec/paramKind"), set(binding, "/spec/paramRef"))
        else {
            return Ok(Self::None);
        };
        let name = text(&reference, "/name");
        let selector =
            set(&reference, "/selector").map(|selector| matching::selector(&selector)).transpose()?;
        let (mut candidates, mut is_namespaced) = (Vec::new(), false);
        for object in all.iter().map(|manifest| &manifest.object).filter(|object| {
            ["/kind", "/apiVersion"].iter().all(|pointer| text(object, pointer) == text(&kind, pointer))
        }) {
            let document = Document::from_value(object).map_err(|error| error.to_string())?;
            is_namespaced |= !document.namespace().is_empty();
            let selected = selector.as_ref().map(|selector| selector.matches(&document)).transpose()?;
            if selected.unwrap_or(true) && (name.is_empty() || document.name() == name) {
                candidates.push(document);
            }
        }
        let namespace = text(&reference, "/namespace").to_owned();
        let denies = text(&reference, "/parameterNotFoundAction") != "Allow";
        Ok(Self::Reference(Reference { candidates, namespace, is_namespaced, denies }))
    }
}

impl Reference {
    /// The objects for a request: those of the namespace that the reference names, or else of the request's own. One that names
    /// no namespace is taken for cluster-scoped.
    ///
    /// # Errors
    /// There is none, and the binding does not allow that.
    pub(super) fn objects(&self, review: &Review) -> Result<Vec<&Document>, String> {
        let own = review
            .object()
            .map(|object| if object.is_namespace() { object.name() } else { object.namespace() });
        let is_placed = !self.namespace.is_empty();
        let wanted = if is_placed { self.namespace.as_str() } else { own.unwrap_or_default() };
        let fits = |object: &&Document| match object.namespace() {
            "" => !is_placed,
            namespace => namespace == wanted,
        };
        let found: Vec<_> = self.candidates.iter().filter(fits).collect();
        let needs_namespace = wanted.is_empty() && self.is_namespaced;
        match found.is_empty() {
            true if needs_namespace => Err("cannot use namespaced paramRef in policy binding that matches \
                                            cluster-scoped resources"
                .to_owned()),
            true if self.denies => {
                Err("no params found for policy binding with `Deny` parameterNotFoundAction".to_owned())
            }
            _ => Ok(found),
        }
    }
}
