//! Conditions, in the two forms that are in use.

use serde::{Deserialize, Serialize};

use crate::DuckType;

/// The conditions of an object, as `metav1.Condition`; an edit addresses them by type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, DuckType)]
#[serde(transparent)]
#[duck(crate = "crate", path = "/status/conditions", list_map("", "type"))]
pub struct Conditions(pub Vec<Condition>);

/// One condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// The type, such as `Ready`.
    pub r#type: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// The generation of the object that the condition is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The time of the last change of `status`, in RFC 3339.
    #[serde(default)]
    pub last_transition_time: String,
    /// The reason, in one CamelCase word.
    #[serde(default)]
    pub reason: String,
    /// The explanation for people.
    #[serde(default)]
    pub message: String,
}

impl Conditions {
    /// Returns the condition of a type.
    #[must_use]
    pub fn get(&self, r#type: &str) -> Option<&Condition> {
        self.0.iter().find(|condition| condition.r#type == r#type)
    }

    /// Returns true if the condition is there and `True`.
    #[must_use]
    pub fn is_true(&self, r#type: &str) -> bool {
        self.get(r#type).is_some_and(|condition| condition.status == "True")
    }

    /// Adds or replaces a condition. The transition time is taken over from `condition` only if the status changes
    /// or is new, as the API conventions demand.
    pub fn set(&mut self, mut condition: Condition) {
        match self.0.iter_mut().find(|existing| existing.r#type == condition.r#type) {
            None => self.0.push(condition),
            Some(existing) => {
                if existing.status == condition.status && !existing.last_transition_time.is_empty() {
                    condition.last_transition_time.clone_from(&existing.last_transition_time);
                }
                *existing = condition;
            }
        }
    }

    /// Removes the condition of a type.
    pub fn remove(&mut self, r#type: &str) {
        self.0.retain(|condition| condition.r#type != r#type);
    }
}

/// The conditions of an object of Knative.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, DuckType)]
#[serde(transparent)]
#[duck(crate = "crate", path = "/status/conditions", list_map("", "type"))]
pub struct KnativeConditions(pub Vec<KnativeCondition>);

/// One condition of Knative. Only the type and the status are mandatory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KnativeCondition {
    /// The type; `Ready` sums up a service, `Succeeded` a job.
    pub r#type: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// The severity of `False`.
    #[serde(default, skip_serializing_if = "ConditionSeverity::is_error")]
    pub severity: ConditionSeverity,
    /// The time of the last change, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<String>,
    /// The reason, in one CamelCase word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The explanation for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The severity of a condition of Knative that is `False`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConditionSeverity {
    /// Fatal; it is written as the empty string.
    #[default]
    #[serde(rename = "")]
    Error,
    /// Not fatal.
    Warning,
    /// For information: nothing has failed.
    Info,
}

impl ConditionSeverity {
    fn is_error(&self) -> bool {
        *self == Self::Error
    }
}

impl KnativeConditions {
    /// Returns the condition that sums up the others: `Ready` or `Succeeded`. No other type has a meaning for all kinds.
    #[must_use]
    pub fn happy(&self) -> Option<&KnativeCondition> {
        self.0.iter().find(|condition| matches!(condition.r#type.as_str(), "Ready" | "Succeeded"))
    }

    /// Returns true if the condition that sums up the others is `True`.
    #[must_use]
    pub fn is_happy(&self) -> bool {
        self.happy().is_some_and(|condition| condition.status == "True")
    }
}
