//! Resources that are not Kubernetes objects, and the policies for them: assets of Cloud Asset Inventory and changes of
//! Terraform plans, in the public formats of Config Validator.
//!
//! Its two targets, `validation.gcp.forsetisecurity.org` and `validation.resourcechange.terraform.cloud.google.com`, are added to
//! the constraint framework here; templates and constraints of the older form are converted when they are read.

mod asset;
mod change;
mod globs;
mod legacy;
mod library;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use constraint_framework::api::ConstraintRef;
use constraint_framework::driver::{CelDriver, Driver, RegoDriver};
use constraint_framework::policyset::Compiler;
use constraint_framework::review::{Document, Review};
use constraint_framework::target::{AdmissionTarget, Target};
use serde_json::Value;

use super::assemble::{ResourceId, Subject};
use super::manifest::{Manifest, ManifestError, ManifestErrors, Place};

use asset::AssetTarget;
use change::ResourceChangeTarget;
use library::Library;

/// The resources that are taken out of manifests before the others are assembled.
#[derive(Debug, Default)]
pub(super) struct Resources {
    pub(super) subjects: Vec<Subject>,
    /// `spec.severity` of the constraints for resources.
    pub(super) severities: BTreeMap<ConstraintRef, String>,
}

/// The compiler of policies for resources and for Kubernetes objects.
pub(super) fn compiler() -> Compiler {
    Compiler::new(
        [Arc::new(AdmissionTarget) as Arc<dyn Target>, Arc::new(AssetTarget), Arc::new(ResourceChangeTarget)],
        [Arc::new(CelDriver) as Arc<dyn Driver>, Arc::new(RegoDriver)],
    )
}

/// Returns true if a document is an asset. One with the fields of another export is, too: it is refused, and not judged
/// as an object.
pub(super) fn is_asset(document: &Value) -> bool {
    let has = |field: &str| document.get(field).is_some();
    (has("asset_type") || has("assetType")) && !has("apiVersion")
}

impl Resources {
    /// Takes resources out of manifests, and gives the policies for them the framework's form. `library` is a folder with the Rego
    /// that templates import as `data.validator`.
    ///
    /// # Errors
    /// Everything that cannot be used.
    pub(super) fn take(
        manifests: &mut Vec<Manifest>,
        library: Option<&Path>,
    ) -> Result<Self, ManifestErrors> {
        let mut resources = Self::default();
        let mut errors = Vec::new();
        for mut manifest in std::mem::take(manifests) {
            let found = match &manifest.object {
                object if is_asset(object) => {
                    asset::resource(manifest.object.take()).map(|found| vec![found])
                }
                object if change::is_terraform(object) => change::resources(manifest.object.take()),
                _ => {
                    manifests.push(manifest);
                    continue;
                }
            };
            match found {
                Ok(found) => {
                    resources.subjects.extend(found.into_iter().map(|found| subject(&manifest, found)))
                }
                Err(reason) => errors.push(ManifestError::at(&manifest, reason)),
            }
        }
        match Library::read(library) {
            Ok(library) => resources.severities = library.convert(manifests, &mut errors),
            Err(error) => errors.push(error),
        }
        if errors.is_empty() { Ok(resources) } else { Err(errors.into()) }
    }
}

fn subject(manifest: &Manifest, (id, object): (ResourceId, Document)) -> Subject {
    let place = Place::of(manifest);
    Subject { place, object, resultants: Vec::new(), resource: Some(id) }
}

impl ResourceId {
    /// The review of the resource. Policies see its fields in `input.review`.
    pub(super) fn review(&self, object: Document) -> Review {
        let fields = object.json().ok().and_then(Value::as_object).cloned().unwrap_or_default();
        Review::builder(self.target).object(object).attributes(fields).build()
    }
}

#[cfg(test)]
mod tests;
