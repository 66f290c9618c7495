//! The queries of the dashboard and the alerts, asked of Prometheus: its own parser reads the answers of `/metrics`, and its
//! own engine evaluates.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::cluster::workspace;
use crate::operator::ask;

/// Seconds between two scrapes.
const INTERVAL: i64 = 60;
/// The scrape at which something has changed, and when it is asked.
const CHANGE: i64 = 300;

/// An answer of `/metrics`.
#[derive(Clone, Debug)]
pub(crate) struct Scrape {
    content_type: String,
    body: String,
}

impl Scrape {
    /// Asks the port.
    pub(crate) async fn of(address: &str) -> Self {
        let answer = ask(address, "GET", "/metrics").await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let header = |line: &str| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-type").then(|| value.to_owned())
        };
        let content_type = head.lines().find_map(header).unwrap_or_default();
        Self { content_type, body: body.to_owned() }
    }

    /// The same with another value of a series, which is there.
    fn with(&self, series: &str, value: u32) -> Self {
        let mut found = 0;
        let replaced = self.body.lines().map(|line| match line.rsplit_once(' ') {
            Some((name, _)) if name == series => {
                found += 1;
                format!("{series} {value}\n")
            }
            _ => format!("{line}\n"),
        });
        let body = replaced.collect();
        assert_eq!(found, 1, "{series} is not there once:\n{}", self.body);
        Self { body, ..self.clone() }
    }

    fn at(&self, second: i64, pod: &str) -> Value {
        let labels = json!({"job": "webtroller-metrics", "namespace": "gatekeeper-system", "pod": pod});
        json!({"at": second, "labels": labels, "contentType": self.content_type, "body": self.body})
    }
}

/// Asks about two pods: both were `before` for some minutes; then one is `after`, and the other as it was.
fn evaluate(before: &Scrape, after: &Scrape, queries: &[String]) -> Vec<Value> {
    let seconds = (0..CHANGE).step_by(usize::try_from(INTERVAL).unwrap());
    let pods = ["webtroller-0", "webtroller-1"];
    let mut scrapes: Vec<_> = seconds.flat_map(|second| pods.map(|pod| before.at(second, pod))).collect();
    scrapes.extend([before.at(CHANGE, pods[0]), after.at(CHANGE, pods[1])]);
    let queries: Vec<_> = queries.iter().map(|expr| json!({"at": CHANGE, "expr": expr})).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/prometheus");
    let program = go_program::build(&folder, ".", "conformance", "prometheus").unwrap();
    let mut child = Command::new(program);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let input = json!({"scrapes": scrapes, "queries": queries}).to_string();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "Prometheus does not read what it is given");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Name and expression of each alert of the chart.
fn alerts() -> Vec<(String, String)> {
    let file = std::fs::read_to_string(workspace("charts/webtroller/templates/alerts.yaml")).unwrap();
    let after = |word: &str| {
        let lines = file.lines().filter_map(|line| line.trim().strip_prefix(word)).map(str::to_owned);
        lines.collect::<Vec<_>>()
    };
    let (names, expressions) = (after("- alert: "), after("expr: "));
    assert_eq!(names.len(), expressions.len());
    names.into_iter().zip(expressions).collect()
}

/// A value of a series that makes an alert fire.
const CAUSES: [(&str, &str, u32); 10] = [
    ("WebtrollerPoliciesBroken", "gatekeeper_constraint_templates{status=\"error\"}", 1),
    ("WebtrollerPoliciesBroken", "gatekeeper_constraints{enforcement_action=\"deny\",status=\"error\"}", 1),
    ("WebtrollerPodNotReady", "webtroller_ready", 0),
    ("WebtrollerWatchStale", "webtroller_stale_watches", 1),
    ("WebtrollerEnforcementSuspended", "webtroller_enforcement_suspended", 1),
    (
        "WebtrollerErrors",
        "gatekeeper_validation_request_count_total{admission_status=\"error\",admission_dryrun=\"false\"}",
        1,
    ),
    ("WebtrollerBudgetExhausted", "webtroller_budget_exhausted_total{limit=\"time\"}", 1),
    (
        "WebtrollerSlow",
        "gatekeeper_validation_request_duration_seconds_bucket{admission_status=\"deny\",le=\"+Inf\"}",
        100,
    ),
    ("WebtrollerRepairsRepeat", "webtroller_repairs_total{object=\"constraint CRD\"}", 50),
    ("WebtrollerAuditDrift", "webtroller_audit_drift_total", 1),
];

fn fires(answer: &Value) -> bool {
    assert_eq!(answer["error"], Value::Null, "{answer}");
    !answer["series"].as_array().unwrap().is_empty()
}

/// Every panel shows something, no alert fires of an operator that is well, and each fires when its cause is there in one of two
/// pods.
pub(crate) fn hold(dashboard: &[String], scrape: &Scrape) {
    for (query, answer) in dashboard.iter().zip(evaluate(scrape, scrape, dashboard)) {
        assert!(fires(&answer), "{query} shows nothing");
    }
    let alerts = alerts();
    let expressions: Vec<_> = alerts.iter().map(|(_, expression)| expression.clone()).collect();
    for ((alert, _), answer) in alerts.iter().zip(evaluate(scrape, scrape, &expressions)) {
        assert!(!fires(&answer), "{alert} fires, and nothing is wrong: {answer}");
    }
    for (cause, series, value) in CAUSES {
        let answers = evaluate(scrape, &scrape.with(series, value), &expressions);
        let firing = alerts.iter().zip(answers).filter(|(_, answer)| fires(answer));
        let firing: Vec<_> = firing.map(|((alert, _), _)| alert.as_str()).collect();
        assert_eq!(firing, [cause], "with {series} {value}");
    }
    let untested = alerts.iter().filter(|(alert, _)| CAUSES.iter().all(|(tested, _, _)| tested != alert));
    assert_eq!(untested.count(), 0, "each alert has a cause in this test: {alerts:?}");
}
