//! The places that are audited: kinds, the objects of a kind, and their versions. Ordered as Gatekeeper orders
//! violations: by group, version, kind, namespace and name.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use watch_manager::{GroupVersionKind, ObjectKey};

/// A kind that is listed and watched. Shared by all its objects.
pub(super) type Kind = Arc<AuditedKind>;

/// A kind as the API server prefers to serve it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct AuditedKind {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
    pub(super) namespaced: bool,
    /// Tells a kind that came back from itself before: what is still under way from then counts for nothing.
    pub(super) stay: u64,
}

/// One object. Namespace and name are those that the watch manager has, so that there is one copy of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) kind: Kind,
    key: Arc<ObjectKey>,
}

/// A `resourceVersion`, to be compared for equality only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version(u64);

impl AuditedKind {
    pub(super) fn gvk(&self) -> GroupVersionKind {
        GroupVersionKind::gvk(&self.group, &self.version, &self.kind)
    }
}

impl Place {
    pub(super) fn new(kind: &Kind, key: Arc<ObjectKey>) -> Self {
        Self { kind: kind.clone(), key }
    }

    /// A place with texts of its own. The namespace of a cluster-scoped object is empty.
    pub(super) fn of(kind: &Kind, namespace: &str, name: &str) -> Self {
        let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
        Self::new(kind, Arc::new(ObjectKey::new(namespace, name)))
    }

    /// Empty for a cluster-scoped object.
    pub(super) fn namespace(&self) -> &str {
        self.key.namespace().unwrap_or_default()
    }

    pub(super) fn name(&self) -> &str {
        self.key.name()
    }
}

impl Ord for Place {
    /// Places that are compared are nearly always of one kind, which need not be compared text by text.
    fn cmp(&self, other: &Self) -> Ordering {
        let kinds = match Arc::ptr_eq(&self.kind, &other.kind) {
            true => Ordering::Equal,
            false => self.kind.cmp(&other.kind),
        };
        kinds.then_with(|| self.key.cmp(&other.key))
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for AuditedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group.as_str() {
            "" => write!(f, "{} ({})", self.kind, self.version),
            group => write!(f, "{} ({group}/{})", self.kind, self.version),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.kind.kind)?;
        if !self.namespace().is_empty() {
            write!(f, "{}/", self.namespace())?;
        }
        f.write_str(self.name())
    }
}

impl From<&str> for Version {
    /// An API server's own versions are numbers; those of an aggregated one may be any text.
    fn from(text: &str) -> Self {
        let hash = || {
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            hasher.finish() | 1 << 63
        };
        Self(text.parse().ok().filter(|number: &u64| number >> 63 == 0).unwrap_or_else(hash))
    }
}
