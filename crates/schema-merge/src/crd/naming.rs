//! The group, the names and the name of a CRD.

use serde_json::{Map, Value};

use super::{at, text};
use crate::diagnostic::{DiagnosticKind, Severity};
use crate::label;
use crate::path::SchemaPath;
use crate::structural::{Report, go_quoted};

const APPROVAL: &str = "api-approved.kubernetes.io";
const UNAPPROVED: &str = "protected groups must have approval annotation \"api-approved.kubernetes.io\", see \
    https://github.com/kubernetes/enhancements/pull/1111";

pub(super) fn check(crd: &Value, spec: &Map<String, Value>, report: &mut Report) {
    let empty = Map::new();
    let names = spec.get("names").and_then(Value::as_object).unwrap_or(&empty);
    let metadata = crd.get("metadata").and_then(Value::as_object).unwrap_or(&empty);
    group(spec, report);
    self::names(names, report);
    name(metadata, &format!("{}.{}", text(names, "plural"), text(spec, "group")), report);
    approval(metadata, text(spec, "group"), report);
    if spec.get("preserveUnknownFields") == Some(&Value::Bool(true)) {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        invalid(&at(&["spec", "preserveUnknownFields"]), "true".to_owned(), detail.to_owned(), report);
    }
}

fn group(spec: &Map<String, Value>, report: &mut Report) {
    let (group, path) = (text(spec, "group"), at(&["spec", "group"]));
    let errors = label::subdomain(group);
    if group.is_empty() {
        required(&path, report);
    } else if !errors.is_empty() {
        invalid(&path, go_quoted(group), errors.join(","), report);
    } else if !group.contains('.') {
        invalid(&path, go_quoted(group), "should be a domain with at least one dot".to_owned(), report);
    }
    match text(spec, "scope") {
        "Cluster" | "Namespaced" => {}
        "" => required(&at(&["spec", "scope"]), report),
        other => report.unsupported(&at(&["spec"]), "scope", other, "scope", &["Cluster", "Namespaced"]),
    }
}

fn names(names: &Map<String, Value>, report: &mut Report) {
    let kind = text(names, "kind");
    let absent = |given: &str, fallback: String| {
        if given.is_empty() { fallback } else { given.to_owned() }
    };
    let list_kind = if kind.is_empty() { String::new() } else { format!("{kind}List") };
    let all = [
        ("plural", text(names, "plural").to_owned(), false),
        ("singular", absent(text(names, "singular"), kind.to_lowercase()), false),
        ("kind", kind.to_owned(), true),
        ("listKind", absent(text(names, "listKind"), list_kind), true),
    ];
    for (field, name, mixed_case) in &all {
        let path = at(&["spec", "names"]).child(*field);
        let errors = label::dns1035(&if *mixed_case { name.to_lowercase() } else { name.clone() });
        let preface = if *mixed_case { "may have mixed case, but should otherwise match: " } else { "" };
        if name.is_empty() {
            required(&path, report);
        } else if !errors.is_empty() {
            invalid(&path, go_quoted(name), format!("{preface}{}", errors.join(",")), report);
        }
    }
    if !kind.is_empty() && text(names, "listKind") == kind {
        let detail = "kind and listKind may not be the same".to_owned();
        invalid(&at(&["spec", "names", "listKind"]), go_quoted(kind), detail, report);
    }
    for field in ["shortNames", "categories"] {
        let list = names.get(field).and_then(Value::as_array);
        for (index, name) in list.into_iter().flatten().enumerate() {
            let name = name.as_str().unwrap_or_default();
            let errors = label::dns1035(name);
            if !errors.is_empty() {
                invalid(
                    &at(&["spec", "names", field]).index(index),
                    go_quoted(name),
                    errors.join(","),
                    report,
                );
            }
        }
    }
}

fn name(metadata: &Map<String, Value>, expected: &str, report: &mut Report) {
    let (name, path) = (text(metadata, "name"), at(&["metadata", "name"]));
    if name.is_empty() {
        let detail = "name or generateName is required".to_owned();
        return report.push(Severity::Error, DiagnosticKind::Required, "name", &path, None, detail);
    }
    let mut errors = label::subdomain(name);
    if name != expected {
        errors.push("must be spec.names.plural+\".\"+spec.group".to_owned());
    }
    for error in errors {
        invalid(&path, go_quoted(name), error, report);
    }
}

/// Groups of the Kubernetes community need an approval.
fn approval(metadata: &Map<String, Value>, group: &str, report: &mut Report) {
    let protected = ["k8s.io", "kubernetes.io"];
    let inside = |domain: &&str| {
        group == *domain || group.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
    };
    if !protected.iter().any(inside) {
        return;
    }
    let annotations = metadata.get("annotations").and_then(Value::as_object);
    let approval = annotations.map_or("", |annotations| text(annotations, APPROVAL));
    let path = at(&["metadata", "annotations"]).key(APPROVAL);
    if approval.is_empty() {
        report.push(
            Severity::Error,
            DiagnosticKind::Required,
            "approval",
            &path,
            None,
            UNAPPROVED.to_owned(),
        );
    } else if !approval.starts_with("unapproved") && !approval.contains("://") {
        let detail = "protected groups must have approval annotation \"api-approved.kubernetes.io\" with either a URL or a \
                      reason starting with \"unapproved\", see https://github.com/kubernetes/enhancements/pull/1111";
        invalid(&path, go_quoted(approval), detail.to_owned(), report);
    }
}

fn required(path: &SchemaPath, report: &mut Report) {
    report.push(Severity::Error, DiagnosticKind::Required, "name", path, None, String::new());
}

fn invalid(path: &SchemaPath, value: String, detail: String, report: &mut Report) {
    report.push(Severity::Error, DiagnosticKind::Invalid, "name", path, Some(value), detail);
}
