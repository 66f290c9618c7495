//! What the statuses say, compared with an audit of the whole cluster by `webtroller audit`, set by set: while everything
//! changes, processes are killed, and the API server goes away.

use std::time::{Duration, Instant};

use control_plane::Component;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use serde_json::{Value, json};

use crate::cluster::{Cluster, NAMESPACE};
use crate::fleet::Fleet;

const TEMPLATES: &str = r#"
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: needsowner}
spec:
  crd: {spec: {names: {kind: NeedsOwner}, validation: {openAPIV3Schema: {type: object, properties: {label: {type: string}}}}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package needsowner
      violation[{"msg": msg}] {
        not input.review.object.metadata.labels[input.parameters.label]
        msg := sprintf("%v lacks %v", [input.review.object.metadata.name, input.parameters.label])
      }
---
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: uniqueowner}
spec:
  crd: {spec: {names: {kind: UniqueOwner}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package uniqueowner
      violation[{"msg": msg}] {
        other := data.inventory.namespace[namespace][_].ConfigMap[name]
        other.metadata.labels.owner == input.review.object.metadata.labels.owner
        sprintf("%v/%v", [namespace, name]) != sprintf("%v/%v", [input.review.namespace, input.review.name])
        msg := sprintf("%v/%v has the same owner", [namespace, name])
      }
---
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: fewheavy}
spec:
  crd: {spec: {names: {kind: FewHeavy}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package fewheavy
      violation[{"msg": msg}] {
        heavy := count([name | data.inventory.namespace[_][_].ConfigMap[name].metadata.labels.heavy])
        heavy > 1
        input.review.object.metadata.labels.heavy
        msg := sprintf("one of %v heavy ones", [heavy])
      }
"#;

const SYNC: &str = "{apiVersion: syncset.gatekeeper.sh/v1alpha1, kind: SyncSet, metadata: {name: maps}, \
                    spec: {gvks: [{group: '', version: v1, kind: ConfigMap}]}}";

fn constraint(kind: &str, spec: &Value) -> String {
    let kinds = json!([{"apiGroups": [""], "kinds": ["ConfigMap"]}]);
    let mut spec = spec.clone();
    spec["match"]["kinds"] = kinds;
    json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind, "metadata": {"name": "a"}, "spec": spec,
    })
    .to_string()
}

/// Everything that is changed at random.
struct Churn {
    random: TestRng,
    maps: Vec<Api<ConfigMap>>,
    namespaces: Api<Namespace>,
    writes: usize,
}

impl Churn {
    fn pick(&mut self, below: u32) -> u32 {
        self.random.next_u32() % below
    }

    /// A change that the API server may refuse while it is away.
    async fn step(&mut self, cluster: &Cluster) {
        self.writes += 1;
        let names = ["n-0", "n-1", "n-2"];
        let place = usize::try_from(self.pick(3)).unwrap();
        let name = format!("m-{}", self.pick(12));
        let params = PatchParams::apply("churn").force();
        match self.pick(20) {
            0 => {
                let label = if self.pick(2) == 0 { json!({"audit": "yes"}) } else { json!({}) };
                let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": names[place], "labels": label}});
                let _ = self.namespaces.patch(names[place], &params, &Patch::Apply(namespace)).await;
            }
            1 => {
                let action = ["warn", "dryrun"][usize::try_from(self.pick(2)).unwrap()];
                let label = ["owner", "heavy"][usize::try_from(self.pick(2)).unwrap()];
                let selector = json!({"namespaceSelector": {"matchLabels": {"audit": "yes"}}});
                let spec =
                    json!({"enforcementAction": action, "parameters": {"label": label}, "match": selector});
                cluster.feed(&["apply", "-f", "-"], &constraint("NeedsOwner", &spec)).await;
            }
            2 => {
                let word = ["lacks", "is without"][usize::try_from(self.pick(2)).unwrap()];
                cluster.feed(&["apply", "-f", "-"], &TEMPLATES.replace("lacks", word)).await;
            }
            3..=6 => drop(self.maps[place].delete(&name, &DeleteParams::default()).await),
            _ => {
                let mut labels = json!({});
                if self.pick(3) > 0 {
                    labels["owner"] = json!(format!("o-{}", self.pick(5)));
                }
                if self.pick(8) == 0 {
                    labels["heavy"] = json!("yes");
                }
                let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}});
                drop(self.maps[place].patch(&name, &params, &Patch::Apply(map)).await);
            }
        }
    }
}

/// Seconds of churn; few in CI.
fn seconds() -> u64 {
    std::env::var("WEBTROLLER_AUDIT_SOAK_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

#[tokio::test]
async fn whatever_changes_and_whoever_is_killed_the_statuses_become_what_a_fresh_audit_finds() {
    let mut fleet = Fleet::start().await;
    let client = fleet.cluster.plane.client().unwrap();
    for name in ["n-0", "n-1", "n-2"] {
        fleet.cluster.must(&["create", "namespace", name]).await;
    }
    fleet.cluster.apply(SYNC).await;
    fleet.cluster.apply(TEMPLATES).await;
    for (kind, object) in
        [("NeedsOwner", "needsowner"), ("UniqueOwner", "uniqueowner"), ("FewHeavy", "fewheavy")]
    {
        fleet.cluster.enforced(&format!("constrainttemplate/{object}")).await;
        let mut spec = json!({"enforcementAction": "dryrun"});
        if kind == "NeedsOwner" {
            spec["parameters"] = json!({"label": "owner"});
        }
        fleet.cluster.apply(&constraint(kind, &spec)).await;
    }
    let seed = std::env::var("WEBTROLLER_AUDIT_SOAK_SEED").unwrap_or_else(|_| "0".to_owned());
    let seed: u8 = seed.parse().unwrap();
    let mut churn = Churn {
        random: TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]),
        maps: ["n-0", "n-1", "n-2"].map(|name| Api::namespaced(client.clone(), name)).into(),
        namespaces: Api::all(client.clone()),
        writes: 0,
    };
    let (started, mut rounds) = (Instant::now(), 0);
    while started.elapsed() < Duration::from_secs(seconds()) || rounds < 3 {
        for _ in 0..40 {
            churn.step(&fleet.cluster).await;
        }
        match rounds % 4 {
            // The process that audits, in the middle of whatever it does.
            0 => {
                let lease = ["lease", "webtroller-audit", "-n", NAMESPACE];
                let holder = fleet.cluster.get(&lease, "{.spec.holderIdentity}").await;
                let holds = |pod: &(String, String, _)| holder.starts_with(&format!("{}_", pod.0));
                if let Some(index) = fleet.pods.iter().position(holds) {
                    fleet.pods[index].2.child.kill().await.unwrap();
                    fleet.start_again(index).await;
                }
            }
            1 => fleet.cluster.plane.restart(Component::ApiServer).await.unwrap(),
            _ => {}
        }
        for _ in 0..20 {
            churn.step(&fleet.cluster).await;
        }
        let found = fleet.cluster.agrees(20).await;
        let totals: Vec<_> = found.iter().map(|(name, (total, _))| format!("{name} {total}")).collect();
        println!("round {rounds}, {} writes: {}", churn.writes, totals.join(", "));
        rounds += 1;
    }
}
