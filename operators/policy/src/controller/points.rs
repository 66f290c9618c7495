//! The enforcement points that a constraint names, and what this process can say about each.

use std::collections::BTreeSet;

use constraint_framework::api::{ConstraintSpec, EnforcementPointStatus};
use constraint_framework::review::EnforcementPoint;
use serde_json::{Value, json};

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

    /// The detail of a constraint's report: `enforced` when every point that it names enforces it.
    ///
    /// `unregistered` is the reason why the API server does not send requests to the webhook, if it does not.
    pub(super) fn detail(&self, ingested: bool, unregistered: Option<&str>, generation: i64) -> Value {
        let troubles: Vec<_> =
            self.0.iter().filter_map(|point| trouble(point, unregistered, generation)).collect();
        let enforced = ingested && troubles.is_empty();
        if troubles.is_empty() {
            return json!({ "enforced": enforced });
        }
        json!({ "enforced": enforced, "enforcementPointsStatus": troubles })
    }
}

fn trouble(point: &str, unregistered: Option<&str>, generation: i64) -> Option<EnforcementPointStatus> {
    let (state, message) = if point == EnforcementPoint::WEBHOOK.name() {
        ("waiting", unregistered?.to_owned())
    } else if point == EnforcementPoint::AUDIT.name() {
        // The condition `Audited` says how far it is.
        return None;
    } else if point == EnforcementPoint::GATOR.name() {
        ("waiting", "it is evaluated by the command line, not in the cluster".to_owned())
    } else {
        ("error", "no pod of this release runs this enforcement point".to_owned())
    };
    Some(EnforcementPointStatus {
        enforcement_point: point.to_owned(),
        state: state.to_owned(),
        message,
        observed_generation: generation,
    })
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
        assert_eq!(scoped(&["audit.gatekeeper.sh"]).detail(true, Some("no"), 1), json!({"enforced": true}));
        let both = scoped(&["validation.gatekeeper.sh", "vap.k8s.io"]).detail(true, None, 1);
        assert_eq!(both["enforced"], false);
        assert_eq!(both["enforcementPointsStatus"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn nothing_is_enforced_while_the_webhook_is_not_registered() {
        let detail = Points::default().detail(true, Some("the configuration was deleted"), 1);
        assert_eq!(detail["enforced"], false);
        assert_eq!(detail["enforcementPointsStatus"][0]["message"], "the configuration was deleted");
    }
}
