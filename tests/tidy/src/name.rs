//! Names that say nothing, for modules, files and types.
//!
//! Functions and variables may be called what they like; `docs` and review look after those.

use syn::visit::Visit;

use crate::source::lines;
use crate::{Diagnostic, Rule, Source};

const BANNED: [&str; 8] = ["util", "utils", "helper", "helpers", "common", "misc", "manager", "managers"];
/// These say nothing at the end of a name; in front they can be the field's word, as Rego's `data` is.
const BANNED_LAST: [&str; 2] = ["data", "info"];
/// The crate's own name, which the field gave it.
const GIVEN: [&str; 3] = ["watch-manager", "watch_manager", "WatchManager"];

pub(crate) fn check(source: &Source) -> Vec<Diagnostic> {
    let mut names = Names { path: source.path(), found: Vec::new() };
    let parts = source.path().split('/').map(|part| part.strip_suffix(".rs").unwrap_or(part));
    for part in parts.filter(|part| is_banned(part, part.split(['_', '-']))) {
        names.report(1, &format!("`{part}` in the path"));
    }
    names.visit_file(source.tree());
    names.found
}

struct Names<'a> {
    path: &'a str,
    found: Vec<Diagnostic>,
}

impl Names<'_> {
    fn report(&mut self, line: usize, what: &str) {
        let message = format!("{what} says nothing: name it by what it does for whom");
        self.found.push(Diagnostic::new(self.path, line, Rule::Name, message));
    }

    fn check_type(&mut self, ident: &syn::Ident) {
        let name = ident.to_string();
        if is_banned(&name, camel_words(&name).iter().map(String::as_str)) {
            self.report(*lines(ident.span()).start(), &format!("`{name}`"));
        }
    }
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        let name = module.ident.to_string();
        // A declared module is judged by its file.
        if module.content.is_some() && is_banned(&name, name.split('_')) {
            self.report(*lines(module.ident.span()).start(), &format!("module `{name}`"));
        }
        syn::visit::visit_item_mod(self, module);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.check_type(&item.ident);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.check_type(&item.ident);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.check_type(&item.ident);
        syn::visit::visit_item_trait(self, item);
    }
}

fn is_banned<'a>(name: &str, words: impl Iterator<Item = &'a str>) -> bool {
    let words: Vec<_> = words.collect();
    let last = words.last().is_some_and(|word| BANNED_LAST.contains(word));
    !GIVEN.contains(&name) && (last || words.iter().any(|word| BANNED.contains(word)))
}

/// `WatchManager` → `watch`, `manager`.
fn camel_words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for letter in name.chars() {
        if letter.is_uppercase() || words.is_empty() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(path: &str, text: &str) -> Vec<usize> {
        check(&Source::parse(path, text).unwrap()).into_iter().map(|diagnostic| diagnostic.line).collect()
    }

    #[test]
    fn files_and_folders_are_named() {
        assert_eq!(lines_of("crates/x/src/util.rs", ""), [1]);
        assert_eq!(lines_of("crates/x/src/common/a.rs", ""), [1]);
        assert_eq!(lines_of("crates/x-helper/src/a.rs", ""), [1]);
        assert_eq!(lines_of("crates/x/src/database.rs", ""), [0; 0]);
    }

    #[test]
    fn data_and_info_may_stand_in_front_only() {
        assert_eq!(lines_of("src/data.rs", ""), [1]);
        assert_eq!(lines_of("src/pod_info.rs", ""), [1]);
        assert_eq!(lines_of("src/data_access.rs", "struct DataReference;\n"), [0; 0]);
    }

    #[test]
    fn the_name_of_the_watch_manager_is_given() {
        assert_eq!(lines_of("crates/watch-manager/src/a.rs", "struct WatchManager;\n"), [0; 0]);
        assert_eq!(lines_of("crates/watch-manager/src/manager.rs", "struct Manager;\n"), [1, 1]);
    }

    #[test]
    fn modules_and_types_are_named() {
        assert_eq!(lines_of("src/a.rs", "mod a {}\nmod string_utils {}\n"), [2]);
        assert_eq!(lines_of("src/a.rs", "struct PodInfo;\nenum Kind {}\ntrait Helper {}\n"), [1, 3]);
        assert_eq!(lines_of("src/a.rs", "struct Database;\nstruct Informer;\nfn helper() {}\n"), [0; 0]);
    }
}
