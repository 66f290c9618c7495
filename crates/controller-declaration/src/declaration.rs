//! The declaration of one controller.

use std::collections::BTreeSet;

use crate::{Access, Call};

/// The declaration of one controller: the objects it reads, writes and waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    name: String,
    summary: String,
    access: Vec<Access>,
}

// === impl Declaration ===

impl Declaration {
    /// A controller that does nothing yet. The name becomes that of its roles; the summary is a sentence for its users.
    #[must_use]
    pub fn new(name: impl Into<String>, summary: impl Into<String>) -> Self {
        Self { name: name.into(), summary: summary.into(), access: Vec::new() }
    }

    /// Adds what it does with the objects of one kind.
    #[must_use]
    pub fn access(mut self, access: Access) -> Self {
        self.access.push(access);
        self
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The sentence for users.
    #[must_use]
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// Returns what it does, kind by kind, in the order in which it was stated.
    #[must_use]
    pub fn all(&self) -> &[Access] {
        &self.access
    }

    /// Every call that it may make.
    #[must_use]
    pub fn calls(&self) -> BTreeSet<Call> {
        self.access.iter().flat_map(Access::calls).collect()
    }
}
