//! `go.yaml.in/yaml`, versions 2 and 3: documents composed to a tree, and the meaning of plain words.
//!
//! Both are ports of libyaml, so its leniency about indentation is theirs. Version 2 (with `sigs.k8s.io/yaml` on top) is
//! what `kubectl` reads manifests with, version 3 what OPA's `yaml.unmarshal` and `gator verify` read with. The tree is
//! the same; callers make their own values of it.

mod compose;
mod scalar;

use std::fmt;

pub use compose::{Kind, Node, Scalar, documents, is_break};
pub use scalar::{Resolved, Words, old_bool, plain, resolve};
#[cfg(feature = "sigs-yaml")]
pub(crate) use scalar::{tagged, untagged};

/// The version of the library that is followed where the two differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Anchors end with their document.
    V2,
    /// Anchors are known in later documents; documents of mostly aliases are refused.
    V3,
}

/// The options of composing documents.
#[derive(Clone, Copy, Debug)]
pub struct ComposeOptions {
    /// The library's version.
    pub version: Version,
    /// Levels of nesting; deeper documents are a risk to the stack of the code that walks them.
    pub max_depth: usize,
}

/// The reason why a string has no documents.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The syntax is wrong.
    Syntax {
        /// The line of the error, from 1; 0 where it is not known.
        line: u64,
        /// The column in that line, in characters from 1; 0 where it is not known.
        column: u64,
        /// The error, without its place.
        message: String,
    },
    /// An alias without its anchor.
    UnknownAnchor {
        /// The line of the alias.
        line: u64,
        /// The anchor's name.
        anchor: String,
    },
    /// Nearly all values come from aliases.
    ExcessiveAliasing,
    /// Nested too deeply, or too large once aliases are written out.
    TooLarge {
        /// The line at which that was noticed.
        line: u64,
    },
}

impl std::error::Error for Error {}

impl Error {
    /// Returns the line and the column of the error, both from 1; a column of 0 stands for the whole line. `None`
    /// where the line is not known.
    #[must_use]
    pub const fn place(&self) -> Option<(u64, u64)> {
        match self {
            Self::Syntax { line: 0, .. } | Self::ExcessiveAliasing => None,
            Self::Syntax { line, column, .. } => Some((*line, *column)),
            Self::UnknownAnchor { line, .. } | Self::TooLarge { line } => Some((*line, 0)),
        }
    }

    /// Returns the error without its place.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Syntax { message, .. } => message.clone(),
            Self::UnknownAnchor { anchor, .. } => format!("the anchor {anchor:?} is not defined above"),
            Self::ExcessiveAliasing => "document contains excessive aliasing".to_owned(),
            Self::TooLarge { .. } => "nested too deeply, or grown too large through aliases".to_owned(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        placed(self.place(), &self.reason(), f)
    }
}

/// Writes a message behind its place, if it has one.
pub(crate) fn placed(place: Option<(u64, u64)>, message: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match place {
        Some((line, 0)) => write!(f, "line {line}: {message}"),
        Some((line, column)) => write!(f, "line {line} column {column}: {message}"),
        None => f.write_str(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn composed(text: &str, max_depth: usize) -> Result<Vec<Node>, Error> {
        documents(text, &ComposeOptions { version: Version::V3, max_depth })
    }

    #[test]
    fn nodes_have_lines_and_anchors() {
        let documents = composed("a: &x [1,\n  2]\nb: *x\n---\nc", 10).unwrap();
        let Kind::Mapping(pairs) = &documents[0].kind else { panic!("{documents:?}") };
        let [(_, list), (_, alias)] = pairs.as_slice() else { panic!("{pairs:?}") };
        let Kind::Sequence(items) = &list.bare().kind else { panic!("{list:?}") };
        assert_eq!(items.iter().map(|item| item.line).collect::<Vec<_>>(), [1, 2]);
        assert!(matches!(&alias.target().kind, Kind::Sequence(items) if items.len() == 2));
        assert_eq!(documents[1].line, 5);
        assert!(matches!(composed("*x", 10), Err(Error::UnknownAnchor { line: 1, .. })));
    }

    #[test]
    fn deep_nesting_is_refused_at_its_bound_and_takes_no_stack() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let small = std::thread::Builder::new().stack_size(128 << 10);
        let thread = small.spawn(move || {
            assert!(composed(&nested(9), 8).is_ok());
            assert!(matches!(composed(&nested(10), 8), Err(Error::TooLarge { line: 1 })));
            assert!(composed(&nested(400), 500).is_ok());
        });
        thread.unwrap().join().unwrap();
    }

    #[test]
    fn words_have_their_versions_meaning() {
        assert_eq!(plain("yes", Words::Yaml11), Resolved::Bool(true));
        assert_eq!(plain("yes", Words::Yaml12), Resolved::String("yes".to_owned()));
        assert_eq!(plain("0o17", Words::Yaml12), Resolved::Int(15));
        assert_eq!(plain("1_000", Words::Yaml11), Resolved::Int(1000));
    }
}
