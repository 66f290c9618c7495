//! Diagnostics of a module, each with its place: never a panic, and never only the first one.
//!
//! Every stage (lexer, parser, checks) reports through [`Diagnostics`]; evaluation has its own error type.

use std::fmt;
use std::sync::OnceLock;

/// The place of a piece of source text: the byte offsets of its start and end, turned into line and column only when
/// a caller asks. Diagnostics show the start; the end is what coverage needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Pos(pub(crate) u32, pub(crate) u32);

/// The family a diagnostic belongs to, named as OPA names its compiler errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DiagnosticCode {
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

impl DiagnosticCode {
    /// Returns the code in OPA's spelling.
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

impl fmt::Display for DiagnosticCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One error in a module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Diagnostic {
    /// The name that the module was parsed under.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The column in characters, counted from 1.
    pub column: u32,
    /// The family of the diagnostic.
    pub code: DiagnosticCode,
    /// The description of the error, in OPA's words where OPA reports it too.
    pub message: String,
    /// The advice on how to fix it; empty where the message is enough.
    pub help: String,
}

impl Diagnostic {
    /// Returns the diagnostic of a defect of this crate: a program that lacks a part must not be compiled.
    pub(crate) fn internal(message: String) -> Self {
        Self {
            file: String::new(),
            line: 1,
            column: 1,
            code: DiagnosticCode::Compile,
            message: format!("internal error: {message}"),
            help: "this is a defect of rego-compat".to_owned(),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}: {}", self.file, self.line, self.column, self.code, self.message)?;
        if !self.help.is_empty() {
            write!(f, " ({})", self.help)?;
        }
        Ok(())
    }
}

/// All errors of one or more modules, sorted by file and position. Implements [`std::error::Error`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// The largest number of diagnostics that is kept.
    pub const MOST: usize = 1_000;

    /// Sorts the diagnostics, drops repetitions and keeps the first [`Self::MOST`].
    #[must_use]
    pub fn new(mut diagnostics: Vec<Diagnostic>) -> Self {
        diagnostics.sort();
        diagnostics.dedup();
        diagnostics.truncate(Self::MOST);
        Self(diagnostics)
    }

    /// Returns the diagnostics in order of file and position.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }

    /// Returns the number of diagnostics.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there are none; a `Diagnostics` returned as an error is never empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the diagnostics by value.
    #[must_use]
    pub fn into_vec(self) -> Vec<Diagnostic> {
        self.0
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.len() > 1 {
            writeln!(f, "{} diagnostics:", self.0.len())?;
        }
        for (index, diagnostic) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{diagnostic}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

/// Source text with its name: turns positions into diagnostics.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
    /// The offsets of the lines, computed on first use.
    lines: OnceLock<Vec<usize>>,
}

impl Source {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), text: text.to_owned(), lines: OnceLock::new() }
    }

    /// Returns line and column (in characters) of a position's start, both from 1.
    pub(crate) fn locate(&self, at: Pos) -> (u32, u32) {
        self.place(at.0)
    }

    /// Returns line and column (in characters) of an offset, both from 1.
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

    /// Returns a diagnostic at a position of this source.
    pub(crate) fn diagnostic(
        &self,
        at: Pos,
        code: DiagnosticCode,
        message: String,
        help: &str,
    ) -> Diagnostic {
        let (line, column) = self.locate(at);
        Diagnostic { file: self.name.clone(), line, column, code, message, help: help.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagnostic(line: u32, message: &str) -> Diagnostic {
        Diagnostic {
            file: "a.rego".into(),
            line,
            column: 1,
            code: DiagnosticCode::Compile,
            message: message.into(),
            help: String::new(),
        }
    }

    #[test]
    fn diagnostics_are_sorted_by_position_and_unique() {
        let diagnostics = Diagnostics::new(vec![diagnostic(3, "c"), diagnostic(1, "a"), diagnostic(3, "c")]);
        assert_eq!(diagnostics.iter().map(|f| f.line).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(diagnostics.into_iter().map(|f| f.message).collect::<Vec<_>>(), ["a", "c"]);
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
    fn a_diagnostic_says_where_what_and_how_to_fix_it() {
        let source = Source::new("a.rego", "x");
        let diagnostic = source.diagnostic(Pos(0, 0), DiagnosticCode::Refused, "no".into(), "do this");
        assert_eq!(diagnostic.to_string(), "a.rego:1:1: rego_refused_error: no (do this)");
    }
}
