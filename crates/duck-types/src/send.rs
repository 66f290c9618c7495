//! Sends an edit to the API server: the right endpoints, in the right order, with an answer for each way it fails.

use std::fmt;
use std::time::Duration;

use kube::api::Api;
use kube::core::params::Patch;
use kube::core::{ApiResource, DynamicObject, Status};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use tokio::time::timeout;

use crate::path::pointer;
use crate::projection::project;
use crate::view::root;
use crate::{Duck, DuckDiff, DuckError, DuckPatch, DuckType, Endpoint, PatchPrecondition, StaleError};

/// The longest wait for one answer of the API server.
const DEADLINE: Duration = Duration::from_secs(30);

/// The way in which an edit is written.
#[derive(Clone, Copy, Debug)]
pub enum Write<'a> {
    /// A server-side apply of the whole duck: for a manager that owns it.
    Apply {
        /// The resource of the object, which list items do not name.
        resource: &'a ApiResource,
        /// The field manager, one per duck and purpose.
        manager: &'a str,
    },
    /// A JSON patch: for changes of something that others own too.
    Json {
        /// The field manager.
        manager: &'a str,
        /// The tests in the patch.
        precondition: PatchPrecondition,
    },
    /// A merge patch: for simple values.
    Merge {
        /// The field manager.
        manager: &'a str,
    },
}

/// The reason why an edit was not, or not completely, written.
#[non_exhaustive]
#[derive(Debug, Error)]
pub enum ApplyError {
    /// The edit cannot be expressed as a patch.
    #[error(transparent)]
    Duck(#[from] DuckError),
    /// Other managers own fields of the duck.
    #[error("other managers own fields: {}", join(.0))]
    Conflict(Vec<FieldConflict>),
    /// The object was written in the meantime: read it again and repeat the edit.
    #[error("the edit is stale: {0}")]
    Stale(StaleError),
    /// The API server stored less than was sent: the schema does not declare the fields, or a webhook removed them.
    #[error("the API server dropped {}", .0.join(", "))]
    Dropped(Vec<String>),
    /// The first of two endpoints was written and the second was not.
    #[error("written to {written:?}, but not to the other endpoint")]
    Partial {
        /// The endpoint that was written.
        written: Endpoint,
        /// The error of the other.
        source: Box<ApplyError>,
    },
    /// The API server did not answer; the edit may or may not be written.
    #[error("no answer of the API server within {} s", DEADLINE.as_secs())]
    Deadline(#[from] tokio::time::error::Elapsed),
    /// The API server refused.
    #[error("the API server refused the edit")]
    Api(#[from] kube::Error),
}

/// A field that another manager owns.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldConflict {
    /// The field, in the notation of the API server, such as `.status.probe.up`.
    pub field: String,
    /// The owner.
    pub manager: String,
}

impl fmt::Display for FieldConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is owned by {:?}", self.field, self.manager)
    }
}

fn join(conflicts: &[FieldConflict]) -> String {
    conflicts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl<T: DuckType + Serialize + PartialEq> Duck<T> {
    /// Changes the duck and writes the difference to the API server; returns the object as stored.
    ///
    /// # Guarantees
    /// - Nothing outside the duck is written.
    /// - The change goes to the endpoint that accepts it; if both have to be written, the object is before its status.
    /// - An edit that changes nothing sends nothing, except as [`Write::Apply`], which also states ownership.
    /// - At most two patches and one read are sent, each with a deadline of 30 s; a kind without a status subresource, which the API
    ///   server answers with 404, takes two requests more. No patch is repeated after an error.
    ///
    /// # Assumptions
    /// - The object was read from the API server of `api`, in the namespace of `api`.
    /// - It is not cancel-safe: if the future is dropped, either patch may or may not have been written.
    ///
    /// # Errors
    /// [`ApplyError`]. After [`ApplyError::Stale`] nothing was written, unless it is the source of
    /// [`ApplyError::Partial`]; after [`ApplyError::Dropped`] the rest was.
    pub async fn apply(
        &self,
        api: &Api<Self>,
        write: Write<'_>,
        change: impl FnOnce(&mut T),
    ) -> Result<Self, ApplyError> {
        self.send(api, write, &self.edit(change)?).await
    }

    /// Writes as [`Duck::apply`] does, starting from the default where the duck is absent or null.
    ///
    /// # Guarantees
    /// As [`Duck::apply`]. A duck that does not have the shape of `T` is not overwritten.
    ///
    /// # Assumptions
    /// As [`Duck::apply`].
    ///
    /// # Errors
    /// As [`Duck::apply`].
    pub async fn apply_or_default(
        &self,
        api: &Api<Self>,
        write: Write<'_>,
        change: impl FnOnce(&mut T),
    ) -> Result<Self, ApplyError>
    where
        T: Default,
    {
        self.send(api, write, &self.edit_or_default(change)?).await
    }

    /// Writes a difference that [`Duck::edit`] made of this object.
    ///
    /// # Guarantees
    /// As [`Duck::apply`].
    ///
    /// # Assumptions
    /// As [`Duck::apply`]. The difference was made of this object and not of another version of it.
    ///
    /// # Errors
    /// As [`Duck::apply`].
    pub async fn send(&self, api: &Api<Self>, write: Write<'_>, diff: &DuckDiff) -> Result<Self, ApplyError> {
        let patches = match write {
            Write::Apply { resource, manager } => whole(diff.apply(resource, manager)?),
            Write::Json { manager, precondition } => managed(diff.json(precondition)?, manager),
            Write::Merge { manager } => managed(diff.merge()?, manager),
        };
        let mut stored = self.clone();
        let mut written = None;
        for patch in patches {
            let endpoint = patch.endpoint;
            let patch = if written.is_some() { patch.follow(stored.object()) } else { patch };
            match request(api, &patch, written.is_some()).await {
                Ok(answer) => stored = answer.unwrap_or(stored),
                Err(error) => {
                    let error = explain(api, &patch, diff, stored.object(), written, error).await;
                    return Err(match written {
                        Some(written) => ApplyError::Partial { written, source: Box::new(error) },
                        None => error,
                    });
                }
            }
            written = Some(endpoint);
        }
        let dropped = dropped::<T>(diff, stored.object(), matches!(write, Write::Apply { .. }))?;
        if written.is_none() || dropped.is_empty() { Ok(stored) } else { Err(ApplyError::Dropped(dropped)) }
    }
}

fn managed(patches: Vec<DuckPatch>, manager: &str) -> Vec<DuckPatch> {
    patches.into_iter().map(|patch| patch.managed_by(manager)).collect()
}

/// Adds the status to the apply of the object, because an apply is the manager's whole intent: a kind without a status
/// subresource would delete what is left out. One with it ignores the status there.
fn whole(mut applies: Vec<DuckPatch>) -> Vec<DuckPatch> {
    if let [DuckPatch { patch: Patch::Apply(object), .. }, DuckPatch { patch: Patch::Apply(status), .. }] =
        applies.as_mut_slice()
        && let (Some(object), Some(status)) = (object.as_object_mut(), status.get("status"))
    {
        object.insert("status".to_owned(), status.clone());
    }
    applies
}

/// Sends a patch to its endpoint. A kind without a status subresource has its status written with the object; nothing
/// if an apply has done so already.
async fn request<T>(
    api: &Api<Duck<T>>,
    patch: &DuckPatch,
    follows: bool,
) -> Result<Option<Duck<T>>, ApplyError>
where
    Duck<T>: Clone + for<'de> Deserialize<'de> + fmt::Debug,
{
    let DuckPatch { name, params, patch: body, .. } = patch;
    if patch.endpoint == Endpoint::Status {
        match timeout(DEADLINE, api.patch_status(name, params, body)).await? {
            // The answer is the same for an object that is gone and for a subresource that does not exist.
            Err(kube::Error::Api(status)) if status.code == 404 => {
                timeout(DEADLINE, api.get_metadata(name)).await??;
            }
            answer => return Ok(Some(answer?)),
        }
        if follows && matches!(body, Patch::Apply(_)) {
            return Ok(None);
        }
    }
    Ok(Some(timeout(DEADLINE, api.patch(name, params, body)).await??))
}

/// Finds out if a refusal means that another client was faster.
///
/// The API server answers a failed `test` with 422, like an invalid object, and a wrong resourceVersion with 409,
/// like a conflict of managers. So the object is read once more and compared.
async fn explain<T: DuckType>(
    api: &Api<Duck<T>>,
    patch: &DuckPatch,
    diff: &DuckDiff,
    last: &DynamicObject,
    written: Option<Endpoint>,
    error: ApplyError,
) -> ApplyError {
    let ApplyError::Api(kube::Error::Api(status)) = &error else { return error };
    if !matches!(status.code, 404 | 409 | 422) {
        return error;
    }
    let current = match timeout(DEADLINE, api.get_opt(&patch.name)).await {
        Ok(Ok(Some(current))) => current,
        Ok(Ok(None)) => return ApplyError::Stale(StaleError::Deleted),
        _ => return error,
    };
    let stale = match written {
        None => diff.stale::<T>(current.object()),
        Some(_) => diff.stale_after::<T>(last, current.object()),
    };
    let conflicts = conflicts(status);
    match (&patch.patch, stale) {
        (_, Ok(Some(StaleError::Recreated))) => ApplyError::Stale(StaleError::Recreated),
        // An apply does not depend on the version.
        (Patch::Apply(_), _) if !conflicts.is_empty() => ApplyError::Conflict(conflicts),
        (Patch::Apply(_), _) | (_, Ok(None)) => error,
        // Another part of the object was written, which this patch does not test.
        (_, Ok(Some(StaleError::Changed { changes }))) if changes.is_empty() && !patch.tests_version() => {
            error
        }
        (_, Ok(Some(stale))) => ApplyError::Stale(stale),
        (_, Err(mismatch)) => mismatch.into(),
    }
}

/// The owners that a conflict names: `conflict with "prober" using v1` and the field, one cause each.
fn conflicts(status: &Status) -> Vec<FieldConflict> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let conflicts = causes.filter(|cause| cause.reason == "FieldManagerConflict");
    let conflict = conflicts.map(|cause| {
        let manager = cause.message.split('"').nth(1).unwrap_or(&cause.message);
        FieldConflict { field: cause.field.clone(), manager: manager.to_owned() }
    });
    conflict.collect()
}

/// Pointers to what was written and is not in the stored object: the whole duck by an apply, else what has changed.
fn dropped<T: DuckType>(
    diff: &DuckDiff,
    stored: &DynamicObject,
    apply: bool,
) -> Result<Vec<String>, DuckError> {
    let stored = project(T::NAME, T::PLACE.paths(), &*root::<T>(stored)?)?;
    let mut lost = Vec::new();
    let (before, wanted) = if apply { (None, &diff.intent) } else { (Some(&diff.observed), &diff.target) };
    // An apply merges lists with those of others, so their elements have other positions.
    missing(&Sent { before, wanted }, Some(&stored), !apply, &mut Vec::new(), &mut lost);
    Ok(lost)
}

struct Sent<'a> {
    before: Option<&'a Value>,
    wanted: &'a Value,
}

/// The elements of lists are compared one by one if `lists` says so. Defaults may be added anywhere, and nulls, empty
/// objects and empty lists may go.
fn missing(
    sent: &Sent<'_>,
    found: Option<&Value>,
    lists: bool,
    at: &mut Vec<String>,
    lost: &mut Vec<String>,
) {
    let mut below = |step: &str, sent: &Sent<'_>, found: Option<&Value>| {
        at.push(step.to_owned());
        missing(sent, found, lists, at, lost);
        at.pop();
    };
    match (sent.wanted, found) {
        (wanted, _) if sent.before == Some(wanted) => {}
        (Value::Object(wanted), Some(Value::Object(found))) => {
            for (name, value) in wanted.iter().filter(|(_, value)| !value.is_null()) {
                let before = sent.before.and_then(|before| before.get(name));
                below(name, &Sent { before, wanted: value }, found.get(name));
            }
        }
        (Value::Array(wanted), Some(Value::Array(found))) if lists && wanted.len() == found.len() => {
            for (index, (value, found)) in wanted.iter().zip(found).enumerate() {
                below(&index.to_string(), &Sent { before: None, wanted: value }, Some(found));
            }
        }
        (Value::Null, _) | (_, Some(_)) => {}
        (Value::Object(wanted), None) if wanted.is_empty() => {}
        (Value::Array(wanted), None) if wanted.is_empty() => {}
        _ => lost.push(pointer(&*at)),
    }
}
