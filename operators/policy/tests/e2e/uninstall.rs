//! `webtroller uninstall` where it would not last, or may not be done.

use std::path::Path;

use crate::cluster::Cluster;
use crate::operator::webtroller;
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
    cluster.apply(DEPLOYMENT).await;
    let admin = cluster.plane.kubeconfig();
    let (code, said) = uninstall(admin, &[]).await;
    assert_eq!(code, 2, "{said}");
    let expected = "webtroller: the pods of the Deployment policies would register the webhook again; add --deployment policies\n";
    assert_eq!(said, expected);
    let webhooks =
        cluster.get(&["validatingwebhookconfiguration", CONFIGURATION], "{.webhooks[*].name}").await;
    assert!(webhooks.contains("validation.gatekeeper.sh"), "{webhooks}");

    let folder = tempfile::tempdir().unwrap();
    let (code, said) = uninstall(&acting_as(&cluster.plane, "nobody", folder.path()), &[]).await;
    assert_eq!(code, 2, "{said}");
    let reason = format!("webtroller: could not take the webhooks out of {CONFIGURATION}: validatingwebhook");
    assert!(said.starts_with(&reason) && said.ends_with("at the cluster scope (HTTP 403)\n"), "{said}");

    operator.stop().await;
    cluster.must(&["scale", "deployment", "policies", "-n", "gatekeeper-system", "--replicas=0"]).await;
    for answer in ["removed", "there is no such webhook configuration"] {
        assert_eq!(uninstall(admin, &[]).await, (0, format!("{CONFIGURATION}: {answer}\n")));
    }
}
