//! Reports of all violations, in the format that other tools show: OpenReports, or the `PolicyReport` of the Kubernetes
//! policy working group that it continues.
//!
//! There is a set of reports for each namespace, and one for objects without. `document` is pure: it makes from the
//! violations of a namespace the reports that should exist. `definition` has the CRDs, and `store` reads and writes.

mod definition;
mod document;
mod store;

use clap::ValueEnum;
use serde_json::Value;
use watch_manager::GroupVersionKind;

pub(super) use definition::definition;
pub(super) use document::{PolicyReport, ReportedViolation, Row, digest, reports};
pub(super) use store::{Key, PutError, ReportStore, Stored, number};

/// The label of every report that the audit writes, and its value.
pub(super) const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "webtroller");

/// The kinds in which reports are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// `Report` and `ClusterReport` of `openreports.io/v1alpha1`.
    Openreports,
    /// `PolicyReport` and `ClusterPolicyReport` of `wgpolicyk8s.io/v1alpha2`.
    Wgpolicy,
}

/// The place where the reports of a namespace, or of cluster-scoped objects, are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    Namespaced,
    Cluster,
}

impl ReportFormat {
    pub(super) fn group(self) -> &'static str {
        match self {
            Self::Openreports => "openreports.io",
            Self::Wgpolicy => "wgpolicyk8s.io",
        }
    }

    pub(super) fn version(self) -> &'static str {
        match self {
            Self::Openreports => "v1alpha1",
            Self::Wgpolicy => "v1alpha2",
        }
    }

    pub(super) fn kind(self, reach: Reach) -> &'static str {
        match (self, reach) {
            (Self::Openreports, Reach::Namespaced) => "Report",
            (Self::Openreports, Reach::Cluster) => "ClusterReport",
            (Self::Wgpolicy, Reach::Namespaced) => "PolicyReport",
            (Self::Wgpolicy, Reach::Cluster) => "ClusterPolicyReport",
        }
    }

    pub(super) fn gvk(self, reach: Reach) -> GroupVersionKind {
        GroupVersionKind::gvk(self.group(), self.version(), self.kind(reach))
    }

    /// The resource in URLs.
    pub(super) fn plural(self, reach: Reach) -> String {
        format!("{}s", self.kind(reach).to_lowercase())
    }
}

impl Reach {
    pub(super) const BOTH: [Self; 2] = [Self::Namespaced, Self::Cluster];

    /// That of a namespace; empty for cluster-scoped objects.
    pub(super) fn of(namespace: &str) -> Self {
        if namespace.is_empty() { Self::Cluster } else { Self::Namespaced }
    }
}

fn object<'a>(fields: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
