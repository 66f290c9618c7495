//! The errors of this crate.

use std::fmt;

use thiserror::Error;

use crate::report::PodError;

/// An error for the caller. Failed requests are retried by the drivers and do not appear here.
#[non_exhaustive]
#[derive(Debug, Error)]
pub enum Error {
    /// The identity of the pod is incomplete.
    #[error("{} not set: fill them from the downward API in the pod's manifest", missing.join(", "))]
    Environment {
        /// The variables that are missing or empty.
        missing: Vec<&'static str>,
    },
    /// The driver future ended or was dropped before the reports were stored.
    #[error("the driver of the status reporter has ended: nothing is being stored any more")]
    DriverEnded,
}

/// The reasons why a pod could not ingest a parent, in the order in which they are reported.
///
/// `Display` is one error a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodErrors(Vec<PodError>);

impl From<Vec<PodError>> for PodErrors {
    fn from(errors: Vec<PodError>) -> Self {
        Self(errors)
    }
}

impl From<PodError> for PodErrors {
    fn from(error: PodError) -> Self {
        Self(vec![error])
    }
}

impl IntoIterator for PodErrors {
    type Item = PodError;
    type IntoIter = std::vec::IntoIter<PodError>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl fmt::Display for PodErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, error) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{}: {}", error.code, error.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for PodErrors {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_errors_of_a_pod_are_one_error_with_a_line_for_each() {
        let errors = PodErrors::from(vec![PodError::new("a", "one"), PodError::new("b", "two")]);
        let boxed: Box<dyn std::error::Error> = errors.clone().into();
        assert_eq!(boxed.to_string(), "a: one\nb: two");
        assert_eq!(errors.into_iter().count(), 2);
    }
}
