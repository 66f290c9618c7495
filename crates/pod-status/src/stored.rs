//! The stored status of a parent, and what other field managers own in it.
//!
//! With `x-kubernetes-list-type: map` the API server merges `conditions` by type, and each manager applies
//! its own. An atomic list has one value: a manager that applies it replaces all of it. The managed fields
//! distinguish the two: `"f:conditions": {"k:{\"type\":\"Ready\"}": {…}}` is a map, `"f:conditions": {}` is atomic.
//!
//! `Reconciling` and `Stalled` go when they are not true any more, and another manager may have written such a condition,
//! which stays. In a map the managed fields name its manager. In an atomic list all of it belongs to who wrote last; there
//! ours is the one with one of our reasons, also where a release without these conditions has kept it in between.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ManagedFieldsEntry};
use serde_json::{Map, Value, json};

use crate::progress::{is_progress, is_reason};

const CONDITIONS: &str = "/f:status/f:conditions";

/// The stored status.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stored {
    pub(crate) status: Value,
    list: List,
    /// No other manager has written the conditions that this aggregator writes.
    pub(crate) is_ours: bool,
}

/// The list of conditions.
#[derive(Clone, Debug, Default, PartialEq)]
enum List {
    /// It has one value.
    #[default]
    Atomic,
    /// It is merged by type, and all that is in it is this aggregator's.
    Ours,
    /// It is merged by type. These keys are this aggregator's.
    Map(Vec<String>),
}

impl Stored {
    /// A status that this aggregator has written, in a list that is merged by type.
    pub(crate) fn ours(status: Value) -> Self {
        Self { status, list: List::Ours, is_ours: true }
    }

    pub(crate) fn of(status: Value, managed: &[ManagedFieldsEntry], manager: &str) -> Self {
        let owners: Vec<_> =
            managed.iter().filter_map(|entry| Some((entry, owned_conditions(entry)?))).collect();
        let is_map = owners.iter().any(|(_, fields)| fields.keys().any(|key| key.starts_with("k:")));
        let is_us = |entry: &ManagedFieldsEntry| {
            entry.operation.as_deref() == Some("Apply") && entry.manager.as_deref() == Some(manager)
        };
        let enforced = key("Enforced");
        let mut writers = owners
            .iter()
            .filter(|(_, fields)| !is_map || fields.contains_key(&enforced))
            .map(|(entry, _)| is_us(entry));
        let is_ours = writers.next().is_some_and(|first| first && writers.all(|other| other));
        let own = || owners.iter().filter(|(entry, _)| is_us(entry)).flat_map(|(_, fields)| fields.keys());
        let list = if is_map { List::Map(own().cloned().collect()) } else { List::Atomic };
        Self { status, list, is_ours }
    }

    /// Returns true if it has neither a condition nor the entry of a pod.
    pub(crate) fn is_empty(&self) -> bool {
        self.conditions().is_empty() && self.status.get("byPod").is_none()
    }

    /// The condition of this type.
    pub(crate) fn condition(&self, type_: &str) -> Option<&Value> {
        self.conditions().iter().find(|condition| has_type(condition, type_))
    }

    /// The list to apply: `ours`, and in an atomic list the conditions of other managers in their places.
    pub(crate) fn merged(&self, ours: &[Condition]) -> Vec<Value> {
        if self.list != List::Atomic {
            return ours.iter().map(|condition| json!(condition)).collect();
        }
        let is_kept = |stored: &&Value| {
            !self.is_own_progress(stored) || ours.iter().any(|condition| has_type(stored, &condition.type_))
        };
        let mut merged: Vec<Value> = self.conditions().iter().filter(is_kept).cloned().collect();
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
        if field != "conditions" || self.list == List::Atomic {
            return self.status.get(field) == Some(value);
        }
        let stored = self.conditions();
        let Some(ours) = value.as_array() else { return false };
        let stays = |stored: &Value| ours.iter().any(|condition| type_of(condition) == type_of(stored));
        ours.iter().all(|condition| stored.contains(condition))
            && stored.iter().filter(|condition| self.is_own_progress(condition)).all(stays)
    }

    /// Returns true if another manager says `Reconciling` or `Stalled`, and ours of this type is to be left out: theirs has
    /// this type, or is true. Of two that contradict each other kstatus takes the first.
    pub(crate) fn is_taken(&self, type_: &str) -> bool {
        let is_progress = |condition: &&Value| type_of(condition).is_some_and(is_progress);
        let theirs = self.conditions().iter().filter(is_progress);
        let mut theirs = theirs.filter(|condition| !self.is_own_progress(condition));
        theirs.any(|other| has_type(other, type_) || other.get("status") == Some(&json!("True")))
    }

    /// Returns true if this is a `Reconciling` or `Stalled` that this aggregator has written.
    fn is_own_progress(&self, condition: &Value) -> bool {
        let Some(type_) = type_of(condition).filter(|type_| is_progress(type_)) else { return false };
        match &self.list {
            List::Ours => true,
            List::Map(own) => own.contains(&key(type_)),
            List::Atomic => condition.get("reason").and_then(Value::as_str).is_some_and(is_reason),
        }
    }

    fn conditions(&self) -> &[Value] {
        self.status.get("conditions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The fields of the conditions that a manager owns.
fn owned_conditions(entry: &ManagedFieldsEntry) -> Option<&Map<String, Value>> {
    entry.fields_v1.as_ref()?.0.pointer(CONDITIONS)?.as_object()
}

fn type_of(condition: &Value) -> Option<&str> {
    condition.get("type").and_then(Value::as_str)
}

fn has_type(condition: &Value, type_: &str) -> bool {
    type_of(condition) == Some(type_)
}

/// The name of a condition in managed fields.
fn key(type_: &str) -> String {
    format!("k:{}", json!({"type": type_}))
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
