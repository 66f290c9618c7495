//! The flags of the audit, which are Gatekeeper's. Those that have no meaning here are in `gatekeeper_flags`.

use std::num::NonZeroUsize;
use std::time::Duration;

use clap::ValueEnum;

use crate::audit::{AuditOptions, ReportFormat};
use crate::events::EventNamespace;

/// The options of an audit.
#[derive(Clone, Debug, clap::Args)]
pub struct AuditArgs {
    /// Operations of this process, as Gatekeeper has them; may be repeated. Without `audit` it never audits.
    #[arg(long, value_enum, value_name = "OPERATION")]
    pub operation: Vec<Operation>,
    /// Seconds between two comparisons of everything that is known with the cluster; 0 for none. Changes are judged when
    /// they happen, whatever this says.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    pub audit_interval: u64,
    /// Violations in the status of a constraint. All are counted.
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u64).range(..=1000))]
    pub constraint_violations_limit: u64,
    /// Make a Kubernetes Event of each violation that comes or goes.
    #[arg(long)]
    pub emit_audit_events: bool,
    /// Make it in the namespace of the object, and not in the operator's; only with --emit-audit-events.
    #[arg(long)]
    pub audit_events_involved_namespace: bool,
    /// Objects per page of a list; 0 for all at once.
    #[arg(long, value_name = "COUNT", default_value_t = 500)]
    pub audit_chunk_size: u32,
    /// Report all violations in reports of this kind, in the namespaces of the objects. CRDs that are missing are installed.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub policy_reports: Option<ReportFormat>,
}

/// Something that a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Operation {
    /// Judges what is in the cluster.
    Audit,
    /// Taken; this release generates no admission policies.
    Generate,
    /// Taken; this release mutates nothing.
    MutationController,
    /// Taken; this release mutates nothing.
    MutationStatus,
    /// Taken; this release mutates nothing.
    MutationWebhook,
    /// Writes statuses; part of every process.
    Status,
    /// Judges requests; part of every process.
    Webhook,
}

impl AuditArgs {
    /// Returns true if this process may audit.
    pub(super) fn is_operation(&self) -> bool {
        self.operation.is_empty() || self.operation.contains(&Operation::Audit)
    }

    pub(super) fn options(&self) -> AuditOptions {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        AuditOptions {
            interval: Some(self.audit_interval).filter(|seconds| *seconds > 0).map(Duration::from_secs),
            violations_limit: usize::try_from(self.constraint_violations_limit).unwrap_or(usize::MAX),
            chunk_size: Some(self.audit_chunk_size).filter(|count| *count > 0),
            reports: self.policy_reports,
            // The webhook needs the others.
            threads: cores.div_ceil(2),
        }
    }

    /// Returns where Events of violations go.
    pub(super) fn events(&self) -> EventNamespace {
        EventNamespace::of_flags(self.emit_audit_events, self.audit_events_involved_namespace)
    }
}
