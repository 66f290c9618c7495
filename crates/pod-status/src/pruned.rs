//! Kinds whose schema drops `status.summary`, which would be a difference to be written each time.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kube::api::DynamicObject;
use serde_json::Value;
use tokio::time::Instant;

use crate::parent::{ParentKind, ParentRef};
use crate::shape::{SUMMARY, Shape};

/// The field is tried again after this time: the schema may have been repaired.
const FORGET: Duration = Duration::from_secs(600);

/// The kinds, with the time at which the field was dropped last.
#[derive(Debug, Default)]
pub(crate) struct PrunedKinds(Mutex<BTreeMap<ParentKind, Instant>>);

impl PrunedKinds {
    /// `shape` without what the schema of its kind drops.
    pub(crate) fn kept<'a>(&self, shape: &'a Shape, parent: &ParentRef) -> Cow<'a, Shape> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_pruned = known.get(&parent.into()).is_some_and(|since| since.elapsed() < FORGET);
        if shape.summary && is_pruned {
            return Cow::Owned(Shape { summary: false, ..shape.clone() });
        }
        Cow::Borrowed(shape)
    }

    /// Compares what was sent with what the API server made of it.
    pub(crate) fn note(&self, parent: &ParentRef, sent: &Value, stored: &DynamicObject) {
        let has = |status: Option<&Value>| status.is_some_and(|status| status.get(SUMMARY).is_some());
        if !has(sent.get("status")) || has(stored.data.get("status")) {
            return;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(parent.into(), Instant::now());
        let (group, kind) = (&parent.group, &parent.kind);
        tracing::warn!(group, kind, "the schema drops status.summary; it is left out for ten minutes");
    }
}
