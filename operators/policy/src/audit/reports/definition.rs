//! The CRDs of reports, for a cluster that has none: the fields of <https://openreports.io> and of
//! <https://github.com/kubernetes-sigs/wg-policy-prototypes>. Where another tool has installed them, they stay as they are.

use serde_json::{Value, json};

use super::{Reach, ReportFormat, object};

/// The CRD of one kind of report.
pub(in crate::audit) fn definition(format: ReportFormat, reach: Reach) -> Value {
    let kind = format.kind(reach);
    let plural = format.plural(reach);
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{}", format.group())},
        "spec": {
            "group": format.group(),
            "names": {
                "kind": kind, "listKind": format!("{kind}List"), "plural": plural,
                "singular": kind.to_lowercase(), "shortNames": [short_name(format, reach)],
            },
            "scope": match reach { Reach::Namespaced => "Namespaced", Reach::Cluster => "Cluster" },
            "versions": [{
                "name": format.version(), "served": true, "storage": true,
                "additionalPrinterColumns": columns(),
                "schema": {"openAPIV3Schema": schema(format)},
            }],
        },
    })
}

fn short_name(format: ReportFormat, reach: Reach) -> &'static str {
    match (format, reach) {
        (ReportFormat::Openreports, Reach::Namespaced) => "reps",
        (ReportFormat::Openreports, Reach::Cluster) => "creps",
        (ReportFormat::Wgpolicy, Reach::Namespaced) => "polr",
        (ReportFormat::Wgpolicy, Reach::Cluster) => "cpolr",
    }
}

fn columns() -> Value {
    let column = |name: &str, column_type: &str, path: &str, priority: u8| json!({"name": name, "type": column_type, "jsonPath": path, "priority": priority});
    json!([
        column("Kind", "string", ".scope.kind", 1),
        column("Name", "string", ".scope.name", 1),
        column("Pass", "integer", ".summary.pass", 0),
        column("Fail", "integer", ".summary.fail", 0),
        column("Warn", "integer", ".summary.warn", 0),
        column("Error", "integer", ".summary.error", 0),
        column("Skip", "integer", ".summary.skip", 0),
        column("Age", "date", ".metadata.creationTimestamp", 0),
    ])
}

fn schema(format: ReportFormat) -> Value {
    let count = json!({"type": "integer"});
    let counts = ["pass", "fail", "warn", "error", "skip"].map(|result| (result, count.clone()));
    let common = [
        ("apiVersion", text()),
        ("kind", text()),
        ("metadata", json!({"type": "object"})),
        ("scope", reference()),
        ("scopeSelector", selector()),
        ("summary", json!({"type": "object", "properties": object(counts)})),
        ("results", json!({"type": "array", "items": result()})),
    ];
    let newer = [("source", text()), ("configuration", configuration())];
    let newer = newer.into_iter().filter(|_| format == ReportFormat::Openreports);
    json!({"type": "object", "properties": object(common.into_iter().chain(newer))})
}

fn configuration() -> Value {
    let limits = json!({"type": "object", "properties": {
        "maxResults": {"type": "integer"},
        "statusFilter": {"type": "array", "items": outcome()},
    }});
    json!({"type": "object", "required": ["limits"], "properties": {"limits": limits}})
}

fn result() -> Value {
    json!({
        "type": "object",
        "required": ["policy"],
        "properties": {
            "source": text(), "policy": text(), "rule": text(), "category": text(), "message": text(),
            "severity": {"type": "string", "enum": ["critical", "high", "low", "medium", "info"]},
            "result": outcome(),
            "scored": {"type": "boolean"},
            "timestamp": {"type": "object", "required": ["nanos", "seconds"], "properties": {
                "nanos": {"type": "integer", "format": "int32"},
                "seconds": {"type": "integer", "format": "int64"},
            }},
            "resources": {"type": "array", "items": reference()},
            "resourceSelector": selector(),
            "properties": {"type": "object", "additionalProperties": text()},
        },
    })
}

fn outcome() -> Value {
    json!({"type": "string", "enum": ["pass", "fail", "warn", "error", "skip"]})
}

fn text() -> Value {
    json!({"type": "string"})
}

/// `ObjectReference` of core/v1.
fn reference() -> Value {
    let fields = ["apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid"];
    let properties = object(fields.map(|field| (field, text())));
    json!({"type": "object", "x-kubernetes-map-type": "atomic", "properties": properties})
}

/// `LabelSelector` of meta/v1.
fn selector() -> Value {
    let texts = json!({"type": "array", "items": text(), "x-kubernetes-list-type": "atomic"});
    json!({
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "matchLabels": {"type": "object", "additionalProperties": text()},
            "matchExpressions": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {
                "type": "object",
                "required": ["key", "operator"],
                "properties": {"key": text(), "operator": text(), "values": texts},
            }},
        },
    })
}
