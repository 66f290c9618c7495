//! From Gatekeeper to webtroller and back, on one cluster, with Gatekeeper's own manager, while requests are sent: the same
//! templates and constraints, and no request that is not judged. The steps are those of docs/migrate.md.

use kube::Api;
use serde_json::{Value, json};
use tokio::process::Child;
use tokio_util::sync::CancellationToken;

use crate::cluster::{Cluster, NAMESPACE};
use crate::fleet::{Fleet, Load, load};
use crate::gatekeeper::manifests;
use crate::gatekeeper_process;
use crate::operator::webtroller;
use crate::prober::{constraint, template};

/// The names that the chart sets with `besideGatekeeper`: names that are not Gatekeeper's.
const BESIDE: [&str; 2] = [
    "--validating-webhook-configuration-name=webtroller-validating-webhook-configuration",
    "--cert-secret-name=webtroller-webhook-server-cert",
];
const OURS: &str = "webtroller-validating-webhook-configuration";
const THEIRS: &str = "gatekeeper-validating-webhook-configuration";

const DEPLOYMENT: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: webtroller, namespace: gatekeeper-system, \
    labels: {app.kubernetes.io/name: webtroller}}, spec: {replicas: 0, selector: {matchLabels: {app: webtroller}}, template: {metadata: {labels: {app: webtroller}}, \
    spec: {containers: [{name: a, image: example.com/a, args: [serve, \
    '--validating-webhook-configuration-name=webtroller-validating-webhook-configuration']}]}}}}";

/// Gatekeeper's two Deployments with a pod each: one serves the webhook, the other audits and writes CRDs and statuses.
struct Gatekeeper {
    webhook: gatekeeper_process::Webhook,
    audit: Child,
    names: [String; 2],
}

impl Gatekeeper {
    /// Starts both, and registers the webhook once it answers.
    async fn start(cluster: &Cluster, generation: &str) -> Self {
        let names = [format!("gatekeeper-{generation}-a"), format!("gatekeeper-{generation}-b")];
        let webhook = gatekeeper_process::webhook(cluster, &names[0]).await;
        let keep = [
            "--operation=audit".to_owned(),
            "--operation=status".to_owned(),
            "--operation=generate".to_owned(),
            format!("--api-cache-dir={}", webhook.folder.path().display()),
        ];
        let audit = gatekeeper_process::process(cluster, &names[1], &keep).await;
        register(cluster, &webhook).await;
        Self { webhook, audit, names }
    }

    async fn stop_audit(&mut self, cluster: &Cluster) {
        end(cluster, &mut self.audit, &self.names[1]).await;
    }

    async fn stop_webhook(mut self, cluster: &Cluster) {
        end(cluster, &mut self.webhook.child, &self.names[0]).await;
    }
}

/// Ends a process, and deletes its Pod.
async fn end(cluster: &Cluster, child: &mut Child, name: &str) {
    let id = child.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    child.wait().await.unwrap();
    cluster.must(&["delete", "pod", name, "-n", NAMESPACE, "--force", "--grace-period=0"]).await;
}

/// Gatekeeper's own webhook configuration, by URL, and such that a request that is not judged fails.
async fn register(cluster: &Cluster, served: &gatekeeper_process::Webhook) {
    let mut configuration = manifests("ValidatingWebhookConfiguration").remove(0);
    let authority = k8s_openapi::ByteString(served.certificate.authority.clone().into_bytes());
    for webhook in configuration["webhooks"].as_array_mut().unwrap() {
        let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap();
        let url = format!("https://{}{path}", served.address);
        webhook["clientConfig"] = json!({"url": url, "caBundle": authority});
        webhook["failurePolicy"] = json!("Fail");
        webhook["timeoutSeconds"] = json!(30);
    }
    cluster.apply(&configuration.to_string()).await;
}

/// Uids, owners and parameters that a change of the operator must not touch.
async fn kept(cluster: &Cluster) -> Vec<String> {
    let mut kept = Vec::new();
    for object in ["constrainttemplate/numbered", "numbered/a", "crd/numbered.constraints.gatekeeper.sh"] {
        kept.push(
            cluster
                .get(&[object], "{.metadata.uid} {.metadata.ownerReferences[*].uid} {.spec.parameters}")
                .await,
        );
    }
    kept
}

/// The pods in a constraint's `byPod`, in order.
async fn pods(cluster: &Cluster, expected: &str) {
    for object in ["constrainttemplate/numbered", "numbered/a"] {
        cluster.until(&[object], "{.status.byPod[*].id}", expected).await;
    }
}

/// Sends requests until it is asked for what came of them.
struct Requests {
    end: CancellationToken,
    clients: Vec<tokio::task::JoinHandle<Load>>,
}

impl Requests {
    fn start(cluster: &Cluster) -> Self {
        let end = CancellationToken::new();
        let one = |_| {
            let api = Api::namespaced(cluster.plane.client().unwrap(), "default");
            tokio::spawn(load(api, end.clone()))
        };
        Self { clients: (0..2).map(one).collect(), end }
    }

    async fn all_judged(self, when: &str) {
        self.end.cancel();
        for client in self.clients {
            let load = client.await.unwrap();
            println!("{when}: {} refused, {} admitted", load.refused, load.admitted);
            assert!(
                load.wrongly_admitted == 0 && load.failed.is_empty() && load.refused > 0,
                "{when}: {load:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gatekeeper_is_replaced_and_comes_back_without_a_request_that_is_not_judged() {
    let cluster = Cluster::start().await;
    for definition in manifests("CustomResourceDefinition") {
        let answer = cluster.feed(&["apply", "--server-side", "-f", "-"], &definition.to_string()).await;
        assert!(answer.success, "{}", answer.stderr);
    }
    let mut gatekeeper = Gatekeeper::start(&cluster, "first").await;
    cluster.apply(&template(1)).await;
    let created = ["wait", "--for=jsonpath={.status.created}=true", "--timeout=120s"];
    cluster.must(&[&created[..], &["constrainttemplate/numbered"]].concat()).await;
    let crd =
        ["wait", "--for=condition=Established", "--timeout=120s", "crd/numbered.constraints.gatekeeper.sh"];
    cluster.must(&crd).await;
    cluster.apply(&constraint(1)).await;
    pods(&cluster, "gatekeeper-first-a gatekeeper-first-b").await;
    let before = kept(&cluster).await;
    let requests = Requests::start(&cluster);

    // From here on webtroller writes statuses and CRDs; both webhooks judge.
    gatekeeper.stop_audit(&cluster).await;
    let fleet = Fleet::start_on(cluster, &BESIDE).await;
    enforced(&fleet.cluster).await;
    fleet.cluster.must(&["delete", "validatingwebhookconfiguration", THEIRS]).await;
    gatekeeper.stop_webhook(&fleet.cluster).await;
    leftovers(&fleet.cluster).await;
    pods(&fleet.cluster, "webtroller-0 webtroller-1 webtroller-2").await;
    enforced(&fleet.cluster).await;
    requests.all_judged("taken over").await;
    assert_eq!(kept(&fleet.cluster).await, before);

    // And back.
    let requests = Requests::start(&fleet.cluster);
    for definition in manifests("CustomResourceDefinition") {
        let name = definition["metadata"]["name"].as_str().unwrap();
        if !fleet.cluster.kubectl(&["get", "crd", name]).await.success {
            fleet.cluster.feed(&["apply", "--server-side", "-f", "-"], &definition.to_string()).await;
        }
    }
    let gatekeeper = Gatekeeper::start(&fleet.cluster, "second").await;
    returned(fleet, requests, before, &gatekeeper).await;
}

/// As docs/migrate.md says.
async fn enforced(cluster: &Cluster) {
    let all = ["constrainttemplates,constraints", "--all", "--timeout=5m"];
    cluster.must(&[&["wait", "--for=condition=Enforced"], &all[..]].concat()).await;
}

/// Waits until Gatekeeper enforces, and removes webtroller.
async fn returned(fleet: Fleet, requests: Requests, before: Vec<String>, gatekeeper: &Gatekeeper) {
    // Gatekeeper's own objects: in the statuses of constraints both write until one of them is gone.
    let judged = "{range .items[*]}{.status.id}{.status.observedGeneration};{end}";
    let both = gatekeeper.names.iter().map(|name| format!("{name}1;")).collect::<String>();
    for kind in ["constrainttemplatepodstatuses", "constraintpodstatuses"] {
        fleet.cluster.until(&[kind, "-n", NAMESPACE], judged, &both).await;
    }
    let Fleet { cluster, pods: running, .. } = fleet;
    // The hook of the chart. Its Deployment has no pods here but those that the test started, and ends.
    cluster.apply(DEPLOYMENT).await;
    for (name, ..) in &running {
        cluster.must(&["label", "pod", name, "-n", NAMESPACE, "app=webtroller"]).await;
    }
    let (uninstalled, ()) = tokio::join!(uninstall(&cluster), async {
        let annotation = "{.metadata.annotations.webtroller\\.dev/uninstalled}";
        cluster.until(&["validatingwebhookconfiguration", OURS], annotation, "true").await;
        for (name, _, operator) in running {
            operator.stop().await;
            cluster.must(&["delete", "pod", &name, "-n", NAMESPACE, "--force", "--grace-period=0"]).await;
        }
    });
    assert!(uninstalled.status.success(), "{}", String::from_utf8_lossy(&uninstalled.stderr));
    for object in ["constrainttemplate/numbered", "numbered/a"] {
        assert_eq!(
            cluster.get(&[object], "{.status.conditions}").await,
            "",
            "{object} is still said to be enforced"
        );
    }
    requests.all_judged("given back").await;
    assert_eq!(kept(&cluster).await, before);
    let configurations = cluster.get(&["validatingwebhookconfigurations"], "{.items[*].metadata.name}").await;
    assert_eq!(configurations, THEIRS);
    // A change is Gatekeeper's to enforce.
    cluster.apply(&constraint(2)).await;
    cluster.until(&["numbered/a"], "{.status.byPod[*].observedGeneration}", "2 2").await;
    let manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: forbidden, namespace: default}}";
    let refused = cluster.feed(&["create", "--dry-run=server", "-f", "-"], manifest).await;
    assert!(refused.stderr.contains("numbers=2,1"), "{}", refused.stderr);
    pods(&cluster, &gatekeeper.names.join(" ")).await;
}

async fn uninstall(cluster: &Cluster) -> std::process::Output {
    let mut command = webtroller();
    command.args([
        "uninstall",
        "--validating-webhook-configuration-name",
        OURS,
        "--deployment",
        "webtroller",
    ]);
    command.env("KUBECONFIG", cluster.plane.kubeconfig()).output().await.unwrap()
}

/// Removes what Gatekeeper leaves and webtroller has no use for, as docs/migrate.md says.
async fn leftovers(cluster: &Cluster) {
    let guide = std::fs::read_to_string(crate::cluster::workspace("docs/migrate.md")).unwrap();
    let command =
        guide.lines().find(|line| line.starts_with("kubectl delete crd --ignore-not-found ")).unwrap();
    let args: Vec<_> = command.split_whitespace().skip(1).collect();
    cluster.must(&args).await;
    let left = cluster.get(&["crds"], "{.items[*].metadata.name}").await;
    let known: Vec<Value> = manifests("CustomResourceDefinition");
    let theirs = known.iter().map(|definition| definition["metadata"]["name"].as_str().unwrap());
    let kept: Vec<_> = theirs.filter(|name| left.split(' ').any(|left| left == *name)).collect();
    let used = [
        "configs.config.gatekeeper.sh",
        "constrainttemplates.templates.gatekeeper.sh",
        "syncsets.syncset.gatekeeper.sh",
    ];
    assert_eq!(kept, used);
}
