//! The list of versions: names, the one that is stored, printer columns and selectable fields.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{at, go_json, go_quoted, number, schema_of, text};
use crate::decode::decode;
use crate::diagnostic::{DiagnosticKind, Severity};
use crate::label;
use crate::path::SchemaPath;
use crate::structural::{Report, field_type, go_schema};

const COLUMN_TYPES: &str = "must be one of boolean,date,integer,number,string";
const COLUMN_FORMATS: [&str; 8] =
    ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

pub(super) fn list(spec: &Map<String, Value>) -> &[Value] {
    spec.get("versions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Returns true if all versions have one schema in common, which the server then keeps once.
pub(super) fn same_schema(versions: &[Value]) -> bool {
    let mut schemas = versions.iter().map(schema_of);
    let Some(first) = schemas.next().flatten() else {
        return false;
    };
    schemas.all(|other| other.is_some_and(|other| number::same(first, other)))
}

pub(super) fn check(spec: &Map<String, Value>, report: &mut Report) {
    let versions = list(spec);
    let path = at(&["spec", "versions"]);
    let mut names = BTreeSet::new();
    let mut unique = true;
    for (index, version) in versions.iter().enumerate() {
        let name = version.get("name").and_then(Value::as_str).unwrap_or_default();
        unique &= names.insert(name);
        let errors = label::dns1035(name);
        if !errors.is_empty() {
            invalid(&path.clone().index(index).child("name"), go_quoted(name), errors.join(","), report);
        }
        columns(version, &path.clone().index(index), report);
        selectable(version, &path.clone().index(index), report);
    }
    if !unique {
        invalid(&path, dump(versions), "must contain unique version names".to_owned(), report);
    }
    let stored: Vec<&str> = versions
        .iter()
        .filter(|version| is_set(version, "storage"))
        .map(|version| version.get("name").and_then(Value::as_str).unwrap_or_default())
        .collect();
    if stored.len() != 1 {
        let detail = "must have exactly one version marked as storage version".to_owned();
        invalid(&path, dump(versions), detail, report);
    }
    let status = at(&["status", "storedVersions"]);
    match stored.split_first() {
        None => invalid(&status, "[]".to_owned(), "must have at least one stored version".to_owned(), report),
        Some((first, others)) => {
            for other in others.iter().filter(|other| *other != first) {
                let value = go_json(&Value::from(vec![*first]));
                invalid(&status, value, format!("must have the storage version {other}"), report);
            }
        }
    }
}

fn columns(version: &Value, path: &SchemaPath, report: &mut Report) {
    let columns = version.get("additionalPrinterColumns").and_then(Value::as_array);
    for (index, column) in columns.into_iter().flatten().enumerate() {
        let Value::Object(column) = column else { continue };
        let path = path.clone().child("additionalPrinterColumns").index(index);
        if text(column, "name").is_empty() {
            missing_in_column(&path.clone().child("name"), "", report);
        }
        match text(column, "type") {
            "boolean" | "date" | "integer" | "number" | "string" => {}
            "" => missing_in_column(&path.clone().child("type"), COLUMN_TYPES, report),
            other => invalid(&path.clone().child("type"), go_quoted(other), COLUMN_TYPES.to_owned(), report),
        }
        let format = text(column, "format");
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            let detail = format!("must be one of {}", COLUMN_FORMATS.join(","));
            invalid(&path.clone().child("format"), go_quoted(format), detail, report);
        }
        let json_path = text(column, "jsonPath");
        if json_path.is_empty() {
            missing_in_column(&path.child("JSONPath"), "", report);
        } else if !json_path.starts_with('.') {
            let detail = "must be a simple json path starting with .".to_owned();
            invalid(&path.child("JSONPath"), go_quoted(json_path), detail, report);
        }
    }
}

fn missing_in_column(path: &SchemaPath, detail: &str, report: &mut Report) {
    report.push(Severity::Error, DiagnosticKind::Required, "printer-column", path, None, detail.to_owned());
}

/// Fields by which objects can be selected: scalars outside of metadata, eight at most.
fn selectable(version: &Value, path: &SchemaPath, report: &mut Report) {
    let fields =
        version.get("selectableFields").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let Some(schema) = schema_of(version) else { return };
    let (node, _) = decode(schema, "", "");
    let mut known = BTreeSet::new();
    for (index, field) in fields.iter().enumerate() {
        let json_path = field.get("jsonPath").and_then(Value::as_str).unwrap_or_default();
        let path = path.clone().child("selectableFields").index(index).child("jsonPath");
        if json_path.is_empty() {
            unselectable(DiagnosticKind::Required, &path, None, report);
            continue;
        }
        let kind = match field_type(json_path, &node) {
            Err(reason) => {
                invalid(&path, go_quoted(json_path), format!("is an invalid path: {reason}"), report);
                continue;
            }
            Ok(kind) => kind,
        };
        if json_path == ".metadata" || json_path.starts_with(".metadata.") {
            invalid(&path, go_quoted(json_path), "must not point to fields in metadata".to_owned(), report);
        }
        if !matches!(kind, "string" | "boolean" | "integer") {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
            invalid(&path, go_quoted(json_path), detail.to_owned(), report);
        }
        if !known.insert(json_path) {
            unselectable(DiagnosticKind::Duplicate, &path, Some(go_quoted(json_path)), report);
        }
    }
    if known.len() > 8 {
        let path = path.clone().child("selectableFields");
        let (count, detail) = (known.len().to_string(), "must have at most 8 items".to_owned());
        report.push(Severity::Error, DiagnosticKind::TooMany, "selectable-field", &path, Some(count), detail);
    }
}

fn unselectable(kind: DiagnosticKind, path: &SchemaPath, value: Option<String>, report: &mut Report) {
    report.push(Severity::Error, kind, "selectable-field", path, value, String::new());
}

fn is_set(version: &Value, name: &str) -> bool {
    version.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// The versions as the server dumps them: what all have in common has moved elsewhere by then.
fn dump(versions: &[Value]) -> String {
    let same = |field: &str| {
        let mut values = versions.iter().map(|version| version.get(field).filter(|value| !value.is_null()));
        let first = values.next().flatten();
        first.is_some_and(|first| values.all(|other| other.is_some_and(|other| number::same(first, other))))
    };
    let (schema, subresources, columns) =
        (same("schema"), same("subresources"), same("additionalPrinterColumns"));
    let one = |version: &Value| {
        let own = |field: &str, shared: bool| version.get(field).filter(|value| !shared && !value.is_null());
        let schema = own("schema", schema).map_or_else(
            || "null".to_owned(),
            |_| {
                format!(
                    "{{\"OpenAPIV3Schema\":{}}}",
                    schema_of(version)
                        .map_or_else(|| "null".to_owned(), |schema| go_schema(&decode(schema, "", "").0))
                )
            },
        );
        let subresources =
            own("subresources", subresources).map_or_else(|| "null".to_owned(), subresources_dump);
        let columns =
            own("additionalPrinterColumns", columns).map_or_else(|| "null".to_owned(), columns_dump);
        let warning = version.get("deprecationWarning").map_or_else(|| "null".to_owned(), go_json);
        format!(
            "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{warning},\"Schema\":{schema},\
             \"Subresources\":{subresources},\"AdditionalPrinterColumns\":{columns},\"SelectableFields\":null}}",
            go_json(version.get("name").unwrap_or(&Value::from(""))),
            is_set(version, "served"),
            is_set(version, "storage"),
            is_set(version, "deprecated"),
        )
    };
    format!("[{}]", versions.iter().map(one).collect::<Vec<_>>().join(","))
}

fn subresources_dump(subresources: &Value) -> String {
    let present = |name: &str| subresources.get(name).is_some_and(|value| !value.is_null());
    format!("{{\"Status\":{},\"Scale\":null}}", if present("status") { "{}" } else { "null" })
}

fn columns_dump(columns: &Value) -> String {
    let one = |column: &Value| {
        let text = |name: &str| go_json(column.get(name).unwrap_or(&Value::from("")));
        let priority = column.get("priority").map_or_else(|| "0".to_owned(), go_json);
        format!(
            "{{\"Name\":{},\"Type\":{},\"Format\":{},\"Description\":{},\"Priority\":{priority},\"JSONPath\":{}}}",
            text("name"),
            text("type"),
            text("format"),
            text("description"),
            text("jsonPath")
        )
    };
    format!(
        "[{}]",
        columns
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default()
            .iter()
            .map(one)
            .collect::<Vec<_>>()
            .join(",")
    )
}

fn invalid(path: &SchemaPath, value: String, detail: String, report: &mut Report) {
    report.push(Severity::Error, DiagnosticKind::Invalid, "version", path, Some(value), detail);
}
