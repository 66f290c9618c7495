//! The object that a report is about.

use std::fmt;

use kube::Resource;
use serde::{Deserialize, Serialize};

/// The kind, namespace and name of an object. A recreated object has the same reference and another uid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ParentRef {
    /// API group, empty for the core group. Versions of a group are views of the same objects.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The kind, such as `ConfigMap`.
    pub kind: String,
    /// Namespace; nothing for a cluster-scoped object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: String,
}

impl ParentRef {
    /// Returns the reference of a cluster-scoped object.
    pub fn new(group: impl Into<String>, kind: impl Into<String>, name: impl Into<String>) -> Self {
        Self { group: group.into(), kind: kind.into(), namespace: None, name: name.into() }
    }

    /// Sets the namespace of the object.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }
}

/// `Policy.example.dev team-a/p`; without a group or namespace the part is left out.
impl fmt::Display for ParentRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, kind, namespace, name } = self;
        let dot = if group.is_empty() { "" } else { "." };
        match namespace {
            Some(namespace) => write!(f, "{kind}{dot}{group} {namespace}/{name}"),
            None => write!(f, "{kind}{dot}{group} {name}"),
        }
    }
}

/// The kind of a parent. Two groups may have kinds of one name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct ParentKind {
    /// API group, empty for the core group.
    pub group: String,
    /// The kind, such as `ConfigMap`.
    pub kind: String,
}

impl ParentKind {
    /// Returns the kind of a group.
    pub fn new(group: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { group: group.into(), kind: kind.into() }
    }
}

impl From<&ParentRef> for ParentKind {
    fn from(parent: &ParentRef) -> Self {
        Self::new(&parent.group, &parent.kind)
    }
}

/// One particular object: a reference, and the uid that ends with the object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ParentKey {
    /// The kind, namespace and name of the object.
    #[serde(flatten)]
    pub reference: ParentRef,
    /// The `metadata.uid` of the object.
    pub uid: String,
}

impl ParentKey {
    /// Returns the key of the object with this uid.
    pub fn new(reference: ParentRef, uid: impl Into<String>) -> Self {
        Self { reference, uid: uid.into() }
    }

    /// Returns the key of `object`; parts that the object lacks are empty.
    pub fn of<K: Resource>(object: &K, dynamic_type: &K::DynamicType) -> Self {
        let meta = object.meta();
        Self {
            reference: ParentRef {
                group: K::group(dynamic_type).into_owned(),
                kind: K::kind(dynamic_type).into_owned(),
                namespace: meta.namespace.clone(),
                name: meta.name.clone().unwrap_or_default(),
            },
            uid: meta.uid.clone().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_readable() {
        let parent = ParentRef::new("example.dev", "Policy", "p");
        assert_eq!(parent.to_string(), "Policy.example.dev p");
        assert_eq!(parent.in_namespace("team-a").to_string(), "Policy.example.dev team-a/p");
        assert_eq!(ParentRef::new("", "ConfigMap", "c").to_string(), "ConfigMap c");
    }
}
