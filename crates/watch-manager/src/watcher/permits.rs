//! Limits the requests in flight, such that requests that hang do not delay others.

use std::pin::pin;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::sleep;

/// A request that takes longer gives its permit to the next in line and goes on without.
const HOLD: Duration = Duration::from_secs(5);
/// Permits for watches whose last request timed out.
const SUSPECTS: usize = 4;

/// The permits of a manager. The semaphores are fair: first come, first served.
pub(crate) struct Permits {
    starts: Semaphore,
    watches: Semaphore,
    suspects: Semaphore,
}

/// The kind of a request. Each has its own permits: a list of a new kind cannot delay the watch of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Discovery and lists.
    Start,
    /// Opening a watch.
    Watch,
    /// Any request of a watch whose last request timed out.
    Suspect,
}

// === impl Permits ===

impl Permits {
    pub(crate) fn new(limit: usize) -> Self {
        let limit = limit.max(1);
        Self {
            starts: Semaphore::new(limit),
            watches: Semaphore::new(limit),
            suspects: Semaphore::new(SUSPECTS),
        }
    }

    /// Waits for a permit, then for the request.
    pub(crate) async fn run<T>(&self, class: Class, request: impl Future<Output = T>) -> T {
        let semaphore = match class {
            Class::Start => &self.starts,
            Class::Watch => &self.watches,
            Class::Suspect => &self.suspects,
        };
        // An error would mean that the semaphore is closed, which does not happen.
        let permit = semaphore.acquire().await;
        let mut request = pin!(request);
        tokio::select! {
            answer = &mut request => return answer,
            () = sleep(HOLD) => drop(permit),
        }
        request.await
    }
}
