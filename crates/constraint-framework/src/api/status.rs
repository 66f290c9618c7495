//! The statuses of templates and constraints, as Gatekeeper's controllers and audit write them and its users read them.
//!
//! Types only: an operator writes them. Fields that another writer adds are ignored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `status` of a template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ConstraintTemplateStatus {
    /// True once its constraint CRD was created.
    pub created: bool,
    /// The report of each pod.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_pod: Vec<TemplatePodStatus>,
}

/// The report of one pod about a template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TemplatePodStatus {
    /// The pod.
    pub id: String,
    /// The uid of the template of that name.
    #[serde(rename = "templateUID", skip_serializing_if = "String::is_empty")]
    pub template_uid: String,
    /// The operations of the pod: `webhook`, `audit` and the like.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<String>,
    /// The revision of the spec that this is about.
    pub observed_generation: i64,
    /// The errors that keep that revision out of force.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<StatusError>,
    /// Warnings, which do not keep it out of force. Not written by Gatekeeper.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<StatusError>,
}

/// `status` of a constraint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ConstraintStatus {
    /// The report of each pod.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_pod: Vec<ConstraintPodStatus>,
    /// The start of the last audit, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_timestamp: Option<String>,
    /// The number of violations that the last audit found; more than `violations` lists, where those are cut off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_violations: Option<u64>,
    /// The first violations of the last audit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<StatusViolation>,
}

/// The report of one pod about a constraint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ConstraintPodStatus {
    /// The pod.
    pub id: String,
    /// The uid of the constraint of that name.
    #[serde(rename = "constraintUID", skip_serializing_if = "String::is_empty")]
    pub constraint_uid: String,
    /// The operations of the pod.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<String>,
    /// True if the pod enforces it.
    pub enforced: bool,
    /// The revision of the spec that this is about.
    pub observed_generation: i64,
    /// The errors that keep that revision out of force.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<StatusError>,
    /// The state at enforcement points outside the pod, such as `vap.k8s.io`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub enforcement_points_status: Vec<EnforcementPointStatus>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StatusError {
    /// A short word for programs.
    pub code: String,
    /// The error and how to fix it.
    pub message: String,
    /// The place, as far as it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
}

/// The state of a constraint at one enforcement point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EnforcementPointStatus {
    /// Its name.
    pub enforcement_point: String,
    /// `generated`, `waiting` or `error`.
    pub state: String,
    /// The reason, where the state does not state it.
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
    /// The message of the policy.
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
