//! The violations of a cluster's objects: from `webtroller audit`, and from the statuses of constraints.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{interval, timeout};

use crate::cluster::Cluster;
use crate::operator::{PATIENCE, webtroller};

/// The total and the first violations of each constraint, as text.
pub(crate) type Violations = BTreeMap<String, (u64, Vec<String>)>;

pub(crate) fn texts(violations: Option<&Value>) -> Vec<String> {
    let text = |violation: &Value| {
        let part = |name: &str| violation[name].as_str().unwrap_or_default().to_owned();
        let parts = ["group", "version", "kind", "namespace", "name", "message"].map(part);
        parts.join("|")
    };
    violations.and_then(Value::as_array).into_iter().flatten().map(text).collect()
}

/// Cuts messages as they are cut in statuses: to 256 bytes.
pub(crate) fn cut(mut violations: Violations) -> Violations {
    for text in violations.values_mut().flat_map(|(_, texts)| texts) {
        let message = text.rfind('|').unwrap() + 1;
        if text.len() - message > 256 {
            text.truncate(message + 253);
            text.push_str("...");
        }
    }
    violations
}

impl Cluster {
    /// A fresh audit of the whole cluster, by the command line.
    pub(crate) async fn fresh_audit(&self, shown: usize) -> Violations {
        let mut command = webtroller();
        command.args(["audit", "-o", "json"]).env("KUBECONFIG", self.plane.kubeconfig());
        let output = command.output().await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let result: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
        assert_eq!(result["problems"], json!([]), "{said}");
        let constraints = result["constraints"].as_array().unwrap().iter();
        constraints
            .map(|constraint| {
                let mut violations = texts(constraint.get("violations"));
                violations.truncate(shown);
                let total = constraint["totalViolations"].as_u64().unwrap();
                (format!("{}/{}", constraint["kind"], constraint["name"]), (total, violations))
            })
            .collect()
    }

    /// Returns what the statuses say. Nothing for a constraint that was not audited at its present generation.
    pub(crate) async fn statuses(&self) -> Violations {
        let list = self.kubectl(&["get", "constraints", "-o", "json"]).await;
        let list: Value = serde_json::from_str(&list.stdout).unwrap_or_default();
        let audited = |constraint: &&Value| {
            let conditions = constraint["status"]["conditions"].as_array().into_iter().flatten();
            let mut ours = conditions.filter(|condition| condition["type"] == "Audited");
            ours.any(|condition| {
                condition["status"] == "True"
                    && condition["observedGeneration"] == constraint["metadata"]["generation"]
            })
        };
        let items = list["items"].as_array().into_iter().flatten();
        items
            .filter(audited)
            .map(|constraint| {
                let status = &constraint["status"];
                let total = status["totalViolations"].as_u64().unwrap_or(u64::MAX);
                let name = format!("{}/{}", constraint["kind"], constraint["metadata"]["name"]);
                (name, (total, texts(status.get("violations"))))
            })
            .collect()
    }

    /// Waits until the statuses say what a fresh audit finds.
    pub(crate) async fn agrees(&self, shown: usize) -> Violations {
        let expected = cut(self.fresh_audit(shown).await);
        let mut last = Violations::new();
        let reading = async {
            let mut ticks = interval(Duration::from_millis(200));
            while last != expected {
                ticks.tick().await;
                last = self.statuses().await;
            }
        };
        if timeout(PATIENCE, reading).await.is_err() {
            panic!("the statuses say {last:#?}, a fresh audit finds {expected:#?}");
        }
        expected
    }
}
