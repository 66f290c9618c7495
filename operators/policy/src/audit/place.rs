//! The places that are audited: kinds, the objects of a kind, and their versions. Ordered as Gatekeeper orders
//! violations: by group, version, kind, namespace and name.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use watch_manager::GroupVersionKind;

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

/// One object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) kind: Kind,
    /// Empty for a cluster-scoped object.
    pub(super) namespace: Box<str>,
    pub(super) name: Box<str>,
}

/// A `resourceVersion`, to be compared for equality only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version(u64);

impl AuditedKind {
    pub(super) fn gvk(&self) -> GroupVersionKind {
        GroupVersionKind::gvk(&self.group, &self.version, &self.kind)
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
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
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
