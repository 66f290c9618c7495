//! Records of verdicts: metrics, log lines, Events, and the denials and costs of the status page.

use admission_server::AdmissionRequest;
use constraint_framework::policyset::PolicySet;
use constraint_framework::review::Verdict;

use crate::events::Recorder;

use super::{Costs, RecentDenials, deny_events, deny_log};

/// Keeps what is to be known of verdicts. Nothing here waits.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// Log each violation, as Gatekeeper's `--log-denies` does.
    pub logs_denies: bool,
    /// Makes an Event of each violation and each of its actions, as Gatekeeper's `--emit-admission-events` does.
    pub events: Option<Recorder>,
    /// The last requests that were denied.
    pub denials: RecentDenials,
    /// The cost of the templates.
    pub costs: Costs,
}

impl Records {
    /// Records a verdict.
    pub(super) fn record(&self, request: &AdmissionRequest, verdict: &Verdict, policies: &PolicySet) {
        deny_log::record(request, verdict, policies, self.logs_denies);
        self.denials.record(request, verdict);
        if let Some(events) = self.events.as_ref().filter(|events| events.is_on()) {
            deny_events::record(events, request, verdict, policies);
        }
    }
}
