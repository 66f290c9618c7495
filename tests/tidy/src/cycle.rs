//! Files of a package that use one another in a circle: none of them can be read, moved or tested without the others.
//!
//! An import counts where the item is defined: a path through a `pub use` leads to the file behind it, so that a facade
//! is not in every circle. A module and those inside it are one unit, so an import between them does not count.
//!
//! ```text
//! server.rs    use crate::response::refusal;    →  server.rs and response.rs: move Answer to where both can use it
//! response.rs  use crate::server::Answer;
//! ```

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenTree;

use crate::edge::module_path;
use crate::{Diagnostic, Edge, Rule, Source, edges};

type Path = Vec<String>;

/// Longer chains of `pub use` than any package has; ends a chain that leads back to itself.
const REEXPORTS: usize = 8;

/// One diagnostic for each circle of files, at the first of them. `sources` are the files of one package.
#[must_use]
pub fn file_cycles(sources: &[&Source]) -> Vec<Diagnostic> {
    let package = Package::read(sources);
    let reached: BTreeMap<_, _> = package.files.keys().map(|file| (file, package.reached(file))).collect();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for (file, behind) in &reached {
        if !behind.contains(*file) || seen.contains(file) {
            continue;
        }
        let leads_back = |other: &&Path| reached.get(*other).is_some_and(|behind| behind.contains(*file));
        let circle: Vec<_> = behind.iter().filter(leads_back).collect();
        let names: Vec<_> = circle.iter().filter_map(|member| package.files.get(*member)).cloned().collect();
        let message = format!("{} files use one another: {}", names.len(), names.join(" "));
        found.push(Diagnostic::new(names.first().map_or("", String::as_str), 1, Rule::Cycle, message));
        seen.extend(circle);
    }
    found
}

/// The modules of a package, and what each of them uses.
struct Package {
    /// The path of each module.
    files: BTreeMap<Path, String>,
    /// The items that each module defines itself.
    defined: BTreeMap<Path, BTreeSet<String>>,
    /// The absolute paths that each module names.
    named: BTreeMap<Path, Vec<Path>>,
    /// The modules whose items each module uses.
    uses: BTreeMap<Path, BTreeSet<Path>>,
}

// === impl Package ===

impl Package {
    fn read(sources: &[&Source]) -> Self {
        let ours = sources.iter().filter(|source| !source.is_test(1) && !source.path().ends_with("/main.rs"));
        let ours: Vec<_> = ours.map(|source| (module_path(source.path()), *source)).collect();
        let files = ours.iter().map(|(module, source)| (module.clone(), source.path().to_owned())).collect();
        let defined = ours.iter().map(|(module, source)| (module.clone(), defined(source))).collect();
        let mut package = Self { files, defined, named: BTreeMap::new(), uses: BTreeMap::new() };
        for (module, source) in &ours {
            let named = package.named(module, &edges(source));
            package.named.insert(module.clone(), named);
        }
        for (module, paths) in &package.named {
            let owners = paths.iter().filter_map(|path| package.owner(path, REEXPORTS));
            let others =
                owners.filter(|owner| !owner.starts_with(module) && !module.starts_with(owner)).collect();
            package.uses.insert(module.clone(), others);
        }
        package
    }

    /// The paths that a file names, from the root of the package: `rego::compile` after `use crate::driver::rego` or
    /// beside `mod rego;` is spelled out.
    fn named(&self, module: &[String], edges: &[Edge]) -> Vec<Path> {
        let inside = edges.iter().filter_map(|edge| match edge {
            Edge::Inside { path, .. } => Some(path.clone()),
            Edge::Outside { .. } => None,
        });
        let inside: Vec<_> = inside.collect();
        let local = edges.iter().filter_map(|edge| match edge {
            Edge::Outside { path, .. } => path.split_first(),
            Edge::Inside { .. } => None,
        });
        let spelled_out = local.filter_map(|(first, rest)| {
            let child = [module, std::slice::from_ref(first)].concat();
            let imported = || inside.iter().find(|path| self.shows(path, first)).cloned();
            let start = Some(child).filter(|child| self.files.contains_key(child)).or_else(imported)?;
            Some([start.as_slice(), rest].concat())
        });
        spelled_out.chain(inside.iter().cloned()).collect()
    }

    /// The module that defines what a path leads to; none for a module as such.
    fn owner(&self, path: &[String], reexports: usize) -> Option<Path> {
        let splits = (0..=path.len()).rev().filter_map(|end| path.split_at_checked(end));
        let (module, rest) = splits.into_iter().find(|(module, _)| self.files.contains_key(*module))?;
        let (item, members) = rest.split_first()?;
        if self.defined.get(module)?.contains(item) {
            return Some(module.to_vec());
        }
        let shown = self.named.get(module)?.iter().find(|named| *named != path && self.shows(named, item));
        match shown {
            Some(shown) if reexports > 0 => {
                self.owner(&[shown, members].concat(), reexports.saturating_sub(1))
            }
            _ => Some(module.to_vec()),
        }
    }

    /// Returns true if a path brings an item or a module of that name into scope: `crate::driver::Budget`, not
    /// `Budget::new`.
    fn shows(&self, path: &[String], name: &str) -> bool {
        let Some((last, before)) = path.split_last() else { return false };
        last == name && self.files.contains_key(before)
    }

    /// All modules that a module uses, directly or through others.
    fn reached(&self, module: &Path) -> BTreeSet<Path> {
        let mut reached = BTreeSet::new();
        let mut open = vec![module];
        while let Some(next) = open.pop() {
            let uses = self.uses.get(next).into_iter().flatten();
            open.extend(uses.filter(|used| reached.insert((*used).clone())));
        }
        reached
    }
}

/// The names behind `fn`, `struct` and the like at the top level of a file.
fn defined(source: &Source) -> BTreeSet<String> {
    const WORDS: [&str; 7] = ["const", "enum", "fn", "static", "struct", "trait", "type"];
    let tokens: Vec<_> = source.tokens().into_iter().collect();
    let names = tokens.windows(2).filter_map(|pair| match pair {
        [TokenTree::Ident(word), TokenTree::Ident(name)] if WORDS.iter().any(|known| word == known) => {
            Some(name.to_string())
        }
        _ => None,
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let parse =
            |(path, text): &(&str, &str)| Source::parse(&format!("crates/x/src/{path}"), text).unwrap();
        let sources: Vec<_> = files.iter().map(parse).collect();
        let found = file_cycles(&sources.iter().collect::<Vec<_>>());
        found.into_iter().map(|diagnostic| diagnostic.message.replace("crates/x/src/", "")).collect()
    }

    #[test]
    fn two_files_that_use_one_another_are_found() {
        let files = [
            (
                "a.rs",
                "use crate::b::B;
pub struct A;
",
            ),
            (
                "b.rs",
                "fn b(a: super::a::A) {}
",
            ),
        ];
        assert_eq!(circles(&files), ["2 files use one another: a.rs b.rs"]);
        assert_eq!(
            circles(&[
                files[0],
                (
                    "b.rs",
                    "pub struct B;
"
                )
            ]),
            [""; 0]
        );
    }

    #[test]
    fn a_detour_over_a_facade_is_seen() {
        let root = (
            "lib.rs",
            "mod a;
mod b;
pub use a::A;
",
        );
        let files = [
            root,
            (
                "a.rs",
                "use crate::b;
fn a() { b::b() }
",
            ),
            (
                "b.rs",
                "use crate::A;
",
            ),
        ];
        assert_eq!(circles(&files), ["2 files use one another: a.rs b.rs"]);
        let apart = [
            root,
            (
                "a.rs",
                "use crate::b;
",
            ),
            (
                "b.rs",
                "fn b() {}
",
            ),
        ];
        assert_eq!(circles(&apart), [""; 0]);
    }

    #[test]
    fn a_module_and_those_inside_it_are_one_unit() {
        let parent = (
            "a.rs",
            "mod b;
use b::B;
pub struct A;
",
        );
        assert_eq!(
            circles(&[
                parent,
                (
                    "a/b.rs",
                    "use super::A;
pub struct B;
"
                )
            ]),
            [""; 0]
        );
    }

    #[test]
    fn an_item_belongs_to_the_file_that_defines_it_whatever_else_has_its_name() {
        let parent = ("a.rs", "mod b;\nmod c;\nfn text() {}\nfn d() { c::text() }\n");
        let files =
            [parent, ("a/b.rs", "use super::text;\n"), ("a/c.rs", "use super::b::B;\nfn text() {}\n")];
        assert_eq!(circles(&files), [""; 0]);
    }

    #[test]
    fn tests_are_left_out() {
        let files = [
            (
                "a.rs",
                "use crate::b::B;
",
            ),
            ("b.rs", "#[cfg(test)]\nmod tests { use crate::a::A; }\n"),
        ];
        assert_eq!(circles(&files), [""; 0]);
    }
}
