//! Ducks over any stream of dynamic objects.

use std::fmt;

use futures::{Stream, StreamExt};
use kube::core::DynamicObject;

use crate::{Duck, DuckError, DuckType};

/// An object of a stream with its duck.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DuckObject<T> {
    /// The duck.
    pub view: T,
    /// The object it was read from, for edits.
    pub object: Duck<T>,
}

/// An object of a stream that has no readable duck.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MalformedError {
    /// The namespace, if it is in one.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
    /// The kind, which items of lists of built-in kinds do not have.
    pub kind: Option<String>,
    /// The reason.
    pub error: DuckError,
}

/// An error of a stream of ducks.
#[derive(Debug)]
#[non_exhaustive]
pub enum StreamError<E> {
    /// One object; the stream goes on.
    Malformed(Box<MalformedError>),
    /// The stream itself.
    Source(E),
}

impl fmt::Display for MalformedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, name, kind, error } = self;
        let separator = if namespace.is_some() { "/" } else { "" };
        let (kind, namespace) =
            (kind.as_deref().unwrap_or("object"), namespace.as_deref().unwrap_or_default());
        write!(f, "{kind} {namespace}{separator}{name}: {error}")
    }
}

impl std::error::Error for MalformedError {}

impl<E: fmt::Display> fmt::Display for StreamError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => error.fmt(f),
            Self::Source(error) => error.fmt(f),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for StreamError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Malformed(error) => Some(&error.error),
            Self::Source(error) => error.source(),
        }
    }
}

/// Reads the duck of an object, and names the object where that fails.
///
/// # Errors
///
/// [`MalformedError`], with the name of the object.
pub fn read_duck<T: DuckType>(object: DynamicObject) -> Result<DuckObject<T>, Box<MalformedError>> {
    let object = Duck::<T>::from(object);
    match object.view() {
        Ok(view) => Ok(DuckObject { view, object }),
        Err(error) => {
            let object = object.into_object();
            Err(Box::new(MalformedError {
                namespace: object.metadata.namespace,
                name: object.metadata.name.unwrap_or_default(),
                kind: object.types.map(|types| types.kind),
                error,
            }))
        }
    }
}

/// Streams of dynamic objects as streams of ducks.
///
/// It takes any stream: the pages of a list, `kube`'s `watcher(…).applied_objects()`, or one of your own. One
/// malformed object among N gives N − 1 ducks and one error that names it.
pub trait DuckStreamExt<E>: Stream<Item = Result<DynamicObject, E>> + Sized {
    /// Reads the duck `T` of each object.
    fn ducks<T: DuckType>(self) -> impl Stream<Item = Result<DuckObject<T>, StreamError<E>>> {
        self.map(|object| match object {
            Ok(object) => read_duck(object).map_err(StreamError::Malformed),
            Err(error) => Err(StreamError::Source(error)),
        })
    }
}

impl<S, E> DuckStreamExt<E> for S where S: Stream<Item = Result<DynamicObject, E>> {}
