//! From a manifest to an object that can be judged: what each takes alone, on all cores.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::thread;

use constraint_framework::expansion::ExpansionTemplates;
use constraint_framework::review::Document;

use crate::cli::manifest::{Manifest, ManifestError, Place};

use super::Subject;
use super::shape::is_sound;

/// An object, or the reason why it cannot be used.
pub(super) type Prepared = Result<Subject, ManifestError>;

/// Prepares every manifest, and frees it.
pub(super) fn prepare_all(mut manifests: Vec<Manifest>, expansion: &ExpansionTemplates) -> Vec<Prepared> {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let share = manifests.len().div_ceil(cores).max(1);
    thread::scope(|scope| {
        let mut threads = Vec::new();
        while !manifests.is_empty() {
            let rest = manifests.split_off(share.min(manifests.len()));
            let own = std::mem::replace(&mut manifests, rest);
            let work =
                || own.into_iter().filter_map(|manifest| prepare(&manifest, expansion)).collect::<Vec<_>>();
            threads.push(scope.spawn(work));
        }
        let joined =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        joined.flatten().collect()
    })
}

/// The object of a manifest and what it generates; `None` for what was refused for its shape.
pub(super) fn prepare(manifest: &Manifest, expansion: &ExpansionTemplates) -> Option<Prepared> {
    if !is_sound(manifest) {
        return None;
    }
    let refused = |message| ManifestError::at(manifest, message);
    let object = match Document::from_value(&manifest.object) {
        Ok(object) => object,
        Err(error) => return Some(Err(refused(format!("not a Kubernetes object: {error}")))),
    };
    Some(match expansion.expand(&object) {
        Ok(resultants) => Ok(Subject { place: Place::of(manifest), object, resultants, resource: None }),
        Err(error) => Err(refused(format!("expanding resource {}: {error}", object.name()))),
    })
}
