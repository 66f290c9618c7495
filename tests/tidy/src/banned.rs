//! What must not be committed: unfinished code, tests that are skipped without a word, tests that sleep.
//!
//! It reads tokens, so it sees into macros, and it does not see comments and strings.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::Meta;
use syn::spanned::Spanned;
use syn::visit::Visit;

use crate::source::lines;
use crate::{Finding, Rule, Source};

const UNFINISHED: [&str; 3] = ["todo", "unimplemented", "dbg"];

pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let mut ignored = Ignored {
        source,
        found: Vec::new(),
    };
    ignored.visit_file(source.tree());
    let mut found = ignored.found;
    scan(source, source.tokens(), &mut found);
    found
}

fn scan(source: &Source, tokens: TokenStream, found: &mut Vec<Finding>) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        let next = tokens.get(index.saturating_add(1));
        match token {
            TokenTree::Ident(ident) => judge(source, ident, next, found),
            TokenTree::Group(group) => scan(source, group.stream(), found),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

fn judge(source: &Source, ident: &proc_macro2::Ident, next: Option<&TokenTree>, found: &mut Vec<Finding>) {
    let (name, line) = (ident.to_string(), *lines(ident.span()).start());
    let is_macro = matches!(next, Some(TokenTree::Punct(punct)) if punct.as_char() == '!');
    let is_call =
        matches!(next, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
    if is_macro && UNFINISHED.contains(&name.as_str()) {
        let message = format!("`{name}!` is unfinished work");
        found.push(Finding::new(source.path(), line, Rule::Unfinished, message));
    }
    if is_call && name == "sleep" && (source.is_test(line) || source.path().starts_with("tests/")) {
        let message = "a test that sleeps hides a race: wait for the event itself";
        found.push(Finding::new(source.path(), line, Rule::Sleep, message));
    }
}

struct Ignored<'a> {
    source: &'a Source,
    found: Vec<Finding>,
}

impl<'ast> Visit<'ast> for Ignored<'_> {
    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if matches!(&attribute.meta, Meta::Path(path) if path.is_ident("ignore")) {
            let line = *lines(attribute.span()).start();
            let message = "`#[ignore]` without `= \"reason\"`";
            self.found
                .push(Finding::new(self.source.path(), line, Rule::Ignored, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<(Rule, usize)> {
        let source = Source::parse(path, text).unwrap();
        check(&source)
            .into_iter()
            .map(|finding| (finding.rule, finding.line))
            .collect()
    }

    #[test]
    fn unfinished_macros_are_found_inside_macros_too() {
        let text = "fn a() {\n    todo!();\n    vec![dbg!(1)];\n    unimplemented!(\"x\")\n}\n";
        let unfinished = [2, 3, 4].map(|line| (Rule::Unfinished, line));
        assert_eq!(rules("src/a.rs", text), unfinished);
    }

    #[test]
    fn words_in_strings_and_comments_are_not_code() {
        assert_eq!(
            rules(
                "tests/a/tests/b.rs",
                "// todo!()\nfn a() { let todo = \"dbg!(1) sleep(1)\"; }\n"
            ),
            []
        );
    }

    #[test]
    fn a_skipped_test_says_why() {
        let skipped = |attribute: &str| rules("src/a.rs", &format!("#[test]\n{attribute}\nfn a() {{}}\n"));
        assert_eq!(skipped("#[ignore]"), [(Rule::Ignored, 2)]);
        assert_eq!(skipped("#[ignore = \"takes an hour\"]"), []);
    }

    #[test]
    fn only_tests_must_not_sleep() {
        let text = "async fn a() { tokio::time::sleep(b).await }\n";
        assert_eq!(rules("crates/x/src/a.rs", text), []);
        assert_eq!(rules("crates/x/src/a/tests.rs", text), [(Rule::Sleep, 1)]);
        assert_eq!(rules("tests/e2e/src/lib.rs", text), [(Rule::Sleep, 1)]);
        assert_eq!(
            rules(
                "crates/x/src/a.rs",
                &format!("#[cfg(test)]\nmod tests {{\n{text}}}\n")
            ),
            [(Rule::Sleep, 3)]
        );
    }
}
