//! A span for each request that writes, in the trace of the reconcile that makes it.

use std::task::{Context, Poll};

use http::{Method, Request};
use kube::client::Body;
use tower::{Layer, Service};
use tracing::instrument::{Instrument, Instrumented};
use tracing::{Span, info_span};

/// A layer of a [`kube::Client`] that makes the spans.
#[derive(Clone, Debug)]
pub(crate) struct Writes {
    controller: String,
}

/// The service that [`Writes`] makes.
#[derive(Clone, Debug)]
pub(crate) struct Traced<S> {
    inner: S,
    writes: Writes,
}

// === impl Writes ===

impl Writes {
    /// The spans have the name of the controller, because all controllers may run in one process.
    pub(crate) fn new(controller: &str) -> Self {
        Self { controller: controller.to_owned() }
    }

    fn span(&self, request: &Request<Body>) -> Span {
        if request.method() == Method::GET || super::trace_id(&Span::current()).is_none() {
            return Span::none();
        }
        let what = format!("{} {}", request.method(), request.uri().path());
        info_span!("write", otel.name = what, otel.kind = "client", controller = self.controller)
    }
}

impl<S> Layer<S> for Writes {
    type Service = Traced<S>;

    fn layer(&self, inner: S) -> Traced<S> {
        Traced { inner, writes: self.clone() }
    }
}

// === impl Traced ===

impl<S: Service<Request<Body>>> Service<Request<Body>> for Traced<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = Instrumented<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    /// kube's client calls this from a task of its own, in the span of who sends the request.
    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let span = self.writes.span(&request);
        self.inner.call(request).instrument(span)
    }
}
