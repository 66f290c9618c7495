//! `matchConstraints` of a policy and `matchResources` of a binding: resource rules and selectors.

use std::collections::BTreeMap;

use constraint_framework::review::{Document, Review};
use constraint_framework::target::{AdmissionTarget, Matcher, Target};
use serde::Deserialize;
use serde_json::{Value, json};

use super::scope::Scope;
use crate::cli::admission::plural;

/// The plurals and scopes that CRDs among the inputs state, by group and kind.
#[derive(Debug, Default)]
pub(super) struct Plurals(BTreeMap<(String, String), (String, Option<Scope>)>);

impl Plurals {
    pub(super) fn of<'a>(objects: impl Iterator<Item = &'a Value>) -> Self {
        let text = |object: &Value, pointer: &str| {
            object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let crds = objects.filter(|object| text(object, "/kind") == "CustomResourceDefinition");
        let entry = |crd: &Value| {
            let kind = (text(crd, "/spec/group"), text(crd, "/spec/names/kind"));
            (kind, (text(crd, "/spec/names/plural"), Scope::read(&text(crd, "/spec/scope"))))
        };
        Self(crds.map(entry).collect())
    }

    fn get(&self, object: &Document) -> Option<&(String, Option<Scope>)> {
        self.0.get(&(object.group().to_owned(), object.kind().to_owned()))
    }

    fn plural(&self, object: &Document) -> String {
        self.get(object).map_or_else(|| plural(object.kind()), |(plural, _)| plural.clone())
    }

    /// `None` where it is not known: the object may be of either scope.
    fn scope(&self, object: &Document) -> Option<Scope> {
        self.get(object).and_then(|(_, scope)| *scope).or_else(|| Scope::of(object))
    }
}

/// The resources that a policy or a binding matches.
#[derive(Debug)]
pub(super) struct MatchResources {
    included: Vec<Rule>,
    excluded: Vec<Rule>,
    selectors: Box<dyn Matcher>,
    /// The selector of objects alone: for those of no namespace, which no namespace selector leaves out.
    object_selector: Box<dyn Matcher>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Written {
    resource_rules: Option<Vec<Rule>>,
    exclude_resource_rules: Option<Vec<Rule>>,
    namespace_selector: Option<Value>,
    object_selector: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Rule {
    api_groups: Vec<String>,
    api_versions: Vec<String>,
    operations: Vec<String>,
    resources: Vec<String>,
    resource_names: Option<Vec<String>>,
    scope: Option<String>,
}

impl MatchResources {
    /// Reads the block; null matches everything.
    pub(super) fn read(block: &Value) -> Result<Self, String> {
        let written: Option<Written> =
            serde_json::from_value(block.clone()).map_err(|error| format!(": {error}"))?;
        let written = written.unwrap_or_default();
        let block = json!({
            "labelSelector": written.object_selector, "namespaceSelector": written.namespace_selector,
        });
        let objects = json!({ "labelSelector": written.object_selector });
        let matcher =
            |block: &Value| AdmissionTarget.matcher(Some(block)).map_err(|errors| format!(": {errors}"));
        let (selectors, object_selector) = (matcher(&block)?, matcher(&objects)?);
        Ok(Self {
            included: written.resource_rules.unwrap_or_default(),
            excluded: written.exclude_resource_rules.unwrap_or_default(),
            selectors,
            object_selector,
        })
    }

    /// Returns true if a request is one for this. A namespace selector matches where the Namespace is not known: a
    /// policy must not pass because something was missing.
    pub(super) fn matches(&self, review: &Review, plurals: &Plurals) -> bool {
        let Some(object) = review.object() else { return false };
        let (resource, scope) = (plurals.plural(object), plurals.scope(object));
        let lists = |rule: &Rule| rule.matches(object, &resource, review.operation());
        let is_placed = !object.namespace().is_empty() || object.is_namespace();
        let selectors = if is_placed { &self.selectors } else { &self.object_selector };
        // Where the scope is not known, a rule for one includes and does not exclude.
        let is_included = |rule: &Rule| lists(rule) && rule.is_for(scope).unwrap_or(true);
        let is_excluded = |rule: &Rule| lists(rule) && rule.is_for(scope).unwrap_or(false);
        (self.included.is_empty() || self.included.iter().any(is_included))
            && !self.excluded.iter().any(is_excluded)
            && selectors.matches(review).unwrap_or(true)
    }
}

impl Rule {
    /// Returns true if it is about an object, whatever its scope.
    fn matches(&self, object: &Document, resource: &str, operation: &str) -> bool {
        let lists = |words: &[String], word: &str| words.iter().any(|listed| listed == "*" || listed == word);
        let names = self.resource_names.as_deref().unwrap_or_default();
        lists(&self.api_groups, object.group())
            && lists(&self.api_versions, object.version())
            && lists(&self.operations, operation)
            && (lists(&self.resources, resource) || self.resources.iter().any(|listed| listed == "*/*"))
            && (names.is_empty() || lists(names, object.name()))
    }

    /// Returns true if it is about objects of a scope; `None` where that depends on a scope that is not known.
    fn is_for(&self, scope: Option<Scope>) -> Option<bool> {
        match self.scope.as_deref().and_then(Scope::read) {
            None => Some(true),
            Some(wanted) => Some(wanted == scope?),
        }
    }
}

/// A label selector over objects.
pub(super) struct Selector(Box<dyn Matcher>);

/// Compiles a label selector.
pub(super) fn selector(selector: &Value) -> Result<Selector, String> {
    let matcher = AdmissionTarget.matcher(Some(&json!({ "labelSelector": selector })));
    matcher.map(Selector).map_err(|errors| errors.to_string())
}

impl Selector {
    /// # Errors
    /// The labels of the object cannot be read.
    pub(super) fn matches(&self, object: &Document) -> Result<bool, String> {
        let review = AdmissionTarget.object(object.clone(), None);
        self.0.matches(&review).map_err(|error| error.to_string())
    }
}
