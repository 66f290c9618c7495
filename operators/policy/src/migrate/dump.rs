//! A cluster in files, as `kubectl get -o yaml` writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use constraint_framework::review::Document;

use crate::cli::load;

use super::samples::Judge;
use super::{CheckArgs, Entry, Holdings, ReadFlags, Report};

pub(super) fn check(args: &CheckArgs, paths: &[PathBuf], flags: ReadFlags<'_>) -> Report {
    let mut holdings = Holdings::default();
    for path in paths {
        let loaded = load(path);
        holdings.problems.extend(loaded.problems(path));
        holdings.entries.extend(loaded.manifests.into_iter().map(|manifest| Entry {
            place: Some(format!("{}:{}", manifest.path.display(), manifest.line)),
            object: manifest.object,
        }));
    }
    let (mut report, mut policies, entries) = Report::of(holdings, args, flags);
    if report.used.is_empty() && report.problems.is_empty() {
        let reason =
            "nothing of Gatekeeper is in what was given; dump its ConstraintTemplates and constraints";
        report.problems.push(reason.to_owned());
    }
    let objects = || entries.iter().filter_map(|entry| Document::from_value(&entry.object).ok());
    objects().for_each(|object| policies.refer_to(&object));
    let mut judge = Judge::new(policies.set(), namespaces(objects()));
    let mut kinds = BTreeSet::new();
    for entry in &entries {
        kinds.insert((entry.text("/apiVersion"), entry.text("/kind")));
        judge.judge(entry, &mut report);
    }
    report.judged.1 = kinds.len();
    report.end()
}

/// The Namespaces among objects.
pub(super) fn namespaces(objects: impl Iterator<Item = Document>) -> BTreeMap<String, Document> {
    objects.filter(Document::is_namespace).map(|object| (object.name().to_owned(), object)).collect()
}
