//! Measures one call to each kind of plug-in: the table in `docs/patterns/README.md`.
//!
//! ```sh
//! cargo run -p wasm-plugins --example call_cost -- 200
//! ```

#[path = "../../out_of_process_plugins/breaker.rs"]
#[allow(dead_code, reason = "the example needs a part of it")]
mod breaker;
#[path = "../../out_of_process_plugins/certificates.rs"]
#[allow(dead_code, reason = "the example needs a part of it")]
mod certificates;
#[path = "../../out_of_process_plugins/endpoint.rs"]
#[allow(dead_code, reason = "the example needs a part of it")]
mod endpoint;
#[path = "../../in_process_plugins/executable.rs"]
mod executable;
#[path = "../../out_of_process_plugins/kinds.rs"]
#[allow(dead_code, reason = "the example needs a part of it")]
mod kinds;
#[path = "../../sidecar_plugins/socket.rs"]
mod socket;
#[path = "../../in_process_plugins/strategy.rs"]
mod strategy;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use admission_server::{
    Answer, Body, CancellationToken, Routes, Server, ServingCertificate, Tls, TlsOptions,
};
use anyhow::{Context, Result, anyhow};
use base64::prelude::{BASE64_STANDARD, Engine};
use examples::ranking::{self, Question};
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Request, Response};
use tokio::net::TcpListener;
use wasm_plugins::{Limits, Sandbox};

struct Https;

impl Routes for Https {
    fn route(&self, request: Request<Body>) -> BoxFuture<'_, Answer> {
        let body = match request.uri().path() {
            "/discovery" => r#"{"hooks": {"rank": ["v2"]}}"#,
            _ => r#"{"zones": ["eu-1", "eu-2"]}"#,
        };
        async move {
            let _question = request.into_body().read().await;
            Response::new(body.as_bytes().to_vec().into())
        }
        .boxed()
    }
}

/// The median of `calls` calls, one after the other.
async fn median(calls: usize, call: impl AsyncFn() -> Result<ranking::Answer>) -> Result<Duration> {
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let begun = Instant::now();
        call().await?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    times.get(calls / 2).copied().context("at least one call")
}

#[tokio::main]
async fn main() -> Result<()> {
    let calls = std::env::args().nth(1).map_or(Ok(100), |text| text.parse())?;
    let question = Question::new("a", 2);
    let plug_ins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../in_process_plugins/plug-ins");
    let registry = strategy::Registry::load(&plug_ins).await?;
    let strategy = |name: &'static str| registry.get(name).map_err(|error| anyhow!("{name} {error}"));
    let (function, program) = (strategy("cheapest")?, strategy("only-eu")?);
    let wasm = Sandbox::new(Limits::default())?.load(include_bytes!("../plug-ins/only-eu.wat"))?;
    let folder = tempfile::tempdir()?;
    let sidecar = tokio::spawn(serve_socket(folder.path().join("shared")));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let certificate = ServingCertificate::generate(&["127.0.0.1".to_owned()])?;
    let mut extension = kinds::Extension::new("plug-in", serde_json::from_str("{}")?);
    extension.spec.endpoint = Some(format!("https://{}", listener.local_addr()?));
    extension.spec.ca_bundle = Some(BASE64_STANDARD.encode(&certificate.authority));
    let shutdown = CancellationToken::new();
    let server = Server::new(listener, Https).with_tls(Tls::new(&certificate, TlsOptions::default())?);
    let server = tokio::spawn(server.run(shutdown.clone()));
    let https = endpoint::Endpoint::discover(&extension, &certificates::stranger()?, Arc::default()).await?;
    let folder = folder.path().join("shared");

    let failed = |error: String| anyhow!(error);
    let base = median(calls, async || function.rank(&question).await.map_err(failed)).await?;
    println!("| call | median | ratio |\n|---|---|---|");
    row("trait object", base, base);
    row("WebAssembly, a new instance", median(calls, async || Ok(wasm.rank(&question)?)).await?, base);
    row(
        "Unix socket, a new connection",
        median(calls, async || socket::ask(&folder, &question).await).await?,
        base,
    );
    row("HTTPS, a kept connection", median(calls, async || https.rank(&question).await).await?, base);
    row(
        "executable, a new process",
        median(calls, async || program.rank(&question).await.map_err(failed)).await?,
        base,
    );
    sidecar.abort();
    shutdown.cancel();
    Ok(server.await?)
}

fn row(what: &str, time: Duration, base: Duration) {
    println!(
        "| {what} | {:.1} µs | {:.0} |",
        time.as_secs_f64() * 1e6,
        time.as_secs_f64() / base.as_secs_f64()
    );
}

async fn serve_socket(folder: std::path::PathBuf) -> Result<()> {
    let listener = socket::listen(&folder)?;
    let user = rustix::process::getuid().as_raw();
    loop {
        let (stream, _) = listener.accept().await?;
        let answer = |question: &Question| ranking::Answer {
            zones: question.zones.iter().map(|zone| zone.name.clone()).collect(),
        };
        socket::serve(stream, user, answer).await?;
    }
}
