//! A parsed module: the unit authors write and hosts hand in. What may be in it is checked by `crate::check`,
//! several of them become a program in `crate::program`.

use std::sync::Arc;

use crate::ast::Tree;
use crate::diagnostic::{Diagnostics, Source};
use crate::parser::{self, RegoVersion};
use crate::restrictions::Bounds;

/// A module that parsed. Immutable, cheap to clone, `Send + Sync`.
#[derive(Clone, Debug)]
pub struct Module {
    pub(crate) source: Arc<Source>,
    pub(crate) tree: Arc<Tree>,
    package: Arc<[String]>,
}

impl Module {
    /// Parses under the default [`Bounds`].
    ///
    /// # Errors
    /// The first syntax error, or the bound the text exceeds.
    pub fn parse(name: &str, source: &str, version: RegoVersion) -> Result<Self, Diagnostics> {
        Self::parse_within(name, source, version, Bounds::default())
    }

    /// Parses under the host's bounds.
    ///
    /// # Errors
    /// The first syntax error, or the bound the text exceeds.
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

    /// A module of a tree that was read from a text.
    pub(crate) fn of(source: Source, tree: Tree) -> Self {
        let package = tree.package.iter().map(ToString::to_string).collect();
        Self { source: Arc::new(source), tree: Arc::new(tree), package }
    }

    /// The module with another tree of the same text.
    pub(crate) fn with_tree(&self, tree: Tree) -> Self {
        Self { tree: Arc::new(tree), ..self.clone() }
    }

    /// The package's path, without `data`: `["k8srequiredlabels"]`, `["lib", "helpers"]`.
    #[must_use]
    pub fn package(&self) -> &[String] {
        &self.package
    }

    /// The name the module was parsed under.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.source.name
    }

    /// The text the module was parsed from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source.text
    }

    /// Names of the module's rules in order of appearance, each once.
    pub fn rule_names(&self) -> impl Iterator<Item = &str> {
        let names: Vec<&str> =
            self.tree.rules.iter().filter_map(|rule| rule.head.name()).map(|name| &**name).collect();
        let mut seen = std::collections::BTreeSet::new();
        names.into_iter().filter(move |name| seen.insert(*name))
    }

    /// Names of the module's rules with the line and column each definition is at, both counted from 1.
    pub fn rule_places(&self) -> impl Iterator<Item = (&str, u32, u32)> {
        self.tree.rules.iter().filter_map(|rule| {
            let (line, column) = self.source.locate(rule.at);
            rule.head.name().map(|name| (&**name, line, column))
        })
    }
}
