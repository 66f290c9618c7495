//! All violations of one review, in an order that does not depend on how the constraints came in.

use serde_json::Value;

use super::{Action, Violation};

/// The answer to one review at one enforcement point: all violations, sorted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    violations: Vec<Violation>,
}

impl Verdict {
    /// Creates a verdict of violations, sorted by action, message and constraint, which is Gatekeeper's order made total.
    pub fn new(mut violations: Vec<Violation>) -> Self {
        violations.sort_by(|a, b| {
            (&a.actions, &a.message, &a.constraint)
                .cmp(&(&b.actions, &b.message, &b.constraint))
                .then_with(|| text(&a.details).cmp(&text(&b.details)))
        });
        Self { violations }
    }

    /// Returns every violation, whatever its action.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// Returns true if the request must be refused.
    pub fn is_denied(&self) -> bool {
        self.with(Action::Deny).next().is_some()
    }

    /// Returns the message for a refused request: a line per violation that denies, `[constraint] message`.
    pub fn denial(&self) -> String {
        self.with(Action::Deny).map(line).collect::<Vec<_>>().join("\n")
    }

    /// Returns a line per violation that warns.
    pub fn warnings(&self) -> Vec<String> {
        self.with(Action::Warn).map(line).collect()
    }

    fn with(&self, action: Action) -> impl Iterator<Item = &Violation> {
        self.violations.iter().filter(move |violation| violation.actions.contains(&action))
    }
}

fn text(details: &Option<Value>) -> Option<String> {
    details.as_ref().map(Value::to_string)
}

fn line(violation: &Violation) -> String {
    format!("[{}] {}", violation.constraint.name, violation.message)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use crate::api::ConstraintRef;

    use super::*;

    fn violation(name: &str, message: &str, action: Action) -> Violation {
        Violation {
            constraint: ConstraintRef { kind: "K".to_owned(), name: name.to_owned() },
            message: message.to_owned(),
            details: Some(json!({})),
            actions: vec![action],
        }
    }

    #[test]
    fn a_denial_has_a_line_per_denying_violation() {
        let verdict = Verdict::new(vec![
            violation("b", "second", Action::Deny),
            violation("c", "only a warning", Action::Warn),
            violation("a", "first", Action::Deny),
            violation("d", "only recorded", Action::Dryrun),
        ]);
        assert_eq!(verdict.denial(), "[a] first\n[b] second");
        assert_eq!(verdict.warnings(), ["[c] only a warning"]);
        assert!(verdict.is_denied());
    }

    #[test]
    fn warnings_and_dry_runs_do_not_deny() {
        let verdict =
            Verdict::new(vec![violation("a", "m", Action::Warn), violation("b", "m", Action::Dryrun)]);
        assert!(!verdict.is_denied());
        assert_eq!(verdict.violations().len(), 2);
    }

    proptest! {
        #[test]
        fn the_order_of_arrival_does_not_matter((all, shuffled) in arrivals()) {
            prop_assert_eq!(Verdict::new(all), Verdict::new(shuffled));
        }
    }

    fn arrivals() -> impl Strategy<Value = (Vec<Violation>, Vec<Violation>)> {
        let actions = [Action::Deny, Action::Warn, Action::Dryrun];
        let all: Vec<_> =
            actions.iter().flat_map(|action| ["a", "b"].map(|name| violation(name, "m", *action))).collect();
        (Just(all.clone()), Just(all).prop_shuffle())
    }
}
