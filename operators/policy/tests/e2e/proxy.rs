//! A TCP proxy in front of the API server, which delays or loses what it passes on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kube::config::Kubeconfig;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// The faults injected into the data that passes.
#[derive(Debug, Default)]
struct Faults {
    delay: AtomicU64,
    /// Answers that will be lost, with their connections.
    lost: AtomicU64,
}

/// A proxy, and a kubeconfig that leads through it.
pub(crate) struct Proxy {
    faults: Arc<Faults>,
    folder: tempfile::TempDir,
    accepting: AbortHandle,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Proxy {
    pub(crate) async fn start(kubeconfig: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut config = Kubeconfig::read_from(kubeconfig).unwrap();
        let server = &mut config.clusters[0].cluster.as_mut().unwrap().server;
        let target = server.take().unwrap();
        *server = Some(format!("https://127.0.0.1:{port}"));
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("kubeconfig"), serde_json::to_string(&config).unwrap()).unwrap();
        let faults = Arc::<Faults>::default();
        let target = target.trim_start_matches("https://").trim_end_matches('/').to_owned();
        let accepting = tokio::spawn(accept(listener, target, faults.clone())).abort_handle();
        Self { faults, folder, accepting }
    }

    /// Delays each piece of data, in both directions, by this much from now on.
    pub(crate) fn delay_millis(&self, delay: u64) {
        self.faults.delay.store(delay, Ordering::Relaxed);
    }

    /// Loses the next pieces of data that the server sends, and ends their connections: what was asked has been done.
    pub(crate) fn lose(&self, answers: u64) {
        self.faults.lost.store(answers, Ordering::Relaxed);
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }
}

async fn accept(listener: TcpListener, target: String, faults: Arc<Faults>) {
    while let Ok((client, _)) = listener.accept().await {
        let Ok(server) = TcpStream::connect(&target).await else { continue };
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        tokio::spawn(pass(from_client, to_server, faults.clone(), false));
        tokio::spawn(pass(from_server, to_client, faults.clone(), true));
    }
}

async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    faults: Arc<Faults>,
    answers: bool,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        tokio::time::sleep(Duration::from_millis(faults.delay.load(Ordering::Relaxed))).await;
        let one_less = |left: u64| left.checked_sub(1);
        if answers && faults.lost.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok() {
            break;
        }
        if to.write_all(&buffer[..length]).await.is_err() {
            break;
        }
    }
    // Ignore the error: the other side may have gone first.
    let _ = to.shutdown().await;
}
