//! A cluster in files, as `kubectl get -o yaml` writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use constraint_framework::review::Document;

use crate::cli::{Loaded, load, load_reader};

use super::samples::Judge;
use super::{Entry, Holdings, MigrateCheckArgs, ReadFlags, Report};

pub(super) fn check(
    args: &MigrateCheckArgs,
    paths: &[PathBuf],
    flags: ReadFlags<'_>,
    standard: &mut dyn Read,
) -> Report {
    let mut holdings = Holdings::default();
    for path in paths {
        let (path, loaded) = match path.as_os_str() == "-" {
            true => standard_input(standard),
            false => (path.as_path(), load(path)),
        };
        holdings.errors.extend(loaded.read_errors(path));
        holdings.entries.extend(loaded.manifests.into_iter().map(|manifest| Entry {
            place: Some(format!("{}:{}", manifest.path.display(), manifest.line)),
            object: manifest.object,
        }));
    }
    let (mut report, mut policies, entries) = Report::of(holdings, args, flags);
    if report.used.is_empty() && report.errors.is_empty() {
        let reason =
            "nothing of Gatekeeper is in what was given; dump its ConstraintTemplates and constraints";
        report.errors.push(reason.to_owned());
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

/// Standard input can be read once: what is named again holds nothing.
fn standard_input(standard: &mut dyn Read) -> (&'static Path, Loaded) {
    let path = Path::new("<stdin>");
    let mut loaded = Loaded::default();
    match load_reader(path, standard) {
        Ok(manifests) => loaded.manifests = manifests,
        Err(error) => loaded.errors.push(error),
    }
    (path, loaded)
}

/// The Namespaces among objects.
pub(super) fn namespaces(objects: impl Iterator<Item = Document>) -> BTreeMap<String, Document> {
    objects.filter(Document::is_namespace).map(|object| (object.name().to_owned(), object)).collect()
}
