//! Matching of Kubernetes objects: `spec.match` compiled once, evaluated once per review.
//!
//! The criteria and their order are Gatekeeper's. All of them must hold; an absent one always holds.

use serde::Deserialize;
use serde_json::Value;

use crate::api::{FieldError, FieldErrors};
use crate::review::{Document, Review, ReviewSource};

use super::glob::Glob;
use super::selector::{LabelSelector, Selector};
use super::{Criterion, KindFilter, MatchCriteria, MatchError, Matcher};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct MatchSpec {
    kinds: Option<Vec<Kinds>>,
    scope: Option<String>,
    namespaces: Option<Vec<String>>,
    excluded_namespaces: Option<Vec<String>>,
    label_selector: Option<LabelSelector>,
    namespace_selector: Option<LabelSelector>,
    name: Option<String>,
    source: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Kinds {
    api_groups: Option<Vec<String>>,
    kinds: Option<Vec<String>>,
}

/// A compiled `spec.match`.
#[derive(Debug, Default)]
pub(super) struct KubernetesMatcher {
    /// True if there is a block at all. Without one, even a review that holds no object matches.
    has_block: bool,
    kinds: Vec<KindFilter>,
    scope: Option<Scope>,
    namespaces: Vec<Glob>,
    excluded_namespaces: Vec<Glob>,
    label_selector: Selector,
    namespace_selector: Option<Selector>,
    name: Option<Glob>,
    source: Option<ReviewSource>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Cluster,
    Namespaced,
}

// === compiling ===

impl KubernetesMatcher {
    pub(super) fn compile(spec: Option<&Value>) -> Result<Self, FieldErrors> {
        let Some(spec) = spec.filter(|spec| !spec.is_null()) else {
            return Ok(Self::default());
        };
        let spec: MatchSpec =
            crate::api::decode(spec).map_err(|error| FieldErrors::from(error.under("/spec/match")))?;
        let mut errors = Vec::new();
        let label_selector = spec.label_selector.unwrap_or_default();
        let matcher = Self {
            has_block: true,
            kinds: spec.kinds.iter().flatten().flat_map(Kinds::filters).collect(),
            scope: compile_scope(spec.scope.as_deref(), &mut errors),
            namespaces: globs(spec.namespaces),
            excluded_namespaces: globs(spec.excluded_namespaces),
            label_selector: label_selector.compile("/spec/match/labelSelector", &mut errors),
            namespace_selector: spec
                .namespace_selector
                .map(|selector| selector.compile("/spec/match/namespaceSelector", &mut errors)),
            name: spec.name.filter(|name| !name.is_empty()).map(|name| Glob::new(&name)),
            source: compile_source(spec.source.as_deref(), &mut errors),
        };
        FieldErrors::check(errors)?;
        Ok(matcher)
    }
}

impl Kinds {
    /// Returns the pairs of one entry: an empty list or a `*` in it means any.
    fn filters(&self) -> Vec<KindFilter> {
        let groups = any_or_listed(self.api_groups.as_deref());
        let kinds = any_or_listed(self.kinds.as_deref());
        groups
            .iter()
            .flat_map(|group| {
                kinds.iter().map(|kind| KindFilter { group: group.clone(), kind: kind.clone() })
            })
            .collect()
    }
}

fn any_or_listed(list: Option<&[String]>) -> Vec<Option<String>> {
    match list {
        Some(list) if !list.is_empty() && !list.iter().any(|entry| entry == "*") => {
            list.iter().cloned().map(Some).collect()
        }
        _ => vec![None],
    }
}

fn globs(patterns: Option<Vec<String>>) -> Vec<Glob> {
    patterns.unwrap_or_default().iter().map(|pattern| Glob::new(pattern)).collect()
}

fn compile_scope(word: Option<&str>, errors: &mut Vec<FieldError>) -> Option<Scope> {
    match word {
        None | Some("" | "*") => None,
        Some("Cluster") => Some(Scope::Cluster),
        Some("Namespaced") => Some(Scope::Namespaced),
        Some(other) => {
            // Gatekeeper lets any other word match everything, so that a typo widens a policy silently.
            let rule = format!("must be *, Cluster or Namespaced, not {other:?}");
            errors.push(FieldError::new("/spec/match/scope", rule));
            None
        }
    }
}

fn compile_source(word: Option<&str>, errors: &mut Vec<FieldError>) -> Option<ReviewSource> {
    match word {
        None | Some("" | "All") => None,
        Some("Original") => Some(ReviewSource::Original),
        Some("Generated") => Some(ReviewSource::Generated),
        Some(other) => {
            let rule = format!("must be All, Generated or Original, not {other:?}");
            errors.push(FieldError::new("/spec/match/source", rule));
            None
        }
    }
}

// === routing ===

impl KubernetesMatcher {
    /// Returns the most selective criterion. A criterion that is evaluated after one that can be undecidable is not
    /// used: the constraint then has to report that it cannot decide.
    fn criterion(&self) -> Criterion {
        let name = self.name.as_ref().filter(|_| self.namespace_selector.is_none());
        if let Some(name @ Glob::Exact(_)) = name {
            return Criterion::Name(name.clone());
        }
        if let Some(labels) = self.label_selector.one_of() {
            return Criterion::Label(labels);
        }
        let broad = |glob: &Glob| matches!(glob, Glob::Contains(_));
        if !self.namespaces.is_empty() && !self.namespaces.iter().any(broad) {
            return Criterion::Namespace(self.namespaces.clone());
        }
        match name {
            Some(name) if !broad(name) => Criterion::Name(name.clone()),
            _ if self.excluded_namespaces.is_empty() => Criterion::None,
            _ => Criterion::NotNamespace(self.excluded_namespaces.clone()),
        }
    }
}

// === matching ===

impl Matcher for KubernetesMatcher {
    fn criteria(&self) -> MatchCriteria {
        let everywhere = MatchCriteria::everywhere();
        let kinds = if self.kinds.is_empty() { everywhere.kinds } else { self.kinds.clone() };
        MatchCriteria { kinds, criterion: self.criterion() }
    }

    /// Returns true when the new **or** the old object matches, so that an update which removes a matching label is seen.
    fn matches(&self, review: &Review) -> Result<bool, MatchError> {
        if !self.has_block {
            return Ok(true);
        }
        let mut seen = false;
        for object in review.objects() {
            seen = true;
            if self.matches_object(object, review)? {
                return Ok(true);
            }
        }
        if seen { Ok(false) } else { Err(MatchError::NoObject) }
    }
}

impl KubernetesMatcher {
    fn matches_object(&self, object: &Document, review: &Review) -> Result<bool, MatchError> {
        let namespace = review.namespace_object();
        Ok(self.matches_kind(object)
            && self.matches_scope(object, namespace)
            && self.matches_namespaces(review.namespace_of(object))
            && self.label_selector.matches(object)
            && self.matches_namespace_selector(object, namespace)?
            && self.matches_name(object)
            && self.matches_source(object, review.source())?)
    }

    fn matches_kind(&self, object: &Document) -> bool {
        let is =
            |wanted: &Option<String>, actual: &str| wanted.as_deref().is_none_or(|wanted| wanted == actual);
        self.kinds.is_empty()
            || self
                .kinds
                .iter()
                .any(|filter| is(&filter.group, object.group()) && is(&filter.kind, object.kind()))
    }

    fn matches_scope(&self, object: &Document, namespace: Option<&Document>) -> bool {
        let in_namespace = namespace.is_some() || !object.namespace().is_empty();
        let cluster = object.is_namespace() || !in_namespace;
        self.scope.is_none_or(|scope| (scope == Scope::Cluster) == cluster)
    }

    /// Compares the namespace with both lists. Cluster-scoped objects other than Namespaces pass both.
    fn matches_namespaces(&self, name: Option<&str>) -> bool {
        let Some(name) = name else {
            return true;
        };
        let listed = |globs: &[Glob]| globs.iter().any(|glob| glob.matches(name));
        (self.namespaces.is_empty() || listed(&self.namespaces)) && !listed(&self.excluded_namespaces)
    }

    fn matches_namespace_selector(
        &self,
        object: &Document,
        namespace: Option<&Document>,
    ) -> Result<bool, MatchError> {
        let Some(selector) = &self.namespace_selector else {
            return Ok(true);
        };
        if object.is_namespace() {
            return Ok(selector.matches(object));
        }
        match namespace {
            Some(namespace) => Ok(selector.matches(namespace)),
            None if object.namespace().is_empty() => Ok(true),
            None => Err(MatchError::NamespaceUnknown { object: object.name().to_owned() }),
        }
    }

    fn matches_name(&self, object: &Document) -> bool {
        self.name.as_ref().is_none_or(|glob| {
            glob.matches(object.name()) || glob.matches_generate_name(object.generate_name())
        })
    }

    fn matches_source(&self, object: &Document, source: Option<ReviewSource>) -> Result<bool, MatchError> {
        match (self.source, source) {
            (None, _) => Ok(true),
            (Some(wanted), Some(actual)) => Ok(wanted == actual),
            (Some(_), None) => Err(MatchError::SourceUnknown { object: object.name().to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests;
