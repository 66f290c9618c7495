//! A control plane with a node and the network of Services.

use control_plane::{ControlPlane, Options};
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::node::{Logs, Node};
use crate::service::{Endpoints, configuration, serve};

pub(crate) struct Cluster {
    pub(crate) plane: ControlPlane,
    pub(crate) client: kube::Client,
    /// The node and the network.
    pub(crate) background: JoinSet<()>,
    _logs: Logs,
    pub(crate) folder: TempDir,
}

impl Cluster {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (egress, socket) = configuration(folder.path());
        let options = Options::default()
            .api_server_flag(format!("--egress-selector-config-file={}", egress.display()))
            // Nodes here have no kubelet that sends heartbeats.
            .controller_manager_flag("--controllers=*,-node-lifecycle-controller");
        let mut background = JoinSet::new();
        let endpoints = Endpoints::default();
        background.spawn(serve(socket, endpoints.clone()));
        let plane = options.start().await.unwrap();
        let client = plane.client().unwrap();
        let node = Node::join(client.clone(), plane.config(), endpoints, folder.path().to_owned()).await;
        background.spawn(node.run());
        Self { plane, client, background, _logs: Logs(folder.path().to_owned()), folder }
    }
}

/// Runs a command that must succeed.
pub(crate) async fn must(command: &mut tokio::process::Command) {
    let output = command.output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
