//! The second controller: gathers what the processes of `placement` report about an Extension, in the status of the Extension.

use anyhow::Result;
use controller_declaration::{Declaration, DeclaredAccess};
use examples::Cluster;
use futures::StreamExt;
use kube::Resource;
use kube::core::ApiResource;
use pod_status::{Aggregator, AggregatorConfig, ParentChanges, ParentKind, ParentRef, Shape};
use watch_manager::{EventKind, WatchManager};

use crate::kinds::{self, Extension};
use crate::reports;

pub(crate) fn declaration() -> Declaration {
    let summary = "Gathers what the processes of `placement` report about an Extension, in its status.";
    Declaration::new("aggregator", summary)
        .access(DeclaredAccess::to(kinds::GROUP, "extensions").watches().gets().writes(["/status"]))
        .access(DeclaredAccess::to(reports::GROUP, reports::RESOURCE).watches())
        .access(DeclaredAccess::to("", "pods").watches())
        .access(
            DeclaredAccess::to("coordination.k8s.io", "leases")
                .gets()
                .creates()
                .verbs(["update"])
                .owns(["/spec"]),
        )
}

/// `discovered` stays true from the first process on that has discovered the plug-in. `Ready` is true while all have.
fn shape() -> Shape {
    Shape::new(ApiResource::erase::<Extension>(&()), "extensionUID").latch("discovered")
}

pub(crate) async fn run(cluster: Cluster) -> Result<()> {
    let identity = reports::identity(&cluster)?;
    let shapes = |parent: &ParentRef| (parent.kind == Extension::kind(&())).then(shape);
    let aggregator = Aggregator::new(cluster.client.clone(), AggregatorConfig::new(&identity, shapes));
    let announcing = announce(&cluster, aggregator.parent_changes());
    let aggregating = aggregator.run(cluster.shutdown.clone());
    tokio::select! {
        () = announcing => {}
        () = aggregating => {}
    }
    Ok(())
}

/// An Extension of which no report says anything is known to the aggregator from here.
async fn announce(cluster: &Cluster, changes: ParentChanges) {
    let (group, kind) = (Extension::group(&()), Extension::kind(&()));
    let all = cluster.interest::<Extension>(&());
    let mut events = WatchManager::builder(cluster.client.clone()).watch(all);
    while let Some(event) = events.next().await {
        let reference =
            |name: &str| ParentRef::new(group.as_ref(), kind.as_ref(), name).in_namespace(&cluster.namespace);
        match event.kind {
            EventKind::Applied(object) => changes.changed(reference(object.name())),
            EventKind::Deleted(object) => changes.removed(&reference(object.name())),
            EventKind::Synced => {
                changes.listed(ParentKind::new(group.as_ref(), kind.as_ref()));
                changes.all_announced();
            }
            _ => {}
        }
    }
}
