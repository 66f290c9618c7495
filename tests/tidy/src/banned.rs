//! Code that must not be committed: unfinished code, tests that are skipped without a word, tests that sleep.
//!
//! It reads tokens, so it sees into macros, and it does not see comments and strings.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use syn::Meta;
use syn::spanned::Spanned;
use syn::visit::Visit;

use crate::source::lines;
use crate::{Diagnostic, Rule, Source};

const UNFINISHED: [&str; 3] = ["todo", "unimplemented", "dbg"];

pub(crate) fn check(source: &Source) -> Vec<Diagnostic> {
    let mut attributes = Attributes { ignored: Vec::new(), clocks: Vec::new() };
    attributes.visit_file(source.tree());
    let runs_on_paused_clock =
        source.text().contains("start_paused") && attributes.clocks.iter().all(|paused| *paused);
    let mut words = Words { source, runs_on_paused_clock, found: Vec::new() };
    words.scan(source.tokens());
    let message = "`#[ignore]` without `= \"reason\"`";
    let ignored = attributes.ignored.into_iter();
    words.found.extend(ignored.map(|line| Diagnostic::new(source.path(), line, Rule::Ignored, message)));
    words.found
}

struct Words<'a> {
    source: &'a Source,
    /// Then a sleep takes no time and decides nothing by luck: it lets simulated time pass.
    runs_on_paused_clock: bool,
    found: Vec<Diagnostic>,
}

impl Words<'_> {
    fn scan(&mut self, tokens: TokenStream) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        for (index, token) in tokens.iter().enumerate() {
            let next = tokens.get(index.saturating_add(1));
            match token {
                TokenTree::Ident(ident) => self.judge(ident, next),
                TokenTree::Group(group) => self.scan(group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    fn judge(&mut self, ident: &Ident, next: Option<&TokenTree>) {
        let (name, line) = (ident.to_string(), *lines(ident.span()).start());
        let is_macro = matches!(next, Some(TokenTree::Punct(punct)) if punct.as_char() == '!');
        let is_call =
            matches!(next, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
        if is_macro && UNFINISHED.contains(&name.as_str()) {
            self.report(line, Rule::Unfinished, &format!("`{name}!` is unfinished work"));
        }
        if is_call && name == "sleep" && self.must_not_sleep(line) {
            self.report(
                line,
                Rule::Sleep,
                "a test that sleeps hides a race: wait for the event, or pause the clock",
            );
        }
    }

    fn must_not_sleep(&self, line: usize) -> bool {
        let is_test = self.source.is_test(line) || self.source.path().starts_with("tests/");
        is_test && !self.runs_on_paused_clock
    }

    fn report(&mut self, line: usize, rule: Rule, message: &str) {
        self.found.push(Diagnostic::new(self.source.path(), line, rule, message));
    }
}

struct Attributes {
    /// Lines of `#[ignore]` without a reason.
    ignored: Vec<usize>,
    /// For each `#[tokio::test]`, whether its clock is paused.
    clocks: Vec<bool>,
}

impl<'ast> Visit<'ast> for Attributes {
    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        let path = attribute.path();
        if matches!(attribute.meta, Meta::Path(_)) && path.is_ident("ignore") {
            self.ignored.push(*lines(attribute.span()).start());
        }
        if path.segments.len() == 2 && path.segments.last().is_some_and(|last| last.ident == "test") {
            let paused = |list: &syn::MetaList| list.tokens.to_string().contains("start_paused = true");
            self.clocks.push(attribute.meta.require_list().is_ok_and(paused));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<(Rule, usize)> {
        let source = Source::parse(path, text).unwrap();
        check(&source).into_iter().map(|diagnostic| (diagnostic.rule, diagnostic.line)).collect()
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
            rules("tests/a/tests/b.rs", "// todo!()\nfn a() { let todo = \"dbg!(1) sleep(1)\"; }\n"),
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
            rules("crates/x/src/a.rs", &format!("#[cfg(test)]\nmod tests {{\n{text}}}\n")),
            [(Rule::Sleep, 3)]
        );
    }

    #[test]
    fn simulated_time_may_pass() {
        let sleeps =
            |clock: &str| format!("#[tokio::test{clock}]\nasync fn a() {{ tokio::time::sleep(b).await }}\n");
        let (paused, running) = (sleeps("(start_paused = true)"), sleeps(""));
        assert_eq!(rules("tests/a/tests/b.rs", &paused), []);
        assert_eq!(rules("tests/a/tests/b.rs", &running), [(Rule::Sleep, 2)]);
        assert_eq!(
            rules("tests/a/tests/b.rs", &format!("{paused}{running}")).len(),
            2,
            "one running clock spoils it"
        );
    }
}
