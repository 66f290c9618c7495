//! The queries of the dashboard and the alerts, asked of Prometheus: its own parser reads the answers of `/metrics`, and its
//! own engine evaluates.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::cluster::workspace;
use crate::operator::ask;

/// Seconds between two scrapes.
const INTERVAL: i64 = 60;
/// The scrape at which something has changed, and when it is asked.
const CHANGE: i64 = 300;

/// The job of the release that the chart's ServiceMonitor makes.
const JOB: &str = "webtroller-metrics";

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

    fn at(&self, second: i64, job: &str, pod: &str) -> Value {
        let labels = json!({"job": job, "namespace": "gatekeeper-system", "pod": pod});
        json!({"at": *START + second, "labels": labels, "contentType": self.content_type, "body": self.body})
    }

    /// Gatekeeper beside webtroller: everything that it counts under the same names is at its worst.
    fn gatekeepers(&self, second: i64) -> Self {
        let body = format!(
            "gatekeeper_constraint_templates{{status=\"error\"}} 5\n\
             gatekeeper_constraints{{enforcement_action=\"deny\",status=\"error\"}} 5\n\
             gatekeeper_validation_request_count_total{{admission_status=\"error\",admission_dryrun=\"false\"}} {second}\n\
             gatekeeper_validation_request_duration_seconds_bucket{{admission_status=\"deny\",le=\"1\"}} 0\n\
             gatekeeper_validation_request_duration_seconds_bucket{{admission_status=\"deny\",le=\"+Inf\"}} {second}\n\
             gatekeeper_audit_last_run_end_time 1\n"
        );
        Self { body, ..self.clone() }
    }
}

/// The first scrape, in seconds since 1970: some metrics are times.
static START: LazyLock<i64> = LazyLock::new(|| {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_secs()).unwrap()
});

/// Asks about two pods: both were `before` for some minutes; then they are as in `last`. `None`: no pod was ever there. Gatekeeper is
/// beside them.
fn evaluate(before: &Scrape, last: Option<[&Scrape; 2]>, queries: &[String]) -> Vec<Value> {
    let seconds = (0..CHANGE).step_by(usize::try_from(INTERVAL).unwrap());
    let pods = ["webtroller-0", "webtroller-1"];
    let theirs = seconds.clone().chain([CHANGE]);
    let mut scrapes: Vec<_> = theirs
        .map(|second| before.gatekeepers(second).at(second, "gatekeeper", "gatekeeper-controller-manager-a"))
        .collect();
    if let Some(last) = last {
        scrapes.extend(seconds.flat_map(|second| pods.map(|pod| before.at(second, JOB, pod))));
        scrapes.extend(last.iter().zip(pods).map(|(scrape, pod)| scrape.at(CHANGE, JOB, pod)));
        scrapes.sort_by_key(|scrape| scrape["at"].as_i64());
    }
    let queries: Vec<_> = queries.iter().map(|expr| json!({"at": *START + CHANGE, "expr": expr})).collect();
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

/// A query of the dashboard, with the variable of its jobs.
pub(crate) fn of_job(query: &str) -> String {
    query.replace("$job", JOB)
}

/// Name and expression of each alert of the chart, as rendered for the release `webtroller`.
pub(crate) fn alerts() -> Vec<(String, String)> {
    let file = std::fs::read_to_string(workspace("charts/webtroller/templates/alerts.yaml")).unwrap();
    let after = |word: &str| {
        let lines = file.lines().filter_map(|line| line.trim().strip_prefix(word)).map(str::to_owned);
        lines.collect::<Vec<_>>()
    };
    let (names, expressions) = (after("- alert: "), after("expr: "));
    assert_eq!(names.len(), expressions.len());
    let rendered = expressions.into_iter().map(|expression| {
        let expression = expression
            .replace("{ {{- $job }}", &format!("{{job=\"{JOB}\""))
            .replace("{{ mul 3 (int64 .Values.auditInterval) | max 3600 }}", "10800");
        assert!(!expression.contains("{{"), "{expression}");
        expression
    });
    names.into_iter().zip(rendered).collect()
}

/// Fires when no pod has finished an audit for long; one of them audits.
const LATE: &str = "WebtrollerAuditLate";
/// The alert that fires when no pod is left.
const ABSENT: &str = "WebtrollerAbsent";

/// A value of a series that makes an alert fire.
const CAUSES: [(&str, &str, u32); 13] = [
    (
        "WebtrollerNotEnforcedEverywhere",
        "pod_status_oldest_waiting_seconds{group=\"templates.gatekeeper.sh\",kind=\"ConstraintTemplate\"}",
        1000,
    ),
    (
        "WebtrollerEventsDropped",
        "webtroller_events_total{component=\"gatekeeper-webhook\",result=\"dropped\"}",
        1,
    ),
    (LATE, "gatekeeper_audit_last_run_end_time", 1),
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
    let well = Some([scrape; 2]);
    for (query, answer) in dashboard.iter().zip(evaluate(scrape, well, dashboard)) {
        assert!(fires(&answer), "{query} shows nothing");
    }
    for (query, answer) in dashboard.iter().zip(evaluate(scrape, None, dashboard)) {
        assert!(!fires(&answer), "{query} shows Gatekeeper: {answer}");
    }
    let alerts = alerts();
    let expressions: Vec<_> = alerts.iter().map(|(_, expression)| expression.clone()).collect();
    let firing = |last: Option<[&Scrape; 2]>| -> Vec<_> {
        let answers = evaluate(scrape, last, &expressions);
        let firing = alerts.iter().zip(answers).filter(|(_, answer)| fires(answer));
        firing.map(|((alert, _), _)| alert.as_str()).collect()
    };
    assert_eq!(firing(well), [""; 0], "nothing is wrong");
    assert_eq!(firing(None), [ABSENT], "no pod is there");
    for (cause, series, value) in CAUSES {
        let changed = scrape.with(series, value);
        let other = if cause == LATE { &changed } else { scrape };
        assert_eq!(firing(Some([other, &changed])), [cause], "with {series} {value}");
    }
    let untested = alerts.iter().filter(|(alert, _)| CAUSES.iter().all(|(tested, _, _)| tested != alert));
    let untested: Vec<_> = untested.map(|(alert, _)| alert).collect();
    assert_eq!(untested, [ABSENT], "each alert has a cause in this test");
}
