//! An audit of files, as `kubectl get -o yaml` writes them.

use constraint_framework::review::Document;

use super::assembly::{Assembly, Collector, Role, role};
use super::{Found, OnceArgs, Progress};
use crate::cli::{Manifest, load};

/// Audits the files that the arguments name.
pub(super) fn audit(args: &OnceArgs, progress: &Progress) -> (Assembly, Found) {
    let mut collector = Collector::new(&args.namespace);
    let mut manifests = Vec::new();
    for path in &args.paths {
        let loaded = load(path);
        collector.problems.extend(loaded.problems(path));
        manifests.extend(loaded.manifests);
    }
    collect(&mut collector, &manifests);
    let mut found = Found { problems: std::mem::take(&mut collector.problems), ..Found::default() };
    let assembly = collector.assemble();
    let mut kinds = std::collections::BTreeSet::new();
    for manifest in manifests {
        match assembly.judge(manifest.object.to_string(), Some((manifest.path.clone(), manifest.line))) {
            Ok(violations) => found.take(violations),
            Err(reason) => {
                found.problems.push(format!("{}:{}: {reason}", manifest.path.display(), manifest.line))
            }
        }
        kinds.insert(manifest.object.get("kind").map(ToString::to_string));
        found.objects = found.objects.saturating_add(1);
        progress.objects(1);
    }
    found.kinds = kinds.len();
    found.sort();
    (assembly, found)
}

/// Takes policies first, in the order in which one needs the other.
pub(super) fn collect(collector: &mut Collector, manifests: &[Manifest]) {
    for wanted in [Role::Template, Role::Constraint, Role::Sync] {
        let of_role = manifests.iter().filter(|manifest| role(&manifest.object) == wanted);
        of_role.for_each(|manifest| collector.policy(&manifest.object));
    }
    for manifest in manifests {
        if let Ok(object) = Document::from_value(&manifest.object) {
            collector.object(&object);
        }
    }
}
