//! The watch of constraint CRDs. One list at the start answers for all of them, so that a pod that starts reads no CRD
//! by itself.

use futures::StreamExt;
use futures::stream::BoxStream;
use kube::core::{Expression, Selector};
use watch_manager::WatchedObject;

use crate::own_watch::{OwnEvent, OwnWatches, crds};

use super::Observed;

/// The label of every constraint CRD, Gatekeeper's too.
const LABEL: (&str, &str) = ("gatekeeper.sh/constraint", "yes");

/// Something happened to a constraint CRD.
#[derive(Debug)]
pub(in crate::controller) enum CrdEvent {
    /// All CRDs that exist: at the start, and after each interruption of the watch.
    Listed(Vec<(String, Observed)>),
    /// A CRD is new or has changed.
    Changed(String, Box<Observed>),
    /// A CRD, with this uid, is gone, or lost its label.
    Gone(String, String),
    /// The CRDs cannot be listed or watched; it is tried again.
    Failed(String),
}

/// The events, for ever.
pub(in crate::controller) fn watch_crds(watches: &OwnWatches) -> BoxStream<'static, CrdEvent> {
    let selector = Selector::from(Expression::Equal(LABEL.0.to_owned(), LABEL.1.to_owned()));
    let events = watches.watch(crds().labels(selector));
    events.filter_map(|event| std::future::ready(CrdEvent::of(event))).boxed()
}

impl CrdEvent {
    fn of(event: OwnEvent) -> Option<Self> {
        Some(match event {
            OwnEvent::Listed(crds) => Self::Listed(crds.iter().filter_map(|crd| observe(crd)).collect()),
            OwnEvent::Changed(crd) => {
                let (name, observed) = observe(&crd)?;
                Self::Changed(name, Box::new(observed))
            }
            OwnEvent::Gone(crd) => Self::Gone(crd.name().to_owned(), crd.uid().to_owned()),
            OwnEvent::Failed(reason) => Self::Failed(reason),
        })
    }
}

fn observe(crd: &WatchedObject) -> Option<(String, Observed)> {
    let parsed = crd.to_dynamic();
    let parsed = parsed.inspect_err(|error| tracing::error!(crd = crd.name(), %error, "cannot be read"));
    Some((crd.name().to_owned(), Observed::of(&parsed.ok()?)))
}
