//! W3C trace context across controllers: a user's change and all that follows from it is one trace.
//!
//! Controllers do not call each other, so no request header can carry a trace. They exchange objects, whose [`ANNOTATION`]
//! has the value that the header `traceparent` would have:
//!
//! ```text
//! change: Fleet web                              the user, who annotates the Fleet with this span
//! └ reconcile Fleet web                          annotates the MachineSet with this span
//!   ├ PATCH …/machinesets/web-1f2e3d4c
//!   └ reconcile MachineSet web-1f2e3d4c          annotates the Machine with this span
//!     ├ PATCH …/machines/web-1f2e3d4c-0
//!     └ reconcile Machine web-1f2e3d4c-0
//!       └ PATCH …/machines/web-1f2e3d4c-0/status
//! ```
//!
//! The annotation is part of the server-side apply that states a `spec`, and of no other write: so it has one owner, and it
//! never makes a write of its own, which would wake the controllers again. An object without it is not traced.

mod export;
mod writes;

use kube::{Resource, ResourceExt};
use opentelemetry::Context;
use opentelemetry::propagation::{Extractor, Injector, TextMapPropagator};
use opentelemetry::trace::{TraceContextExt, TracerProvider};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use serde_json::{Value, json};
use tracing::{Span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{Layer, filter::Targets};

use crate::kind::TypeOf;

#[cfg(feature = "otlp")]
pub use export::otlp;
pub(crate) use export::{provider, shut_down};
pub(crate) use writes::Writes;

/// The annotation with the trace context of the last change of a `spec`, in the format of the header `traceparent`.
pub const ANNOTATION: &str = "trace.webtroller.dev/traceparent";

/// The key of the W3C format.
const TRACEPARENT: &str = "traceparent";

/// Gives the spans of this crate to `provider`, for the whole process. kube's own spans are left out: they say what each
/// controller does, and not why.
///
/// # Errors
///
/// When the process has a subscriber already.
pub fn install(provider: &SdkTracerProvider) -> Result<(), TryInitError> {
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("webtroller-examples"));
    let ours = Targets::new().with_target("examples", tracing::Level::INFO);
    tracing_subscriber::registry().with(layer.with_filter(ours)).try_init()
}

/// The span of a user's change, the root of its trace.
#[must_use]
pub fn change(what: &str) -> Span {
    info_span!(parent: None, "change", otel.name = format!("change: {what}"))
}

/// The identifier of the trace that `span` belongs to; `None` if it is in none.
#[must_use]
pub fn trace_id(span: &Span) -> Option<String> {
    let context = span.context();
    let span = context.span();
    span.span_context().is_valid().then(|| span.span_context().trace_id().to_string())
}

/// The span of a reconcile, caused by the last change of the object's `spec`; disabled if that was not traced.
pub(crate) fn reconcile<K: Resource<DynamicType: TypeOf<K>>>(object: &K) -> Span {
    let Some(cause) = cause(object) else { return Span::none() };
    let kind = K::DynamicType::of(object);
    let what = format!("reconcile {} {}", K::kind(&kind), object.name_any());
    let span = info_span!(parent: None, "reconcile", otel.name = what, otel.kind = "consumer");
    // Ignore the error: without a subscriber there is no span to continue, and reconciling does not depend on one.
    let _unheard = span.set_parent(cause);
    span
}

/// Adds the context of the current span to fields that state a `spec`.
pub(crate) fn mark(mut fields: Value) -> Value {
    if fields.get("spec").is_none() {
        return fields;
    }
    let mut carrier = Carrier(None);
    TraceContextPropagator::new().inject_context(&Span::current().context(), &mut carrier);
    if let Some(context) = carrier.0 {
        json_patch::merge(&mut fields, &json!({"metadata": {"annotations": {ANNOTATION: context}}}));
    }
    fields
}

fn cause<K: Resource>(object: &K) -> Option<Context> {
    let text = object.annotations().get(ANNOTATION)?;
    // The SDK takes identifiers that are too short.
    if !text.split('-').map(str::len).take(4).eq([2, 32, 16, 2]) {
        return None;
    }
    let carrier = Carrier(Some(text.clone()));
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &carrier);
    // An annotation that is not a trace context is ignored.
    context.has_active_span().then_some(context)
}

/// An annotation in place of headers. `tracestate`, the private part of a tracing system, is not carried.
struct Carrier(Option<String>);

// === impl Carrier ===

impl Injector for Carrier {
    fn set(&mut self, key: &str, value: String) {
        if key == TRACEPARENT {
            self.0 = Some(value);
        }
    }
}

impl Extractor for Carrier {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.as_deref().filter(|_| key == TRACEPARENT)
    }

    fn keys(&self) -> Vec<&str> {
        vec![TRACEPARENT]
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    fn annotated(context: &str) -> ConfigMap {
        let mut object = ConfigMap::default();
        object.annotations_mut().insert(ANNOTATION.to_owned(), context.to_owned());
        object
    }

    /// The example of the W3C's text.
    #[test]
    fn a_context_is_read_from_the_annotation() {
        let found = cause(&annotated("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")).unwrap();
        let (span, wanted) = (found.span(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(span.span_context().trace_id().to_string(), wanted);
        assert_eq!(span.span_context().span_id().to_string(), "b7ad6b7169203331");
    }

    #[test]
    fn what_is_not_a_context_is_not_a_cause() {
        for text in ["", "x", "00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-0af7-b7ad-01"] {
            assert!(cause(&annotated(text)).is_none(), "{text}");
        }
        assert!(cause(&ConfigMap::default()).is_none());
    }

    #[test]
    fn without_a_trace_fields_are_as_they_were() {
        let fields = json!({"spec": {"replicas": 1}});
        assert_eq!(mark(fields.clone()), fields);
    }
}
