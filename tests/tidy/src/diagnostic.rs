//! One thing that is wrong, where, and under which rule.

use std::fmt;

/// The rules. The kebab-case name is what `exceptions.txt` uses.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Rule {
    /// A package uses a package that it must not know.
    PackageDependency,
    /// A module uses a module of its package that it must not know.
    ModuleDependency,
    /// Files of a package use one another in a circle.
    Cycle,
    /// A package pulls in a package from outside that it must do without.
    Tree,
    /// A file has more than 400 lines without tests.
    FileLength,
    /// A function has more than 50 lines of code.
    FunctionLength,
    /// A file does not start with `//!`.
    FirstLine,
    /// A `lib.rs` has no example in its first twenty lines.
    Example,
    /// A doc comment opens with a question, or is one word.
    Documentation,
    /// A module or type is called util, helper, common, misc, manager, data or info.
    Name,
    /// A published crate reads a file outside of itself.
    Packaged,
    /// Two crates have public types of one name.
    PublicName,
    /// A line ends in white space.
    TrailingSpace,
    /// `todo!`, `unimplemented!` or `dbg!`.
    Unfinished,
    /// `#[ignore]` without a reason.
    Ignored,
    /// A test sleeps.
    Sleep,
    /// A document links to a file that is not there.
    Link,
    /// A test reads an environment variable that is not documented.
    Variable,
    /// A package does not inherit the workspace's lints or version.
    Manifest,
    /// An exception lets nothing through.
    StaleException,
}

// === impl Rule ===

impl Rule {
    /// Every rule.
    pub const ALL: [Self; 20] = [
        Self::PackageDependency,
        Self::ModuleDependency,
        Self::Cycle,
        Self::Tree,
        Self::FileLength,
        Self::FunctionLength,
        Self::FirstLine,
        Self::Example,
        Self::Documentation,
        Self::Name,
        Self::Packaged,
        Self::PublicName,
        Self::TrailingSpace,
        Self::Unfinished,
        Self::Ignored,
        Self::Sleep,
        Self::Link,
        Self::Variable,
        Self::Manifest,
        Self::StaleException,
    ];

    /// The name in `exceptions.txt`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PackageDependency => "package-dependency",
            Self::ModuleDependency => "module-dependency",
            Self::Cycle => "cycle",
            Self::Tree => "tree",
            Self::FileLength => "file-length",
            Self::FunctionLength => "function-length",
            Self::FirstLine => "first-line",
            Self::Example => "example",
            Self::Documentation => "documentation",
            Self::Name => "name",
            Self::Packaged => "packaged",
            Self::PublicName => "public-name",
            Self::TrailingSpace => "trailing-space",
            Self::Unfinished => "unfinished",
            Self::Ignored => "ignored",
            Self::Sleep => "sleep",
            Self::Link => "link",
            Self::Variable => "variable",
            Self::Manifest => "manifest",
            Self::StaleException => "stale-exception",
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The file, relative to the workspace.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// The rule.
    pub rule: Rule,
    /// The error, and what to do.
    pub message: String,
}

// === impl Diagnostic ===

impl Diagnostic {
    /// A diagnostic at a line of a file.
    #[must_use]
    pub fn new(path: &str, line: usize, rule: Rule, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, rule, message: message.into() }
    }
}

impl fmt::Display for Diagnostic {
    /// `path:line: [rule] message`, which editors can jump to.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: [{}] {}", self.path, self.line, self.rule.name(), self.message)
    }
}
