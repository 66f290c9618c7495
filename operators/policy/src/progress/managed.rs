//! Reads `metadata.managedFields`: the manager that wrote last, and the one that added a finalizer.

use serde::Serialize;
use serde_json::Value;

/// A write, as the API server remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Write {
    pub(super) manager: String,
    pub(super) time: String,
    /// Such as `status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) subresource: Option<String>,
}

impl Write {
    fn of(entry: &Value) -> Option<Self> {
        let text = |field: &str| entry.get(field).and_then(Value::as_str).map(str::to_owned);
        Some(Self { manager: text("manager")?, time: text("time")?, subresource: text("subresource") })
    }
}

/// The last write: times are RFC 3339 in UTC, so they sort as strings.
pub(super) fn last_write(object: &Value) -> Option<Write> {
    entries(object).filter_map(Write::of).max_by(|a, b| a.time.cmp(&b.time))
}

/// The last write of the status.
pub(super) fn last_status_write(object: &Value) -> Option<Write> {
    let writes = entries(object).filter_map(Write::of);
    writes.filter(|write| write.subresource.as_deref() == Some("status")).max_by(|a, b| a.time.cmp(&b.time))
}

/// The write that a finalizer is from, where its writer still owns it.
pub(super) fn added_by(object: &Value, finalizer: &str) -> Option<Write> {
    let member = format!("v:\"{finalizer}\"");
    let owns = |entry: &&Value| {
        let finalizers = entry.pointer("/fieldsV1/f:metadata/f:finalizers");
        finalizers.is_some_and(|finalizers| finalizers.get(&member).is_some())
    };
    entries(object).find(owns).and_then(Write::of)
}

fn entries(object: &Value) -> impl Iterator<Item = &Value> {
    object.pointer("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_writer_and_the_one_that_added_a_finalizer() {
        let object = json!({"metadata": {"managedFields": [
            {"manager": "drain", "operation": "Apply", "time": "2026-01-01T00:00:02Z",
             "fieldsV1": {"f:metadata": {"f:finalizers": {"v:\"example.com/drain\"": {}}}}},
            {"manager": "core", "operation": "Update", "time": "2026-01-01T00:00:03Z", "subresource": "status"},
            {"manager": "kubectl", "operation": "Update", "time": "2026-01-01T00:00:01Z"},
        ]}});
        assert_eq!(last_write(&object).unwrap().manager, "core");
        assert_eq!(last_status_write(&object).unwrap().subresource.as_deref(), Some("status"));
        assert_eq!(added_by(&object, "example.com/drain").unwrap().manager, "drain");
        assert_eq!(added_by(&object, "example.com/other"), None);
        assert_eq!(last_write(&json!({})), None);
    }
}
