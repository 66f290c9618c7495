//! The reasons for which a plug-in has no answer.

/// The reason for which a plug-in has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlugInError {
    /// Not a module, or one without an export of the ABI.
    #[error("cannot be loaded: {0:#}")]
    Load(wasmtime::Error),
    /// It asks for something that plug-ins are not given.
    #[error("imports {0}.{1}, and plug-ins are given nothing")]
    Import(String, String),
    /// It was written for another version.
    #[error("has ABI version {0}, and {1} is spoken here")]
    Version(i32, i32),
    /// It trapped, or went over a limit.
    #[error("was stopped: {0}")]
    Stopped(String),
    /// The answer is not one.
    #[error("gave a bad answer: {0}")]
    Answer(String),
}
