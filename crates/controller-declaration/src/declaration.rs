//! The declaration of one controller.

use std::collections::BTreeSet;

use crate::{Call, DeclaredAccess};

/// The declaration of one controller: the objects it reads, writes and waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    name: String,
    summary: String,
    access: Vec<DeclaredAccess>,
}

// === impl Declaration ===

impl Declaration {
    /// Returns the declaration of a controller that does nothing yet. The name becomes that of its roles; the summary is a sentence for its users.
    #[must_use]
    pub fn new(name: impl Into<String>, summary: impl Into<String>) -> Self {
        Self { name: name.into(), summary: summary.into(), access: Vec::new() }
    }

    /// Adds the access to the objects of one kind.
    #[must_use]
    pub fn access(mut self, access: DeclaredAccess) -> Self {
        self.access.push(access);
        self
    }

    /// Returns the controller's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the summary, a sentence for users.
    #[must_use]
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// Returns the declared access, kind by kind, in the order of the calls of [`Declaration::access`].
    #[must_use]
    pub fn all(&self) -> &[DeclaredAccess] {
        &self.access
    }

    /// Returns every call that the controller may make.
    #[must_use]
    pub fn calls(&self) -> BTreeSet<Call> {
        self.access.iter().flat_map(DeclaredAccess::calls).collect()
    }
}
