//! The error of a function whose error in Go is a text.

use std::fmt;

/// An error of a function of Go, in Go's words.
///
/// ```
/// let error = go_compat::url::Url::parse("http://a b").unwrap_err();
/// assert_eq!(error.to_string(), r#"parse "http://a b": invalid character " " in host name"#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoError(pub(crate) String);

impl fmt::Display for GoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for GoError {}

impl From<GoError> for String {
    fn from(error: GoError) -> Self {
        error.0
    }
}
