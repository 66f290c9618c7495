//! State that the check of a node inherits from the nodes above it: [`Scope`].

use crate::node::Node;
use crate::path::SchemaPath;

/// The settings that a node inherits from those above it.
#[derive(Clone, Default)]
pub(super) struct Scope {
    pub(super) root: bool,
    pub(super) inside_meta: bool,
    /// The reason why defaults are forbidden here, if they are.
    pub(super) no_defaults: Option<String>,
    /// The nearest place from the root below which old and new objects cannot be matched up.
    pub(super) uncorrelatable: Option<SchemaPath>,
    /// The number of values of this schema that one object can hold; `None` for any number.
    pub(super) cardinality: Option<u64>,
    /// Inside a junctor, `definitions` and the like, where the server does not look at rules.
    pub(super) detached: bool,
}

impl Scope {
    /// The scope of what a node holds.
    pub(super) fn below(&self, node: &Node<'_>) -> Self {
        let elements = match node.kind() {
            "object" if node.additional_properties.is_some() => node.bound("maxProperties"),
            "array" => node.bound("maxItems"),
            _ => Some(1),
        };
        let cardinality = self.cardinality.zip(elements).map(|(outer, inner)| outer.saturating_mul(inner));
        Self { root: false, cardinality, ..self.clone() }
    }
}
