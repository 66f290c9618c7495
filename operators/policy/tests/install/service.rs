//! The network between the API server and the webhook Service.
//!
//! The API server resolves the Service's cluster IP and sends each connection through an egress selector (HTTP CONNECT
//! on a Unix socket, as konnectivity does); this proxy passes it to one of the ready pods' processes, as kube-proxy
//! would, in turns.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpStream, UnixListener, UnixStream};

/// The addresses of the pods that are ready and not terminating.
#[derive(Clone, Debug, Default)]
pub(crate) struct Endpoints(Arc<Mutex<(Vec<SocketAddr>, usize)>>);

impl Endpoints {
    pub(crate) fn set(&self, ready: Vec<SocketAddr>) {
        self.0.lock().unwrap().0 = ready;
    }

    fn next(&self) -> Option<SocketAddr> {
        let mut state = self.0.lock().unwrap();
        state.1 = state.1.wrapping_add(1);
        let turn = state.1.checked_rem(state.0.len())?;
        state.0.get(turn).copied()
    }
}

/// Writes the API server's configuration into `folder`; gives its path and the socket's.
pub(crate) fn configuration(folder: &Path) -> (PathBuf, PathBuf) {
    let (socket, path) = (folder.join("egress.sock"), folder.join("egress.yaml"));
    let text = format!(
        "apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\negressSelections:\n\
         - name: cluster\n  connection:\n    proxyProtocol: HTTPConnect\n    transport:\n      uds: {{udsName: {}}}\n",
        socket.display()
    );
    std::fs::write(&path, text).unwrap();
    (path, socket)
}

/// Serves until it is dropped.
pub(crate) async fn serve(socket: PathBuf, endpoints: Endpoints) {
    let listener = UnixListener::bind(socket).unwrap();
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let (client, _) = listener.accept().await.unwrap();
        connections.spawn(carry(client, endpoints.clone()));
        while connections.try_join_next().is_some() {}
    }
}

/// Answers CONNECT, then copies bytes. A broken connection is the API server's to notice.
async fn carry(mut client: UnixStream, endpoints: Endpoints) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        match client.read_u8().await {
            Ok(byte) => request.push(byte),
            Err(_) => return,
        }
    }
    let server = match endpoints.next() {
        Some(address) => TcpStream::connect(address).await.ok(),
        None => None,
    };
    let Some(mut server) = server else {
        let _ = client.write_all(b"HTTP/1.1 503 no endpoints\r\n\r\n").await;
        return;
    };
    if client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.is_ok() {
        let _ = copy_bidirectional(&mut client, &mut server).await;
    }
}
