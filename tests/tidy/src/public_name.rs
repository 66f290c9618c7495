//! A name means one thing: two crates that are used together do not have public types of one name and two meanings.

use std::collections::BTreeMap;

use crate::{Diagnostic, Rule, Source};

/// These mean the same in each crate: its error, one entry of its validation, the value and the expression of its
/// language, the error of its evaluation.
const SHARED: [&str; 6] = ["Diagnostic", "Diagnostics", "Error", "EvalError", "Expression", "Value"];

/// Compares the public types of all packages below `crates/`.
pub(crate) fn duplicates(sources: &[Source]) -> Vec<Diagnostic> {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    let mut found = Vec::new();
    for source in sources {
        let Some(folder) = source.path().strip_prefix("crates/").and_then(|path| path.split('/').next())
        else {
            continue;
        };
        for (name, line) in public_types(source) {
            let first = *seen.entry(name.clone()).or_insert(folder);
            if first != folder {
                let message = format!("`{name}` is a public type of {first} too: qualify one of them");
                found.push(Diagnostic::new(source.path(), line, Rule::PublicName, message));
            }
        }
    }
    found
}

/// The types at the top of a file that are `pub`: rustc refuses that where they cannot be reached from outside.
fn public_types(source: &Source) -> Vec<(String, usize)> {
    let of = |item: &syn::Item| match item {
        syn::Item::Struct(item) => Some((item.vis.clone(), item.ident.clone())),
        syn::Item::Enum(item) => Some((item.vis.clone(), item.ident.clone())),
        syn::Item::Trait(item) => Some((item.vis.clone(), item.ident.clone())),
        syn::Item::Type(item) => Some((item.vis.clone(), item.ident.clone())),
        _ => None,
    };
    let types = source.tree().items.iter().filter_map(of);
    let public = types.filter(|(visibility, _)| matches!(visibility, syn::Visibility::Public(_)));
    let named = public.map(|(_, ident)| (ident.to_string(), *crate::source::lines(ident.span()).start()));
    named.filter(|(name, line)| !SHARED.contains(&name.as_str()) && !source.is_test(*line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<_> = files.iter().map(|(path, text)| Source::parse(path, text).unwrap()).collect();
        duplicates(&sources)
            .iter()
            .map(|diagnostic| format!("{}:{}", diagnostic.path, diagnostic.line))
            .collect()
    }

    #[test]
    fn a_type_of_two_crates_is_found() {
        let (a, b) =
            (("crates/a/src/x.rs", "//! X.\npub struct Target;\n"), "//! Y.\n\npub trait Target {}\n");
        assert_eq!(found(&[a, ("crates/b/src/y.rs", b)]), ["crates/b/src/y.rs:3"]);
        assert_eq!(found(&[a, ("crates/a/src/y.rs", b)]), [""; 0]);
        assert_eq!(found(&[a, ("operators/b/src/y.rs", b)]), [""; 0]);
        assert_eq!(found(&[a, ("crates/b/tests/y.rs", b)]), [""; 0]);
        assert_eq!(found(&[a, ("crates/b/src/y.rs", "//! Y.\npub(crate) struct Target;\n")]), [""; 0]);
    }

    #[test]
    fn an_error_is_an_error_everywhere() {
        let text = "//! X.\npub struct Error;\n";
        assert_eq!(found(&[("crates/a/src/x.rs", text), ("crates/b/src/x.rs", text)]), [""; 0]);
    }
}
