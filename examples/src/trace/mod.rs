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
//! never makes a write of its own, which would wake the controllers again. An object without it is not traced. Where somebody else has
//! written the annotation, it is left to them: a trace stops no controller.

mod export;
mod writes;

use kube::core::response::StatusCause;
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
    let text = object.annotations().get(ANNOTATION).filter(|text| is_traceparent(text))?;
    let carrier = Carrier(Some(text.clone()));
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &carrier);
    // An annotation that is not a trace context is ignored.
    context.has_active_span().then_some(context)
}

/// The form of the W3C. The SDK also takes identifiers that are too short, signs, and a version 00 with something behind it.
fn is_traceparent(text: &str) -> bool {
    let is_hex = |part: &str| part.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let mut parts = text.split('-');
    let mut next = |length| parts.next().is_some_and(|part| part.len() == length && is_hex(part));
    [2, 32, 16, 2].into_iter().all(&mut next) && (parts.next().is_none() || !text.starts_with("00"))
}

/// True if a write was refused for the annotation alone: another manager, such as `kubectl annotate`, has taken it.
pub(crate) fn is_refused(error: &anyhow::Error) -> bool {
    let Some(kube::Error::Api(status)) = error.downcast_ref() else { return false };
    let causes = status.details.as_ref().map(|details| details.causes.as_slice()).unwrap_or_default();
    let field = format!(".metadata.annotations.{ANNOTATION}");
    let is_ours = |cause: &StatusCause| cause.reason == "FieldManagerConflict" && cause.field == field;
    !causes.is_empty() && causes.iter().all(is_ours)
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
#[allow(clippy::string_slice, reason = "ASCII")]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use opentelemetry_sdk::trace::InMemorySpanExporter;

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
        let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
        let long = "a".repeat(200_000);
        for text in [
            "",
            "x",
            "----",
            "00-0af7-b7ad-01",
            &format!("00-{}-{span}-01", "0".repeat(32)),
            &format!("00-{trace}-0000000000000000-01"),
            &format!("ff-{trace}-{span}-01"),
            &format!("+1-{trace}-{span}-01"),
            &format!("00-+{}-{span}-01", &trace[1..]),
            &format!("00-{trace}-{span}-+1"),
            &format!("00-{}-{span}-01", trace.to_uppercase()),
            &format!(" 00-{trace}-{span}-01 "),
            &format!("00-{trace}-{span}-01-"),
            &format!("00-{trace}-{span}-01-more"),
            &format!("00-{trace}-{span}-ü"),
            &format!("00-{trace}{long}-{span}-01"),
            &long,
        ] {
            assert!(cause(&annotated(text)).is_none(), "{text}");
        }
        assert!(cause(&ConfigMap::default()).is_none());
    }

    /// The W3C's text: what follows in a later version, and flags that are not known, are no reason to lose a trace.
    #[test]
    fn a_later_version_is_read_as_far_as_it_is_known() {
        let known = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331";
        let long = "a".repeat(200_000);
        for (text, is_sampled) in [
            (format!("00-{known}-00"), false),
            (format!("00-{known}-02"), false),
            (format!("00-{known}-03"), true),
            (format!("00-{known}-ff"), true),
            (format!("cc-{known}-01-what-comes"), true),
            (format!("cc-{known}-01-{long}"), true),
        ] {
            let found = cause(&annotated(&text)).expect("a context");
            assert_eq!(found.span().span_context().is_sampled(), is_sampled, "{}", &text[..55]);
        }
    }

    /// The change was not sampled: what follows from it is not either, and it stays one trace.
    #[test]
    fn what_follows_from_a_change_that_is_not_sampled_is_not_sampled() {
        let memory = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(memory.clone()).build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            for (flags, exported) in [("00", 0), ("01", 1)] {
                let cause = format!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-{flags}");
                let marked = reconcile(&annotated(&cause)).in_scope(|| mark(json!({"spec": {}})));
                let passed_on = marked["metadata"]["annotations"][ANNOTATION].as_str().unwrap().to_owned();
                assert_eq!((&passed_on[..36], &passed_on[52..]), (&cause[..36], &cause[52..]));
                assert_ne!(passed_on, cause, "the reconcile is a step of its own");
                assert_eq!(memory.get_finished_spans().unwrap().len(), exported);
            }
        });
    }

    #[test]
    fn without_a_trace_fields_are_as_they_were() {
        let fields = json!({"spec": {"replicas": 1}});
        assert_eq!(mark(fields.clone()), fields);
    }
}
