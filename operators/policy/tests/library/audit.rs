//! The audit against Gatekeeper's own manager, run with `--operation=audit` on the same API server: the same violations,
//! message for message, over the whole library, the objects of its samples, and generated Pods.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use control_plane::Component;
use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use tokio::time::{interval, timeout};
use webtroller::cli::{Manifest, load, load_file};

use crate::audit_costs::{Cost, Lists, steady};
use crate::cluster::{Cluster, NAMESPACE};
use crate::gatekeeper;
use crate::operator::PATIENCE;
use crate::verdicts::{Violations, texts};

/// Gatekeeper shows at most so many violations; the constraints here have fewer.
const SHOWN: usize = 500;
/// Generated Pods in CI.
const FEW: usize = 120;

/// Generated Pods; `WEBTROLLER_AUDIT_PODS` asks for more, so that the costs that are printed mean something.
fn pods() -> usize {
    std::env::var("WEBTROLLER_AUDIT_PODS").map_or(FEW, |count| count.parse().unwrap())
}

pub(crate) const SYNC: &str = r#"{apiVersion: syncset.gatekeeper.sh/v1alpha1, kind: SyncSet, metadata: {name: all}, spec: {gvks: [
    {group: "", version: v1, kind: Service}, {group: networking.k8s.io, version: v1, kind: Ingress},
    {group: policy, version: v1, kind: PodDisruptionBudget}, {group: storage.k8s.io, version: v1, kind: StorageClass}]}}"#;

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

/// Returns what Gatekeeper wrote, once every constraint was audited twice after `since`: the first run may have begun
/// before. Returns with it what the process cost in between: one run, and a second of waiting at most.
async fn audited(cluster: &Cluster, constraints: usize, process: u32) -> (Violations, Cost, Lists) {
    let (mut first, mut before, mut lists) = (None, Cost::default(), Lists::default());
    let reading = async {
        let mut ticks = interval(Duration::from_secs(1));
        loop {
            ticks.tick().await;
            let list = cluster.kubectl(&["get", "constraints", "-o", "json"]).await;
            let list: Value = serde_json::from_str(&list.stdout).unwrap_or_default();
            let items = list["items"].as_array().cloned().unwrap_or_default();
            let time =
                |item: &Value| item["status"]["auditTimestamp"].as_str().unwrap_or_default().to_owned();
            let oldest = items.iter().map(time).min().unwrap_or_default();
            if items.len() != constraints || oldest.is_empty() {
                continue;
            }
            let newest = items.iter().map(time).max().unwrap_or_default();
            match &first {
                Some(first) if *first < oldest => return items,
                Some(_) => {}
                None => {
                    (first, before) = (Some(newest), Cost::of(process));
                    lists = Lists::of(cluster).await;
                }
            }
        }
    };
    let patience = PATIENCE * 3 + Duration::from_millis(200) * u32::try_from(pods()).unwrap();
    let items = timeout(patience, reading).await.expect("Gatekeeper must audit");
    let cost = Cost::of(process).since(&before);
    let lists = Lists::of(cluster).await.since(&lists);
    let entry = |item: Value| {
        let total = item["status"]["totalViolations"].as_u64().unwrap_or_default();
        let mut violations = texts(item["status"].get("violations"));
        violations.sort();
        (format!("{}/{}", item["kind"], item["metadata"]["name"]), (total, violations))
    };
    (items.into_iter().map(entry).collect(), cost, lists)
}

/// A message as long as Gatekeeper stores it.
fn cut(violations: Violations) -> Violations {
    let cut = |text: String| {
        let (place, message) = text.rsplit_once('|').unwrap();
        match message.len() > 256 {
            true => format!("{place}|{}...", &message[..253]),
            false => text,
        }
    };
    let sorted = |mut texts: Vec<String>| {
        texts = texts.into_iter().map(cut).collect();
        texts.sort();
        texts
    };
    violations.into_iter().map(|(name, (total, texts))| (name, (total, sorted(texts)))).collect()
}

pub(crate) async fn agrees_with_gatekeeper(root: &Path) {
    let manager = gatekeeper::manager().await;
    let mut cluster = Cluster::start().await;
    let apply = async |object: &Value| {
        let answer = cluster.feed(&["apply", "--server-side", "-f", "-"], &object.to_string()).await;
        answer.success
    };
    for definition in gatekeeper::manifests("CustomResourceDefinition") {
        assert!(apply(&definition).await, "{}", definition["metadata"]["name"]);
    }
    let Library { templates, constraints, objects } = library(root);
    cluster.must(&["create", "namespace", "generated"]).await;
    let mut stored = 0;
    for object in &objects {
        stored += usize::from(apply(object).await);
    }
    let pods = pods();
    let api: Api<Pod> = Api::namespaced(cluster.plane.client().unwrap(), "generated");
    let create = async |number: usize| {
        let pod = serde_json::from_value(pod(number * 7)).unwrap();
        api.create(&PostParams::default(), &pod).await.unwrap();
    };
    stream::iter(0..pods).map(create).buffer_unordered(8).collect::<()>().await;
    for template in &templates {
        assert!(apply(template).await, "{}", template["metadata"]["name"]);
    }
    assert!(apply(&load_yaml(SYNC)).await);
    let cache = tempfile::tempdir().unwrap();
    let mut command = tokio::process::Command::new(manager);
    command
        .args([
            "--operation=audit",
            "--operation=status",
            "--operation=generate",
            "--disable-cert-rotation",
            "--audit-interval=5",
        ])
        .args(["--health-addr=127.0.0.1:0", "--prometheus-port=0", "--enable-external-data=false"])
        .args([&format!("--constraint-violations-limit={SHOWN}")])
        .args(["--api-cache-dir", cache.path().to_str().unwrap()])
        .env("KUBECONFIG", cluster.plane.kubeconfig())
        .envs([("POD_NAME", "webtroller-0"), ("POD_NAMESPACE", NAMESPACE), ("NAMESPACE", NAMESPACE)])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(std::env::temp_dir().join("gatekeeper-manager.log")).unwrap())
        .kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let created =
        ["wait", "--for=jsonpath={.status.created}=true", "--timeout=300s", "constrainttemplates", "--all"];
    cluster.must(&created).await;
    let mut refused = 0;
    for constraint in &constraints {
        refused += usize::from(!apply(constraint).await);
    }
    // The samples have a CronJob for each minute: from here on both see the same objects.
    cluster.plane.stop(Component::ControllerManager).await.unwrap();
    let (theirs, their_cost, their_lists) =
        audited(&cluster, constraints.len() - refused, child.id().unwrap()).await;
    let theirs = cut(theirs);
    child.kill().await.unwrap();
    let before = Lists::of(&cluster).await;
    let ours = cut(cluster.fresh_audit(SHOWN).await);
    let once = Lists::of(&cluster).await.since(&before);
    let total: u64 = ours.values().map(|(total, _)| total).sum();
    println!(
        "{} templates, {} constraints ({refused} refused), {stored} of {} objects and {pods} Pods: {total} violations",
        templates.len(),
        constraints.len(),
        objects.len()
    );
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
    assert!(differing.is_empty() && ours.len() == theirs.len() && total > 500, "{} differ", differing.len());
    // What Gatekeeper left in the statuses is replaced.
    let before = Lists::of(&cluster).await;
    let operator = cluster.operator().await;
    cluster.agrees(20).await;
    let our_cost = Cost::of(operator.child.id().unwrap());
    println!("one run of Gatekeeper's manager: {their_cost}, {their_lists}");
    println!(
        "webtroller from its start to the last status, templates compiled and the webhook served: {our_cost}, {}; {:.1} times \
         less processor time",
        Lists::of(&cluster).await.since(&before).since(&once),
        their_cost.seconds / our_cost.seconds
    );
    if pods > FEW {
        steady(&cluster, &operator, &their_cost).await;
    }
    operator.stop().await;
}

pub(crate) fn load_yaml(text: &str) -> Value {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    load_file(file.path()).unwrap().remove(0).object
}
