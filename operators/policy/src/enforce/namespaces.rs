//! The source of the Namespace object of a request.

use constraint_framework::review::Document;
use futures::future::BoxFuture;

/// The reason why a Namespace could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NamespaceError {
    /// There is none of that name.
    #[error("namespace {0:?} does not exist")]
    NotFound(String),
    /// The API server did not answer.
    #[error("namespace {name:?} cannot be read: {reason}")]
    Unavailable {
        /// The namespace.
        name: String,
        /// The client's error.
        reason: String,
    },
}

/// Supplies Namespace objects.
pub trait Namespaces: Send + Sync {
    /// Returns the Namespace of that name; `Ok(None)` where it cannot be known, so that only the constraints which need it
    /// fail.
    ///
    /// # Errors
    /// [`NamespaceError::NotFound`] if there is none, [`NamespaceError::Unavailable`] if the API server did not answer.
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Document>, NamespaceError>>;
}

/// For places without a cluster: nothing is known of any Namespace.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNamespaces;

impl Namespaces for NoNamespaces {
    fn get<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<Document>, NamespaceError>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}
