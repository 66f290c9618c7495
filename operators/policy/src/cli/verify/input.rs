//! The files that tests and cases name: objects, and the requests of AdmissionReviews.

use std::path::Path;

use constraint_framework::review::Review;
use constraint_framework::target::AdmissionTarget;
use serde_json::Value;

use crate::cli::load::load_file;
use crate::cli::manifest::{Manifest, text};

use super::strict::unknown_fields;

/// A test must not depend on which of two values of a key counts.
pub(super) fn read(folder: &Path, path: &str) -> Result<Vec<Manifest>, String> {
    let manifests = load_file(&folder.join(path)).map_err(|error| error.to_string())?;
    match manifests.iter().find_map(|manifest| manifest.duplicate.as_ref()) {
        Some(duplicate) => Err(format!("{path}: {duplicate}")),
        None => Ok(manifests),
    }
}

pub(super) fn required(folder: &Path, path: Option<&str>, what: &str) -> Result<Value, String> {
    let path = path.ok_or_else(|| format!("must define {what}"))?;
    let mut manifests = read(folder, path).map_err(|error| format!("reading {what}: {error}"))?;
    match (manifests.pop(), manifests.is_empty()) {
        (Some(manifest), true) => Ok(manifest.object),
        (None, _) => Err(format!("reading {what}: {path} is empty")),
        (Some(_), false) => Err(format!("reading {what}: {path} must hold one object")),
    }
}

pub(super) fn is_admission_review(object: &Value) -> bool {
    text(object, "/kind") == "AdmissionReview" && text(object, "/apiVersion").starts_with("admission.k8s.io/")
}

/// The review of the request that an AdmissionReview holds.
pub(super) fn request(review: &Value) -> Result<Review, String> {
    let unknown = unknown_fields(review);
    if !unknown.is_empty() {
        return Err(format!("invalid AdmissionReview: unknown fields: {}", unknown.join(", ")));
    }
    let request = review.get("request").filter(|request| request.is_object());
    let request = request.ok_or("invalid AdmissionReview: must hold a request")?;
    let objects: Vec<_> = ["object", "oldObject"]
        .into_iter()
        .filter_map(|field| Some((field, request.get(field).filter(|value| !value.is_null())?)))
        .collect();
    if objects.is_empty() {
        return Err("invalid AdmissionReview: must hold an object or an old object".to_owned());
    }
    // A constraint for some kind would not match what has none, and `violations: no` would hold.
    if let Some((field, _)) = objects.iter().find(|(_, object)| text(object, "/kind").is_empty()) {
        return Err(format!("invalid AdmissionReview: /request/{field}/kind is missing"));
    }
    AdmissionTarget.request(&request.to_string()).map_err(|error| error.to_string())
}
