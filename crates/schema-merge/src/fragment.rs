//! The contribution of one party ([`Fragment`]) and its terms ([`MountPolicy`]).
//!
//! `merger.rs` joins fragments; this file only describes them.

use serde_json::Value;

use crate::path::MountPath;

/// One party's part of a schema: where it comes from, where it goes, and on what terms.
#[derive(Clone, Debug, PartialEq)]
pub struct Fragment {
    /// The contributor, as people know it: `template k8srequiredlabels`, `target admission`.
    pub origin: String,
    /// The property this schema describes.
    pub at: MountPath,
    /// The schema, as JSON. Kept as a value because typed structs drop keywords and reshape numbers.
    pub schema: Value,
    /// The terms of the mount.
    pub policy: MountPolicy,
}

/// The terms on which a fragment is mounted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct MountPolicy {
    /// The rule for other contributions at or below the mount point.
    pub sharing: Sharing,
    /// The parents that become required.
    pub required: RequiredPropagation,
    /// The default of the mounted property.
    pub default: MountDefault,
    /// The precedence of description, title, example and externalDocs on a shared node: the highest wins, then the
    /// smallest origin.
    pub precedence: i32,
    /// True to accept a fragment that describes something other than an object.
    pub any_type: bool,
}

/// The rule for other contributions at or below a mount point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Sharing {
    /// No other fragment: any other contribution at or below the path is a conflict.
    #[default]
    Exclusive,
    /// Others may add properties; value validations of a node that several describe must be equal.
    SharedStrict,
    /// Others may add properties; value validations are intersected. Strict wins where both meet.
    SharedIntersect,
}

/// The properties on the way to a mount that become required.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum RequiredPropagation {
    /// None: the mounted property may be left out.
    #[default]
    No,
    /// The mounted property is required by its parent (which itself may be left out).
    Leaf,
    /// Every property on the way is required.
    Chain,
}

/// The default value of a mounted property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum MountDefault {
    /// None is added.
    #[default]
    None,
    /// `{}`. Refused when the fragment does not accept `{}`: the server checks a default before it fills in
    /// the nested ones.
    Empty,
    /// `{}` with the nested defaults filled in. Refused when the fragment does not accept the outcome.
    Materialised,
}

impl Fragment {
    /// Creates a fragment that is mounted exclusively, is not required and has no default.
    pub fn new(origin: impl Into<String>, at: MountPath, schema: Value) -> Self {
        Self { origin: origin.into(), at, schema, policy: MountPolicy::default() }
    }

    /// Sets the terms on which others may share the place.
    #[must_use]
    pub fn sharing(mut self, sharing: Sharing) -> Self {
        self.policy.sharing = sharing;
        self
    }

    /// Sets the parents that become required.
    #[must_use]
    pub fn required(mut self, required: RequiredPropagation) -> Self {
        self.policy.required = required;
        self
    }

    /// Sets the default of the mounted property.
    #[must_use]
    pub fn default_value(mut self, default: MountDefault) -> Self {
        self.policy.default = default;
        self
    }

    /// Sets the precedence among annotations.
    #[must_use]
    pub fn precedence(mut self, precedence: i32) -> Self {
        self.policy.precedence = precedence;
        self
    }

    /// Allows a schema of something other than an object.
    #[must_use]
    pub fn any_type(mut self) -> Self {
        self.policy.any_type = true;
        self
    }
}
