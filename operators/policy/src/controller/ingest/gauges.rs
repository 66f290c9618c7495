//! Gauges for `/metrics`: templates, constraints, synced objects, and a suspension.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use super::Ingest;

/// Gatekeeper's words for what became of an object.
const fn status(is_good: bool) -> &'static str {
    if is_good { "active" } else { "error" }
}

impl Ingest {
    /// Sets the gauges to what is known now. Called with each policy set.
    pub(super) fn set_gauges(&self) {
        self.set_template_gauges();
        self.set_constraint_gauges();
        for ((_, _, name), kind) in &self.sync.kinds {
            set("gatekeeper_sync", &[("kind", name), ("status", "active")], kind.objects.len());
        }
        let is_suspended = usize::from(self.suspensions.text.is_some());
        set("webtroller_enforcement_suspended", &[], is_suspended);
    }

    fn set_template_gauges(&self) {
        let placed = self.templates.known.values().filter(|known| known.placed);
        let with_cel =
            placed.clone().filter_map(|known| known.compiled.as_ref()).filter(|code| code.is_in_cel());
        set("gatekeeper_constraint_templates_with_cel", &[], with_cel.count());
        let active = placed.count();
        let all = self.templates.known.len();
        set("gatekeeper_constraint_templates", &[("status", status(true))], active);
        set("gatekeeper_constraint_templates", &[("status", status(false))], all.saturating_sub(active));
    }

    fn set_constraint_gauges(&self) {
        let words = ["deny", "dryrun", "warn", "scoped", "unrecognized"];
        let all = words.into_iter().flat_map(|word| [((word, true), 0_usize), ((word, false), 0)]);
        let mut counts: BTreeMap<_, _> = all.collect();
        for (action, is_good) in self.constraints.actions() {
            let word = words.into_iter().find(|word| *word == action).unwrap_or("unrecognized");
            let count = counts.entry((word, is_good)).or_default();
            *count = count.saturating_add(1);
        }
        for ((action, is_good), count) in counts {
            set(
                "gatekeeper_constraints",
                &[("enforcement_action", action), ("status", status(is_good))],
                count,
            );
        }
    }
}

/// Counts what became of a version of a template.
pub(super) fn count_ingestion(is_good: bool, took: std::time::Duration) {
    let status = status(is_good);
    metrics::counter!("gatekeeper_constraint_template_ingestion_count_total", "status" => status)
        .increment(1);
    metrics::histogram!("gatekeeper_constraint_template_ingestion_duration_seconds", "status" => status)
        .record(took);
}

/// Counts an object that was put in the inventory.
pub(super) fn count_sync(took: std::time::Duration) {
    metrics::histogram!("gatekeeper_sync_duration_seconds").record(took);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    metrics::gauge!("gatekeeper_sync_last_run_time").set(now.as_secs_f64());
}

/// A kind is not synced any more.
pub(super) fn forget_synced(kind: &str) {
    set("gatekeeper_sync", &[("kind", kind), ("status", "active")], 0);
}

fn set(name: &'static str, labels: &[(&'static str, &str)], count: usize) {
    let labels: Vec<_> =
        labels.iter().map(|(key, value)| metrics::Label::new(*key, (*value).to_owned())).collect();
    metrics::gauge!(name, labels).set(gauge_value(count));
}

/// The value of a gauge that counts; `u32::MAX` for more than that.
pub(crate) fn gauge_value(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
