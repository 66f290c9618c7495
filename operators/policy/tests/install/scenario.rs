//! Install, upgrade and uninstall, under traffic.

use control_plane::Options;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;
use tokio::task::JoinSet;

use crate::helm::{NAMESPACE, RELEASE, chart, helm, workspace};
use crate::node::Node;
use crate::rights;
use crate::service::{Endpoints, configuration, serve};
use crate::traffic::Traffic;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn installed_upgraded_and_uninstalled_without_a_failed_request() {
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
    let (kubeconfig, chart) = (Some(plane.kubeconfig()), chart());
    let chart = chart.to_str().unwrap();
    let fail = "validatingWebhookFailurePolicy=Fail";

    helm(
        kubeconfig,
        &[
            "install",
            RELEASE,
            chart,
            "-n",
            NAMESPACE,
            "--create-namespace",
            "--wait",
            "--timeout=300s",
            "--set",
            fail,
        ],
    )
    .await;
    for (file, object) in [
        ("template", "constrainttemplate/k8sreplicalimits"),
        ("constraint", "k8sreplicalimits/three-to-ten-replicas"),
    ] {
        let path = workspace(&format!("examples/quickstart/{file}.yaml"));
        must(plane.kubectl().args(["apply", "-f", path.to_str().unwrap()])).await;
        must(plane.kubectl().args(["wait", "--for=condition=Enforced", "--timeout=120s", object])).await;
    }
    let traffic = Traffic::default();
    background.spawn(traffic.clone().run(client.clone()));

    helm(
        kubeconfig,
        &[
            "upgrade",
            RELEASE,
            chart,
            "-n",
            NAMESPACE,
            "--wait",
            "--timeout=300s",
            "--set",
            fail,
            "--set",
            "podAnnotations.revision=second",
        ],
    )
    .await;
    let upgraded = traffic.take();
    assert_eq!((upgraded.slipped, upgraded.failed.as_slice()), (0, [].as_slice()), "while upgrading");
    assert!(upgraded.admitted > 0 && upgraded.denied > 0, "{upgraded:?}");
    let log = plane.audit_log().unwrap();
    assert_eq!(rights::forbidden(&log), [""; 0]);
    assert_eq!(rights::unused(client.clone(), &log).await, [].into(), "rights that nothing used");

    helm(kubeconfig, &["uninstall", RELEASE, "-n", NAMESPACE, "--wait", "--timeout=300s"]).await;
    let uninstalled = traffic.take();
    assert_eq!(uninstalled.failed, [""; 0], "while uninstalling");
    println!(
        "upgrade: {} admitted, {} denied, 0 failed; uninstall: {} admitted, {} denied, {} admitted after the webhook went, 0 failed",
        upgraded.admitted, upgraded.denied, uninstalled.admitted, uninstalled.denied, uninstalled.slipped
    );
    let configurations: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    assert_eq!(configurations.list(&ListParams::default()).await.unwrap().items.len(), 0);
    let pods: Api<Pod> = Api::namespaced(client, NAMESPACE);
    let own = ListParams::default().labels("app.kubernetes.io/name=webtroller");
    assert_eq!(pods.list(&own).await.unwrap().items.len(), 0);
    background.shutdown().await;
}

async fn must(command: &mut tokio::process::Command) {
    let output = command.output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
