//! The errors of an expression: [`Issues`], printed as cel-go prints them.

use std::fmt;

use crate::types::Type;

/// cel-go prints so many issues and counts the rest.
const MOST_PRINTED: usize = 100;
/// Longer lines are not shown below an issue.
const LONGEST_LINE: usize = 16_384;

/// One thing that is wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Issue {
    /// Offset in the source, in bytes; 0 for an issue with the expression as a whole.
    pub at: usize,
    /// The error, in cel-go's words where it has some.
    pub message: String,
    /// False for an issue with the expression as a whole.
    is_placed: bool,
    /// A bound of this implementation was crossed.
    is_limit: bool,
}

/// Everything that is wrong with an expression, in the order of the places. There is at least one issue.
///
/// `Display` is the API server's text: each issue with its position, the line and a mark below it.
///
/// ```
/// use cel_compat::{Environment, Type};
///
/// let environment = Environment::default().with("name", Type::String);
/// let issues = environment.compile("name.first == 'a'").unwrap_err();
/// assert_eq!(
///     issues.to_string(),
///     "ERROR: <input>:1:5: type 'string' does not support field selection\n | name.first == 'a'\n | ....^",
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Issues {
    source: String,
    issues: Vec<Issue>,
    of: Option<Type>,
}

// === impl Issue ===

impl Issue {
    pub(crate) fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), is_placed: true, is_limit: false }
    }

    /// An issue with the expression as a whole.
    pub(crate) fn unplaced(message: impl Into<String>) -> Self {
        Self { is_placed: false, ..Self::new(0, message) }
    }

    /// A bound of this implementation that an expression crosses.
    pub(crate) fn of_limit(message: impl Into<String>) -> Self {
        Self { is_limit: true, ..Self::unplaced(message) }
    }

    fn print(&self, source: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_placed {
            return write!(f, "ERROR: <input>:-1:0: {}", self.message);
        }
        let before = source.get(..self.at).unwrap_or(source);
        let row = before.matches('\n').count();
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
        let line = source.split('\n').nth(row).unwrap_or_default();
        let (row, shown) = (row.saturating_add(1), column.saturating_add(1));
        write!(f, "ERROR: <input>:{row}:{shown}: {}", self.message)?;
        if line.len() > LONGEST_LINE {
            return Ok(());
        }
        write!(f, "\n | {}\n | ", line.replace('\t', " "))?;
        let mut chars = line.chars();
        for c in chars.by_ref().take(column) {
            f.write_str(if c.is_ascii() { "." } else { "\u{ff0e}" })?;
        }
        f.write_str(if chars.next().is_none_or(|c| c.is_ascii()) { "^" } else { "\u{ff3e}" })
    }
}

// === impl Issues ===

impl Issues {
    /// Describes why an expression does not compile.
    pub(crate) fn new(source: &str, mut issues: Vec<Issue>) -> Self {
        issues.sort_by_key(|issue| (issue.is_placed, issue.at));
        Self { source: source.to_owned(), issues, of: None }
    }

    /// Describes why an expression of type `of`, which compiles, cannot be made a program.
    pub(crate) fn of_program(source: &str, issue: Issue, of: Type) -> Self {
        Self { source: source.to_owned(), issues: vec![issue], of: Some(of) }
    }

    /// Returns the issues, in the order of their places.
    pub fn iter(&self) -> std::slice::Iter<'_, Issue> {
        self.issues.iter()
    }

    /// Returns true if the expression nests deeper than this implementation reads. The API server allows more brackets
    /// (249) and puts no bound on variables that use one another, so that it may accept the expression.
    #[must_use]
    pub fn exceed_limit(&self) -> bool {
        self.issues.iter().any(|issue| issue.is_limit)
    }

    /// Returns the type of an expression that is well typed and holds a constant that can never be evaluated, such as
    /// `int('x')`; `None` for all others. The API server compiles such an expression and refuses its program.
    #[must_use]
    pub const fn program_type(&self) -> Option<&Type> {
        self.of.as_ref()
    }
}

impl fmt::Display for Issues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(_), [issue]) = (&self.of, self.issues.as_slice()) {
            return f.write_str(&issue.message);
        }
        for (index, issue) in self.issues.iter().take(MOST_PRINTED).enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            issue.print(&self.source, f)?;
        }
        match self.issues.len().saturating_sub(MOST_PRINTED) {
            0 => Ok(()),
            more => write!(f, "\n{more} more errors were truncated"),
        }
    }
}

impl std::error::Error for Issues {}

impl IntoIterator for Issues {
    type Item = Issue;
    type IntoIter = std::vec::IntoIter<Issue>;

    fn into_iter(self) -> Self::IntoIter {
        self.issues.into_iter()
    }
}

impl<'a> IntoIterator for &'a Issues {
    type Item = &'a Issue;
    type IntoIter = std::slice::Iter<'a, Issue>;

    fn into_iter(self) -> Self::IntoIter {
        self.issues.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_stands_below_the_place_whatever_stands_before_it() {
        let source = "true &&\n'é'\t.x";
        let at = source.find('.').unwrap();
        let issues = Issues::new(source, vec![Issue::new(at, "no")]);
        assert_eq!(issues.to_string(), "ERROR: <input>:2:5: no\n | 'é' .x\n | .\u{ff0e}..^");
    }

    #[test]
    fn a_wide_character_gets_a_wide_mark() {
        let issues = Issues::new("é", vec![Issue::new(0, "no")]);
        assert_eq!(issues.to_string(), "ERROR: <input>:1:1: no\n | é\n | \u{ff3e}");
    }

    #[test]
    fn issues_beyond_a_hundred_are_counted() {
        let issues = Issues::new("", (0..102).map(|_| Issue::new(0, "no")).collect());
        assert!(issues.to_string().ends_with("^\n2 more errors were truncated"));
    }
}
