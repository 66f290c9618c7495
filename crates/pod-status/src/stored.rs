//! The stored status of a parent, and what other field managers own in it.
//!
//! With `x-kubernetes-list-type: map` the API server merges `conditions` by type, and each manager applies
//! its own. An atomic list has one value: a manager that applies it replaces all of it. The managed fields tell the
//! two apart: `"f:conditions": {"k:{\"type\":\"Ready\"}": {…}}` is a map, `"f:conditions": {}` is atomic.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ManagedFieldsEntry};
use serde_json::{Map, Value, json};

const CONDITIONS: &str = "/f:status/f:conditions";
const ENFORCED: &str = r#"k:{"type":"Enforced"}"#;

/// The stored status.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stored {
    pub(crate) status: Value,
    /// The list of conditions is merged by type.
    is_map: bool,
    /// No other manager has written the conditions that this aggregator writes.
    pub(crate) is_ours: bool,
}

impl Stored {
    /// A status that this aggregator has written, in a list that is merged by type.
    pub(crate) fn ours(status: Value) -> Self {
        Self { status, is_map: true, is_ours: true }
    }

    pub(crate) fn of(status: Value, managed: &[ManagedFieldsEntry], manager: &str) -> Self {
        let owners: Vec<_> =
            managed.iter().filter_map(|entry| Some((entry, owned_conditions(entry)?))).collect();
        let is_map = owners.iter().any(|(_, fields)| fields.keys().any(|key| key.starts_with("k:")));
        let mut writers =
            owners.iter().filter(|(_, fields)| !is_map || fields.contains_key(ENFORCED)).map(|(entry, _)| {
                entry.operation.as_deref() == Some("Apply") && entry.manager.as_deref() == Some(manager)
            });
        let is_ours = writers.next().is_some_and(|first| first && writers.all(|other| other));
        Self { status, is_map, is_ours }
    }

    /// The condition of this type.
    pub(crate) fn condition(&self, type_: &str) -> Option<&Value> {
        self.conditions().iter().find(|condition| has_type(condition, type_))
    }

    /// The list to apply: `ours`, and in an atomic list the conditions of other managers in their places.
    pub(crate) fn merged(&self, ours: &[Condition]) -> Vec<Value> {
        if self.is_map {
            return ours.iter().map(|condition| json!(condition)).collect();
        }
        let mut merged = self.conditions().to_vec();
        for condition in ours {
            match merged.iter_mut().find(|stored| has_type(stored, &condition.type_)) {
                Some(stored) => *stored = json!(condition),
                None => merged.push(json!(condition)),
            }
        }
        merged
    }

    /// Returns true if applying `value` to a field of the status changes nothing.
    pub(crate) fn has(&self, field: &str, value: &Value) -> bool {
        if field != "conditions" || !self.is_map {
            return self.status.get(field) == Some(value);
        }
        let stored = self.conditions();
        value.as_array().is_some_and(|ours| ours.iter().all(|condition| stored.contains(condition)))
    }

    fn conditions(&self) -> &[Value] {
        self.status.get("conditions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The fields of the conditions that a manager owns.
fn owned_conditions(entry: &ManagedFieldsEntry) -> Option<&Map<String, Value>> {
    entry.fields_v1.as_ref()?.0.pointer(CONDITIONS)?.as_object()
}

fn has_type(condition: &Value, type_: &str) -> bool {
    condition.get("type").and_then(Value::as_str) == Some(type_)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::FieldsV1;

    use super::*;

    fn owner(manager: &str, operation: &str, conditions: Value) -> ManagedFieldsEntry {
        ManagedFieldsEntry {
            manager: Some(manager.into()),
            operation: Some(operation.into()),
            fields_v1: Some(FieldsV1(json!({"f:status": {"f:conditions": conditions}}))),
            ..ManagedFieldsEntry::default()
        }
    }

    fn condition(type_: &str) -> Condition {
        let condition = json!({"type": type_, "status": "True", "reason": "", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
        serde_json::from_value(condition).unwrap()
    }

    fn keyed(type_: &str) -> Value {
        json!({ format!("k:{}", json!({"type": type_})): {".": {}} })
    }

    #[test]
    fn a_list_that_is_merged_by_type_gets_only_our_conditions() {
        let status = json!({"conditions": [{"type": "Audited"}, condition("Enforced")]});
        let managed = [owner("us", "Apply", keyed("Enforced")), owner("audit", "Update", keyed("Audited"))];
        let stored = Stored::of(status, &managed, "us");
        assert!(stored.is_ours, "the audit owns another condition");
        let merged = json!(stored.merged(&[condition("Enforced")]));
        assert_eq!(merged, json!([condition("Enforced")]));
        assert!(stored.has("conditions", &merged), "the condition of the audit is not a difference");
    }

    #[test]
    fn an_atomic_list_keeps_the_conditions_of_other_managers() {
        let status = json!({"conditions": [{"type": "Audited"}, condition("Enforced")]});
        let managed = [owner("us", "Apply", json!({})), owner("audit", "Update", json!({}))];
        let stored = Stored::of(status.clone(), &managed, "us");
        assert!(!stored.is_ours, "the audit may have written anything");
        let merged = json!(stored.merged(&[condition("Enforced"), condition("Ready")]));
        assert_eq!(merged, json!([{"type": "Audited"}, condition("Enforced"), condition("Ready")]));
        assert!(stored.has("conditions", &status["conditions"]));
        assert!(!stored.has("conditions", &merged));
    }

    #[test]
    fn a_condition_that_was_edited_by_hand_is_not_ours() {
        let ours = owner("us", "Apply", keyed("Enforced"));
        let edit = owner("kubectl-edit", "Update", keyed("Enforced"));
        assert!(Stored::of(Value::Null, std::slice::from_ref(&ours), "us").is_ours);
        assert!(!Stored::of(Value::Null, &[ours, edit.clone()], "us").is_ours);
        assert!(!Stored::of(Value::Null, &[edit], "us").is_ours);
        assert!(!Stored::of(Value::Null, &[], "us").is_ours);
    }
}
