//! A parsed module. `crate::check` checks it alone, `crate::program` compiles several of them into a program.

use std::sync::Arc;

use crate::ast::Tree;
use crate::diagnostic::{Diagnostics, Source};
use crate::parser::{self, RegoVersion};
use crate::restrictions::Bounds;

/// A parsed module. Immutable, cheap to clone, `Send + Sync`.
#[derive(Clone, Debug)]
pub struct Module {
    pub(crate) source: Arc<Source>,
    pub(crate) tree: Arc<Tree>,
    package: Arc<[String]>,
}

impl Module {
    /// Parses a module under the default [`Bounds`].
    ///
    /// # Errors
    /// Returns the first syntax error, or the bound that the text exceeds.
    pub fn parse(name: &str, source: &str, version: RegoVersion) -> Result<Self, Diagnostics> {
        Self::parse_within(name, source, version, Bounds::default())
    }

    /// Parses a module under the host's bounds.
    ///
    /// # Errors
    /// Returns the first syntax error, or the bound that the text exceeds.
    pub fn parse_within(
        name: &str,
        source: &str,
        version: RegoVersion,
        bounds: Bounds,
    ) -> Result<Self, Diagnostics> {
        let source = Source::new(name, source);
        let tree = parser::parse(&source, version, bounds)?;
        Ok(Self::of(source, tree))
    }

    /// Returns a module of a tree that was read from a text.
    pub(crate) fn of(source: Source, tree: Tree) -> Self {
        let package = tree.package.iter().map(ToString::to_string).collect();
        Self { source: Arc::new(source), tree: Arc::new(tree), package }
    }

    /// Returns the module with another tree of the same text.
    pub(crate) fn with_tree(&self, tree: Tree) -> Self {
        Self { tree: Arc::new(tree), ..self.clone() }
    }

    /// Returns the package's path, without `data`: `["k8srequiredlabels"]`, `["lib", "helpers"]`.
    #[must_use]
    pub fn package(&self) -> &[String] {
        &self.package
    }

    /// Returns the name that the module was parsed under.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.source.name
    }

    /// Returns the text that the module was parsed from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source.text
    }

    /// Returns the names of the module's rules in order of appearance, each once.
    pub fn rule_names(&self) -> impl Iterator<Item = &str> {
        let names: Vec<&str> =
            self.tree.rules.iter().filter_map(|rule| rule.head.name()).map(|name| &**name).collect();
        let mut seen = std::collections::BTreeSet::new();
        names.into_iter().filter(move |name| seen.insert(*name))
    }

    /// Returns the name, line and column of each definition, in order of appearance; lines and columns count from 1.
    pub fn rule_places(&self) -> impl Iterator<Item = (&str, u32, u32)> {
        self.tree.rules.iter().filter_map(|rule| {
            let (line, column) = self.source.locate(rule.at);
            rule.head.name().map(|name| (&**name, line, column))
        })
    }
}
