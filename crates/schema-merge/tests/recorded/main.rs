//! The verdicts of Kubernetes 1.36's API server in `crds.jsonl`, `schemas.jsonl`, `rules.jsonl` and `costs.jsonl`: CRDs
//! written by hand or by kube-derive, generated schemas, rules about one schema, and rules whose estimated cost is barely
//! too high.
//!
//! Rows are written by `UPDATE_RECORDINGS=1 cargo test -p schema-conformance --test recordings`, which needs Go; this
//! test does not.

mod crds;
mod verdict;

use schema_merge::validate_crd;
use serde::Deserialize;
use serde_json::Value;
use verdict::{Answer, crd, rows};

fn none_differ(rows: usize, differences: &[String]) {
    assert!(differences.is_empty(), "{} of {rows} differ:\n{}", differences.len(), differences.join("\n\n"));
}

#[derive(Deserialize)]
struct Schema {
    schema: Value,
    status: bool,
    answer: Answer,
}

#[test]
fn generated_schemas_have_the_servers_verdict_in_its_words() {
    let rows: Vec<Schema> = rows(include_str!("schemas.jsonl"));
    let difference = |row: &Schema| {
        let difference = verdict::difference(&validate_crd(&crd(&row.schema, row.status)), &row.answer)?;
        Some(format!("{}\n{difference}", row.schema))
    };
    none_differ(rows.len(), &rows.iter().filter_map(difference).collect::<Vec<_>>());
    let accepted = rows.iter().filter(|row| row.answer == Answer::Accepted).count();
    assert!(rows.len() >= 100 && accepted > rows.len() / 10, "{accepted} of {} are accepted", rows.len());
}

/// Without the feature only the form of a rule is checked.
#[cfg(feature = "cel")]
mod rules {
    use super::verdict::{Answer, Verdict, compared, crd, rows, ruled};
    use super::{Deserialize, Value, none_differ};

    #[derive(Deserialize)]
    struct Rule {
        rule: String,
        answer: Answer,
    }

    #[derive(Deserialize)]
    struct Costly {
        schema: Value,
        answer: Answer,
    }

    fn difference(schema: &Value, answer: &Answer) -> Option<String> {
        match compared(&crd(schema, false), answer) {
            Ok(Verdict::LeftToTheServer) => Some(format!("accepted by us; the server: {answer:?}")),
            Ok(_) => None,
            Err(difference) => Some(difference),
        }
    }

    #[test]
    fn rules_have_the_servers_verdict_in_its_words() {
        let rows: Vec<Rule> = rows(include_str!("rules.jsonl"));
        let difference = |row: &Rule| {
            let schema = ruled(serde_json::json!([{"rule": row.rule, "message": "no"}]));
            Some(format!("{}\n{}", row.rule, difference(&schema, &row.answer)?))
        };
        none_differ(rows.len(), &rows.iter().filter_map(difference).collect::<Vec<_>>());
        let accepted = rows.iter().filter(|row| row.answer == Answer::Accepted).count();
        assert!(rows.len() >= 200 && accepted >= 30, "{accepted} of {} are accepted", rows.len());
    }

    #[test]
    fn rules_cost_what_the_server_estimates() {
        let rows: Vec<Costly> = rows(include_str!("costs.jsonl"));
        let difference =
            |row: &Costly| Some(format!("{}\n{}", row.schema, difference(&row.schema, &row.answer)?));
        none_differ(rows.len(), &rows.iter().filter_map(difference).collect::<Vec<_>>());
        let estimated = |row: &&Costly| format!("{:?}", row.answer).contains("estimated rule cost");
        let estimates = rows.iter().filter(estimated).count();
        assert!(estimates > rows.len() / 3, "{estimates} of {} rows show an estimate", rows.len());
    }
}
