//! Bodies: read within their limits, and counted until they are no longer needed.

use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use hyper::{StatusCode, Version};
use tokio::time::timeout;

use crate::connections::Exchange;
use crate::in_flight::Reservation;
use crate::limits::Limits;

/// The bytes of a refused body that are read over HTTP/1.1 before its client is cut off: a client that is cut off while
/// it writes would see a broken connection instead of the answer. HTTP/2 ends the one stream.
const DISCARDED_BYTES: usize = 64 << 20;

/// The body of a request, unread.
#[derive(Debug)]
pub struct Body {
    incoming: Incoming,
    exchange: Arc<Exchange>,
    reservation: Reservation,
    limits: Arc<Limits>,
    /// Bytes of a refused body that are read and thrown away.
    discard: usize,
}

/// A complete body. Its bytes count as in flight until it is dropped.
#[derive(Debug)]
pub struct ReceivedBody {
    pub(crate) bytes: Vec<u8>,
    pub(crate) reservation: Reservation,
}

/// The reason for which a body is not available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// It is larger than one body may be.
    #[error("the body is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// The server holds as many bytes of bodies as it may. Try again later.
    #[error("overloaded: no room for a body of this size now; try again")]
    Overloaded,
    /// It was not complete in time.
    #[error("the body took too long")]
    TooSlow,
    /// The connection broke.
    #[error("the body could not be read: {0}")]
    Broken(String),
}

impl BodyError {
    /// Returns the HTTP status that reports it.
    pub const fn status(&self) -> StatusCode {
        match self {
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Broken(_) => StatusCode::BAD_REQUEST,
        }
    }
}

impl AsRef<[u8]> for ReceivedBody {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Body {
    pub(crate) fn new(
        incoming: Incoming,
        exchange: Arc<Exchange>,
        reservation: Reservation,
        limits: Arc<Limits>,
        version: Version,
    ) -> Self {
        if incoming.is_end_stream() {
            exchange.received();
        }
        let discard = if version <= Version::HTTP_11 { DISCARDED_BYTES } else { 0 };
        Self { incoming, exchange, reservation, limits, discard }
    }

    /// Reads the body within the server's [`Limits`].
    ///
    /// # Guarantees
    /// - It returns within [`Limits::body`], and holds at most [`Limits::body_bytes`].
    /// - While it waits, the server may end it for another request: that is [`BodyError::Overloaded`]. Once it has returned, the
    ///   request is not evicted any more.
    /// - The bytes count as in flight until the [`ReceivedBody`] is dropped. Dropping the future gives them back.
    ///
    /// # Errors
    /// - [`BodyError::TooLarge`] if the body is larger than [`Limits::body_bytes`].
    /// - [`BodyError::Overloaded`] if the server may not hold more bytes, or needs the place of the request. Try again.
    /// - [`BodyError::TooSlow`] if it was not complete within [`Limits::body`].
    /// - [`BodyError::Broken`] if the connection broke.
    pub async fn read(self) -> Result<ReceivedBody, BodyError> {
        let exchange = self.exchange.clone();
        let patience = self.limits.body;
        let received = tokio::select! {
            received = timeout(patience, self.collect()) => received.unwrap_or(Err(BodyError::TooSlow))?,
            // Another request needs the place of this one, which has been incomplete for longest.
            () = exchange.evicted() => return Err(BodyError::Overloaded),
        };
        exchange.received();
        Ok(received)
    }

    async fn collect(mut self) -> Result<ReceivedBody, BodyError> {
        let limit = self.limits.body_bytes;
        let declared = self.incoming.size_hint().exact().and_then(|size| usize::try_from(size).ok());
        let mut bytes = Vec::with_capacity(declared.unwrap_or_default().min(limit));
        let (mut size, mut refused) = (0_usize, None);
        while let Some(frame) = self.incoming.frame().await {
            let frame = frame.map_err(|error| BodyError::Broken(error.to_string()))?;
            let Some(chunk) = frame.data_ref() else { continue };
            size = size.saturating_add(chunk.len());
            if refused.is_none() {
                refused = if size > limit {
                    Some(BodyError::TooLarge { limit })
                } else {
                    (!self.reservation.grow(size)).then_some(BodyError::Overloaded)
                };
            }
            match refused {
                None => bytes.extend_from_slice(chunk),
                Some(error) if size > self.discard => return Err(error),
                Some(_) => {
                    bytes = Vec::new();
                    self.reservation.grow(0);
                }
            }
        }
        match refused {
            None => Ok(ReceivedBody { bytes, reservation: self.reservation }),
            Some(error) => Err(error),
        }
    }
}
