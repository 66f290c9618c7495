//! From a manifest to an object that can be judged: what each takes alone, on all cores.

use std::num::NonZeroUsize;
use std::sync::mpsc;
use std::thread;

use constraint_framework::expansion::ExpansionTemplates;
use constraint_framework::review::Document;

use crate::cli::manifest::{Manifest, ManifestError, Place};

use super::Subject;
use super::shape::is_sound;

/// An object, or the reason why it cannot be used.
pub(super) type Prepared = Result<Subject, ManifestError>;

/// Manifests that are prepared at a time by one thread.
const PART: usize = 128;

/// Parts of a thread that may wait to be taken, so that none stops when another one has to wait for a core.
const AHEAD: usize = 4;

/// Prepares every manifest, frees it, and gives the object to `take`, in order. While one part is taken, all cores prepare
/// the next ones: thread 1 of 2 the parts 0, 2, 4, …, and at most [`AHEAD`] of them wait.
pub(super) fn prepare_all(
    manifests: Vec<Manifest>,
    expansion: &ExpansionTemplates,
    mut take: impl FnMut(Prepared),
) {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let parts = manifests.len().div_ceil(PART);
    let mut shares: Vec<Vec<Vec<Manifest>>> = vec![Vec::new(); cores.min(parts)];
    let mut rest = manifests.into_iter();
    for share in (0..cores.min(parts)).cycle().take(parts) {
        if let Some(share) = shares.get_mut(share) {
            share.push(rest.by_ref().take(PART).collect());
        }
    }
    thread::scope(|scope| {
        let start = |share: Vec<Vec<Manifest>>| {
            let (sender, receiver) = mpsc::sync_channel(AHEAD);
            scope.spawn(move || {
                for part in share {
                    let prepared = part.into_iter().filter_map(|manifest| prepare(&manifest, expansion));
                    // The receiver stays until all are taken, unless that panics.
                    if sender.send(prepared.collect::<Vec<_>>()).is_err() {
                        break;
                    }
                }
            });
            receiver
        };
        let receivers: Vec<_> = shares.into_iter().map(start).collect();
        for receiver in receivers.iter().cycle().take(parts) {
            // Nothing comes from a thread that panicked, and the scope panics for it.
            receiver.recv().into_iter().flatten().for_each(&mut take);
        }
    });
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
