//! Cycles of expansion templates: an edge goes from a template to each one that applies to what it generates.

use std::collections::{BTreeMap, BTreeSet};

use super::ExpansionTemplate;

/// Returns the templates from which a path leads back to themselves.
///
/// A: CronJob to Job, B: Job to Pod, C: Pod to Job. B and C are cyclic; A leads to them, and is not.
pub(super) fn cyclic(templates: &BTreeMap<String, ExpansionTemplate>) -> BTreeSet<String> {
    templates.keys().filter(|name| reachable(name, templates).contains(name.as_str())).cloned().collect()
}

fn reachable<'a>(from: &str, templates: &'a BTreeMap<String, ExpansionTemplate>) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<_> = templates.get(from).into_iter().collect();
    while let Some(template) = open.pop() {
        let made = &template.generated;
        for next in templates.values().filter(|next| next.applies_to(&made.group, &made.version, &made.kind))
        {
            if seen.insert(next.name.as_str()) {
                open.push(next);
            }
        }
    }
    seen
}
