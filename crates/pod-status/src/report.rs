//! The report objects of a pod, and the CustomResourceDefinition that declares them.
//!
//! A run has one *registration*, which declares the run, and a growing number of *shards*, which hold its
//! entries. It is the only writer of all of them. None has a `status`, least of all a
//! `status.observedGeneration`: tools that judge health by it would compare it with the report's own
//! generation, and show "in progress" for ever.

use std::collections::BTreeSet;

use kube::core::{ApiResource, GroupVersionKind};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bounds;
use crate::parent::ParentKey;
use crate::readiness::ErrorClass;

/// The shard number of the registration.
pub(crate) const REGISTRATION: u32 = 0;

/// Label with the pod's name, as [`crate::name::label_value`].
pub const POD_LABEL: &str = "status.webtroller.dev/pod";
/// Label with the shard number; `0` is the registration.
pub const SHARD_LABEL: &str = "status.webtroller.dev/shard";

/// Longest message of an error, in bytes.
const MESSAGE_LIMIT: usize = 256;
/// Longest message of an error in an entry that was shortened, in bytes.
const SHORT_MESSAGE: usize = 128;
/// Longest code and longest location of an error, in bytes.
const WORD_LIMIT: usize = 128;
/// Most errors of one entry.
const ERRORS_LIMIT: usize = 16;
/// The code of the error in place of what did not fit.
const TOO_LARGE: &str = "report_too_large";

/// The kind of the report objects. The host chooses, so that two operators in one cluster do not meet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReportKind {
    /// The API group of the report objects.
    pub group: String,
    /// The served and stored version, such as `v1alpha1`.
    pub version: String,
    /// The kind, such as `PodReport`.
    pub kind: String,
    /// Plural name, as in the URL.
    pub plural: String,
}

impl Default for ReportKind {
    /// `podreports.status.webtroller.dev`, version `v1alpha1`.
    fn default() -> Self {
        Self {
            group: "status.webtroller.dev".to_owned(),
            version: "v1alpha1".to_owned(),
            kind: "PodReport".to_owned(),
            plural: "podreports".to_owned(),
        }
    }
}

impl ReportKind {
    /// Returns a kind of the host's own.
    pub fn new(
        group: impl Into<String>,
        version: impl Into<String>,
        kind: impl Into<String>,
        plural: impl Into<String>,
    ) -> Self {
        Self { group: group.into(), version: version.into(), kind: kind.into(), plural: plural.into() }
    }

    /// Returns the kind as `kube` requires it.
    pub fn api_resource(&self) -> ApiResource {
        let gvk = GroupVersionKind::gvk(&self.group, &self.version, &self.kind);
        ApiResource::from_gvk_with_plural(&gvk, &self.plural)
    }
}

/// The content of one report object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PodReport {
    /// The run that reports.
    pub pod: Member,
    /// The number of the object; 0 is the registration and has no entries.
    pub shard: u32,
    /// One entry for each parent in this shard.
    #[serde(default)]
    pub entries: Vec<Entry>,
}

/// One run of one reporting process, as it describes itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Member {
    /// The pod's name.
    pub id: String,
    /// The pod's uid; nothing for a process outside any pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Different in every run of the process.
    pub incarnation: String,
    /// The uses that the process makes of what it ingests.
    #[serde(default)]
    pub operations: BTreeSet<String>,
    /// Seconds after which a heartbeat that does not change means that the process does not serve any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u64>,
    /// A number that changes with every heartbeat. Not a time: clocks of two machines are not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<u64>,
    /// The process has reported that it does not serve any more. It is not waited for, although its pod may
    /// exist for a while.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// The process serves although it has given up something. A parent about which it has no entry is one that it serves
    /// without, such as a constraint whose template it cannot ingest. Any other run without an entry is joining.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
}

impl Member {
    /// Returns a run of the pod `id`, without operations.
    pub fn new(id: impl Into<String>, incarnation: impl Into<String>) -> Self {
        Self { id: id.into(), incarnation: incarnation.into(), ..Self::default() }
    }

    /// Sets the operations that the run performs, such as `webhook`.
    #[must_use]
    pub fn operations(mut self, operations: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.operations = operations.into_iter().map(Into::into).collect();
        self
    }

    /// Returns true if the two are the same run of the same process.
    pub fn is_same_run(&self, other: &Self) -> bool {
        self.id == other.id && self.uid == other.uid && self.incarnation == other.incarnation
    }
}

/// The outcome of one pod for one parent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Entry {
    /// The parent that was ingested.
    #[serde(flatten)]
    pub parent: ParentKey,
    /// The generation of the parent that was ingested, or failed to be.
    pub generation: i64,
    /// The errors that kept it from being ingested; empty when it was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<PodError>,
    /// The generation that is in force, where the rollout is coordinated and it differs from the ingested one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforcing: Option<i64>,
    /// Further fields of the `byPod` entry, see [`Entry::detail_as`].
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(crate) detail: Value,
    /// Grows with every change in a run. While an entry moves from one shard to another there are two: the
    /// greater number counts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sequence: u64,
}

impl Entry {
    /// Returns an outcome without errors.
    pub fn new(parent: ParentKey, generation: i64) -> Self {
        Self { parent, generation, errors: Vec::new(), enforcing: None, detail: Value::Null, sequence: 0 }
    }

    /// Sets the errors of the ingestion; an entry with any is not ingested.
    #[must_use]
    pub fn errors(mut self, errors: Vec<PodError>) -> Self {
        self.errors = errors;
        self
    }

    /// Sets the further fields of the `byPod` entry: a value that serializes to an object of at most 4 KiB, or `()`.
    /// Anything else is left out, and logged.
    #[must_use]
    pub fn detail(mut self, detail: impl Serialize) -> Self {
        self.detail = bounds::detail(&detail);
        self
    }

    /// Returns the further fields of the `byPod` entry, whose meaning is the host's; nothing if there are none.
    ///
    /// ```
    /// # use pod_status::{Entry, ParentKey, ParentRef};
    /// #[derive(serde::Deserialize, serde::Serialize)]
    /// struct Detail {
    ///     enforced: bool,
    /// }
    ///
    /// let key = ParentKey::new(ParentRef::new("example.dev", "Policy", "p"), "uid");
    /// let entry = Entry::new(key, 1).detail(Detail { enforced: true });
    /// assert!(entry.detail_as::<Detail>()?.is_some_and(|detail| detail.enforced));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the fields are not those of a `T`: another version of the host may have written them.
    pub fn detail_as<T: DeserializeOwned>(&self) -> Result<Option<T>, serde_json::Error> {
        (!self.detail.is_null()).then(|| T::deserialize(&self.detail)).transpose()
    }

    /// Shortens an entry that the API server refuses even alone: of its detail the fields that are `true`, `false` or a number are
    /// left, and of its errors the first, which says so. It claims the same.
    pub(crate) fn shortened(&self) -> Self {
        let mut short = self.clone();
        if let Value::Object(fields) = &mut short.detail {
            fields.retain(|_, field| field.is_boolean() || field.is_number());
        }
        // A permanent error decides about the condition: it stays.
        short.errors.sort_by_key(|error| !error.class.is_permanent());
        short.errors.truncate(1);
        for error in &mut short.errors {
            bounds::cut(&mut error.message, SHORT_MESSAGE);
            error.message.push_str(" (shortened: the API server refuses the whole report as too large)");
        }
        short
    }

    /// Reduces an entry that the API server refuses even if it is shortened to one that claims nothing. It ends by itself if `class`
    /// is transient.
    pub(crate) fn smallest(&self, class: ErrorClass) -> Self {
        let message = "the API server refuses the report of this pod as too large; shorten names and details";
        let error = PodError::new(TOO_LARGE, message).class(class);
        Self { errors: vec![error], detail: Value::Null, enforcing: None, ..self.clone() }
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// One reason why a pod could not ingest a parent. The names are those of Gatekeeper's `byPod[].errors[]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PodError {
    /// A short name for the kind of error, such as `ingest_error`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// The error, and what to do.
    pub message: String,
    /// A JSON pointer into the parent, or a source position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The class, which states if the pod tries again by itself. Not a field of `byPod`: it decides the reason of the
    /// conditions.
    #[serde(default, skip_serializing_if = "ErrorClass::is_permanent")]
    pub class: ErrorClass,
}

impl PodError {
    /// Returns a permanent error without a location.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), location: None, class: ErrorClass::Permanent }
    }

    /// Sets the class. If all errors of all pods are transient, the reason of `Ingested` is `IngestRetried` in place of
    /// `IngestError`, and the parent is `Reconciling`. A permanent one makes it `Stalled`, at which Flux gives up: give it only to
    /// what a user has to correct.
    #[must_use]
    pub fn class(mut self, class: ErrorClass) -> Self {
        self.class = class;
        self
    }

    /// Sets the place in the parent that the error is about.
    #[must_use]
    pub fn at(mut self, location: impl Into<String>) -> Self {
        self.location = Some(location.into());
        self
    }

    /// The error of a failure for which the host has given none. Nothing says that it is permanent.
    pub(crate) fn without_reason() -> Self {
        Self::new("ingest_error", "failed without a reason").class(ErrorClass::Transient)
    }

    /// `errors`, cut to 16 of them, with 256 bytes of message each.
    pub(crate) fn bounded(mut errors: Vec<Self>) -> Vec<Self> {
        errors.truncate(ERRORS_LIMIT);
        for error in &mut errors {
            bounds::cut(&mut error.message, MESSAGE_LIMIT);
            bounds::cut(&mut error.code, WORD_LIMIT);
            if let Some(location) = &mut error.location {
                bounds::cut(location, WORD_LIMIT);
            }
        }
        errors
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn errors_are_bounded(message in "\\PC{0,400}", location in "\\PC{0,400}", count in 0..40usize) {
            let error = PodError::new("code", message).at(location);
            let bounded = PodError::bounded(vec![error; count]);
            prop_assert!(bounded.len() <= ERRORS_LIMIT);
            for error in bounded {
                prop_assert!(error.message.len() <= MESSAGE_LIMIT);
                prop_assert!(error.location.unwrap().len() <= WORD_LIMIT);
            }
        }
    }
}
