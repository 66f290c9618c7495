//! An OpenTelemetry collector: takes metrics by OTLP over HTTP.

use std::collections::BTreeMap;
use std::convert::Infallible;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use prost::Message;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Takes what is sent to [`address`](Self::address) until it is dropped.
pub(crate) struct Collector {
    pub(crate) address: String,
    /// The last request.
    pub(crate) last: watch::Receiver<ExportMetricsServiceRequest>,
    _connections: JoinSet<()>,
}

impl Collector {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (sender, last) = watch::channel(ExportMetricsServiceRequest::default());
        let mut connections = JoinSet::new();
        connections.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let service = service_fn(|request| take(request, &sender));
                // Ignore the error: the exporter may end.
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            }
        });
        Self { address, last, _connections: connections }
    }

    /// The kinds of the metrics in the last request, by name.
    pub(crate) fn kinds(&self) -> BTreeMap<String, &'static str> {
        let last = self.last.borrow();
        let scopes = last.resource_metrics.iter().flat_map(|resource| &resource.scope_metrics);
        let kind = |data: &Option<Data>| match data {
            Some(Data::Sum(sum)) if sum.is_monotonic => "counter",
            Some(Data::Gauge(_)) => "gauge",
            Some(Data::Histogram(_)) => "histogram",
            _ => "another",
        };
        scopes
            .flat_map(|scope| &scope.metrics)
            .map(|metric| (metric.name.clone(), kind(&metric.data)))
            .collect()
    }
}

async fn take(
    request: Request<Incoming>,
    sender: &watch::Sender<ExportMetricsServiceRequest>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    assert_eq!(request.uri().path(), "/v1/metrics");
    let body = request.into_body().collect().await.unwrap().to_bytes();
    sender.send_replace(ExportMetricsServiceRequest::decode(body).unwrap());
    Ok(Response::new(Full::default()))
}
