//! Finalizers: who added one, the controller that declares it, and who is known to remove it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::managed::{Write, added_by};

/// Finalizers of Kubernetes itself, and when they are removed.
const KNOWN: [(&str, &str); 8] = [
    ("foregroundDeletion", "the garbage collector when what it owns is gone"),
    ("orphan", "the garbage collector when what it owned has no owner any more"),
    ("kubernetes.io/pvc-protection", "kube-controller-manager when no Pod uses the claim"),
    ("kubernetes.io/pv-protection", "kube-controller-manager when no claim is bound to the volume"),
    ("batch.kubernetes.io/job-tracking", "the Job controller when it has counted the Pod"),
    ("service.kubernetes.io/load-balancer-cleanup", "the cloud's controller when the load balancer is gone"),
    ("customresourcecleanup.apiextensions.k8s.io", "the API server when all objects of the kind are gone"),
    ("external-attacher/", "the CSI attacher when the volume is detached"),
];

/// Finalizers that only say that other objects go first.
pub(super) fn is_of_the_collector(name: &str) -> bool {
    ["foregroundDeletion", "orphan"].contains(&name)
}

/// Finalizers with the controllers that declare them, see [`controller_declaration::FINALIZERS`].
pub(super) type Declared = BTreeMap<String, BTreeSet<String>>;

/// `finalizer example.com/drain, added by drain at 2026-01-01T00:00:00Z, declared by the controller drain`.
pub(super) fn described(object: &Value, name: &str, declared: &Declared) -> String {
    let known =
        KNOWN.iter().find(|(known, _)| *known == name || (known.ends_with('/') && name.starts_with(known)));
    let removed = known.map_or_else(String::new, |(_, by)| format!(", removed by {by}"));
    // The API server adds Kubernetes' own finalizers for the client that deletes the object, so the manager says nothing.
    let write = added_by(object, name).filter(|_| known.is_none());
    let added = write
        .map_or_else(String::new, |Write { manager, time, .. }| format!(", added by {manager} at {time}"));
    let controllers = declared.get(name).into_iter().flatten().map(String::as_str).collect::<Vec<_>>();
    let declared = match controllers.as_slice() {
        [] => String::new(),
        [one] => format!(", declared by the controller {one}"),
        several => format!(", declared by the controllers {}", several.join(" and ")),
    };
    format!("finalizer {name}{added}{declared}{removed}")
}
