//! Checks that need no parsing: the first line, the first example, white space at the end of lines.

use crate::{Diagnostic, Rule, Source};

const EXAMPLE_WITHIN: usize = 20;

pub(crate) fn rust(source: &Source) -> Vec<Diagnostic> {
    let (path, text) = (source.path(), source.text());
    let mut found = Vec::new();
    if !text.starts_with("//! ") {
        let message = "starts without `//! what it is`";
        found.push(Diagnostic::new(path, 1, Rule::FirstLine, message));
    }
    let mut first_screen = text.lines().take(EXAMPLE_WITHIN);
    // The second: an example that is compiled with a feature of the crate alone. The third: the README, which opens with one.
    let begins = |line: &str| {
        line.starts_with("//! ```")
            || line.ends_with("doc = \"```\")]")
            || line.ends_with("doc = include_str!(\"../README.md\"))]")
    };
    if path.ends_with("src/lib.rs") && !first_screen.any(begins) {
        let message = format!("no example in the first {EXAMPLE_WITHIN} lines of the crate's documentation");
        found.push(Diagnostic::new(path, 1, Rule::Example, message));
    }
    found
}

/// Checks a text file of any kind for white space at the end of lines.
#[must_use]
pub fn text(path: &str, text: &str) -> Vec<Diagnostic> {
    let trailing = text.split('\n').zip(1..).filter(|(line, _)| line.ends_with(char::is_whitespace));
    trailing
        .map(|(_, line)| Diagnostic::new(path, line, Rule::TrailingSpace, "white space at the end"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<Rule> {
        rust(&Source::parse(path, text).unwrap()).into_iter().map(|diagnostic| diagnostic.rule).collect()
    }

    #[test]
    fn a_file_starts_by_saying_what_it_is() {
        assert_eq!(rules("src/a.rs", "//! A.\n"), []);
        assert_eq!(rules("src/a.rs", "// A.\n"), [Rule::FirstLine]);
        assert_eq!(rules("src/a.rs", "\n//! A.\n"), [Rule::FirstLine]);
        assert_eq!(rules("src/a.rs", "//!\n//! A.\n"), [Rule::FirstLine]);
    }

    #[test]
    fn a_library_shows_an_example_on_its_first_screen() {
        let far = format!("//! A.\n{}//! ```\n//! ```\n", "//! More.\n".repeat(20));
        assert_eq!(rules("crates/x/src/lib.rs", "//! A.\n//!\n//! ```\n//! ```\n"), []);
        let of_a_feature = "//! A.\n#![cfg_attr(feature = \"a\", doc = \"```\")]\n//! ```\n";
        assert_eq!(rules("crates/x/src/lib.rs", of_a_feature), []);
        let readme = "//! A.\n#![cfg_attr(not(doctest), doc = include_str!(\"../README.md\"))]\n";
        assert_eq!(rules("crates/x/src/lib.rs", readme), []);
        assert_eq!(rules("crates/x/src/lib.rs", "//! A.\n"), [Rule::Example]);
        assert_eq!(rules("crates/x/src/lib.rs", &far), [Rule::Example]);
        assert_eq!(rules("crates/x/src/other.rs", "//! A.\n"), []);
    }

    #[test]
    fn white_space_at_the_end_is_found_on_its_line() {
        let found = text("a.md", "fine\nnot \nnor\t\n\nfine");
        assert_eq!(found.iter().map(|diagnostic| diagnostic.line).collect::<Vec<_>>(), [2, 3]);
    }
}
