//! `serve --standalone`: policies from a folder, no API server, and the verdicts on the screen.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use admission_server::{Server, ServingCertificate, Tls, TlsOptions, shutdown_on_signal};
use constraint_framework::driver::Budget;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cli::folder::PolicyFolder;
use crate::enforce::{NoNamespaces, Webhook};
use crate::in_force::{PolicyHandle, PolicyPublisher, policies};

use super::args::ServeArgs;
use super::{RunError, admission_routes, concurrency};

mod client;
mod screen;

use client::Client;
use screen::Screen;

/// Files are often written in several steps; a reload waits until they have been quiet for this long.
const QUIET: Duration = Duration::from_millis(200);

/// Serves the policies of `folder` until a signal, judging its reviews at start and after each change.
pub(super) async fn run(args: &ServeArgs, folder: &Path) -> Result<ExitCode, RunError> {
    let host = args.host.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let listen = |source| RunError::Listen { port: args.port, source };
    let listener = TcpListener::bind((host, args.port)).await.map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    let changed = Arc::new(Notify::new());
    let _watcher = watch_folder(folder, changed.clone())?;
    let certificate = ServingCertificate::generate(&[address.ip().to_string(), "localhost".to_owned()])?;

    let (publisher, handle) = policies();
    let shutdown = CancellationToken::new();
    let tasks = TaskTracker::new();
    tasks.spawn(shutdown_on_signal(shutdown.clone(), Duration::ZERO, shutdown.clone()));
    let server = server(args, listener, &certificate, handle)?;
    tasks.spawn(server.run(shutdown.clone()));
    tasks.close();

    let client = Client::new(address, &certificate)?;
    let screen = Screen::new(folder, client.url(), &certificate).map_err(RunError::Screen)?;
    let shown = judge_until(&shutdown, folder, &changed, &publisher, &client, &screen).await;
    shutdown.cancel();
    tasks.wait().await;
    shown.map(|()| ExitCode::SUCCESS)
}

async fn judge_until(
    shutdown: &CancellationToken,
    folder: &Path,
    changed: &Notify,
    publisher: &PolicyPublisher,
    client: &Client,
    screen: &Screen,
) -> Result<(), RunError> {
    let mut policies = PolicyFolder::new(folder);
    loop {
        let reading = policies.read();
        publisher.publish(reading.policies.clone().into());
        let verdicts = client.judge(&reading.reviews).await;
        screen.show(&mut std::io::stdout().lock(), &reading, &verdicts).map_err(RunError::Screen)?;
        tokio::select! {
            () = settled(changed) => {}
            () = shutdown.cancelled() => return Ok(()),
        }
    }
}

fn server(
    args: &ServeArgs,
    listener: TcpListener,
    certificate: &ServingCertificate,
    handle: PolicyHandle,
) -> Result<Server, RunError> {
    let webhook = Webhook::new(handle, Arc::new(NoNamespaces), Budget::default(), concurrency(args));
    // The first reading is published before the address is printed.
    let routes = admission_routes(webhook, args.webhook.exempt_namespaces(), || true);
    Ok(Server::new(listener, routes).with_tls(Tls::new(certificate, TlsOptions::default())?))
}

fn watch_folder(folder: &Path, changed: Arc<Notify>) -> Result<RecommendedWatcher, RunError> {
    let failed = |source| RunError::Folder { folder: folder.to_owned(), source };
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading the files is an event too, and must not lead to reading them again.
        if event.is_ok_and(|event| !event.kind.is_access()) {
            changed.notify_one();
        }
    })
    .map_err(failed)?;
    watcher.watch(folder, RecursiveMode::Recursive).map_err(failed)?;
    Ok(watcher)
}

/// Waits for a change, and then until nothing has changed for a while.
async fn settled(changed: &Notify) {
    changed.notified().await;
    while timeout(QUIET, changed.notified()).await.is_ok() {}
}
