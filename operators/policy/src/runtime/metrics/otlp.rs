//! Metrics for an OpenTelemetry collector: OTLP over HTTP, as Gatekeeper's `--otlp-endpoint` sends them.

use std::time::Duration;

use async_trait::async_trait;
use metrics_opentelemetry::opentelemetry::KeyValue;
use metrics_opentelemetry::opentelemetry::metrics::MeterProvider;
use metrics_opentelemetry::{OpenTelemetryMetrics, OpenTelemetryRecorder};
use opentelemetry_http::hyper::HyperClient;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{ExporterBuildError, MetricExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::{
    Aggregation, Instrument, InstrumentKind, PeriodicReader, SdkMeterProvider, Stream,
};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::buckets;

/// No export takes longer.
const DEADLINE: Duration = Duration::from_secs(5);
/// The SDK's own timer, which must not export beside [`Otlp::run`].
const NEVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Sends the metrics of this process to a collector. Clones are the same.
#[derive(Clone, Debug)]
pub(in crate::runtime) struct Otlp {
    provider: SdkMeterProvider,
    interval: Duration,
}

impl Otlp {
    /// An exporter to `http://ENDPOINT/v1/metrics` for the pod of this name, and what has to record for it. It is called
    /// in a Tokio runtime.
    pub(super) fn new(
        endpoint: &str,
        interval: Duration,
        pod: &str,
    ) -> Result<(Self, OpenTelemetryRecorder), ExporterBuildError> {
        let client = HyperClient::with_default_connector(DEADLINE, None);
        let exporter = MetricExporter::builder()
            .with_http()
            .with_http_client(OnRuntime { client, runtime: Handle::current() })
            .with_endpoint(format!("http://{endpoint}/v1/metrics"))
            .with_timeout(DEADLINE)
            .build()?;
        let pod = KeyValue::new("k8s.pod.name", pod.to_owned());
        let provider = SdkMeterProvider::builder()
            .with_reader(PeriodicReader::builder(exporter).with_interval(NEVER).build())
            .with_resource(Resource::builder().with_service_name("webtroller").with_attribute(pod).build())
            .with_view(same_buckets)
            .build();
        let recorder = OpenTelemetryRecorder::new(OpenTelemetryMetrics::new(provider.meter("webtroller")));
        Ok((Self { provider, interval }, recorder))
    }

    /// Exports once in each interval, after `refresh`, and a last time at `end`.
    pub(in crate::runtime) async fn run(self, refresh: impl Fn(), end: CancellationToken) {
        let mut ticks = interval(self.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_failing = false;
        while end.run_until_cancelled(ticks.tick()).await.is_some() {
            refresh();
            let sent = self.blocking(|provider| provider.force_flush()).await;
            if let (Err(reason), false) = (&sent, is_failing) {
                tracing::warn!(reason, "metrics cannot be sent by OTLP, will retry");
            }
            is_failing = sent.is_err();
        }
        if let Err(reason) = self.blocking(|provider| provider.shutdown()).await {
            tracing::warn!(reason, "the last metrics could not be sent by OTLP");
        }
    }

    /// The SDK waits for its thread.
    async fn blocking(&self, export: fn(&SdkMeterProvider) -> OTelSdkResult) -> Result<(), String> {
        let provider = self.provider.clone();
        let exported = spawn_blocking(move || export(&provider).map_err(|error| error.to_string()));
        exported.await.unwrap_or_else(|error| Err(error.to_string()))
    }
}

/// `--otlp-endpoint`: `HOST:PORT`, as for Gatekeeper, or a URL without a path.
pub(in crate::runtime) fn endpoint(text: &str) -> Result<String, String> {
    let authority = text.strip_prefix("http://").unwrap_or(text).trim_end_matches('/');
    match authority.parse::<hyper::http::uri::Authority>() {
        Ok(authority) if !text.starts_with("https:") => Ok(authority.to_string()),
        _ => {
            Err("write HOST:PORT of a collector that takes OTLP over plain HTTP, as in localhost:4318"
                .to_owned())
        }
    }
}

/// Histograms have the buckets that they have for Prometheus.
fn same_buckets(instrument: &Instrument) -> Option<Stream> {
    let boundaries = buckets(instrument.name()).to_vec();
    let is_histogram = instrument.kind() == InstrumentKind::Histogram;
    let aggregation = Aggregation::ExplicitBucketHistogram { boundaries, record_min_max: false };
    is_histogram.then(|| Stream::builder().with_aggregation(aggregation).build().ok())?
}

/// The SDK exports from a thread of its own, where hyper's timers and sockets have no runtime.
#[derive(Debug)]
struct OnRuntime {
    client: HyperClient,
    runtime: Handle,
}

#[async_trait]
impl HttpClient for OnRuntime {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        self.runtime.spawn(async move { client.send_bytes(request).await }).await?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_host_and_a_port() {
        for text in ["collector.monitoring:4318", "http://collector.monitoring:4318/"] {
            assert_eq!(endpoint(text).unwrap(), "collector.monitoring:4318");
        }
        for text in ["https://collector:4318", "http://collector:4318/v1/metrics", "a b", ""] {
            assert!(endpoint(text).unwrap_err().contains("HOST:PORT"), "{text}");
        }
    }
}
