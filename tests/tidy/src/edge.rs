//! The paths a file names, resolved to where they lead: another package, or a module of its own.
//!
//! It reads tokens, not the syntax tree, so that a path in the arguments of a macro counts, and so does
//! `pub(in …)`. Paths that start at a local name lead into the same module and are left out.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

use crate::Source;
use crate::source::lines;

/// A path that a file names.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Edge {
    /// A path inside the package, from its root: `crate::driver::rego` is `["driver", "rego"]`.
    Inside {
        /// The segments after `crate`; `*` for a glob.
        path: Vec<String>,
        /// The line, from 1.
        line: usize,
    },
    /// A path that starts with a name: another package, or a local module.
    Outside {
        /// All segments.
        path: Vec<String>,
        /// The line, from 1.
        line: usize,
    },
}

/// All paths that a file names outside of its tests.
#[must_use]
pub fn edges(source: &Source) -> Vec<Edge> {
    let mut reader = Reader { module: module_path(source.path()), found: Vec::new() };
    reader.read(source.tokens());
    let counts = |edge: &Edge| match edge {
        Edge::Inside { line, .. } | Edge::Outside { line, .. } => !source.is_test(*line),
    };
    reader.found.into_iter().filter(counts).collect()
}

/// The module a file is: `crates/x/src/driver/rego.rs` is `["driver", "rego"]`.
pub(crate) fn module_path(path: &str) -> Vec<String> {
    let inside = path.split_once("/src/").map_or(path, |(_, inside)| inside);
    let stem = inside.strip_suffix(".rs").unwrap_or(inside);
    let named = stem.split('/').filter(|part| !matches!(*part, "lib" | "main" | "mod"));
    named.map(str::to_owned).collect()
}

/// Walks tokens, knowing in which module it is.
struct Reader {
    module: Vec<String>,
    found: Vec<Edge>,
}

impl Reader {
    fn read(&mut self, tokens: TokenStream) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut rest = tokens.as_slice();
        while let Some((token, after)) = rest.split_first() {
            rest = match (token, after) {
                (TokenTree::Ident(word), [TokenTree::Ident(name), TokenTree::Group(body), after @ ..])
                    if word == "mod" =>
                {
                    self.read_module(name, body.stream());
                    after
                }
                (TokenTree::Ident(start), _) => self.read_path(start, after),
                (TokenTree::Group(group), _) => {
                    self.read(group.stream());
                    after
                }
                _ => after,
            };
        }
    }

    fn read_module(&mut self, name: &Ident, body: TokenStream) {
        self.module.push(name.to_string());
        self.read(body);
        self.module.pop();
    }

    /// Reads `start::next::…` and returns what follows it.
    fn read_path<'a>(&mut self, start: &Ident, after: &'a [TokenTree]) -> &'a [TokenTree] {
        if skip_colons(after).is_none() {
            return after;
        }
        let line = *lines(start.span()).start();
        let (paths, rest) = segments(vec![start.to_string()], after);
        for path in paths {
            let edge = self.resolve(path, line);
            self.found.push(edge);
        }
        rest
    }

    fn resolve(&self, path: Vec<String>, line: usize) -> Edge {
        let first = path.first().map(String::as_str);
        let Some("crate" | "self" | "super") = first else {
            return Edge::Outside { path, line };
        };
        let mut absolute = if first == Some("crate") { Vec::new() } else { self.module.clone() };
        for segment in path {
            match segment.as_str() {
                "crate" | "self" => {}
                "super" => drop(absolute.pop()),
                _ => absolute.push(segment),
            }
        }
        Edge::Inside { path: absolute, line }
    }
}

/// Extends `path` by what follows, once per branch of a `use` tree; returns what follows the path.
fn segments(path: Vec<String>, after: &[TokenTree]) -> (Vec<Vec<String>>, &[TokenTree]) {
    let Some(after) = skip_colons(after) else {
        return (vec![path], after);
    };
    match after {
        [TokenTree::Ident(next), rest @ ..] => segments([path, vec![next.to_string()]].concat(), rest),
        [TokenTree::Group(group), rest @ ..] if group.delimiter() == Delimiter::Brace => {
            (branches(&path, group.stream()), rest)
        }
        [TokenTree::Punct(star), rest @ ..] if star.as_char() == '*' => {
            (vec![[path, vec!["*".to_owned()]].concat()], rest)
        }
        // `Vec::<T>`: the path goes on, its head is what counts.
        rest => (vec![path], rest),
    }
}

/// The branches of `{a, b::c, d as e}`.
fn branches(path: &[String], tree: TokenStream) -> Vec<Vec<String>> {
    let tokens: Vec<_> = tree.into_iter().collect();
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
    let branch = |branch: &[TokenTree]| match branch {
        [TokenTree::Ident(next), rest @ ..] => segments([path, &[next.to_string()]].concat(), rest).0,
        [TokenTree::Punct(star), ..] if star.as_char() == '*' => vec![[path, &["*".to_owned()]].concat()],
        _ => Vec::new(),
    };
    tokens.split(is_comma).flat_map(branch).collect()
}

fn skip_colons(tokens: &[TokenTree]) -> Option<&[TokenTree]> {
    match tokens {
        [TokenTree::Punct(one), TokenTree::Punct(other), rest @ ..]
            if one.as_char() == ':' && other.as_char() == ':' =>
        {
            Some(rest)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(path: &str, text: &str) -> Vec<String> {
        let source = Source::parse(path, text).unwrap();
        let written = |edge: Edge| match edge {
            Edge::Inside { path, line } => format!("{line} crate::{}", path.join("::")),
            Edge::Outside { path, line } => format!("{line} {}", path.join("::")),
        };
        edges(&source).into_iter().map(written).collect()
    }

    #[test]
    fn use_trees_are_spread_out() {
        let text = "use crate::{api::{Template, Constraint as C}, review};\nuse kube::{*, core as k};\n";
        let expected = [
            "1 crate::api::Template",
            "1 crate::api::Constraint",
            "1 crate::review",
            "2 kube::*",
            "2 kube::core",
        ];
        assert_eq!(paths("crates/x/src/a.rs", text), expected);
    }

    #[test]
    fn paths_in_expressions_types_and_macros_count() {
        let text = "fn a(b: crate::api::B) -> ::kube::Client {\n  vec![crate::review::c(), super::d()]\n}\n";
        let expected = ["1 crate::api::B", "1 kube::Client", "2 crate::review::c", "2 crate::d"];
        assert_eq!(paths("crates/x/src/a.rs", text), expected);
    }

    #[test]
    fn super_and_self_are_resolved_from_the_module() {
        let text =
            "use super::review;\nmod inner {\n  use super::super::super::target;\n  use self::own::X;\n}\n";
        let expected = ["1 crate::driver::review", "3 crate::target", "4 crate::driver::rego::inner::own::X"];
        assert_eq!(paths("crates/x/src/driver/rego.rs", text), expected);
        assert_eq!(paths("crates/x/src/driver/mod.rs", "use super::api;\n"), ["1 crate::api"]);
    }

    #[test]
    fn tests_are_left_out() {
        let text = "#[cfg(test)]\nmod tests { use crate::api; }\n";
        assert_eq!(paths("crates/x/src/a.rs", text), Vec::<String>::new());
    }

    #[test]
    fn words_in_strings_and_documentation_are_no_paths() {
        let text = "/// See crate::api::B.\nfn a() { \"crate::api::B\"; }\n";
        assert_eq!(paths("crates/x/src/a.rs", text), Vec::<String>::new());
    }

    #[test]
    fn generic_arguments_are_read_on() {
        let text = "fn a() { Vec::<crate::api::B>::new(); }\n";
        assert_eq!(paths("crates/x/src/a.rs", text), ["1 Vec", "1 crate::api::B"]);
    }
}
