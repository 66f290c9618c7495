//! One Rust file: its text, its syntax tree, and which of its lines are tests.
//!
//! It does not decide what a rule thinks of tests.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use proc_macro2::{Span, TokenStream};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Attribute, Meta};

use crate::Error;

/// One Rust file of the workspace.
#[derive(Clone)]
pub struct Source {
    path: String,
    text: String,
    tree: syn::File,
    tokens: TokenStream,
    test_lines: Vec<RangeInclusive<usize>>,
    test_modules: BTreeSet<String>,
    all_test: bool,
}

// === impl Source ===

impl Source {
    /// Parses a file. `path` is relative to the workspace, with `/`.
    ///
    /// # Errors
    ///
    /// When it is not Rust.
    pub fn parse(path: &str, text: &str) -> Result<Self, Error> {
        let refused = |source| Error::Parse { path: path.to_owned(), source };
        let tokens = TokenStream::from_str(text).map_err(syn::Error::from).map_err(refused)?;
        let tree = syn::parse2(tokens.clone()).map_err(refused)?;
        let mut tests = Tests::default();
        tests.visit_file(&tree);
        Ok(Self {
            path: path.to_owned(),
            text: text.to_owned(),
            tree,
            tokens,
            test_lines: tests.lines,
            test_modules: tests.modules,
            all_test: is_test_path(path),
        })
    }

    /// The path, relative to the workspace.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn tree(&self) -> &syn::File {
        &self.tree
    }

    /// The same as tokens, for what a syntax tree hides: the arguments of macros.
    pub(crate) fn tokens(&self) -> TokenStream {
        self.tokens.clone()
    }

    /// Returns true if a line belongs to a test.
    pub(crate) fn is_test(&self, line: usize) -> bool {
        self.all_test || self.test_lines.iter().any(|lines| lines.contains(&line))
    }

    /// Says that another file declares this one under `#[cfg(test)]`.
    pub(crate) fn mark_as_test(&mut self) {
        self.all_test = true;
    }

    /// The files and folders that hold the modules this file declares under `#[cfg(test)]`.
    pub(crate) fn test_module_paths(&self) -> impl Iterator<Item = String> {
        let folder = self.module_folder();
        self.test_modules.iter().map(move |module| format!("{folder}/{module}"))
    }

    /// Returns where the modules that this file declares live.
    pub(crate) fn module_folder(&self) -> String {
        let (folder, file) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        match file {
            "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
            other => format!("{folder}/{}", other.strip_suffix(".rs").unwrap_or(other)),
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Returns true if all of a file is a test, by where it is: `tests/` and `benches/` of a package, and `tests.rs` or
/// `tests/` inside `src/`. The packages under the workspace's own `tests/` are ordinary packages.
fn is_test_path(path: &str) -> bool {
    let mut parts: Vec<_> = path.split('/').collect();
    let file = parts.pop().unwrap_or_default();
    let folders = parts.get(usize::from(path.starts_with("tests/"))..).unwrap_or_default();
    file == "tests.rs" || folders.iter().any(|folder| matches!(*folder, "tests" | "benches"))
}

/// The lines of a syntax element.
pub(crate) fn lines(span: Span) -> RangeInclusive<usize> {
    span.start().line..=span.end().line
}

/// Collects what is compiled for tests only.
#[derive(Default)]
struct Tests {
    lines: Vec<RangeInclusive<usize>>,
    modules: BTreeSet<String>,
}

impl<'ast> Visit<'ast> for Tests {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !attributes(item).iter().any(is_test_attribute) {
            return syn::visit::visit_item(self, item);
        }
        self.lines.push(lines(item.span()));
        if let syn::Item::Mod(syn::ItemMod { content: None, ident, .. }) = item {
            self.modules.insert(ident.to_string());
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if function.attrs.iter().any(is_test_attribute) {
            self.lines.push(lines(function.span()));
        }
    }
}

fn attributes(item: &syn::Item) -> &[Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// `#[cfg(test)]`, `#[test]`, `#[tokio::test]` and the like.
fn is_test_attribute(attribute: &Attribute) -> bool {
    match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string() == "test",
        meta => meta.path().segments.last().is_some_and(|last| last.ident == "test"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_test_modules_and_functions_are_tests() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() {}\n}\n#[tokio::test]\nasync fn c() {}\nfn d() {}\n";
        let source = Source::parse("crates/x/src/a.rs", text).unwrap();
        let tests: Vec<_> = (1..=8).filter(|line| source.is_test(*line)).collect();
        assert_eq!(tests, [2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn a_condition_that_is_more_than_test_is_no_test() {
        let text = "#[cfg(any(test, feature = \"x\"))]\nmod a {}\n";
        assert!(!Source::parse("crates/x/src/a.rs", text).unwrap().is_test(1));
    }

    #[test]
    fn test_files_are_known_by_their_place() {
        for path in [
            "crates/x/tests/a.rs",
            "crates/x/src/a/tests.rs",
            "crates/x/src/a/tests/b.rs",
            "tests/e2e/tests/a.rs",
        ] {
            assert!(is_test_path(path), "{path}");
        }
        for path in ["crates/x/src/a.rs", "tests/e2e/src/lib.rs", "crates/x/src/contests.rs"] {
            assert!(!is_test_path(path), "{path}");
        }
    }

    #[test]
    fn declared_test_modules_are_found_beside_and_below() {
        let declared = |path: &str| {
            let source = Source::parse(path, "#[cfg(test)]\nmod fixture;\nmod other;\n").unwrap();
            source.test_module_paths().collect::<Vec<_>>()
        };
        assert_eq!(declared("crates/x/src/lib.rs"), ["crates/x/src/fixture"]);
        assert_eq!(declared("crates/x/src/store.rs"), ["crates/x/src/store/fixture"]);
    }
}
