//! From the violations of a namespace to the reports that should exist.
//!
//! An object in etcd holds 1.5 MiB at most, and a change of one result rewrites its report. So the violations of a
//! namespace are dealt out by a hash of their object to as many reports as keep each at some 200; a report that is too
//! large even so is split. Worked example: 1,000 violations make ⌈1,000 / 200⌉ = 5, rounded up to 8 reports
//! `webtroller-0` … `webtroller-7` with about 125 results each. One object that changes rewrites one of them. All are
//! dealt out anew only when the number of violations passes the next power of two.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use kube::core::GroupVersion;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{MANAGED_BY, Reach, ReportFormat, object};
use crate::audit::messages::cut;

/// Results of one report, on average at most.
const FULL: usize = 200;
/// Bytes of messages in one report.
const LARGEST: usize = 512 * 1024;
/// Longer messages are cut.
const LONGEST: usize = 64 * 1024;

/// A violation of an object by a constraint. Ordered as reports have them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::audit) struct ReportedViolation {
    pub(in crate::audit) group: String,
    pub(in crate::audit) version: String,
    pub(in crate::audit) kind: String,
    /// Empty for a cluster-scoped object.
    pub(in crate::audit) namespace: String,
    pub(in crate::audit) name: String,
    pub(in crate::audit) constraint_kind: String,
    pub(in crate::audit) constraint_name: String,
    /// `deny`, `warn`, `dryrun` or `scoped`.
    pub(in crate::audit) action: String,
    pub(in crate::audit) message: String,
}

/// A report that should exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::audit) struct PolicyReport {
    pub(in crate::audit) name: String,
    pub(in crate::audit) rows: Vec<Row>,
}

/// One result, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::audit) struct Row {
    source: String,
    policy: String,
    rule: String,
    result: String,
    message: String,
    properties: BTreeMap<String, String>,
    resources: Vec<Subject>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Subject {
    api_version: String,
    kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    namespace: String,
    name: String,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            source: MANAGED_BY.1.to_owned(),
            policy: String::new(),
            rule: String::new(),
            result: String::new(),
            message: String::new(),
            properties: BTreeMap::new(),
            resources: Vec::new(),
        }
    }
}

/// The reports of the violations of one namespace, or of cluster-scoped objects.
pub(in crate::audit) fn reports(mut violations: Vec<ReportedViolation>) -> Vec<PolicyReport> {
    violations.sort();
    let count = violations.len().div_ceil(FULL).next_power_of_two();
    let mut dealt: BTreeMap<usize, Vec<ReportedViolation>> = BTreeMap::new();
    for violation in violations {
        dealt.entry(place(&violation, count)).or_default().push(violation);
    }
    dealt.into_iter().flat_map(|(index, violations)| split(index, violations)).collect()
}

/// The number of the report of an object, below `count`, which is a power of two.
fn place(violation: &ReportedViolation, count: usize) -> usize {
    let mut hasher = DefaultHasher::new();
    (&violation.group, &violation.kind, &violation.namespace, &violation.name).hash(&mut hasher);
    let mask = u64::try_from(count.saturating_sub(1)).unwrap_or(u64::MAX);
    usize::try_from(hasher.finish() & mask).unwrap_or_default()
}

fn split(index: usize, violations: Vec<ReportedViolation>) -> Vec<PolicyReport> {
    let mut reports: Vec<PolicyReport> = Vec::new();
    let mut bytes = usize::MAX;
    for violation in violations {
        let row = Row::of(violation);
        bytes = bytes.saturating_add(row.message.len());
        if bytes > LARGEST {
            bytes = row.message.len();
            let name = match reports.len() {
                0 => format!("webtroller-{index}"),
                part => format!("webtroller-{index}-{part}"),
            };
            reports.push(PolicyReport { name, rows: Vec::new() });
        }
        if let Some(report) = reports.last_mut() {
            report.rows.push(row);
        }
    }
    reports
}

impl PolicyReport {
    /// The object to store, over this version where one is there.
    pub(in crate::audit) fn document(
        &self,
        format: ReportFormat,
        namespace: &str,
        version: Option<&str>,
    ) -> Value {
        let reach = Reach::of(namespace);
        let (label, value) = MANAGED_BY;
        let in_namespace = (reach == Reach::Namespaced).then_some(("namespace", json!(namespace)));
        let version = version.map(|version| ("resourceVersion", json!(version)));
        let metadata = [("name", json!(self.name)), ("labels", json!({label: value}))];
        let count = |result: &str| self.rows.iter().filter(|row| row.result == result).count();
        let counts = json!({"pass": 0, "fail": count("fail"), "warn": count("warn"), "error": 0, "skip": 0});
        let source = (format == ReportFormat::Openreports).then_some(("source", json!(value)));
        let fields = [
            ("apiVersion", json!(format!("{}/{}", format.group(), format.version()))),
            ("kind", json!(format.kind(reach))),
            ("metadata", object(metadata.into_iter().chain(in_namespace).chain(version))),
            ("summary", counts),
            ("results", json!(self.rows)),
        ];
        object(fields.into_iter().chain(source))
    }

    /// A number that differs when the results do.
    pub(in crate::audit) fn digest(&self) -> u64 {
        digest(&self.rows)
    }
}

/// The same number of a stored report.
pub(in crate::audit) fn digest(rows: &[Row]) -> u64 {
    let mut hasher = DefaultHasher::new();
    rows.hash(&mut hasher);
    hasher.finish()
}

impl Row {
    fn of(violation: ReportedViolation) -> Self {
        let api_version = GroupVersion::gv(&violation.group, &violation.version).api_version();
        // What warns at the webhook warns here. `dryrun` decides what happens to requests, not whether a rule holds.
        let result = if violation.action == "warn" { "warn" } else { "fail" };
        Self {
            policy: violation.constraint_kind,
            rule: violation.constraint_name,
            result: result.to_owned(),
            message: cut(&violation.message, LONGEST),
            properties: BTreeMap::from([("enforcementAction".to_owned(), violation.action)]),
            resources: vec![Subject {
                api_version,
                kind: violation.kind,
                namespace: violation.namespace,
                name: violation.name,
            }],
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn violation(name: usize, message: &str) -> ReportedViolation {
        ReportedViolation {
            group: "apps".to_owned(),
            version: "v1".to_owned(),
            kind: "Deployment".to_owned(),
            namespace: "shop".to_owned(),
            name: name.to_string(),
            constraint_kind: "K8sLabels".to_owned(),
            constraint_name: "owner".to_owned(),
            action: "deny".to_owned(),
            message: message.to_owned(),
        }
    }

    #[test]
    fn a_report_has_the_fields_that_other_tools_read() {
        let warned = ReportedViolation { action: "warn".to_owned(), ..violation(2, "no owner") };
        let made = reports(vec![violation(1, "no owner"), warned]);
        let document = made[0].document(ReportFormat::Openreports, "shop", None);
        assert_eq!(made.len(), 1);
        assert_eq!(document["summary"], json!({"pass": 0, "fail": 1, "warn": 1, "error": 0, "skip": 0}));
        assert_eq!(
            document["results"][0],
            json!({
                "source": "webtroller", "policy": "K8sLabels", "rule": "owner", "result": "fail",
                "message": "no owner", "properties": {"enforcementAction": "deny"},
                "resources": [{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "1"}],
            })
        );
        let stored: Vec<Row> = serde_json::from_value(document["results"].clone()).unwrap();
        assert_eq!(digest(&stored), made[0].digest());
        let older = made[0].document(ReportFormat::Wgpolicy, "", None);
        assert_eq!(older["apiVersion"], "wgpolicyk8s.io/v1alpha2");
        assert_eq!((&older["kind"], older.get("source")), (&json!("ClusterPolicyReport"), None));
    }

    #[test]
    fn reports_stay_far_below_what_etcd_takes() {
        let long = "é".repeat(LONGEST);
        let made = reports((0..100).map(|name| violation(name, &long)).collect());
        let size = |report: &PolicyReport| {
            report.document(ReportFormat::Openreports, "shop", None).to_string().len()
        };
        assert!(made.iter().all(|report| size(report) < 1024 * 1024));
        assert_eq!(made.iter().map(|report| report.rows.len()).sum::<usize>(), 100);
        let made = reports((0..10_000).map(|name| violation(name, "x")).collect());
        assert!(made.iter().all(|report| size(report) < 256 * 1024));
    }

    proptest! {
        #[test]
        fn every_violation_is_in_one_report_and_one_object_changes_few(
            names in prop::collection::hash_set(0_usize..2_000, 0..600), other in 0_usize..2_000,
        ) {
            let of = |names: &HashSet<usize>| reports(names.iter().map(|name| violation(*name, "m")).collect());
            let before = of(&names);
            let mut found: Vec<_> = before.iter().flat_map(|report| &report.rows).map(|row| row.resources[0].name.clone()).collect();
            let mut wanted: Vec<_> = names.iter().map(ToString::to_string).collect();
            found.sort();
            wanted.sort();
            prop_assert_eq!(found, wanted);
            let distinct: HashSet<_> = before.iter().map(|report| &report.name).collect();
            prop_assert_eq!(distinct.len(), before.len());
            let mut more = names.clone();
            more.insert(other);
            let buckets = |count: usize| count.div_ceil(FULL).next_power_of_two();
            if buckets(more.len()) == buckets(names.len()) {
                let after = of(&more);
                let rewritten = after.iter().filter(|report| !before.contains(report)).count();
                prop_assert!(rewritten <= 1);
            }
        }
    }
}
