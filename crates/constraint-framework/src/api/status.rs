//! The statuses of templates and constraints, as Gatekeeper's controllers and audit write them and its users read them.
//!
//! Only shapes: who writes a status, and when, is the business of an operator. Fields that another writer adds are
//! passed over.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `status` of a template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ConstraintTemplateStatus {
    /// Whether its constraint CRD was ever created.
    pub created: bool,
    /// What each pod says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_pod: Vec<TemplatePodStatus>,
}

/// What one pod says about a template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TemplatePodStatus {
    /// The pod.
    pub id: String,
    /// Which template of that name is meant.
    #[serde(rename = "templateUID", skip_serializing_if = "String::is_empty")]
    pub template_uid: String,
    /// What the pod does: `webhook`, `audit` and the like.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<String>,
    /// The revision of the spec that this is about.
    pub observed_generation: i64,
    /// What keeps that revision out of force.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<StatusError>,
    /// What is wrong with it and does not keep it out of force. Not written by Gatekeeper.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<StatusError>,
}

/// `status` of a constraint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ConstraintStatus {
    /// What each pod says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_pod: Vec<ConstraintPodStatus>,
    /// When the last audit began, as RFC 3339 has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_timestamp: Option<String>,
    /// How many violations the last audit found; more than `violations` lists, where those are cut off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_violations: Option<u64>,
    /// The first violations of the last audit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<StatusViolation>,
}

/// What one pod says about a constraint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ConstraintPodStatus {
    /// The pod.
    pub id: String,
    /// Which constraint of that name is meant.
    #[serde(rename = "constraintUID", skip_serializing_if = "String::is_empty")]
    pub constraint_uid: String,
    /// What the pod does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<String>,
    /// Whether the pod enforces it.
    pub enforced: bool,
    /// The revision of the spec that this is about.
    pub observed_generation: i64,
    /// What keeps that revision out of force.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<StatusError>,
    /// How far enforcement points outside the pod are, such as `vap.k8s.io`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub enforcement_points_status: Vec<EnforcementPointStatus>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StatusError {
    /// A short word for programs.
    pub code: String,
    /// What is wrong and how to mend it.
    pub message: String,
    /// Where, as far as that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
}

/// How far one enforcement point is with a constraint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EnforcementPointStatus {
    /// Its name.
    pub enforcement_point: String,
    /// `generated`, `waiting` or `error`.
    pub state: String,
    /// Why, where the state does not say it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The revision of the spec that this is about.
    pub observed_generation: i64,
}

/// A violation that an audit found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusViolation {
    /// API group of the object; empty for the core group.
    pub group: String,
    /// API version of the object.
    pub version: String,
    /// Kind of the object.
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// Namespace of the object; empty where it has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// What the policy says.
    pub message: String,
    /// `deny`, `warn`, `dryrun` or `scoped`, as the constraint has it.
    pub enforcement_action: String,
    /// The actions of a scoped constraint in audits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub enforcement_actions: Vec<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn round_trip<T: Serialize + for<'de> Deserialize<'de>>(status: Value) {
        let read: T = serde_json::from_value(status.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), status);
    }

    #[test]
    fn statuses_of_gatekeeper_are_read_and_written_as_they_are() {
        round_trip::<ConstraintTemplateStatus>(json!({
            "created": true,
            "byPod": [
                {"id": "gatekeeper-audit-1", "templateUID": "u", "observedGeneration": 2, "operations": ["audit", "status"]},
                {"id": "gatekeeper-controller-1", "templateUID": "u", "observedGeneration": 2, "operations": ["webhook"],
                    "errors": [{"code": "ingest_error", "message": "no", "location": "template:1:1"}]},
            ],
        }));
        let vap = json!({"enforcementPoint": "vap.k8s.io", "state": "generated", "observedGeneration": 1});
        round_trip::<ConstraintStatus>(json!({
            "auditTimestamp": "2024-01-02T03:04:05Z", "totalViolations": 2,
            "byPod": [{"id": "a", "constraintUID": "u", "enforced": true, "observedGeneration": 1, "operations": ["audit"],
                "enforcementPointsStatus": [vap]}],
            "violations": [
                {"group": "", "version": "v1", "kind": "Namespace", "name": "n", "message": "m", "enforcementAction": "deny"},
                {"group": "apps", "version": "v1", "kind": "Deployment", "name": "d", "namespace": "n", "message": "m",
                    "enforcementAction": "scoped", "enforcementActions": ["warn", "deny"]},
            ],
        }));
    }

    #[test]
    fn what_others_write_is_passed_over_and_what_is_absent_is_empty() {
        let status = json!({"byPod": [{"id": "a", "vapGenerationStatus": {}}], "conditions": []});
        let read: ConstraintTemplateStatus = serde_json::from_value(status).unwrap();
        assert_eq!(read.by_pod, [TemplatePodStatus { id: "a".to_owned(), ..TemplatePodStatus::default() }]);
    }
}
