//! The enforcement points that a constraint names, and what this process can say about each.

use std::collections::BTreeSet;

use constraint_framework::api::{ConstraintSpec, EnforcementPointStatus};
use constraint_framework::review::EnforcementPoint;
use serde_json::{Value, json};

/// The state of a point that does not enforce before a user acts, and of one that waits.
pub(super) const LASTS: &str = "error";
const WAITS: &str = "waiting";
/// The state of a point that is not in the cluster.
pub(super) const NOT_IN_CLUSTER: &str = "notInCluster";

/// The reason why the webhook does not judge by a constraint that is ingested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NotEnforced {
    message: String,
    state: &'static str,
}

impl NotEnforced {
    /// It ends by itself, or the operator notices its end.
    pub(super) fn waits(message: String) -> Self {
        Self { message, state: WAITS }
    }

    /// It lasts until a user corrects something.
    pub(super) fn lasts(message: String) -> Self {
        Self { message, state: LASTS }
    }
}

/// The enforcement points by which a constraint is to be enforced.
///
/// A constraint that names none means the webhook, and so does `*`: other points are then used where they run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Points(BTreeSet<String>);

impl Default for Points {
    fn default() -> Self {
        Self([EnforcementPoint::WEBHOOK.name().to_owned()].into())
    }
}

impl Points {
    /// The points that a constraint's `spec` names. One that does not decode has an ingest error of its own.
    pub(super) fn of(spec: &Value) -> Self {
        let Ok(spec) = ConstraintSpec::from_value(spec) else { return Self::default() };
        if spec.enforcement_action.as_deref() != Some("scoped") {
            return Self::default();
        }
        let named = spec.scoped_enforcement_actions.into_iter().flat_map(|entry| entry.enforcement_points);
        let webhook = EnforcementPoint::WEBHOOK.name();
        Self(named.map(|point| if point.name == "*" { webhook.to_owned() } else { point.name }).collect())
    }

    /// The detail of a constraint's report: `enforced` when every point in the cluster that it names enforces it. What lasts comes
    /// first.
    pub(super) fn detail(
        &self,
        ingested: bool,
        not_enforced: Option<&NotEnforced>,
        generation: i64,
    ) -> Value {
        let mut unenforced: Vec<_> =
            self.0.iter().filter_map(|point| self.unenforced(point, not_enforced, generation)).collect();
        unenforced.sort_by_key(|point| point.state != LASTS);
        let enforced = ingested && unenforced.is_empty();
        if unenforced.is_empty() {
            return json!({ "enforced": enforced });
        }
        json!({ "enforced": enforced, "enforcementPointsStatus": unenforced })
    }

    fn unenforced(
        &self,
        point: &str,
        not_enforced: Option<&NotEnforced>,
        generation: i64,
    ) -> Option<EnforcementPointStatus> {
        let (state, message) = if point == EnforcementPoint::WEBHOOK.name() {
            let NotEnforced { message, state } = not_enforced?;
            (*state, message.as_str())
        } else if point == EnforcementPoint::AUDIT.name() {
            // The condition `Audited` says how far it is.
            return None;
        } else if point == EnforcementPoint::GATOR.name() {
            if self.0.len() > 1 {
                // Beside it there is a point in the cluster, of which `Enforced` speaks.
                return None;
            }
            (NOT_IN_CLUSTER, "it is evaluated by the command line, not in the cluster")
        } else {
            (LASTS, "no pod of this release runs this enforcement point")
        };
        Some(EnforcementPointStatus {
            enforcement_point: point.to_owned(),
            state: state.to_owned(),
            message: message.to_owned(),
            observed_generation: generation,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scoped(points: &[&str]) -> Points {
        let points: Vec<_> = points.iter().map(|name| json!({ "name": name })).collect();
        Points::of(&json!({"enforcementAction": "scoped", "scopedEnforcementActions": [
            {"action": "deny", "enforcementPoints": points}
        ]}))
    }

    #[test]
    fn a_constraint_without_scopes_is_enforced_by_the_webhook_alone() {
        let points = Points::of(&json!({"enforcementAction": "deny"}));
        assert_eq!(points.detail(true, None, 1), json!({"enforced": true}));
        assert_eq!(points.detail(false, None, 1), json!({"enforced": false}));
        assert_eq!(points, scoped(&["*"]));
    }

    #[test]
    fn a_constraint_for_points_that_do_not_run_here_is_not_enforced() {
        for names in [&["vap.k8s.io"][..], &["gator.gatekeeper.sh"]] {
            let detail = scoped(names).detail(true, None, 3);
            assert_eq!(detail["enforced"], false, "{names:?}");
            assert_eq!(detail["enforcementPointsStatus"][0]["enforcementPoint"], names[0]);
            assert_eq!(detail["enforcementPointsStatus"][0]["observedGeneration"], 3);
        }
        let no = NotEnforced::waits("no".to_owned());
        assert_eq!(scoped(&["audit.gatekeeper.sh"]).detail(true, Some(&no), 1), json!({"enforced": true}));
        for other in ["audit.gatekeeper.sh", "validation.gatekeeper.sh"] {
            let both = scoped(&["gator.gatekeeper.sh", other]);
            assert_eq!(both.detail(true, None, 1), json!({"enforced": true}), "{other}");
        }
        let both = scoped(&["validation.gatekeeper.sh", "vap.k8s.io"]).detail(true, None, 1);
        assert_eq!(both["enforced"], false);
        assert_eq!(both["enforcementPointsStatus"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn nothing_is_enforced_while_the_webhook_is_not_registered() {
        let deleted = NotEnforced::waits("the configuration was deleted".to_owned());
        let detail = Points::default().detail(true, Some(&deleted), 1);
        assert_eq!(detail["enforced"], false);
        assert_eq!(detail["enforcementPointsStatus"][0]["message"], "the configuration was deleted");
    }

    #[test]
    fn what_lasts_until_a_user_acts_comes_before_what_waits() {
        let points = scoped(&["validation.gatekeeper.sh", "vap.k8s.io"]);
        let detail = points.detail(true, Some(&NotEnforced::waits("soon".to_owned())), 1);
        let states = ["/enforcementPointsStatus/0/state", "/enforcementPointsStatus/1/state"];
        assert_eq!(states.map(|state| detail.pointer(state).unwrap()), ["error", "waiting"]);
        let detail = Points::default().detail(true, Some(&NotEnforced::lasts("broken".to_owned())), 1);
        assert_eq!(detail.pointer(states[0]).unwrap(), "error");
        let detail = scoped(&["gator.gatekeeper.sh"]).detail(true, None, 1);
        assert_eq!(detail.pointer(states[0]).unwrap(), "notInCluster");
    }
}
