//! The first words of a doc comment: a noun phrase for a type, a third-person verb for a function, as in the standard library.

use crate::{Diagnostic, Rule, Source};

/// Words that make a question or a riddle of a sentence.
const OPENERS: [&str; 11] =
    ["How", "Nobody", "Somebody", "What", "Where", "Whether", "Which", "Who", "Whoever", "Whom", "Whose"];

/// Checks the first line of each doc comment.
pub(crate) fn check(source: &Source) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut is_inside = false;
    for (line, number) in source.text().lines().zip(1..) {
        let first = line.trim_start().strip_prefix("/// ").filter(|_| !is_inside);
        is_inside = line.trim_start().starts_with("///");
        if let Some(message) = first.and_then(wrong) {
            found.push(Diagnostic::new(source.path(), number, Rule::Documentation, message));
        }
    }
    found
}

fn wrong(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let first = words.next().unwrap_or_default();
    if OPENERS.contains(&first) {
        return Some(format!(
            "a doc comment does not open with {first:?}: name the thing, or say what the function does"
        ));
    }
    // A name in code may be all there is to say: `strconv.Quote`.
    let is_word = first.trim_end_matches('.').chars().all(char::is_alphabetic);
    (words.next().is_none() && first.ends_with('.') && is_word)
        .then(|| format!("{first:?} is not documentation: say what the name does not"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check(&Source::parse("crates/x/src/a.rs", text).unwrap())
            .into_iter()
            .map(|found| found.line)
            .collect()
    }

    #[test]
    fn questions_are_not_documentation() {
        assert_eq!(lines("//! A.\n/// Whether it is so.\nfn a() {}\n"), [2]);
        assert_eq!(lines("//! A.\n/// Returns true if it is so.\n/// What else.\nfn a() {}\n"), [0; 0]);
        assert_eq!(lines("//! A.\n/// Whatever comes.\nfn a() {}\n"), [0; 0]);
    }

    #[test]
    fn one_word_is_not_documentation() {
        assert_eq!(lines("//! A.\n/// Kind.\nstruct A;\n"), [2]);
        assert_eq!(lines("//! A.\n/// `strconv.Quote`.\nfn a() {}\n"), [0; 0]);
    }
}
