//! The audit against Gatekeeper's own manager, run with `--operation=audit` on the same API server: the same violations,
//! message for message, over the whole library, the objects of its samples, and generated Pods.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use control_plane::Component;
use futures::{StreamExt, stream};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use tokio::process::Child;
use tokio::time::{interval, timeout};
use webtroller::cli::{Manifest, load, load_file};

use crate::audit_costs::{Cost, Requests, first_pass, steady};
use crate::cluster::{Answer, Cluster, NAMESPACE};
use crate::gatekeeper;
use crate::operator::{Operator, PATIENCE};
use crate::verdicts::{Violations, cut, texts};

/// Gatekeeper shows at most so many violations; the constraints here have fewer.
const SHOWN: usize = 500;
/// Generated objects in CI.
const FEW: usize = 120;
/// Gatekeeper's own interval, in seconds.
const THEIR_INTERVAL: u32 = 60;
/// Objects that are created at the same time.
const CREATIONS: usize = 32;

/// Generated Pods and Deployments; `WEBTROLLER_AUDIT_PODS` asks for more, so that the costs that are printed mean something.
pub(crate) fn objects_to_generate() -> usize {
    std::env::var("WEBTROLLER_AUDIT_PODS").map_or(FEW, |count| count.parse().unwrap())
}

pub(crate) const SYNC: &str = r#"{apiVersion: syncset.gatekeeper.sh/v1alpha1, kind: SyncSet, metadata: {name: all}, spec: {gvks: [
    {group: "", version: v1, kind: Service}, {group: networking.k8s.io, version: v1, kind: Ingress},
    {group: policy, version: v1, kind: PodDisruptionBudget}, {group: storage.k8s.io, version: v1, kind: StorageClass}]}}"#;

/// One run of Gatekeeper's audit: what it found, and what it cost from the start of the process.
struct Theirs {
    violations: Violations,
    cost: Cost,
    took: Duration,
    requests: Requests,
}

/// The manifests of the library: templates, constraints, and objects of the samples in namespaces of their own.
pub(crate) struct Library {
    pub(crate) templates: Vec<Value>,
    pub(crate) constraints: Vec<Value>,
    objects: Vec<Value>,
}

pub(crate) fn library(root: &Path) -> Library {
    let mut library = Library { templates: Vec::new(), constraints: Vec::new(), objects: Vec::new() };
    let mut number = 0;
    for Manifest { path, mut object, .. } in load(root).manifests {
        let version = object["apiVersion"].as_str().unwrap_or_default().to_owned();
        if version.starts_with("templates.gatekeeper.sh/") {
            library.templates.push(object);
        } else if version.starts_with("constraints.gatekeeper.sh/") {
            object["spec"]["enforcementAction"] = json!("dryrun");
            number += 1;
            object["metadata"]["name"] = json!(format!("c-{number}"));
            library.constraints.push(object);
        } else if path.components().any(|part| part.as_os_str() == "samples")
            && object["kind"] != "AdmissionReview"
        {
            let own = object.clone();
            number += 1;
            object["metadata"]["name"] = json!(format!("o-{number}"));
            library.objects.extend([own, object]);
        }
    }
    library
}

/// A Pod whose every part that policies look at comes from the digits of a number.
pub(crate) fn pod(number: usize) -> Value {
    let digit = |place: u32, of: usize| number / 3_usize.pow(place) % of;
    let privileged = [json!(null), json!(true), json!(false)][digit(0, 3)].clone();
    let image = [
        "nginx",
        "nginx:latest",
        "example.com/nginx@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    ];
    let labels = [json!({}), json!({"owner": "team.agilebank.demo"}), json!({"owner": "x", "app": "y"})];
    let resources = [
        json!({}),
        json!({"limits": {"cpu": "100m", "memory": "1Gi"}}),
        json!({"limits": {"cpu": "2", "memory": "3Gi"}, "requests": {"cpu": "100m"}}),
    ];
    let capabilities = [json!({}), json!({"add": ["SYS_ADMIN"]}), json!({"drop": ["ALL"]})];
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("generated-{number}"), "namespace": "generated", "labels": labels[digit(1, 3)]},
        "spec": {
            "hostNetwork": digit(2, 2) == 1, "hostPID": digit(3, 2) == 1,
            "automountServiceAccountToken": digit(4, 2) == 1,
            "containers": [
                {"name": "a", "image": image[digit(2, 3)], "resources": resources[digit(3, 3)],
                 "securityContext": {"privileged": privileged, "capabilities": capabilities[digit(1, 3)]}},
                {"name": "b", "image": image[digit(0, 3)], "tty": digit(4, 2) == 0, "stdin": true},
            ],
        },
    })
}

/// Every fifth object is a Deployment of such a Pod.
fn deployment(number: usize) -> Value {
    let mut template = pod(number);
    let spec = template["spec"].take();
    let mut metadata = template["metadata"].take();
    let name = metadata["name"].take();
    let labels = metadata["labels"].take();
    metadata = json!({"labels": {"run": name}});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "generated", "labels": labels},
        "spec": {"replicas": number % 7, "selector": {"matchLabels": {"run": name}}, "template": {"metadata": metadata, "spec": spec}},
    })
}

/// Creates the generated objects. The controller manager must have stopped: it would make Pods of the Deployments.
pub(crate) async fn generate(cluster: &Cluster) {
    let client = cluster.plane.client().unwrap();
    let pods: Api<Pod> = Api::namespaced(client.clone(), "generated");
    let deployments: Api<Deployment> = Api::namespaced(client, "generated");
    let params = PostParams::default();
    let create = async |number: usize| {
        let id = number * 7;
        if number % 5 == 4 {
            let deployment = serde_json::from_value(deployment(id)).unwrap();
            deployments.create(&params, &deployment).await.unwrap();
        } else {
            let pod = serde_json::from_value(pod(id)).unwrap();
            pods.create(&params, &pod).await.unwrap();
        }
    };
    stream::iter(0..objects_to_generate()).map(create).buffer_unordered(CREATIONS).collect::<()>().await;
}

/// Gatekeeper's manager with its audit, every `interval` seconds.
fn auditing_manager(cluster: &Cluster, manager: &Path, interval: u32, cache: &Path) -> Child {
    let log = std::env::temp_dir().join("gatekeeper-manager.log");
    tokio::process::Command::new(manager)
        .args(["--operation=audit", "--operation=status", "--operation=generate", "--disable-cert-rotation"])
        .args(["--health-addr=127.0.0.1:0", "--prometheus-port=0", "--enable-external-data=false"])
        .args([format!("--audit-interval={interval}"), format!("--constraint-violations-limit={SHOWN}")])
        .arg("--api-cache-dir")
        .arg(cache)
        .env("KUBECONFIG", cluster.plane.kubeconfig())
        .envs([("POD_NAME", "webtroller-0"), ("POD_NAMESPACE", NAMESPACE), ("NAMESPACE", NAMESPACE)])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(log).unwrap())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

/// Waits until every constraint was audited since `since`, and returns what Gatekeeper wrote and the time of the last audit.
async fn audited(cluster: &Cluster, constraints: usize, since: &str) -> (Vec<Value>, String) {
    let count = objects_to_generate();
    let pause = Duration::from_secs(1 + u64::try_from(count / 4000).unwrap());
    let reading = async {
        let mut ticks = interval(pause);
        loop {
            ticks.tick().await;
            let list = cluster.kubectl(&["get", "constraints", "-o", "json"]).await;
            let list: Value = serde_json::from_str(&list.stdout).unwrap_or_default();
            let items = list["items"].as_array().cloned().unwrap_or_default();
            let time =
                |item: &Value| item["status"]["auditTimestamp"].as_str().unwrap_or_default().to_owned();
            let oldest = items.iter().map(time).min().unwrap_or_default();
            if items.len() == constraints && *oldest > *since {
                let newest = items.iter().map(time).max().unwrap_or_default();
                return (items, newest);
            }
        }
    };
    let patience = PATIENCE * 3 + Duration::from_millis(200) * u32::try_from(count).unwrap();
    timeout(patience, reading).await.expect("Gatekeeper must audit")
}

/// The violations in the statuses that Gatekeeper wrote.
fn violations(items: Vec<Value>) -> Violations {
    let entry = |item: Value| {
        let total = item["status"]["totalViolations"].as_u64().unwrap_or_default();
        (
            format!("{}/{}", item["kind"], item["metadata"]["name"]),
            (total, texts(item["status"].get("violations"))),
        )
    };
    sorted(items.into_iter().map(entry).collect())
}

/// Waits for one complete run of Gatekeeper's audit. Few objects are soon audited twice: the first run may have begun before
/// the last constraint was there. With many a new process begins, which audits after its interval, and whose cost is known.
async fn their_audit(cluster: &Cluster, constraints: usize, manager: &Path, mut child: Child) -> Theirs {
    let cache = tempfile::tempdir().unwrap();
    let is_few = objects_to_generate() <= FEW;
    let since = if is_few {
        audited(cluster, constraints, "").await.1
    } else {
        child.kill().await.unwrap();
        child = auditing_manager(cluster, manager, THEIR_INTERVAL, cache.path());
        Timestamp::now().to_string()
    };
    let (began, before) = (Instant::now(), Requests::of(cluster).await);
    let (items, _) = audited(cluster, constraints, &since).await;
    let waited = if is_few { Duration::ZERO } else { Duration::from_secs(THEIR_INTERVAL.into()) };
    let took = began.elapsed().saturating_sub(waited);
    let cost = Cost::of(child.id().unwrap());
    let requests = Requests::of(cluster).await.since(&before);
    child.kill().await.unwrap();
    Theirs { violations: violations(items), cost, took, requests }
}

/// Violations of one constraint in an order that both have.
fn sorted(mut violations: Violations) -> Violations {
    violations.values_mut().for_each(|(_, texts)| texts.sort());
    violations
}

/// Puts the library's objects there, and generated ones. No controller runs afterwards: of a Deployment it would make Pods, and
/// of a CronJob of the samples one each minute.
async fn fill(cluster: &mut Cluster, objects: &[Value]) -> usize {
    cluster.must(&["create", "namespace", "generated"]).await;
    cluster.must(&["wait", "--for=create", "-n", "generated", "serviceaccount/default"]).await;
    let stored = put(cluster, objects).await;
    cluster.plane.stop(Component::ControllerManager).await.unwrap();
    let began = Instant::now();
    generate(cluster).await;
    println!("{} objects generated in {:.0} s", objects_to_generate(), began.elapsed().as_secs_f64());
    stored
}

/// Applies objects in one call. They are documents of their own: of a List kubectl takes none if one is of an unknown kind.
async fn apply(cluster: &Cluster, objects: &[Value]) -> Answer {
    let documents: Vec<_> = objects.iter().map(Value::to_string).collect();
    cluster.feed(&["apply", "--server-side", "-f", "-"], &documents.join("\n---\n")).await
}

/// As [`apply`], of objects that may be refused. Returns how many the API server took.
async fn put(cluster: &Cluster, objects: &[Value]) -> usize {
    apply(cluster, objects).await.stdout.lines().count()
}

/// As [`apply`], of objects that must all be taken.
async fn put_all(cluster: &Cluster, objects: &[Value]) {
    let answer = apply(cluster, objects).await;
    assert!(answer.success, "{}", answer.stderr);
}

/// Prints what differs, at most a few texts of each constraint, and returns for how many constraints that is.
fn differences(ours: &Violations, theirs: &Violations) -> usize {
    // Of more than it shows Gatekeeper chooses others.
    let same = |ours: &(u64, Vec<String>), theirs: &(u64, Vec<String>)| match usize::try_from(ours.0) {
        Ok(0..=SHOWN) => ours == theirs,
        _ => ours.0 == theirs.0,
    };
    let differs = |name: &String, ours| !theirs.get(name).is_some_and(|theirs| same(ours, theirs));
    let differing: Vec<_> = ours.iter().filter(|(name, ours)| differs(name, ours)).collect();
    for (name, (count, texts)) in &differing {
        let (other_count, other) = theirs.get(*name).cloned().unwrap_or_default();
        let only = |a: &[String], b: &[String]| {
            a.iter().filter(|text| !b.contains(text)).take(3).cloned().collect::<Vec<_>>()
        };
        println!(
            "{name}: {count} and {other_count}; only ours {:?}, only theirs {:?}",
            only(texts, &other),
            only(&other, texts)
        );
    }
    differing.len() + theirs.len().abs_diff(ours.len())
}

pub(crate) async fn agrees_with_gatekeeper(root: &Path) {
    let manager = gatekeeper::manager().await;
    let mut cluster = Cluster::start().await;
    put_all(&cluster, &gatekeeper::manifests("CustomResourceDefinition")).await;
    let Library { templates, constraints, objects } = library(root);
    let stored = fill(&mut cluster, &objects).await;
    put_all(&cluster, &templates).await;
    put_all(&cluster, &[load_yaml(SYNC)]).await;
    let cache = tempfile::tempdir().unwrap();
    let child = auditing_manager(&cluster, &manager, 5, cache.path());
    let created =
        ["wait", "--for=jsonpath={.status.created}=true", "--timeout=300s", "constrainttemplates", "--all"];
    cluster.must(&created).await;
    let enforced = put(&cluster, &constraints).await;
    let theirs = their_audit(&cluster, enforced, &manager, child).await;
    let ours = sorted(cut(cluster.fresh_audit(SHOWN).await));
    let total: u64 = ours.values().map(|(total, _)| total).sum();
    println!(
        "{} templates, {} constraints ({} refused), {stored} of {} objects and {} generated ones: {total} violations",
        templates.len(),
        constraints.len(),
        constraints.len() - enforced,
        objects.len(),
        objects_to_generate(),
    );
    let differing = differences(&ours, &theirs.violations);
    assert!(differing == 0 && total > 500, "{differing} differ");
    // What Gatekeeper left in the statuses is replaced.
    let operator = auditing_operator(&cluster).await;
    let pass = first_pass(&cluster, &operator, enforced).await;
    println!(
        "Gatekeeper's manager, {:.0} s: {}, {}",
        theirs.took.as_secs_f64(),
        theirs.cost,
        theirs.requests
    );
    println!("webtroller, {pass}; {:.1} times less processor time", theirs.cost.seconds / pass.cost.seconds);
    cluster.agrees(20).await;
    if objects_to_generate() > FEW {
        let rate = theirs.cost.seconds / theirs.took.as_secs_f64().max(f64::from(THEIR_INTERVAL));
        steady(&cluster, &operator, Some(rate)).await;
        cluster.agrees(20).await;
    }
    operator.stop().await;
}

/// As Gatekeeper's Deployment for audits: a process without a webhook.
async fn auditing_operator(cluster: &Cluster) -> Operator {
    let identity = ["webtroller-0", NAMESPACE, cluster.pod_uid.as_str()];
    let operations = ["--operation=audit", "--operation=status", "--operation=generate"];
    Operator::launch_with(&cluster.shipped, identity, "127.0.0.1", &operations).await
}

/// The costs of an audit of many objects, without Gatekeeper's beside it, which would take an hour for 100,000.
pub(crate) async fn of_many_objects(root: &Path) {
    let mut cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    let Library { templates, constraints, objects } = library(root);
    put_all(&cluster, &[load_yaml(SYNC)]).await;
    put_all(&cluster, &templates).await;
    cluster
        .must(&["wait", "--for=condition=Enforced", "--timeout=300s", "constrainttemplates", "--all"])
        .await;
    let enforced = put(&cluster, &constraints).await;
    cluster.must(&["wait", "--for=condition=Enforced", "--timeout=300s", "constraints", "--all"]).await;
    operator.stop().await;
    cluster.must(&["delete", "validatingwebhookconfigurations", "--all"]).await;
    fill(&mut cluster, &objects).await;
    let operator = auditing_operator(&cluster).await;
    println!("webtroller, {}", first_pass(&cluster, &operator, enforced).await);
    steady(&cluster, &operator, None).await;
    cluster.agrees(20).await;
    operator.stop().await;
}

pub(crate) fn load_yaml(text: &str) -> Value {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    load_file(file.path()).unwrap().remove(0).object
}
