//! The actions on a violation, per enforcement point.
//!
//! The rules are Gatekeeper's: `scopedEnforcementActions` count only when `enforcementAction` is `scoped`.

use std::collections::BTreeSet;

use crate::api::{ConstraintSpec, FieldError, FieldErrors};

use super::EnforcementPoint;

/// The action on a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// Refuse the request.
    Deny,
    /// Record it only.
    Dryrun,
    /// Admit the request, and warn the user.
    Warn,
}

/// The actions of one constraint, compiled from its manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Enforcement {
    /// One action at every enforcement point.
    Everywhere(Action),
    /// Actions only at the points listed.
    Scoped(BTreeSet<(EnforcementPoint, Action)>),
}

// === impl Action ===

impl Action {
    /// Returns the word that manifests use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Dryrun => "dryrun",
            Self::Warn => "warn",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        [Self::Deny, Self::Dryrun, Self::Warn].into_iter().find(|action| action.name() == word)
    }
}

// === impl Enforcement ===

impl Enforcement {
    /// Compiles the enforcement fields of a constraint that may name the points in `known`.
    ///
    /// # Errors
    /// Every unknown action or enforcement point, and a `scoped` constraint that lists none.
    pub fn compile(spec: &ConstraintSpec, known: &[EnforcementPoint]) -> Result<Self, FieldErrors> {
        match spec.enforcement_action.as_deref().unwrap_or("deny") {
            "scoped" => Self::compile_scoped(spec, known),
            word => Action::parse(word).map(Self::Everywhere).ok_or_else(|| {
                let rule = format!("must be deny, dryrun, warn or scoped, not {word:?}");
                FieldError::new("/spec/enforcementAction", rule).into()
            }),
        }
    }

    /// Returns true if the constraint is evaluated at `point`.
    pub fn applies(&self, point: EnforcementPoint) -> bool {
        match self {
            Self::Everywhere(_) => true,
            Self::Scoped(scoped) => scoped.iter().any(|(listed, _)| *listed == point),
        }
    }

    /// Returns the actions at `point`; empty when the constraint is not evaluated there.
    pub fn at(&self, point: EnforcementPoint) -> Vec<Action> {
        match self {
            Self::Everywhere(action) => vec![*action],
            Self::Scoped(scoped) => {
                scoped.iter().filter(|(listed, _)| *listed == point).map(|(_, action)| *action).collect()
            }
        }
    }

    fn compile_scoped(spec: &ConstraintSpec, known: &[EnforcementPoint]) -> Result<Self, FieldErrors> {
        let mut errors = Vec::new();
        let mut scoped = BTreeSet::new();
        let list = "/spec/scopedEnforcementActions";
        if spec.scoped_enforcement_actions.is_empty() {
            errors.push(FieldError::new(list, "must not be empty when enforcementAction is `scoped`"));
        }
        for (position, entry) in spec.scoped_enforcement_actions.iter().enumerate() {
            let pointer = format!("{list}/{position}");
            let action = Action::parse(&entry.action);
            if action.is_none() {
                let rule = format!("must be deny, dryrun or warn, not {:?}", entry.action);
                errors.push(FieldError::new(format!("{pointer}/action"), rule));
            }
            if entry.enforcement_points.is_empty() {
                errors.push(FieldError::new(format!("{pointer}/enforcementPoints"), "must not be empty"));
            }
            for (index, named) in entry.enforcement_points.iter().enumerate() {
                let points = EnforcementPoint::named(&named.name, known);
                if points.is_empty() {
                    let names = EnforcementPoint::names(known);
                    let rule = format!("must be *, {names}, not {:?}", named.name);
                    errors.push(FieldError::new(format!("{pointer}/enforcementPoints/{index}/name"), rule));
                }
                scoped.extend(points.into_iter().zip(action.into_iter().cycle()));
            }
        }
        FieldErrors::check(errors)?;
        Ok(Self::Scoped(scoped))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn compile(spec: serde_json::Value) -> Result<Enforcement, String> {
        let spec: ConstraintSpec = serde_json::from_value(spec).unwrap();
        Enforcement::compile(&spec, &EnforcementPoint::GATEKEEPER).map_err(|errors| errors.to_string())
    }

    #[test]
    fn deny_is_the_default_everywhere() {
        let enforcement = compile(json!({})).unwrap();
        assert_eq!(enforcement.at(EnforcementPoint::AUDIT), [Action::Deny]);
    }

    #[test]
    fn scoped_actions_apply_only_where_listed() {
        let enforcement = compile(json!({"enforcementAction": "scoped", "scopedEnforcementActions": [
            {"action": "deny", "enforcementPoints": [{"name": "validation.gatekeeper.sh"}]},
            {"action": "warn", "enforcementPoints": [{"name": "*"}]}
        ]}))
        .unwrap();
        assert_eq!(enforcement.at(EnforcementPoint::WEBHOOK), [Action::Deny, Action::Warn]);
        assert_eq!(enforcement.at(EnforcementPoint::GATOR), [Action::Warn]);
    }

    #[test]
    fn scoped_actions_are_ignored_without_the_word_scoped() {
        let enforcement = compile(json!({"enforcementAction": "dryrun", "scopedEnforcementActions": [
            {"action": "nonsense", "enforcementPoints": []}
        ]}));
        assert_eq!(enforcement, Ok(Enforcement::Everywhere(Action::Dryrun)));
    }

    #[test]
    fn all_mistakes_come_at_once() {
        let errors = compile(json!({"enforcementAction": "scoped", "scopedEnforcementActions": [
            {"action": "block", "enforcementPoints": []},
            {"action": "warn", "enforcementPoints": [{"name": "webhook"}]}
        ]}))
        .unwrap_err();
        for pointer in ["/0/action", "/0/enforcementPoints", "/1/enforcementPoints/0/name"] {
            assert!(errors.contains(pointer), "{pointer} is missing in {errors}");
        }
    }

    #[test]
    fn an_unknown_action_is_refused() {
        assert!(compile(json!({"enforcementAction": "block"})).unwrap_err().contains("block"));
    }
}
