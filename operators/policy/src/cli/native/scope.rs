//! The scope of an object's kind, which decides whether a rule for one scope is about it.

use constraint_framework::review::Document;

/// The groups of Kubernetes itself, and the kinds of each that have no namespace.
const CLUSTER_SCOPED: [(&str, &[&str]); 24] = [
    ("", &["ComponentStatus", "Namespace", "Node", "PersistentVolume"]),
    (
        "admissionregistration.k8s.io",
        &[
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
    ),
    ("apiextensions.k8s.io", &["CustomResourceDefinition"]),
    ("apiregistration.k8s.io", &["APIService"]),
    ("apps", &[]),
    ("authentication.k8s.io", &["SelfSubjectReview", "TokenReview"]),
    ("authorization.k8s.io", &["SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"]),
    ("autoscaling", &[]),
    ("batch", &[]),
    ("certificates.k8s.io", &["CertificateSigningRequest", "ClusterTrustBundle"]),
    ("coordination.k8s.io", &[]),
    ("discovery.k8s.io", &[]),
    ("events.k8s.io", &[]),
    ("extensions", &[]),
    ("flowcontrol.apiserver.k8s.io", &["FlowSchema", "PriorityLevelConfiguration"]),
    ("internal.apiserver.k8s.io", &["StorageVersion"]),
    ("networking.k8s.io", &["IPAddress", "IngressClass", "ServiceCIDR"]),
    ("node.k8s.io", &["RuntimeClass"]),
    ("policy", &["PodSecurityPolicy"]),
    ("rbac.authorization.k8s.io", &["ClusterRole", "ClusterRoleBinding"]),
    ("resource.k8s.io", &["DeviceClass", "DeviceTaintRule", "ResourceSlice"]),
    ("scheduling.k8s.io", &["PriorityClass"]),
    (
        "storage.k8s.io",
        &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"],
    ),
    ("storagemigration.k8s.io", &["StorageVersionMigration"]),
];

/// A kind's scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Cluster,
    Namespaced,
}

impl Scope {
    /// The scope in a CRD or a rule; `None` for `*`.
    pub(super) fn read(word: &str) -> Option<Self> {
        match word {
            "Cluster" => Some(Self::Cluster),
            "Namespaced" => Some(Self::Namespaced),
            _ => None,
        }
    }

    /// The scope of a kind of Kubernetes itself, or of an object that names a namespace.
    pub(super) fn of(object: &Document) -> Option<Self> {
        // A request for a Namespace names it as the namespace, too.
        if !object.namespace().is_empty() && !object.is_namespace() {
            return Some(Self::Namespaced);
        }
        let (_, kinds) = CLUSTER_SCOPED.iter().find(|(group, _)| *group == object.group())?;
        Some(if kinds.contains(&object.kind()) { Self::Cluster } else { Self::Namespaced })
    }
}
