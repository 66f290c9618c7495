//! The operator's own CRDs: installed at the start, and served before anything is watched.

use futures::future::try_join_all;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::Value;

use super::FIELD_MANAGER;
use super::crds::{Observed, REVISION, REVISION_ANNOTATION};
use crate::api_error::reason;
use crate::established::until_established;
use crate::own_watch::crd_resource;

const MANIFESTS: [&str; 4] = [
    include_str!("../../manifests/crds/constrainttemplates.yaml"),
    include_str!("../../manifests/crds/syncsets.yaml"),
    include_str!("../../manifests/crds/configs.yaml"),
    include_str!("../../manifests/crds/breakglasses.yaml"),
];

/// An own CRD that is not there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The API server refused, or could not be reached.
    #[error("the CRD {name} could not be installed: {reason}")]
    Apply {
        /// Its name.
        name: String,
        /// The API server's answer, or the failure to reach it.
        reason: String,
    },
    /// The API server took it and does not serve it.
    #[error("the CRD {name} was installed but is not served: look at its conditions")]
    NotEstablished {
        /// Its name.
        name: String,
    },
    /// A manifest inside the binary is broken.
    #[error("a manifest of this binary cannot be read: {0}")]
    Manifest(String),
}

/// The CRDs of templates, sync sets, configs, suspensions and reports, as this release has them.
#[derive(Clone, Debug)]
pub struct OwnCrds(Vec<OwnCrd>);

/// One of them.
#[derive(Clone, Debug)]
pub(super) struct OwnCrd {
    pub(super) name: String,
    object: DynamicObject,
    /// Uid and generation of the CRD as this pod last left it.
    pub(super) settled: Option<(String, i64)>,
}

/// Returns what changes with each change of an object that is not one of its status.
pub(super) fn version(object: &DynamicObject) -> (String, i64) {
    (object.uid().unwrap_or_default(), object.metadata.generation.unwrap_or_default())
}

impl OwnCrds {
    /// Reads the CRDs of templates, sync sets, configs, suspensions and `more`.
    ///
    /// # Errors
    /// [`InstallError::Manifest`]
    pub fn new(more: impl IntoIterator<Item = Value>) -> Result<Self, InstallError> {
        let mut manifests = Vec::new();
        for manifest in MANIFESTS {
            let documents = go_compat::sigs_yaml::documents(manifest)
                .map_err(|error| InstallError::Manifest(error.to_string()))?;
            manifests.extend(documents.into_iter().map(|document| document.value));
        }
        manifests.extend(more);
        manifests.into_iter().map(OwnCrd::new).collect::<Result<_, _>>().map(Self)
    }

    /// Installs them and waits until they are served. Installing them again changes nothing.
    ///
    /// # Errors
    /// See [`InstallError`].
    ///
    /// # Guarantees
    /// Cancel-safe: what was installed stays.
    pub async fn install(&mut self, client: &kube::Client) -> Result<(), InstallError> {
        try_join_all(self.0.iter_mut().map(|crd| crd.install(client))).await?;
        Ok(())
    }

    pub(super) fn into_each(self) -> impl Iterator<Item = OwnCrd> {
        self.0.into_iter()
    }
}

impl OwnCrd {
    fn new(manifest: Value) -> Result<Self, InstallError> {
        let mut object: DynamicObject =
            serde_json::from_value(manifest).map_err(|error| InstallError::Manifest(error.to_string()))?;
        object.annotations_mut().insert(REVISION_ANNOTATION.to_owned(), REVISION.to_string());
        Ok(Self { name: object.name_any(), object, settled: None })
    }

    async fn install(&mut self, client: &kube::Client) -> Result<(), InstallError> {
        let applied = self.apply(client).await;
        let name = self.name.clone();
        let (crd, _) =
            applied.map_err(|error| InstallError::Apply { name: name.clone(), reason: reason(&error) })?;
        match until_established(client, &crd).await {
            true => Ok(()),
            false => Err(InstallError::NotEstablished { name }),
        }
    }

    /// Applies the CRD, and returns it as it is then, and whether that changed it. One that a newer release has written
    /// is left alone, so that two releases do not undo each other's writes during an upgrade.
    pub(super) async fn apply(&mut self, client: &kube::Client) -> kube::Result<(DynamicObject, bool)> {
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &crd_resource());
        let existing = api.get_opt(&self.name).await?;
        let before = existing.as_ref().map(version);
        let newer = existing.filter(|crd| Observed::of(crd).is_of_newer_release());
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        let crd = match newer {
            Some(crd) => crd,
            None => api.patch(&self.name, &parameters, &Patch::Apply(&self.object)).await?,
        };
        let after = version(&crd);
        self.settled = Some(after.clone());
        Ok((crd, before != Some(after)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_with_a_status_is_in_progress_before_a_pod_has_looked() {
        let mut kinds = Vec::new();
        for OwnCrd { name, object, .. } in OwnCrds::new([]).unwrap().into_each() {
            let crd = serde_json::to_value(&object).unwrap();
            let found = schema_merge::validate_crd(&crd);
            let refused: Vec<_> = found.iter().filter(|found| found.is_error()).collect();
            assert!(refused.is_empty(), "{name}: {refused:?}");
            let versions = crd["spec"]["versions"].as_array().unwrap().iter();
            for version in versions.filter(|version| version["subresources"]["status"].is_object()) {
                let status = &version["schema"]["openAPIV3Schema"]["properties"]["status"];
                assert_eq!(status["default"], json!({"observedGeneration": -1}), "{name}");
                assert!(status["properties"]["summary"].is_object(), "{name}");
                kinds.push(name.clone());
            }
        }
        kinds.dedup();
        let expected = ["constrainttemplates.templates", "syncsets.syncset", "configs.config"];
        assert_eq!(kinds, expected.map(|name| format!("{name}.gatekeeper.sh")));
    }
}
