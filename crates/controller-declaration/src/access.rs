//! The declared access of a controller to the objects of one kind.

use std::collections::BTreeSet;

use crate::{Call, field};

/// The access of a controller to the objects of one kind: its calls, and the fields that it writes and reads.
///
/// Every method adds; nothing is taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredAccess {
    pub(crate) group: String,
    pub(crate) resource: String,
    /// The name of the objects of the kind; all without it.
    pub(crate) named: Option<String>,
    pub(crate) everywhere: bool,
    pub(crate) wakes: bool,
    /// The resource, or with a subresource behind a slash, and a verb.
    verbs: BTreeSet<(String, String)>,
    /// JSON pointers.
    pub(crate) fields: BTreeSet<String>,
    pub(crate) finalizers_added: BTreeSet<String>,
    pub(crate) finalizers_awaited: BTreeSet<String>,
    pub(crate) annotations_written: BTreeSet<String>,
    pub(crate) annotations_read: BTreeSet<String>,
}

// === impl DeclaredAccess ===

impl DeclaredAccess {
    /// Declares access to the objects of a kind in the controller's own namespace. `resource` is the plural name; `*` in `group` and `resource`
    /// is a kind that is known at run time.
    #[must_use]
    pub fn to(group: impl Into<String>, resource: impl Into<String>) -> Self {
        Self {
            group: group.into(),
            resource: resource.into(),
            named: None,
            everywhere: false,
            wakes: false,
            verbs: BTreeSet::new(),
            fields: BTreeSet::new(),
            finalizers_added: BTreeSet::new(),
            finalizers_awaited: BTreeSet::new(),
            annotations_written: BTreeSet::new(),
            annotations_read: BTreeSet::new(),
        }
    }

    /// Narrows the declaration to objects with such names, as `instance-*`: for readers, and so that two controllers with names of their own do not
    /// seem to share fields. No right is narrowed by it: RBAC knows no patterns.
    #[must_use]
    pub fn named(mut self, pattern: impl Into<String>) -> Self {
        self.named = Some(pattern.into());
        self
    }

    /// Declares that the objects are in all namespaces, or the kind has none: the right goes into the ClusterRole instead of the Role.
    #[must_use]
    pub fn everywhere(mut self) -> Self {
        self.everywhere = true;
        self
    }

    /// Declares list and watch; a change of an object makes the controller act.
    #[must_use]
    pub fn watches(mut self) -> Self {
        self.wakes = true;
        self.verbs(["list", "watch"])
    }

    /// Declares reads of single objects.
    #[must_use]
    pub fn gets(self) -> Self {
        self.verbs(["get"])
    }

    /// Declares lists without a watch.
    #[must_use]
    pub fn lists(self) -> Self {
        self.verbs(["list"])
    }

    /// Declares that the controller creates objects. Server-side apply that creates its object needs this besides [`writes`](Self::writes).
    #[must_use]
    pub fn creates(self) -> Self {
        self.verbs(["create"])
    }

    /// Declares that the controller deletes objects.
    #[must_use]
    pub fn deletes(self) -> Self {
        self.verbs(["delete"])
    }

    /// Declares other verbs, as RBAC names them.
    #[must_use]
    pub fn verbs<const N: usize>(mut self, verbs: [&str; N]) -> Self {
        self.verbs.extend(verbs.map(|verb| (self.resource.clone(), verb.to_owned())));
        self
    }

    /// Declares verbs on a subresource, such as `scale`.
    #[must_use]
    pub fn verbs_on<const N: usize>(mut self, subresource: &str, verbs: [&str; N]) -> Self {
        let resource = format!("{}/{subresource}", self.resource);
        self.verbs.extend(verbs.map(|verb| (resource.clone(), verb.to_owned())));
        self
    }

    /// Declares fields, each a JSON pointer with all that is below it, that the controller owns and writes by patches: those under `/status` by
    /// patches of the subresource `status`.
    #[must_use]
    pub fn writes<const N: usize>(mut self, fields: [&str; N]) -> Self {
        for field in fields {
            self = match field == "/status" || field.starts_with("/status/") {
                true => self.verbs_on("status", ["patch"]),
                false => self.verbs(["patch"]),
            };
        }
        self.owns(fields)
    }

    /// Declares fields, each a JSON pointer with all that is below it, that the controller owns and writes by the calls that are declared beside: by
    /// updates of the whole object, as a Lease is renewed, or as part of what is created.
    #[must_use]
    pub fn owns<const N: usize>(mut self, fields: [&str; N]) -> Self {
        self.fields.extend(fields.map(str::to_owned));
        self
    }

    /// Declares a finalizer that the controller sets, and removes when its work is done.
    #[must_use]
    pub fn adds_finalizer(mut self, finalizer: &str) -> Self {
        self.finalizers_added.insert(finalizer.to_owned());
        self.writes([&field::finalizer(finalizer)])
    }

    /// Declares that the controller waits until the finalizer of another controller is gone; `*` for all others.
    #[must_use]
    pub fn awaits_finalizer(mut self, finalizer: &str) -> Self {
        self.finalizers_awaited.insert(finalizer.to_owned());
        self
    }

    /// Declares an annotation that the controller writes and others may read.
    #[must_use]
    pub fn writes_annotation(mut self, key: &str) -> Self {
        self.annotations_written.insert(key.to_owned());
        self.writes([&field::annotation(key)])
    }

    /// Declares an annotation that the controller reads and another controller or a user writes.
    #[must_use]
    pub fn reads_annotation(mut self, key: &str) -> Self {
        self.annotations_read.insert(key.to_owned());
        self
    }

    /// Returns the calls that the declaration allows.
    #[must_use]
    pub fn calls(&self) -> BTreeSet<Call> {
        let call = |(resource, verb): &(String, String)| Call::new(&self.group, resource, verb);
        self.verbs.iter().map(call).collect()
    }

    /// The kind, for people: `machines.example.com`, or `configmaps instance-*`.
    pub(crate) fn kind(&self) -> String {
        let kind = match (self.group.as_str(), self.resource.as_str()) {
            ("*", "*") => "every kind".to_owned(),
            ("", resource) => resource.to_owned(),
            (group, resource) => format!("{resource}.{group}"),
        };
        self.named.as_ref().map_or(kind.clone(), |pattern| format!("{kind} {pattern}"))
    }
}
