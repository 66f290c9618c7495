//! Owners and finalizers: the parts of the metadata that controllers write.

use serde::{Deserialize, Serialize};

use crate::DuckType;

/// The owners of an object; an edit addresses them by uid, as the API server does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, DuckType)]
#[serde(transparent)]
#[duck(crate = "crate", path = "/metadata/ownerReferences", list_map("", "uid"))]
pub struct Owners(pub Vec<Owner>);

/// A reference to an owner, in the same namespace or without one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// The group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The uid, without which a namesake would be the owner.
    pub uid: String,
    /// True for the one owner that manages the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
    /// True if the owner cannot go before the object in a foreground deletion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_owner_deletion: Option<bool>,
}

impl Owners {
    /// Returns the owner that manages the object.
    #[must_use]
    pub fn controller(&self) -> Option<&Owner> {
        self.0.iter().find(|owner| owner.controller == Some(true))
    }

    /// Adds an owner or replaces the one with its uid.
    pub fn set(&mut self, owner: Owner) {
        match self.0.iter_mut().find(|existing| existing.uid == owner.uid) {
            Some(existing) => *existing = owner,
            None => self.0.push(owner),
        }
    }
}

/// The finalizers of an object, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, DuckType)]
#[serde(transparent)]
#[duck(crate = "crate", path = "/metadata/finalizers")]
pub struct Finalizers(pub Vec<String>);

impl Finalizers {
    /// Adds a finalizer unless it is there.
    pub fn add(&mut self, name: &str) {
        if !self.0.iter().any(|existing| existing == name) {
            self.0.push(name.to_owned());
        }
    }

    /// Removes a finalizer.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|existing| existing != name);
    }
}
