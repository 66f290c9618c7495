//! The plug-in: ranks by price, for callers of its own user.

use std::path::Path;

use anyhow::Result;
use examples::Cluster;
use examples::ranking::{Answer, Question};
use tokio_util::task::TaskTracker;

use crate::socket;

pub(crate) async fn run(cluster: Cluster, folder: &Path, user: u32) -> Result<()> {
    let listener = socket::listen(folder)?;
    cluster.say("listens");
    let calls = TaskTracker::new();
    while let Some(accepted) = cluster.shutdown.run_until_cancelled(listener.accept()).await {
        let (stream, _) = accepted?;
        let cluster = cluster.clone();
        calls.spawn(async move {
            if let Err(error) = socket::serve(stream, user, cheapest).await {
                cluster.say(format!("{error:#}"));
            }
        });
    }
    // Asked to end: the kubelet stops sidecars after the main container, so only calls that have begun are left.
    calls.close();
    calls.wait().await;
    Ok(())
}

fn cheapest(question: &Question) -> Answer {
    let mut zones = question.zones.clone();
    zones.sort_by_key(|zone| zone.cents);
    Answer { zones: zones.into_iter().map(|zone| zone.name).collect() }
}
