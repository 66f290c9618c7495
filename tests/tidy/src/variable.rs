//! The environment variables that tests and benchmarks read, compared with the tables that document them.
//!
//! A variable is a string literal such as `"DUCK_CASES"`, given to a function that reads it: `env::var("DUCK_CASES")`. A row
//! of a table names its variables between backticks in the first column.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::source::lines;
use crate::{Diagnostic, Rule, Source};

/// The document with the tables.
pub(crate) const DOCUMENT: &str = "docs/tests.md";
/// Functions whose first argument is the name of a variable: those of the standard library and those of our tests.
const READERS: [&str; 6] = ["from_env", "is_set", "number", "setting", "var", "var_os"];
/// Variables of Cargo, which sets them.
const OF_CARGO: &str = "CARGO_";

/// Checks that `document` lists each variable that a test reads, and no other.
#[must_use]
pub fn variables<'a>(sources: impl IntoIterator<Item = &'a Source>, document: &str) -> Vec<Diagnostic> {
    let mut reads = Reads::default();
    for source in sources {
        reads.scan(source, source.tokens(), false);
    }
    let listed: Vec<(usize, &str)> = document.lines().zip(1..).flat_map(listed).collect();
    let is_listed = |name: &str| listed.iter().any(|(_, known)| *known == name);
    let missing = reads.found.iter().filter(|(_, _, name)| !is_listed(name));
    let missing = missing.map(|(path, line, name)| {
        Diagnostic::new(path, *line, Rule::Variable, format!("{DOCUMENT} does not list `{name}`"))
    });
    let stale = listed.iter().filter(|(_, name)| !reads.literals.contains(*name));
    let stale = stale.map(|(line, name)| {
        Diagnostic::new(DOCUMENT, *line, Rule::Variable, format!("no source file reads `{name}`"))
    });
    missing.chain(stale).collect()
}

#[derive(Default)]
struct Reads {
    /// Path, line and name of each variable that a test reads.
    found: Vec<(String, usize, String)>,
    /// All literals that look like names of variables, for what is read through a constant.
    literals: BTreeSet<String>,
}

impl Reads {
    /// `is_read` is true if the tokens are the arguments of a function that reads a variable.
    fn scan(&mut self, source: &Source, tokens: TokenStream, is_read: bool) {
        let mut reader = false;
        for (index, token) in tokens.into_iter().enumerate() {
            if let TokenTree::Group(group) = &token {
                let is_call = group.delimiter() == Delimiter::Parenthesis;
                self.scan(source, group.stream(), reader && is_call);
            }
            if let Some(name) = variable(&token) {
                let line = *lines(token.span()).start();
                let is_test = source.is_test(line) || source.path().starts_with("tests/");
                if is_read && index == 0 && is_test && !name.starts_with(OF_CARGO) {
                    self.found.push((source.path().to_owned(), line, name.clone()));
                }
                self.literals.insert(name);
            }
            reader =
                matches!(&token, TokenTree::Ident(ident) if READERS.contains(&ident.to_string().as_str()));
        }
    }
}

/// The content of a literal such as `"A_NAME"`.
fn variable(token: &TokenTree) -> Option<String> {
    let TokenTree::Literal(literal) = token else { return None };
    let text = literal.to_string();
    let name = text.strip_prefix('"')?.strip_suffix('"')?;
    is_name(name).then(|| name.to_owned())
}

fn is_name(text: &str) -> bool {
    text.contains('_') && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

/// The variables in the first column of a row.
fn listed((line, number): (&str, usize)) -> impl Iterator<Item = (usize, &str)> {
    let first = line.strip_prefix('|').and_then(|row| row.split('|').next()).unwrap_or_default();
    first.split('`').filter(|name| is_name(name)).map(move |name| (number, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const READS: &str = "const NAMED: &str = \"READ_BY_NAME\";\nfn a() { number(\"A_B\", 1); env::var_os(\"CARGO_X\") }\n\
                         fn b() { let x = [\"C_D\", env::var(\"PATH\")]; b(\"E_F\") }\n";

    fn found(path: &str, document: &str) -> Vec<String> {
        let source = Source::parse(path, READS).unwrap();
        variables([&source], document).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_variable_that_a_test_reads_has_to_be_listed() {
        let missing = "tests/x/src/a.rs:2: [variable] docs/tests.md does not list `A_B`";
        assert_eq!(found("tests/x/src/a.rs", "# Tests\n\nNot a row: `A_B`.\n"), [missing]);
        assert_eq!(found("tests/x/src/a.rs", "| `A_B`, `READ_BY_NAME` | 1 | `NOT_IT` |\n"), [""; 0]);
        assert_eq!(found("crates/x/src/a.rs", ""), [""; 0], "not a test");
    }

    #[test]
    fn a_row_has_to_be_about_a_variable_that_is_read() {
        let stale = "docs/tests.md:2: [variable] no source file reads `G_H`";
        assert_eq!(found("tests/x/src/a.rs", "| `A_B` | 1 |\n| `G_H` | 1 |\n"), [stale]);
    }
}
