//! A TCP proxy in front of the API server, which delays what it passes on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kube::config::Kubeconfig;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// A proxy, and a kubeconfig that leads through it.
pub(crate) struct Proxy {
    delay: Arc<AtomicU64>,
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
        let delay = Arc::new(AtomicU64::new(0));
        let target = target.trim_start_matches("https://").trim_end_matches('/').to_owned();
        let accepting = tokio::spawn(accept(listener, target, delay.clone())).abort_handle();
        Self { delay, folder, accepting }
    }

    /// Delays each piece of data, in both directions, by this much from now on.
    pub(crate) fn delay_millis(&self, delay: u64) {
        self.delay.store(delay, Ordering::Relaxed);
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }
}

async fn accept(listener: TcpListener, target: String, delay: Arc<AtomicU64>) {
    while let Ok((client, _)) = listener.accept().await {
        let Ok(server) = TcpStream::connect(&target).await else { continue };
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        tokio::spawn(pass(from_client, to_server, delay.clone()));
        tokio::spawn(pass(from_server, to_client, delay.clone()));
    }
}

async fn pass(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, delay: Arc<AtomicU64>) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        tokio::time::sleep(Duration::from_millis(delay.load(Ordering::Relaxed))).await;
        if to.write_all(&buffer[..length]).await.is_err() {
            break;
        }
    }
    // Ignore the error: the other side may have gone first.
    let _ = to.shutdown().await;
}
