//! How the manager behaves towards an API server: how much at once, how long, how soon again. It holds
//! plain values; `feed` applies them.

use std::time::Duration;

/// Settings of a [`WatchManager`](crate::WatchManager). The defaults suit a policy operator; change single
/// fields.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// How many kinds may be discovered, listed or connected at the same time; the others queue. Default 16.
    pub max_concurrent_starts: usize,
    /// Objects per page of a list. Default 500.
    pub page_size: u32,
    /// How long the server may keep a watch open before it has to be renewed. Default 290 s, under the five
    /// minutes after which many proxies cut connections.
    pub watch_timeout: Duration,
    /// A watch that is silent for longer is taken for dead and opened anew. Must exceed `watch_timeout`,
    /// unless the server is known to send bookmarks more often. Default 295 s.
    pub idle_timeout: Duration,
    /// Delays after a failed list or a broken watch. Default 0.8 s to 30 s.
    pub retry: Delays,
    /// Delays between looks for a kind that is not served. Default 1 s to 30 s.
    pub discovery: Delays,
    /// Delays after the server refused access, or offered no watch. Default 30 s to 5 min.
    pub refused: Delays,
    /// Keep `metadata.managedFields` in the objects. Default no: it is often half of an object.
    pub keep_managed_fields: bool,
    /// Makes the random part of all delays the same in every run. For tests. Default none.
    pub jitter_seed: Option<u64>,
}

/// A range of growing delays. Each delay doubles the one before; up to as much again is added at random, so
/// that many clients that were cut off together do not return together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delays {
    /// The first delay.
    pub min: Duration,
    /// The longest delay, before the random part.
    pub max: Duration,
}

// === impl Config ===

impl Default for Config {
    fn default() -> Self {
        Self {
            max_concurrent_starts: 16,
            page_size: 500,
            watch_timeout: Duration::from_secs(290),
            idle_timeout: Duration::from_secs(295),
            retry: Delays { min: Duration::from_millis(800), max: Duration::from_secs(30) },
            discovery: Delays { min: Duration::from_secs(1), max: Duration::from_secs(30) },
            refused: Delays { min: Duration::from_secs(30), max: Duration::from_secs(300) },
            keep_managed_fields: false,
            jitter_seed: None,
        }
    }
}
