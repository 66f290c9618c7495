//! The guard against policies that stop a cluster: requests without which nodes and control planes do not live.
//!
//! The operator's own Namespace is not among them: it is never sent to the webhook.

use constraint_framework::driver::Budget;
use constraint_framework::policyset::PolicySet;
use constraint_framework::review::EnforcementPoint;
use constraint_framework::target::AdmissionTarget;
use serde_json::{Value, json};

/// A constraint with this annotation and the value `true` is taken although it denies such requests.
const ALLOWED: &str = "webtroller.dev/allow-lockout";

/// The denials of a policy that lock a cluster.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lockout {
    /// Nodes or control-plane components would be taken for dead.
    pub(super) fatal: Vec<String>,
    /// Components could not be created anew.
    pub(super) risky: Vec<String>,
}

impl Lockout {
    /// The reason for which the constraint in `manifest` is refused; `None` where it is taken.
    pub(super) fn refusal(&self, manifest: &Value) -> Option<String> {
        let is_allowed = manifest.pointer("/metadata/annotations").and_then(|all| all.get(ALLOWED))
            == Some(&Value::from("true"));
        (!self.fatal.is_empty() && !is_allowed).then(|| {
            let fatal = self.fatal.join(", ");
            format!(
                "this constraint would deny {fatal}: the cluster would stop. Narrow spec.match, or, if that is what you \
                 want, set the annotation {ALLOWED}: \"true\""
            )
        })
    }
}

/// Returns the reason for which the constraint in `manifest`, which alone is in `policy`, would be refused if it were created: it
/// denies requests without which nodes and control planes do not live.
pub fn refused_as_lockout(manifest: &Value, policy: &PolicySet, budget: &Budget) -> Option<String> {
    lockout(policy, budget).refusal(manifest)
}

/// Asks a policy about each of these requests.
pub(super) fn lockout(policy: &PolicySet, budget: &Budget) -> Lockout {
    let denied = |requests: Vec<(&str, Value)>| {
        let denied = requests.into_iter().filter(|(_, request)| is_denied(policy, request, budget));
        denied.map(|(name, _)| name.to_owned()).collect()
    };
    Lockout { fatal: denied(vital()), risky: denied(components()) }
}

fn is_denied(policy: &PolicySet, request: &Value, budget: &Budget) -> bool {
    // A request that cannot be asked about may be denied.
    let Ok(review) = AdmissionTarget.request(&request.to_string()) else { return true };
    policy.review(&review, EnforcementPoint::WEBHOOK, budget).is_denied()
}

fn vital() -> Vec<(&'static str, Value)> {
    let lease = |name: &str, namespace: &str, user: &str| {
        let object = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": "2026-01-01T00:00:00.000000Z"}
        });
        request("UPDATE", ["coordination.k8s.io", "v1", "Lease", "leases"], &object, user)
    };
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "node-1", "labels": {"kubernetes.io/hostname": "node-1"}}, "spec": {}
    });
    vec![
        ("the Leases by which nodes stay alive", lease("node-1", "kube-node-lease", "system:node:node-1")),
        (
            "the Lease of kube-controller-manager",
            lease("kube-controller-manager", "kube-system", "system:kube-controller-manager"),
        ),
        ("the Lease of kube-scheduler", lease("kube-scheduler", "kube-system", "system:kube-scheduler")),
        (
            "the registration of nodes",
            request("CREATE", ["", "v1", "Node", "nodes"], &node, "system:node:node-1"),
        ),
    ]
}

/// Pods as kubelets mirror them, with nothing that a policy may object to but what they are.
fn components() -> Vec<(&'static str, Value)> {
    let pod = |component: &str| {
        let object = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": format!("{component}-node-1"), "namespace": "kube-system",
                "labels": {"component": component, "tier": "control-plane"},
                "annotations": {"kubernetes.io/config.source": "file"}
            },
            "spec": {"nodeName": "node-1", "containers": [{
                "name": component, "image": format!("registry.k8s.io/{component}:v1.36.0"),
                "resources": {"requests": {"cpu": "100m", "memory": "100Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
                "securityContext": {
                    "allowPrivilegeEscalation": false, "runAsNonRoot": true, "readOnlyRootFilesystem": true,
                    "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}
                }
            }]}
        });
        request("CREATE", ["", "v1", "Pod", "pods"], &object, "system:node:node-1")
    };
    vec![
        ("Pods such as kube-apiserver in kube-system", pod("kube-apiserver")),
        ("Pods such as etcd in kube-system", pod("etcd")),
    ]
}

fn request(operation: &str, kind: [&str; 4], object: &Value, user: &str) -> Value {
    let [group, version, kind, resource] = kind;
    let metadata = |field: &str| object.pointer("/metadata").and_then(|metadata| metadata.get(field));
    let old_object = if operation == "UPDATE" { object } else { &Value::Null };
    json!({
        "uid": "lockout", "operation": operation,
        "kind": {"group": group, "version": version, "kind": kind},
        "resource": {"group": group, "version": version, "resource": resource},
        "name": metadata("name"), "namespace": metadata("namespace").and_then(Value::as_str).unwrap_or_default(),
        "userInfo": {"username": user, "groups": ["system:authenticated"]},
        "object": object, "oldObject": old_object, "dryRun": false, "options": null
    })
}
