//! Evaluation times of policies, for `--stats`: the entries of `gator test --stats`, each summed up over all objects, and one per
//! constraint besides.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::assemble::Assembly;
use crate::cli::judge::{Cost, Times};
use crate::cli::nanoseconds::nanoseconds;

const REGO: &str = "Rego";
const CEL: &str = "K8sNativeValidation";

/// An entry of the list `stats`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    scope: &'static str,
    stats_for: String,
    stats: Vec<Value>,
}

/// The entries of a run: templates in Rego, then constraints, each in the order of their names.
pub(super) fn entries(assembly: &Assembly, times: &Times) -> Vec<Entry> {
    let costs = times.by_constraint();
    let mut templates: BTreeMap<&str, (Duration, u64)> = BTreeMap::new();
    for (constraint, cost) in
        costs.iter().filter(|(constraint, _)| !assembly.in_cel.contains(&constraint.kind))
    {
        let (total, count) = templates.entry(&constraint.kind).or_default();
        *total = total.saturating_add(cost.total);
        *count = count.saturating_add(1);
    }
    let of_template = |(kind, (total, count)): (&str, (Duration, u64))| Entry {
        scope: "template",
        stats_for: kind.to_owned(),
        stats: vec![
            stat("templateRunTimeNS", nanoseconds(total), REGO),
            stat("constraintCount", count, REGO),
        ],
    };
    let templates: Vec<_> = templates.into_iter().map(of_template).collect();
    let constraints = costs.iter().map(|(constraint, cost)| {
        let engine = if assembly.in_cel.contains(&constraint.kind) { CEL } else { REGO };
        Entry { scope: "constraint", stats_for: constraint.to_string(), stats: of_constraint(cost, engine) }
    });
    templates.into_iter().chain(constraints).collect()
}

fn of_constraint(cost: &Cost, engine: &str) -> Vec<Value> {
    vec![
        stat("runTimeNS", nanoseconds(cost.total), engine),
        stat("longestRunTimeNS", nanoseconds(cost.longest), engine),
        stat("evaluationCount", cost.evaluations, engine),
    ]
}

fn stat(name: &str, value: u64, engine: &str) -> Value {
    json!({"name": name, "value": value, "source": {"type": "engine", "value": engine}})
}

/// A line per constraint, the costliest first.
pub(super) fn table(times: &Times, err: &mut dyn Write) -> io::Result<()> {
    let mut costs: Vec<_> = times.by_constraint().into_iter().collect();
    costs.sort_by_key(|(_, cost)| std::cmp::Reverse(cost.total));
    for (constraint, Cost { evaluations, total, longest }) in costs {
        writeln!(err, "{constraint}: {total:.1?} in {evaluations} evaluations, the longest {longest:.1?}")?;
    }
    Ok(())
}
