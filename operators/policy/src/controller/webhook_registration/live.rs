//! The stored webhook configuration, as pods mark it.

use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::Value;
use watch_manager::WatchedObject;

use super::{DIGEST, EPOCH, RUN};
use crate::controller::UNINSTALLED;
use crate::controller::crds::fingerprint;

/// The stored configuration.
#[derive(Clone, Debug)]
pub(super) struct Live {
    pub(super) object: DynamicObject,
    pub(super) epoch: u64,
    /// Nothing has changed since a pod wrote it.
    pub(super) intact: bool,
    /// The run that has written it, or signed it last.
    pub(super) run: Option<String>,
    /// `webtroller uninstall` is removing it.
    pub(super) uninstalled: bool,
}

impl Live {
    /// One that cannot be read counts as absent.
    pub(super) fn read(object: &WatchedObject) -> Option<Self> {
        let parsed = object.to_dynamic();
        let parsed =
            parsed.inspect_err(|error| tracing::error!(%error, "the webhook configuration cannot be read"));
        parsed.ok().map(Self::of)
    }

    pub(super) fn of(object: DynamicObject) -> Self {
        let annotation = |name: &str| object.annotations().get(name).cloned();
        let epoch = annotation(EPOCH).and_then(|text| text.parse().ok()).unwrap_or_default();
        let digest = object.data.get("webhooks").map(fingerprint);
        let uninstalled = annotation(UNINSTALLED).is_some();
        let intact = digest.is_some() && annotation(DIGEST) == digest;
        Self { epoch, intact, run: annotation(RUN), uninstalled, object }
    }

    pub(super) fn webhooks(&self) -> Option<&Value> {
        self.object.data.get("webhooks")
    }
}
