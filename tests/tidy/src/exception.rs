//! The exceptions, each a line with a reason: `path  rule  reason`.
//!
//! An exception holds for one rule in one file. One that lets nothing through is a diagnostic itself, so the
//! list can only be as long as it must be.

use crate::{Diagnostic, Error, Rule};

/// The list of exceptions.
#[derive(Clone, Debug, Default)]
pub struct Exceptions {
    file: String,
    lines: Vec<Exception>,
}

#[derive(Clone, Debug)]
struct Exception {
    line: usize,
    path: String,
    rule: Rule,
}

// === impl Exceptions ===

impl Exceptions {
    /// Reads a list; `file` is its own path. Empty lines and lines that start with `#` are comments.
    ///
    /// # Errors
    ///
    /// When a line lacks one of its parts, or names no rule.
    pub fn parse(file: &str, text: &str) -> Result<Self, Error> {
        let written =
            text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty() && !line.starts_with('#'));
        let lines = written.map(|(line, number)| Exception::parse(line, number)).collect::<Result<_, _>>()?;
        Ok(Self { file: file.to_owned(), lines })
    }

    /// Removes what is let through; adds a diagnostic for each exception that lets nothing through.
    #[must_use]
    pub fn apply(&self, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let stale = self
            .lines
            .iter()
            .filter(|exception| !found.iter().any(|diagnostic| exception.covers(diagnostic)));
        let stale: Vec<_> = stale.map(|exception| exception.stale(&self.file)).collect();
        let covered =
            |diagnostic: &Diagnostic| self.lines.iter().any(|exception| exception.covers(diagnostic));
        found.into_iter().filter(|diagnostic| !covered(diagnostic)).chain(stale).collect()
    }
}

// === impl Exception ===

impl Exception {
    fn parse(text: &str, line: usize) -> Result<Self, Error> {
        let mut parts = text.split("  ").map(str::trim).filter(|part| !part.is_empty());
        let (path, rule, reason) = (parts.next(), parts.next(), parts.next());
        let rule = rule.and_then(|name| Rule::ALL.into_iter().find(|rule| rule.name() == name));
        match (path, rule, reason) {
            (Some(path), Some(rule), Some(_)) => Ok(Self { line, path: path.to_owned(), rule }),
            _ => Err(Error::Exception { line }),
        }
    }

    fn covers(&self, diagnostic: &Diagnostic) -> bool {
        self.path == diagnostic.path && self.rule == diagnostic.rule
    }

    fn stale(&self, file: &str) -> Diagnostic {
        let message = format!("{} breaks no rule `{}`: remove this line", self.path, self.rule.name());
        Diagnostic::new(file, self.line, Rule::StaleException, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Exceptions {
        Exceptions::parse("exceptions.txt", text).unwrap()
    }

    #[test]
    fn an_exception_lets_one_rule_through_in_one_file() {
        let exceptions = list("# Why.\n\nsrc/a.rs  name  the crate's own word\n");
        let found = vec![
            Diagnostic::new("src/a.rs", 1, Rule::Name, "x"),
            Diagnostic::new("src/a.rs", 2, Rule::Sleep, "x"),
            Diagnostic::new("src/b.rs", 1, Rule::Name, "x"),
        ];
        assert_eq!(exceptions.apply(found.clone()), found[1..]);
    }

    #[test]
    fn an_exception_that_is_not_needed_is_found() {
        let left = list("src/a.rs  name  because\nsrc/b.rs  sleep  because\n").apply(vec![]);
        assert_eq!(left.iter().map(|diagnostic| diagnostic.line).collect::<Vec<_>>(), [1, 2]);
        assert!(left.iter().all(|diagnostic| diagnostic.rule == Rule::StaleException));
    }

    #[test]
    fn an_exception_needs_a_rule_and_a_reason() {
        for line in ["src/a.rs  name", "src/a.rs  nonsense  because", "src/a.rs", "src/a.rs name because"] {
            assert!(Exceptions::parse("x", line).is_err(), "{line}");
        }
    }
}
