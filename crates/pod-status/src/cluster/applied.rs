//! Entries that pods have applied to a parent themselves, of which some may be of dead pods.

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use super::{Cluster, Written, count_write, not_found};
use crate::membership::Count;
use crate::pace::answered_patiently;
use crate::report::Member;
use crate::vote::{Parent, Reported};

/// The entries that pods have applied to a parent themselves.
pub(super) struct Applied {
    pub(super) reported: Vec<Reported>,
    /// Runs of pods that exist, although no registration of them is known: they are waited for.
    pub(super) unregistered: Vec<Member>,
    /// The indices of the entries of pods that do not exist.
    pub(super) dead: Vec<usize>,
}

impl Cluster {
    /// Separates the entries of dead pods from those of pods that count.
    pub(super) async fn sort_applied(
        &self,
        count: &Count,
        entries: Vec<Option<Reported>>,
    ) -> kube::Result<Applied> {
        let mut applied = Applied { reported: Vec::new(), unregistered: Vec::new(), dead: Vec::new() };
        for (index, entry) in entries.into_iter().enumerate() {
            let Some(reported) = entry else { continue };
            let run = &reported.member;
            let is_pod = |known: &Member| known.id == run.id && known.uid == run.uid;
            let is_known = count.members.iter().chain(&count.excluded).any(is_pod);
            match &run.uid {
                _ if is_known => {}
                Some(uid) if !self.is_pod_gone(&run.id, uid).await? => applied.unregistered.push(run.clone()),
                _ => applied.dead.push(index),
            }
            applied.reported.push(reported);
        }
        Ok(applied)
    }

    /// Removes entries of dead pods, which no other client does: their field managers have ended with them.
    pub(super) async fn remove_applied(
        &self,
        api: &Api<DynamicObject>,
        object: &DynamicObject,
        parent: &Parent,
        dead: &[usize],
    ) -> kube::Result<Written> {
        let entries = parent.stored.status.get("byPod").and_then(Value::as_array);
        let entries = entries.into_iter().flatten().enumerate();
        let rest: Vec<&Value> =
            entries.filter(|(index, _)| !dead.contains(index)).map(|(_, entry)| entry).collect();
        let body = json!({
            "metadata": {"resourceVersion": object.metadata.resource_version},
            "status": {"byPod": rest},
        });
        let params = PatchParams { field_manager: Some(self.manager.clone()), ..PatchParams::default() };
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let patch = Patch::Merge(&body);
        let written = answered_patiently(|| api.patch_status(name, &params, &patch)).await;
        count_write("patch", &written);
        match written {
            Ok(_) => {
                metrics::counter!("pod_status_orphans_swept_total").increment(1);
                tracing::info!(name, "removed the entries of pods that are gone");
                Ok(Written::Stale)
            }
            Err(kube::Error::Api(status)) if status.is_conflict() => Ok(Written::Stale),
            Err(kube::Error::Api(status)) if status.code == 404 => not_found(api, parent).await,
            Err(error) => Err(error),
        }
    }

    /// Returns true if every run that is registered now was known when the runs were counted.
    pub(super) async fn is_complete(&self, count: &Count) -> kube::Result<bool> {
        let registered = self.registrations().await?;
        let known: Vec<&Member> = count.members.iter().chain(&count.excluded).chain(&count.gone).collect();
        Ok(registered
            .iter()
            .all(|registration| known.iter().any(|known| known.is_same_run(&registration.run))))
    }
}
