//! The policies for resources: converted from the older form, with the Rego that they share.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use constraint_framework::api::{CONSTRAINTS_GROUP, ConstraintRef, TEMPLATES_GROUP};
use serde_json::Value;
use walkdir::WalkDir;

use super::asset::ASSETS;
use super::change::RESOURCE_CHANGES;
use super::legacy::{self, Mover};
use crate::api_version;
use crate::cli::manifest::{Manifest, ManifestError, Place, text};

/// The Rego that templates of the older form share.
pub(super) struct Library {
    mover: Mover,
    modules: Vec<String>,
}

// === impl Library ===

impl Library {
    /// Reads the modules of a folder, without the tests among them, which OPA runs.
    pub(super) fn read(folder: Option<&Path>) -> Result<Self, ManifestError> {
        let mover =
            Mover::new().map_err(|error| ManifestError { place: None, message: error.to_string() })?;
        let mut modules = Vec::new();
        for path in folder.map(modules_of).transpose()?.unwrap_or_default() {
            let text =
                std::fs::read_to_string(&path).map_err(|error| unreadable(&path, error.to_string()))?;
            modules.push(mover.moved(&text));
        }
        match folder {
            Some(folder) if modules.is_empty() => {
                Err(unreadable(folder, "no .rego file is in it".to_owned()))
            }
            _ => Ok(Self { mover, modules }),
        }
    }

    /// Gives templates and constraints for resources the framework's form. Returns what it has no field for: the severities, which
    /// are for those who read the summary.
    pub(super) fn convert(
        &self,
        manifests: &mut [Manifest],
        errors: &mut Vec<ManifestError>,
    ) -> BTreeMap<ConstraintRef, String> {
        let mut kinds = BTreeSet::new();
        for manifest in manifests.iter_mut().filter(|manifest| is_of(manifest, TEMPLATES_GROUP)) {
            if !is_for_resources(&manifest.object) {
                continue;
            }
            kinds.extend(
                manifest
                    .object
                    .pointer("/spec/crd/spec/names/kind")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            );
            let converted = legacy::template(manifest.object.take(), &self.mover, &self.modules);
            match converted {
                Ok(template) => manifest.object = template,
                Err(reason) => errors.push(ManifestError::at(manifest, reason)),
            }
        }
        let mut severities = BTreeMap::new();
        for manifest in manifests.iter_mut().filter(|manifest| is_of(manifest, CONSTRAINTS_GROUP)) {
            let kind = text(&manifest.object, "/kind").to_owned();
            if kinds.contains(&kind) {
                manifest.object = legacy::constraint(manifest.object.take());
                match take_severity(&mut manifest.object) {
                    Ok(Some(severity)) => {
                        let name = text(&manifest.object, "/metadata/name").to_owned();
                        severities.insert(ConstraintRef { kind, name }, severity);
                    }
                    Ok(None) => {}
                    Err(reason) => errors.push(ManifestError::at(manifest, reason)),
                }
            }
        }
        severities
    }
}

/// Takes `spec.severity` out of a constraint, and `spec.constraintVersion`, which nothing reads.
fn take_severity(constraint: &mut Value) -> Result<Option<String>, String> {
    let mut spec = constraint.get_mut("spec").and_then(Value::as_object_mut);
    let mut take = |field| spec.as_mut().and_then(|spec| spec.remove(field));
    let _unread = take("constraintVersion");
    match take("severity") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(severity)) => Ok(Some(severity)),
        Some(other) => Err(format!("/spec/severity: must be a string, not {other}")),
    }
}

/// Returns true if a template is for one of the two targets: as the key of a mapping in the older form, by name in the
/// newer one.
fn is_for_resources(template: &Value) -> bool {
    let known = [ASSETS, RESOURCE_CHANGES];
    match template.pointer("/spec/targets") {
        Some(Value::Object(targets)) => targets.keys().any(|target| known.contains(&target.as_str())),
        Some(Value::Array(targets)) => targets.iter().any(|target| known.contains(&text(target, "/target"))),
        _ => false,
    }
}

/// The files of a folder that end in `.rego` and are not tests, in order.
fn modules_of(folder: &Path) -> Result<Vec<PathBuf>, ManifestError> {
    let mut found = Vec::new();
    for entry in WalkDir::new(folder).sort_by_file_name().follow_links(true) {
        let entry = entry.map_err(|error| unreadable(folder, error.to_string()))?;
        let name = entry.file_name().to_string_lossy();
        if entry.file_type().is_file() && name.ends_with(".rego") && !name.ends_with("_test.rego") {
            found.push(entry.into_path());
        }
    }
    Ok(found)
}

fn unreadable(path: &Path, message: String) -> ManifestError {
    ManifestError { place: Some(Place { file: path.to_owned(), ..Place::default() }), message }
}

fn is_of(manifest: &Manifest, group: &str) -> bool {
    api_version::group(&manifest.object) == group
}
