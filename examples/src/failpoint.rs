//! Ends this process right after its n-th write, to show that a controller can be killed anywhere.
//!
//! Between two writes a controller changes nothing that outlives it. So "after write n, for every n" is every place at
//! which killing it makes a difference, and a list of numbers replaces a timer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use futures::future::{BoxFuture, FutureExt};
use http::{Method, Request, Response};
use kube::client::Body;
use tower::{Layer, Service};

/// The exit code of a process that reached its failpoint.
pub const EXIT_CODE: i32 = 86;

/// A layer of a [`kube::Client`] that counts the requests which write.
#[derive(Clone, Debug)]
pub struct Failpoint {
    after: Option<u64>,
    writes: Arc<AtomicU64>,
}

/// The service that [`Failpoint`] makes.
#[derive(Clone, Debug)]
pub struct Counted<S> {
    inner: S,
    failpoint: Failpoint,
}

// === impl Failpoint ===

impl Failpoint {
    /// Ends the process when the answer to write number `after`, from 1, has arrived; `None` never does.
    #[must_use]
    pub fn new(after: Option<u64>) -> Self {
        Self { after, writes: Arc::default() }
    }

    /// True if this request is the last one.
    fn is_reached_by(&self, method: &Method) -> bool {
        let writes = *method != Method::GET;
        writes && Some(self.writes.fetch_add(1, Ordering::SeqCst).saturating_add(1)) == self.after
    }
}

impl<S> Layer<S> for Failpoint {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted { inner, failpoint: self.clone() }
    }
}

// === impl Counted ===

impl<S, B> Service<Request<Body>> for Counted<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let last = self.failpoint.is_reached_by(request.method());
        let write = format!("{} {}", request.method(), request.uri().path());
        let answer = self.inner.call(request);
        async move {
            let answer = answer.await;
            if last {
                eprintln!("failpoint: killed after {write}");
                // No destructor runs and nothing is flushed, as in a crash.
                std::process::exit(EXIT_CODE);
            }
            answer
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_writes_count() {
        let failpoint = Failpoint::new(Some(2));
        let methods = [Method::GET, Method::POST, Method::GET, Method::PATCH, Method::DELETE];
        let reached = methods.map(|method| failpoint.is_reached_by(&method));
        assert_eq!(reached, [false, false, false, true, false]);
    }
}
