//! Templates, constraints, Configs and SyncSets are checked before they are stored, so that an error is the answer to
//! `kubectl apply` and not a condition to be found.
//!
//! An object that is being deleted, and an update that does not change the `spec`, are not checked again: otherwise a client
//! could not remove a finalizer from an invalid object that was stored while no pod answered.

use admission_server::{AdmissionRequest, AdmissionResponse};
use constraint_framework::IngestError;
use constraint_framework::api::{
    CONSTRAINTS_GROUP, Constraint, ConstraintTemplate, FieldErrors, TEMPLATES_GROUP,
};
use constraint_framework::driver::Budget;
use constraint_framework::policyset::{Compiler, PolicySet};
use constraint_framework::target::AdmissionTarget;
use serde_json::Value;

use super::lockout::{Lockout, lockout};
use crate::config::{self, CONFIG_NAME};

/// The groups of Configs and SyncSets.
const SYNC_GROUPS: [&str; 2] = ["config.gatekeeper.sh", "syncset.gatekeeper.sh"];

/// Returns whether a request is about an object of the operator's own kinds.
pub(super) fn is_own(request: &AdmissionRequest) -> bool {
    let group = request.kind.group.as_str();
    let is_own = group == TEMPLATES_GROUP || group == CONSTRAINTS_GROUP || SYNC_GROUPS.contains(&group);
    is_own && request.sub_resource.is_empty()
}

/// The warnings about an object of the operator's own kinds; none about others.
///
/// # Errors
/// The refusal, with everything that is wrong.
pub(super) fn check(
    request: &AdmissionRequest,
    compiler: &Compiler,
    policies: &PolicySet,
    budget: &Budget,
) -> Result<Vec<String>, AdmissionResponse> {
    if !is_own(request) {
        return Ok(Vec::new());
    }
    let group = request.kind.group.as_str();
    match changed(request) {
        Ok(None) => Ok(Vec::new()),
        Ok(Some(manifest)) if group == TEMPLATES_GROUP => template(&manifest, compiler),
        Ok(Some(manifest)) if group == CONSTRAINTS_GROUP => constraint(&manifest, compiler, policies, budget),
        Ok(Some(manifest)) => sync(request, &manifest),
        Err(error) => Err(AdmissionResponse::error(format!("the object cannot be read: {error}"))),
    }
}

/// The object, where its `spec` is new.
fn changed(request: &AdmissionRequest) -> serde_json::Result<Option<Value>> {
    if !matches!(request.operation.as_str(), "CREATE" | "UPDATE") {
        return Ok(None);
    }
    let Some(object) = request.object::<Value>()? else { return Ok(None) };
    let old = request.old_object::<Value>()?;
    let is_same = old.is_some_and(|old| old.get("spec") == object.get("spec"));
    let is_deleted = object.pointer("/metadata/deletionTimestamp").is_some_and(|at| !at.is_null());
    Ok(Some(object).filter(|_| !is_same && !is_deleted))
}

fn template(manifest: &Value, compiler: &Compiler) -> Result<Vec<String>, AdmissionResponse> {
    let template = ConstraintTemplate::from_value(manifest).map_err(|errors| refuse(&lines(&errors)))?;
    let compiled = compiler.compile(&template).map_err(|error| refuse(&reasons(&error)))?;
    Ok(compiled.warnings().map(ToString::to_string).collect())
}

fn constraint(
    manifest: &Value,
    compiler: &Compiler,
    policies: &PolicySet,
    budget: &Budget,
) -> Result<Vec<String>, AdmissionResponse> {
    let constraint = Constraint::from_value(manifest).map_err(|errors| refuse(&lines(&errors)))?;
    let checked = compiler.check_constraint(&constraint, &AdmissionTarget);
    checked.map_err(|errors| refuse(&lines(&errors)))?;
    // Without its template it denies nothing yet; its parameters are checked by the API server.
    let alone = match policies.with_only(&constraint) {
        Err(IngestError::MissingTemplate { .. }) => return Ok(Vec::new()),
        alone => alone.map_err(|error| refuse(&reasons(&error)))?,
    };
    let lockout = lockout(&alone, budget);
    if let Some(reason) = lockout.refusal(manifest) {
        return Err(refuse(&[reason]));
    }
    let Lockout { fatal, risky } = lockout;
    let denied = fatal.into_iter().chain(risky);
    Ok(denied.map(|name| format!("this constraint denies {name}")).collect())
}

fn sync(request: &AdmissionRequest, manifest: &Value) -> Result<Vec<String>, AdmissionResponse> {
    if request.kind.kind == "Config" && request.name != CONFIG_NAME {
        return Err(refuse(&[format!("/metadata/name: must be {CONFIG_NAME:?}: other Configs are ignored")]));
    }
    config::check(manifest).map(|()| Vec::new()).map_err(|errors| refuse(&lines(&errors)))
}

fn refuse(reasons: &[String]) -> AdmissionResponse {
    AdmissionResponse::invalid(reasons.join("\n"))
}

fn lines(errors: &FieldErrors) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

fn reasons(error: &IngestError) -> Vec<String> {
    match error {
        IngestError::Invalid(errors) | IngestError::Crd(errors) => lines(errors),
        IngestError::Compile(errors) => errors.iter().map(ToString::to_string).collect(),
        error => vec![error.to_string()],
    }
}
