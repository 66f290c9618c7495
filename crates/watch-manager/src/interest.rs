//! The objects that a registrar asks for: a kind, and optionally a part of its objects. Also the union of several
//! scopes, which decides what is requested from the server, and the filter that gives each registrar its part.

pub(crate) mod fields;

use std::collections::{BTreeMap, BTreeSet};

use kube::core::{Expression, GroupVersionKind, Selector};

use crate::object::WatchedObject;

/// A kind and the part of its objects that a registrar asks for. A [`GroupVersionKind`] converts into an interest
/// in all its objects.
///
/// ```
/// use watch_manager::{GroupVersionKind, Interest};
/// # use watch_manager::Scope;
/// let pods = GroupVersionKind::gvk("", "v1", "Pod");
/// let mine = Interest::new(pods.clone()).namespaces(["team-a", "team-b"]).fields("spec.nodeName=node-1");
/// assert_eq!(Interest::from(pods), Interest::new(GroupVersionKind::gvk("", "v1", "Pod")));
/// # assert_ne!(*mine.scope(), Scope::default());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interest {
    gvk: GroupVersionKind,
    scope: Scope,
}

/// A part of the objects of a kind. The default is all of them.
///
/// Registrars of one kind share one store. Where their scopes differ, the watch requests the union, and each
/// registrar receives its own part of it:
///
/// - different field selectors, or one and none: a store and a watch for each selector, because the server grants
///   access by field selectors, and knows the defaults of absent fields;
/// - all namespaces and some namespaces: one watch of all namespaces; while the client may not watch all, or that watch is not
///   ready yet and others were, one more for each of the namespaces that were asked for;
/// - only lists of namespaces: one watch per namespace, so that namespaced RBAC suffices;
/// - different label selectors: a watch without one, filtered by the client;
/// - metadata only and complete objects: complete objects for both.
///
/// When the union changes, the kind is listed again in the new scope. Registrars whose own scope did not change
/// receive no event from that, and stay ready, unless the list takes longer than
/// [`Config::request_timeout`](crate::Config::request_timeout) or fails.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scope {
    namespaces: Option<BTreeSet<Box<str>>>,
    selection: Selection,
}

/// The selectors of one list and watch request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Selection {
    /// Label selector.
    pub labels: Selector,
    /// Field selector, in the API server's syntax, in the form that [`Interest::fields`] gives it.
    pub fields: Option<Box<str>>,
    /// Requests `PartialObjectMetadata` instead of the objects.
    pub metadata_only: bool,
}

/// The namespace of one watch; `None` for all namespaces.
pub(crate) type Part = Option<Box<str>>;

/// The client-side test of one registrar's scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Filter {
    namespaces: Option<BTreeSet<Box<str>>>,
    labels: Vec<Expression>,
}

// === impl Interest ===

impl Interest {
    /// Asks for all objects of a kind.
    ///
    /// An empty version follows the version that the API server prefers: when the preference changes, the objects
    /// are delivered again in the new version. Events carry the kind as it was asked for, objects the version in
    /// which they were read.
    pub fn new(gvk: GroupVersionKind) -> Self {
        Self { gvk, scope: Scope::default() }
    }

    /// Selects the objects of these namespaces. Works with Roles of these namespaces; no ClusterRole is needed. An empty
    /// list means all namespaces, and so does an empty name, as in client-go. A cluster-scoped kind gets the status
    /// [`NotNamespaced`](crate::GvkStatus::NotNamespaced).
    pub fn namespaces(mut self, namespaces: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let namespaces: BTreeSet<Box<str>> =
            namespaces.into_iter().map(|namespace| namespace.into().into_boxed_str()).collect();
        let is_all = namespaces.is_empty() || namespaces.contains("");
        self.scope.namespaces = (!is_all).then_some(namespaces);
        self
    }

    /// Selects the objects with these labels.
    pub fn labels(mut self, selector: impl Into<Selector>) -> Self {
        self.scope.selection.labels = selector.into();
        self
    }

    /// Selects the objects with these fields, in the API server's syntax (`spec.nodeName=node-1,status.phase!=Failed`).
    ///
    /// The server selects, always: registrars with the same selector share a watch and a store, others have their own.
    /// A Role with `resourceNames` suffices for `metadata.name=settings`, whatever other registrars ask for.
    ///
    /// The order of the terms, a term that is repeated or empty, and `==` for `=` make no other selector, as on the
    /// server. A term without an operator is sent as it is; the server refuses it, which the kind's status shows.
    ///
    /// ```
    /// # use watch_manager::{GroupVersionKind, Interest};
    /// let pods = || Interest::new(GroupVersionKind::gvk("", "v1", "Pod"));
    /// let one = pods().fields("status.phase!=Failed,spec.nodeName=node-1");
    /// assert_eq!(one, pods().fields("spec.nodeName==node-1,status.phase!=Failed"));
    /// ```
    pub fn fields(mut self, selector: impl AsRef<str>) -> Self {
        self.scope.selection.fields = fields::normalize(selector.as_ref());
        self
    }

    /// Asks for metadata alone, which takes about a tenth of the memory. Another registrar that asks for complete objects with the same field
    /// selector makes them complete for both.
    pub fn metadata_only(mut self) -> Self {
        self.scope.selection.metadata_only = true;
        self
    }

    /// Returns the kind.
    pub fn gvk(&self) -> &GroupVersionKind {
        &self.gvk
    }

    /// Returns the part of the kind's objects that is asked for.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    pub(crate) fn into_parts(self) -> (GroupVersionKind, Scope) {
        (self.gvk, self.scope)
    }
}

impl From<GroupVersionKind> for Interest {
    fn from(gvk: GroupVersionKind) -> Self {
        Self::new(gvk)
    }
}

// === impl Scope ===

impl Scope {
    /// The watches that a union of scopes needs, and what each requests. With `apart`, the namespaces that were asked for by
    /// name have watches beside one of all namespaces too, which request what those who named them need.
    pub(crate) fn union<'a>(
        scopes: impl Iterator<Item = &'a Self> + Clone,
        apart: bool,
    ) -> BTreeMap<Part, Selection> {
        let mut parts: BTreeMap<Part, Selection> = BTreeMap::new();
        let wants_all = scopes.clone().any(Self::is_all);
        if wants_all {
            let merged = scopes.clone().map(|scope| &scope.selection).fold(None, Selection::merge);
            parts.extend(merged.map(|selection| (None, selection)));
        }
        for scope in scopes.filter(|_| apart || !wants_all) {
            for namespace in scope.namespaces.iter().flatten() {
                let part = Some(namespace.clone());
                let merged = Selection::merge(parts.remove(&part), &scope.selection);
                parts.extend(merged.map(|selection| (part, selection)));
            }
        }
        parts
    }

    /// Returns true if it is not limited to certain namespaces.
    pub(crate) fn is_all(&self) -> bool {
        self.namespaces.is_none()
    }

    /// Returns true if this scope depends on the watch of `part`. Where namespaces are `apart`, each has a watch beside
    /// that of all.
    pub(crate) fn uses(&self, part: &Part, apart: bool) -> bool {
        match (&self.namespaces, part) {
            (None, _) => true,
            (Some(_), None) => !apart,
            (Some(namespaces), Some(part)) => namespaces.contains(part),
        }
    }

    pub(crate) fn fields(&self) -> Option<&str> {
        self.selection.fields.as_deref()
    }

    pub(crate) fn accepts_metadata(&self) -> bool {
        self.selection.metadata_only
    }

    /// The test that separates this scope from the union; `None` if it is all objects.
    pub(crate) fn filter(&self) -> Option<Filter> {
        let labels = self.selection.labels.clone().into_iter().collect();
        let filter = Filter { namespaces: self.namespaces.clone(), labels };
        (filter.namespaces.is_some() || !filter.labels.is_empty()).then_some(filter)
    }
}

// === impl Selection ===

impl Selection {
    /// The narrowest selection that contains both, of the same field selector.
    fn merge(merged: Option<Self>, other: &Self) -> Option<Self> {
        let Some(mut merged) = merged else { return Some(other.clone()) };
        if merged.labels != other.labels {
            merged.labels = Selector::default();
        }
        merged.metadata_only &= other.metadata_only;
        Some(merged)
    }
}

// === impl Filter ===

impl Filter {
    /// Returns true if an object is in the scope. Reads the labels in its text.
    pub(crate) fn accepts(&self, object: &WatchedObject) -> bool {
        self.accepts_namespace(object) && (self.labels.is_empty() || object.satisfies(&self.labels))
    }

    fn accepts_namespace(&self, object: &WatchedObject) -> bool {
        let Some(namespaces) = &self.namespaces else { return true };
        object.namespace().is_some_and(|namespace| namespaces.contains(namespace))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn interest() -> Interest {
        Interest::new(GroupVersionKind::gvk("", "v1", "Pod"))
    }

    fn labelled(value: &str) -> Interest {
        interest().labels(Expression::Equal("app".to_owned(), value.to_owned()))
    }

    /// The union in words: `namespace labels fields metadata`.
    fn union(interests: &[Interest]) -> Vec<String> {
        union_if(false, interests)
    }

    fn union_if(apart: bool, interests: &[Interest]) -> Vec<String> {
        let union = Scope::union(interests.iter().map(Interest::scope), apart);
        let describe = |(part, selection): (&Part, &Selection)| {
            let Selection { labels, fields, metadata_only } = selection;
            let (part, fields) = (part.as_deref().unwrap_or("*"), fields.as_deref().unwrap_or("-"));
            format!("{part} {labels} {fields} {metadata_only}")
        };
        union.iter().map(describe).collect()
    }

    #[test]
    fn equal_selectors_are_sent_and_different_ones_are_not() {
        assert_eq!(union(&[labelled("a"), labelled("a")]), ["* app=a - false"]);
        assert_eq!(union(&[labelled("a"), labelled("b")]), ["*  - false"]);
        let one = interest().fields("spec.nodeName=a").metadata_only();
        assert_eq!(union(&[one.clone(), one.clone()]), ["*  spec.nodeName=a true"]);
        assert_eq!(union(&[one, interest().fields("spec.nodeName=a")]), ["*  spec.nodeName=a false"]);
    }

    #[test]
    fn namespaces_have_a_watch_each_until_a_registrar_wants_all() {
        let (ab, bc) = (interest().namespaces(["a", "b"]), labelled("x").namespaces(["b", "c"]));
        assert_eq!(union(&[ab.clone(), bc.clone()]), ["a  - false", "b  - false", "c app=x - false"]);
        assert_eq!(union_if(true, &[ab.clone(), bc.clone()]), union(&[ab.clone(), bc.clone()]));
        assert_eq!(union(&[ab.clone(), bc.clone(), interest()]), ["*  - false"]);
        let beside = ["*  - false", "a  - false", "b  - false", "c app=x - false"];
        assert_eq!(union_if(true, &[ab, bc, interest()]), beside);
    }

    /// A request for the namespace without a name is a request for something else.
    #[test]
    fn no_namespace_and_the_empty_one_stand_for_all() {
        for names in [&[][..], &[""], &["a", ""]] {
            assert_eq!(interest().namespaces(names.iter().copied()), interest());
        }
    }

    #[test]
    fn metadata_suffices_only_if_it_does_for_all() {
        let metadata = interest().metadata_only();
        assert_eq!(union(&[metadata.clone(), metadata.clone()]), ["*  - true"]);
        assert_eq!(union(&[metadata, interest()]), ["*  - false"]);
    }

    #[test]
    fn a_filter_accepts_what_the_server_would_have_sent() {
        let gvk = GroupVersionKind::gvk("", "v1", "Pod");
        let pod = json!({"metadata": {"name": "p", "namespace": "a", "labels": {"app": "x"}},
            "spec": {"nodeName": "n", "priority": 3}});
        let pod = WatchedObject::from_value(&gvk, &pod).unwrap();
        let accepts =
            |interest: Interest| interest.scope().filter().is_none_or(|filter| filter.accepts(&pod));
        for (interest, expected) in [
            (interest(), true),
            (interest().namespaces(["a"]), true),
            (interest().namespaces(["b"]), false),
            (labelled("x"), true),
            (labelled("y"), false),
        ] {
            assert_eq!(accepts(interest.clone()), expected, "{interest:?}");
        }
    }
}
