//! Bounds of a server.

use std::time::Duration;

/// The bounds on what clients occupy, and for how long. The defaults suit a webhook that a handful of API servers call.
///
/// Memory that clients can make a server hold is at most `connections × connection_window`, plus `bytes_in_flight`,
/// plus 64 KiB for each of `requests`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Connections at once. Default 512. When it is reached, the longest silent connection is closed for a new one.
    pub connections: usize,
    /// Connections of one peer (an IPv4 address, or an IPv6 /64). Default 256.
    pub connections_per_peer: usize,
    /// Time for the TLS handshake. Default 5 s.
    pub handshake: Duration,
    /// Time between the handshake and the end of the first request's header. Default 10 s.
    pub first_request: Duration,
    /// Time without a request after which a connection is closed. Default 120 s: longer than the 90 s after which Go's
    /// HTTP client, and so an API server, closes it.
    pub idle: Duration,
    /// Time for the body of a request. Default 10 s.
    pub body: Duration,
    /// Bytes of one body. Default 7 MiB: an API server limits a request to 3 MiB, and a review holds the object and the
    /// old object.
    pub body_bytes: usize,
    /// Bytes of all bodies that are being read or judged, without the first 64 KiB of each. Default 64 MiB; one peer may
    /// have half of it.
    pub bytes_in_flight: usize,
    /// Requests that are being read or judged. Default 512; one peer may have half of it. When it is reached, the request
    /// whose body has been incomplete for longest is answered 503 for a new one.
    pub requests: usize,
    /// Streams of one HTTP/2 connection. Default 100.
    pub streams: u32,
    /// Unread bytes of one HTTP/2 stream. Default 128 KiB.
    pub stream_window: u32,
    /// Unread bytes of one HTTP/2 connection. Default 128 KiB.
    pub connection_window: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 512,
            connections_per_peer: 256,
            handshake: Duration::from_secs(5),
            first_request: Duration::from_secs(10),
            idle: Duration::from_secs(120),
            body: Duration::from_secs(10),
            body_bytes: 7 << 20,
            bytes_in_flight: 64 << 20,
            requests: 512,
            streams: 100,
            stream_window: 128 << 10,
            connection_window: 128 << 10,
        }
    }
}

impl Limits {
    /// Returns the bounds of a health port: few connections, short times, tiny requests.
    #[must_use]
    pub fn health() -> Self {
        Self {
            connections: 128,
            connections_per_peer: 64,
            first_request: Duration::from_secs(5),
            idle: Duration::from_secs(60),
            body_bytes: 0,
            bytes_in_flight: 0,
            ..Self::default()
        }
    }
}
