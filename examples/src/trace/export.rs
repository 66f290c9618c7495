//! Export of spans: none, or with the feature `otlp` to the collector that `OTEL_EXPORTER_OTLP_ENDPOINT` names.

use anyhow::Result;
use opentelemetry_sdk::trace::SdkTracerProvider;

use crate::output::print_error;

/// The standard variable with the collector's address, such as `http://localhost:4318`.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// The source of spans of a process, which is called `service` in traces. Without a collector that spans can be sent to, contexts
/// are made and passed on all the same: the variable is one of a user's shell, and need not be meant for this program.
pub(crate) fn provider(service: &str) -> SdkTracerProvider {
    let endpoint = std::env::var(ENDPOINT).ok().filter(|endpoint| !endpoint.is_empty());
    let provider = endpoint.map(|endpoint| to(&endpoint, service)).transpose();
    let provider = provider.unwrap_or_else(|error| {
        print_error(format_args!("warning: no spans are exported: {error:#}"));
        None
    });
    provider.unwrap_or_default()
}

#[cfg(not(feature = "otlp"))]
fn to(endpoint: &str, _: &str) -> Result<SdkTracerProvider> {
    anyhow::bail!("{ENDPOINT} is {endpoint}, and this program is built without the feature otlp")
}

#[cfg(feature = "otlp")]
fn to(endpoint: &str, service: &str) -> Result<SdkTracerProvider> {
    Ok(SdkTracerProvider::builder()
        .with_span_processor(otlp(endpoint)?)
        .with_resource(resource(service))
        .build())
}

#[cfg(feature = "otlp")]
fn resource(service: &str) -> opentelemetry_sdk::Resource {
    opentelemetry_sdk::Resource::builder().with_service_name(service.to_owned()).build()
}

/// Sends what has not been sent yet; a collector that does not answer is waited for as long as an export may take.
pub(crate) async fn shut_down(provider: SdkTracerProvider) {
    let shut_down = tokio::task::spawn_blocking(move || provider.shutdown());
    if let Ok(Err(error)) = shut_down.await {
        print_error(format_args!("  the last spans are lost: {error}"));
    }
}

#[cfg(feature = "otlp")]
pub use otlp::otlp;

#[cfg(feature = "otlp")]
mod otlp {
    use std::time::Duration;

    use super::ENDPOINT;
    use anyhow::{Result, ensure};
    use opentelemetry_http::hyper::HyperClient;
    use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithHttpConfig};
    use opentelemetry_sdk::runtime::Tokio;
    use opentelemetry_sdk::trace::BatchConfigBuilder;
    use opentelemetry_sdk::trace::span_processor_with_async_runtime::BatchSpanProcessor;

    /// No export takes longer.
    const DEADLINE: Duration = Duration::from_secs(5);
    /// A process that is killed loses what has ended since.
    const DELAY: Duration = Duration::from_millis(200);

    /// Sends spans in batches to the collector at `endpoint`, by OTLP over HTTP. It is called in a Tokio runtime.
    ///
    /// # Errors
    ///
    /// When `endpoint` is not an `http` address.
    pub fn otlp(endpoint: &str) -> Result<BatchSpanProcessor<Tokio>> {
        ensure!(
            endpoint.starts_with("http://"),
            "{ENDPOINT} is {endpoint}: write http://HOST:PORT, such as a collector beside it"
        );
        let client = HyperClient::with_default_connector(DEADLINE, None);
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
            .with_timeout(DEADLINE)
            .build()?;
        let batches = BatchConfigBuilder::default().with_scheduled_delay(DELAY).build();
        // On the runtime, because hyper's timers and sockets need one; the SDK's own thread has none.
        Ok(BatchSpanProcessor::builder(exporter, Tokio).with_batch_config(batches).build())
    }
}
