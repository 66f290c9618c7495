//! What is wrong with a module, and where: findings, never a panic and never only the first one.
//!
//! Every stage (lexer, parser, checks) reports through [`Findings`]; evaluation has its own error type.

use std::fmt;
use std::sync::OnceLock;

/// Where a piece of source text is: the byte offsets of its start and end, turned into line and column only when
/// somebody asks. Findings show the start; the end is what coverage needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Pos(pub(crate) u32, pub(crate) u32);

/// The family a finding belongs to, named as OPA names its compiler errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The text is not Rego (`rego_parse_error`).
    Parse,
    /// The module cannot be compiled: conflicting rules, misplaced names, refused imports (`rego_compile_error`).
    Compile,
    /// A variable may be read before it has a value (`rego_unsafe_var_error`).
    UnsafeVar,
    /// A call or comparison that can never succeed, an unknown function, a wrong number of arguments (`rego_type_error`).
    Type,
    /// A rule or function depends on itself (`rego_recursion_error`).
    Recursion,
    /// The host refuses this access, import or builtin.
    Refused,
    /// The module exceeds one of the host's bounds.
    Bound,
}

impl Code {
    /// The code in OPA's spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Parse => "rego_parse_error",
            Self::Compile => "rego_compile_error",
            Self::UnsafeVar => "rego_unsafe_var_error",
            Self::Type => "rego_type_error",
            Self::Recursion => "rego_recursion_error",
            Self::Refused => "rego_refused_error",
            Self::Bound => "rego_bound_error",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One thing that is wrong with a module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Name the module was parsed under.
    pub file: String,
    /// Line, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
    /// Family of the finding.
    pub code: Code,
    /// What is wrong.
    pub message: String,
    /// How to mend it; empty where the message says it all.
    pub help: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}: {}", self.file, self.line, self.column, self.code, self.message)?;
        if !self.help.is_empty() {
            write!(f, " ({})", self.help)?;
        }
        Ok(())
    }
}

/// Everything that is wrong, sorted by file and position; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Findings(Vec<Finding>);

impl Findings {
    /// How many findings are kept; nobody reads more.
    pub const MOST: usize = 1_000;

    /// Sorts the findings, drops repetitions and keeps the first [`Self::MOST`].
    #[must_use]
    pub fn new(mut findings: Vec<Finding>) -> Self {
        findings.sort();
        findings.dedup();
        findings.truncate(Self::MOST);
        Self(findings)
    }

    /// The findings in order of position.
    pub fn iter(&self) -> std::slice::Iter<'_, Finding> {
        self.0.iter()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none; a `Findings` returned as an error never is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The findings by value.
    #[must_use]
    pub fn into_vec(self) -> Vec<Finding> {
        self.0
    }
}

impl<'a> IntoIterator for &'a Findings {
    type Item = &'a Finding;
    type IntoIter = std::slice::Iter<'a, Finding>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.len() > 1 {
            writeln!(f, "{} findings:", self.0.len())?;
        }
        for (index, finding) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{finding}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Findings {}

/// Source text with its name: turns positions into findings.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
    /// Where the lines begin, once somebody asked.
    lines: OnceLock<Vec<usize>>,
}

impl Source {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), text: text.to_owned(), lines: OnceLock::new() }
    }

    /// Line and column (in characters) of a position's start, both from 1.
    pub(crate) fn locate(&self, at: Pos) -> (u32, u32) {
        self.place(at.0)
    }

    /// Line and column (in characters) of an offset, both from 1.
    pub(crate) fn place(&self, offset: u32) -> (u32, u32) {
        let at = usize::try_from(offset).unwrap_or(usize::MAX).min(self.text.len());
        let lines = self.lines.get_or_init(|| {
            let ends = self.text.match_indices('\n').map(|(end, _)| end.saturating_add(1));
            std::iter::once(0).chain(ends).collect()
        });
        let line = lines.partition_point(|begin| *begin <= at);
        let begin = line.checked_sub(1).and_then(|line| lines.get(line)).copied().unwrap_or(0);
        let before = self.text.get(begin..at).unwrap_or("");
        let width = if before.is_ascii() { before.len() } else { before.chars().count() };
        let column = width.saturating_add(1);
        (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
    }

    /// A finding at a position of this source.
    pub(crate) fn finding(&self, at: Pos, code: Code, message: String, help: &str) -> Finding {
        let (line, column) = self.locate(at);
        Finding { file: self.name.clone(), line, column, code, message, help: help.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(line: u32, message: &str) -> Finding {
        Finding {
            file: "a.rego".into(),
            line,
            column: 1,
            code: Code::Compile,
            message: message.into(),
            help: String::new(),
        }
    }

    #[test]
    fn findings_are_sorted_by_position_and_unique() {
        let findings = Findings::new(vec![finding(3, "c"), finding(1, "a"), finding(3, "c")]);
        assert_eq!(findings.iter().map(|f| f.line).collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn positions_count_lines_and_characters() {
        let source = Source::new("a.rego", "ab\nçd e");
        assert_eq!(source.locate(Pos(0, 0)), (1, 1));
        assert_eq!(source.locate(Pos(3, 3)), (2, 1));
        assert_eq!(source.locate(Pos(5, 5)), (2, 2));
        assert_eq!(source.locate(Pos(999, 999)), (2, 5));
    }

    #[test]
    fn a_finding_says_where_what_and_how_to_mend_it() {
        let source = Source::new("a.rego", "x");
        let finding = source.finding(Pos(0, 0), Code::Refused, "no".into(), "do this");
        assert_eq!(finding.to_string(), "a.rego:1:1: rego_refused_error: no (do this)");
    }
}
