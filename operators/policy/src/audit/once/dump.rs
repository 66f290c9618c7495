//! An audit of files, as `kubectl get -o yaml` writes them.

use std::sync::Arc;

use constraint_framework::review::Document;

use super::assembly::{Assembly, Collector, Role, role, unreadable};
use super::{Found, OnceArgs, Progress};
use crate::cli::{Manifest, load};

/// Audits the files that the arguments name.
pub(super) fn audit(args: &OnceArgs, progress: &Progress) -> (Arc<Assembly>, Found) {
    let mut collector = Collector::new(&args.namespace);
    let mut manifests = Vec::new();
    for path in &args.paths {
        let loaded = load(path);
        collector.errors.extend(loaded.read_errors(path));
        manifests.extend(loaded.manifests);
    }
    collect(&mut collector, &manifests);
    let mut found = Found { errors: std::mem::take(&mut collector.errors), ..Found::default() };
    let assembly = collector.assemble();
    let mut kinds = std::collections::BTreeSet::new();
    for manifest in manifests {
        // What cannot be read is among the errors already.
        let place = (manifest.path, manifest.line);
        found.take(assembly.judge(manifest.object.to_string(), Some(place)).unwrap_or_default());
        kinds.insert(manifest.object.get("kind").map(ToString::to_string));
        found.objects = found.objects.saturating_add(1);
        progress.objects(1);
    }
    found.kinds = kinds.len();
    found.sort();
    (Arc::new(assembly), found)
}

/// Takes policies first, in the order in which one needs the other.
pub(super) fn collect(collector: &mut Collector, manifests: &[Manifest]) {
    for wanted in [Role::Template, Role::Constraint, Role::Sync] {
        let of_role = manifests.iter().filter(|manifest| role(&manifest.object) == wanted);
        of_role.for_each(|manifest| collector.policy(&manifest.object));
    }
    for manifest in manifests {
        match Document::from_value(&manifest.object) {
            Ok(object) => collector.object(&object),
            Err(error) => {
                let (path, line) = (manifest.path.display(), manifest.line);
                collector.errors.push(format!("{path}:{line}: {}", unreadable(error)));
            }
        }
    }
}
