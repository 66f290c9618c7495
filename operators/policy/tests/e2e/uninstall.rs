//! `webtroller uninstall` where it would not last, or may not be done.

use std::path::Path;

use crate::cluster::{Cluster, NAMESPACE, workspace};
use crate::gatekeeper::manifests;
use crate::operator::{Operator, webtroller};
use crate::rights::acting_as;

const CONFIGURATION: &str = "gatekeeper-validating-webhook-configuration";
/// As the chart labels it. Its processes are those that the test starts.
const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: policies, namespace: gatekeeper-system, labels: {app.kubernetes.io/name: webtroller}}
spec:
  selector: {matchLabels: {app: webtroller}}
  template:
    metadata: {labels: {app: webtroller}}
    spec: {containers: [{name: manager, image: example.com/webtroller}]}
";

/// The exit code, and what it said.
async fn uninstall(kubeconfig: &Path, args: &[&str]) -> (i32, String) {
    let output =
        webtroller().arg("uninstall").args(args).env("KUBECONFIG", kubeconfig).output().await.unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.code().unwrap(), said.concat())
}

#[tokio::test]
async fn a_removal_that_would_not_last_or_is_forbidden_is_refused_in_one_sentence() {
    let cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    cluster.quickstart().await;
    cluster.apply(DEPLOYMENT).await;
    let admin = cluster.plane.kubeconfig();
    let (code, said) = uninstall(admin, &[]).await;
    assert_eq!(code, 2, "{said}");
    let expected = "webtroller: the pods of the Deployment gatekeeper-system/policies would register the webhook again; \
        add --deployment policies --namespace gatekeeper-system\n";
    assert_eq!(said, expected);
    // A slip of the pen does not make it succeed.
    for args in [["--namespace", "default"], ["--deployment", "polices"]] {
        assert_eq!(uninstall(admin, &args).await, (2, expected.to_owned()), "{args:?}");
    }
    let webhooks =
        cluster.get(&["validatingwebhookconfiguration", CONFIGURATION], "{.webhooks[*].name}").await;
    assert!(webhooks.contains("validation.gatekeeper.sh"), "{webhooks}");

    let folder = tempfile::tempdir().unwrap();
    let (code, said) = uninstall(&acting_as(&cluster.plane, "nobody", folder.path()), &[]).await;
    assert_eq!(code, 2, "{said}");
    let reason = format!("webtroller: could not read {CONFIGURATION}: validatingwebhook");
    assert!(said.starts_with(&reason) && said.ends_with("at the cluster scope (HTTP 403)\n"), "{said}");

    operator.stop().await;
    cluster.must(&["scale", "deployment", "policies", "-n", "gatekeeper-system", "--replicas=0"]).await;
    for answer in ["removed", "there is no such webhook configuration"] {
        assert_eq!(uninstall(admin, &[]).await, (0, format!("{CONFIGURATION}: {answer}\n")));
    }
    nothing_is_enforced(&cluster).await;
}

async fn nothing_is_enforced(cluster: &Cluster) {
    for object in ["constrainttemplate/k8sreplicalimits", "k8sreplicalimits/three-to-ten-replicas"] {
        assert_eq!(cluster.get(&[object], "{.status.conditions}").await, "", "{object}");
    }
}

/// The command of docs/install.md, where the chart was installed with `besideGatekeeper`.
#[tokio::test]
async fn gatekeepers_configuration_stays_and_that_of_the_deployment_goes() {
    const OURS: &str = "webtroller-validating-webhook-configuration";
    let cluster = Cluster::start().await;
    let flag = format!("--validating-webhook-configuration-name={OURS}");
    let identity = ["webtroller-0", NAMESPACE, &cluster.pod_uid];
    let mut operator = Operator::start_with(&cluster.shipped, identity, &[&flag]).await;
    operator.log("webhook registered").await;
    cluster.quickstart().await;
    let mut theirs = manifests("ValidatingWebhookConfiguration").remove(0);
    for webhook in theirs["webhooks"].as_array_mut().unwrap() {
        webhook["failurePolicy"] = "Ignore".into();
    }
    cluster.apply(&theirs.to_string()).await;

    let admin = cluster.plane.kubeconfig();
    let (code, said) = uninstall(admin, &["--patience", "1"]).await;
    assert!(code == 2 && said.contains("webtroller runs as gatekeeper-system/webtroller-0"), "{said}");
    operator.stop().await;
    let (code, said) = uninstall(admin, &[]).await;
    let expected = format!(
        "webtroller: {CONFIGURATION} was not written by webtroller, and stays; webtroller has registered {OURS}: add {flag}\n"
    );
    assert_eq!((code, said), (2, expected.replace('=', " ")));

    let args = format!("image: example.com/webtroller, args: [serve, '{flag}']");
    cluster
        .apply(
            &DEPLOYMENT
                .replace("name: policies", "name: webtroller")
                .replace("image: example.com/webtroller", &args),
        )
        .await;
    let guide = std::fs::read_to_string(workspace("docs/install.md")).unwrap();
    let command =
        guide.lines().find_map(|line| line.strip_prefix("webtroller uninstall --deployment")).unwrap();
    let command: Vec<_> = command.split_whitespace().collect();
    // The pods that the Deployment has here have no process.
    let args = [&["--deployment"], &command[..]].concat();
    let ((code, said), ()) = tokio::join!(uninstall(admin, &args), async {
        let none = ["deployment/webtroller", "-n", NAMESPACE];
        cluster.until(&none, "{.spec.replicas}", "0").await;
        cluster
            .must(&["delete", "pods", "-l", "app=webtroller", "-n", NAMESPACE, "--force", "--grace-period=0"])
            .await;
    });
    assert_eq!((code, said), (0, format!("{OURS}: removed\n")));
    assert_eq!(
        cluster.get(&["validatingwebhookconfigurations"], "{.items[*].metadata.name}").await,
        CONFIGURATION
    );
    nothing_is_enforced(&cluster).await;
}

/// It answers for a while, but what it restored would stay behind.
#[tokio::test]
async fn a_process_that_was_asked_to_end_does_not_register_the_webhook_again() {
    let cluster = Cluster::start().await;
    let mut operator = cluster.operator().await;
    operator.terminate();
    operator.until_readyz(|code, _| code == 503).await;
    cluster.must(&["delete", "validatingwebhookconfiguration", CONFIGURATION]).await;
    operator.child.wait().await.unwrap();
    assert_eq!(cluster.get(&["validatingwebhookconfigurations"], "{.items[*].metadata.name}").await, "");
}
