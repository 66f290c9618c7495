//! Ends this process right after its n-th write, to show that a controller can be killed anywhere, or freezes it right before.
//!
//! Between two writes a controller changes nothing that outlives it. So "after write n, for every n" is every place at
//! which killing it makes a difference, and a list of numbers replaces a timer. A process that is frozen before a write, as a virtual
//! machine that is moved, sends it when it goes on, whatever has become of the cluster meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use futures::future::{BoxFuture, FutureExt};
use http::{Method, Request, Response};
use kube::client::Body;
use rustix::process::{Signal, getpid, kill_process};
use tower::{Layer, Service};

use crate::output::{print, print_error};

/// The exit code of a process that reached its failpoint.
pub const EXIT_CODE: i32 = 86;

/// The place where a process fails. Writes are counted from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// Ends when the answer to this write has arrived.
    KillAfter(u64),
    /// Stops before this write is sent, until it gets SIGCONT.
    FreezeBefore(u64),
    /// The same before each DELETE.
    FreezeBeforeDelete,
}

/// A layer of a [`kube::Client`] that counts the requests which write.
#[derive(Clone, Debug)]
pub struct Failpoint {
    fault: Option<Fault>,
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
    /// Fails there, or never.
    #[must_use]
    pub fn new(fault: Option<Fault>) -> Self {
        Self { fault, writes: Arc::default() }
    }

    /// The fault, if this request is where it is.
    fn reached_by(&self, method: &Method) -> Option<Fault> {
        if *method == Method::GET {
            return None;
        }
        let write = self.writes.fetch_add(1, Ordering::SeqCst).saturating_add(1);
        self.fault.filter(|fault| match fault {
            Fault::KillAfter(place) | Fault::FreezeBefore(place) => *place == write,
            Fault::FreezeBeforeDelete => *method == Method::DELETE,
        })
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
        let fault = self.failpoint.reached_by(request.method());
        let write = format!("{} {}", request.method(), request.uri().path());
        if let Some(Fault::FreezeBefore(_) | Fault::FreezeBeforeDelete) = fault {
            print(format_args!("  !! frozen before {write}"));
            // Returns when the process goes on.
            let _stopped = kill_process(getpid(), Signal::STOP);
        }
        let answer = self.inner.call(request);
        async move {
            let answer = answer.await;
            if let Some(Fault::KillAfter(_)) = fault {
                print_error(format_args!("failpoint: killed after {write}"));
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
        let methods = [Method::GET, Method::POST, Method::GET, Method::PATCH, Method::DELETE];
        for (fault, place) in
            [(Fault::KillAfter(2), 3), (Fault::FreezeBefore(2), 3), (Fault::FreezeBeforeDelete, 4)]
        {
            let failpoint = Failpoint::new(Some(fault));
            let reached = methods.iter().map(|method| failpoint.reached_by(method));
            let expected = (0..methods.len()).map(|index| (index == place).then_some(fault));
            assert!(reached.eq(expected), "{fault:?}");
        }
    }
}
