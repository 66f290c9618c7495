//! What a pod stores: the report objects, and the CustomResourceDefinition that declares them.
//!
//! One pod has one *registration*, which says that it exists, and a fixed number of *shards*, which hold
//! its entries. It is the only writer of all of them. None has a `status`, least of all a
//! `status.observedGeneration`: tools that judge health by it would compare it with the report's own
//! generation, and show "in progress" for ever.

use std::collections::BTreeSet;

use kube::core::{ApiResource, GroupVersionKind};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::parent::ParentKey;

/// The shard number of the registration.
pub(crate) const REGISTRATION: u32 = 0;

/// Label with the pod's name, as [`crate::name::label_value`].
pub const POD_LABEL: &str = "status.webtroller.dev/pod";
/// Label with the shard number; `0` is the registration.
pub const SHARD_LABEL: &str = "status.webtroller.dev/shard";

/// Longest error message that is stored, in bytes. A report is not a log.
const MESSAGE_LIMIT: usize = 256;
/// Most errors stored for one entry.
const ERRORS_LIMIT: usize = 16;

/// Which kind the report objects have. The host chooses, so that two operators in one cluster do not meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportKind {
    /// API group.
    pub group: String,
    /// Version.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Plural name, as in the URL.
    pub plural: String,
}

impl Default for ReportKind {
    /// `podreports.status.webtroller.dev`, version `v1alpha1`.
    fn default() -> Self {
        Self {
            group: "status.webtroller.dev".to_owned(),
            version: "v1alpha1".to_owned(),
            kind: "PodReport".to_owned(),
            plural: "podreports".to_owned(),
        }
    }
}

impl ReportKind {
    /// The kind as `kube` wants it.
    pub fn api_resource(&self) -> ApiResource {
        let gvk = GroupVersionKind::gvk(&self.group, &self.version, &self.kind);
        ApiResource::from_gvk_with_plural(&gvk, &self.plural)
    }

    /// The CustomResourceDefinition, to be installed before any pod reports.
    pub fn crd(&self) -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{}.{}", self.plural, self.group)},
            "spec": {
                "group": self.group,
                "scope": "Namespaced",
                "names": {
                    "kind": self.kind,
                    "listKind": format!("{}List", self.kind),
                    "plural": self.plural,
                    "singular": self.kind.to_lowercase(),
                },
                "versions": [{
                    "name": self.version,
                    "served": true,
                    "storage": true,
                    "schema": {"openAPIV3Schema": schema()},
                    "additionalPrinterColumns": [
                        {"name": "Pod", "type": "string", "jsonPath": ".pod.id"},
                        {"name": "Shard", "type": "integer", "jsonPath": ".shard"},
                        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                    ],
                }],
            },
        })
    }
}

fn schema() -> Value {
    let text = || json!({"type": "string"});
    let list = |items: Value| json!({"type": "array", "x-kubernetes-list-type": "atomic", "items": items});
    let error = json!({
        "type": "object",
        "required": ["message"],
        "properties": {"code": text(), "message": text(), "location": text()},
    });
    let entry = json!({
        "type": "object",
        "required": ["kind", "name", "uid", "generation"],
        "properties": {
            "group": text(), "kind": text(), "namespace": text(), "name": text(), "uid": text(),
            "generation": {"type": "integer", "format": "int64"},
            "errors": list(error),
            "detail": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        },
    });
    let pod = json!({
        "type": "object",
        "required": ["id", "incarnation"],
        "properties": {
            "id": text(), "uid": text(), "incarnation": text(),
            "operations": list(text()),
            "ttlSeconds": {"type": "integer", "format": "int64", "minimum": 1},
            "heartbeat": {"type": "integer", "format": "int64"},
        },
    });
    json!({
        "type": "object",
        "description": "What one pod has ingested. Written by that pod, and by nobody else.",
        "required": ["pod", "shard"],
        "properties": {
            "pod": pod,
            "shard": {"type": "integer", "format": "int64", "minimum": 0},
            "entries": list(entry),
        },
    })
}

/// The content of one report object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodReport {
    /// Who reports.
    pub pod: Member,
    /// Which part of the report this is; 0 is the registration and has no entries.
    pub shard: u32,
    /// What the pod says about each parent in this shard.
    #[serde(default)]
    pub entries: Vec<Entry>,
}

/// One run of one reporting process, as it describes itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// The pod's name.
    pub id: String,
    /// The pod's uid; nothing for a process outside any pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Different in every run of the process.
    pub incarnation: String,
    /// What the process does with what it ingests.
    #[serde(default)]
    pub operations: BTreeSet<String>,
    /// Seconds after which a heartbeat that does not change means that the process is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u64>,
    /// A number that changes with every heartbeat. Not a time: clocks of two machines are not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<u64>,
}

impl Member {
    /// Whether the two are the same run of the same process.
    pub fn is_same_run(&self, other: &Self) -> bool {
        self.id == other.id && self.uid == other.uid && self.incarnation == other.incarnation
    }
}

/// What one pod says about one parent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// The parent.
    #[serde(flatten)]
    pub parent: ParentKey,
    /// The generation of the parent that was ingested, or failed to be.
    pub generation: i64,
    /// Why it could not be ingested; empty when it was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<PodError>,
    /// Further fields of the `byPod` entry: an object, whose meaning is the host's.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub detail: Value,
}

/// One reason why a pod could not ingest a parent. The names are those of Gatekeeper's `byPod[].errors[]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PodError {
    /// A short name for the kind of error, such as `ingest_error`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// What is wrong, and what to do.
    pub message: String,
    /// Where in the parent: a JSON pointer or a source position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
}

/// Cuts errors to what a report stores: 16 of them, 256 bytes of message each.
pub(crate) fn bounded(mut errors: Vec<PodError>) -> Vec<PodError> {
    errors.truncate(ERRORS_LIMIT);
    for error in &mut errors {
        if error.message.len() > MESSAGE_LIMIT {
            let room = MESSAGE_LIMIT.saturating_sub('…'.len_utf8());
            let cut = error.message.char_indices().map(|(at, _)| at).take_while(|at| *at <= room).last();
            error.message.truncate(cut.unwrap_or_default());
            error.message.push('…');
        }
    }
    errors
}
