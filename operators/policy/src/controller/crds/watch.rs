//! The watch of constraint CRDs. One list at the start answers for all of them, so that a pod that starts reads no CRD
//! by itself.

use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use kube::api::DynamicObject;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, ResourceExt};

use crate::controller::api_error::watch_reason;
use crate::controller::kinds::crd_resource;

use super::Observed;

/// The label of every constraint CRD, Gatekeeper's too.
const LABEL: &str = "gatekeeper.sh/constraint=yes";
/// The API server ends the watch after so many seconds, and the next one begins: with the client's own read deadline,
/// that bounds how long a dead connection goes unnoticed.
const WATCH_SECONDS: u32 = 60;
/// CRDs are large; more of them at once would only be kept as text for longer.
const PAGE: u32 = 50;

/// Something happened to a constraint CRD.
#[derive(Debug)]
pub(in crate::controller) enum CrdEvent {
    /// A list begins; what it does not hold is gone.
    ListBegins,
    /// A CRD of the list.
    Listed(String, Observed),
    /// The list is complete.
    ListEnds,
    /// A CRD is new or has changed.
    Changed(String, Observed),
    /// A CRD, with this uid, is gone, or lost its label.
    Gone(String, String),
    /// The CRDs cannot be listed or watched; it is tried again.
    Failed(String),
}

/// The events, for ever.
pub(in crate::controller) fn watch_crds(client: kube::Client) -> BoxStream<'static, CrdEvent> {
    let api: Api<DynamicObject> = Api::all_with(client, &crd_resource());
    let config = Config::default().labels(LABEL).timeout(WATCH_SECONDS).page_size(PAGE);
    events(watcher(api, config).default_backoff()).boxed()
}

fn events(
    stream: impl Stream<Item = kube::runtime::watcher::Result<Event<DynamicObject>>> + Send,
) -> impl Stream<Item = CrdEvent> + Send {
    stream.map(|event| match event {
        Ok(Event::Init) => CrdEvent::ListBegins,
        Ok(Event::InitApply(crd)) => CrdEvent::Listed(crd.name_any(), Observed::of(&crd)),
        Ok(Event::InitDone) => CrdEvent::ListEnds,
        Ok(Event::Apply(crd)) => CrdEvent::Changed(crd.name_any(), Observed::of(&crd)),
        Ok(Event::Delete(crd)) => CrdEvent::Gone(crd.name_any(), crd.uid().unwrap_or_default()),
        Err(error) => CrdEvent::Failed(watch_reason(&error)),
    })
}
