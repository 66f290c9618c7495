//! The reasons why the workspace could not be read. Errors *in* it are [`crate::Diagnostic`]s.

use std::path::PathBuf;

/// The workspace cannot be judged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder cannot be read.
    #[error("could not read {}", path.display())]
    Read {
        /// The component or path.
        path: PathBuf,
        /// The operating system's answer.
        source: std::io::Error,
    },

    /// A Rust file is not Rust.
    #[error("{path} is not valid Rust")]
    Parse {
        /// The component or path.
        path: String,
        /// The parser's answer.
        source: syn::Error,
    },

    /// Cargo did not answer.
    #[error("`cargo {command}` failed: {answer}")]
    Cargo {
        /// The sub-command.
        command: String,
        /// The output.
        answer: String,
    },

    /// Cargo answered something else than its documented JSON.
    #[error("could not read the output of `cargo metadata`")]
    Metadata(#[from] serde_json::Error),

    /// A line of the list of exceptions is not `path  rule  reason`.
    #[error("exceptions, line {line}: expected `path  rule  reason`, separated by two spaces or more")]
    Exception {
        /// The line, from 1.
        line: usize,
    },
}
