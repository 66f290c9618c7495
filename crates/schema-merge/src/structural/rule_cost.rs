//! The server's budget for validation rules: one for each rule, one for all rules of a schema.

use super::report::Report;
use crate::diagnostic::{DiagnosticKind, Severity};
use crate::path::SchemaPath;

const RULE_LIMIT: u64 = 10_000_000;
const SCHEMA_LIMIT: u64 = 100_000_000;
/// Rules below one hundredth of the schema's limit are not worth naming.
const WORTH_NAMING: u64 = SCHEMA_LIMIT / 100;
const NAMED: usize = 4;

/// The cost of the rules of a schema so far.
#[derive(Default)]
pub(super) struct Costs {
    total: u64,
    expensive: Vec<(u64, SchemaPath)>,
}

impl Costs {
    /// Adds the cost of one expression in all its places, and reports it if that is too much alone.
    pub(super) fn observe(&mut self, path: SchemaPath, what: &str, cost: u64, report: &mut Report) {
        if cost > RULE_LIMIT {
            let detail = exceeded(&format!("estimated {what} cost"), cost, RULE_LIMIT);
            report.push(Severity::Error, DiagnosticKind::Forbidden, "rule-cost", &path, None, detail);
        }
        self.total = self.total.saturating_add(cost);
        if cost >= WORTH_NAMING {
            self.expensive.push((cost, path));
        }
    }

    /// Reports the sum if it is too much, and the rules that make it so.
    pub(super) fn settle(mut self, report: &mut Report) {
        if self.total <= SCHEMA_LIMIT {
            return;
        }
        self.expensive.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
        for (_, path) in self.expensive.iter().take(NAMED) {
            let detail =
                "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            report.push(
                Severity::Error,
                DiagnosticKind::Forbidden,
                "rule-cost",
                path,
                None,
                detail.to_owned(),
            );
        }
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        let detail = exceeded(what, self.total, SCHEMA_LIMIT);
        report.push(
            Severity::Error,
            DiagnosticKind::Forbidden,
            "rule-cost",
            &SchemaPath::root(),
            None,
            detail,
        );
    }
}

/// Costs fit a double well enough for a factor.
fn exceeded(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}
