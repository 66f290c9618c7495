//! Tests whose template is a ValidatingAdmissionPolicy and whose constraint is its binding; parameters stand in the
//! binding's file, or in the inventory of a case.

use std::path::{Path, PathBuf};

use constraint_framework::review::{Document, Review, Verdict};
use serde_json::Value;

use crate::cli::explain::inner;
use crate::cli::manifest::Manifest;
use crate::cli::native::{KIND, NativePolicies, ReadPolicies, creation_of, is_native_kind};
use crate::cli::suite::{Case, Test};

use super::RunOptions;
use super::input::{is_admission_review, read, request, required};
use super::judged::Judged;

/// A policy, its bindings and what stands beside them.
pub(super) struct NativeTest {
    /// The file of the policy.
    path: PathBuf,
    manifests: Vec<Manifest>,
}

/// Returns true if a template is one of Kubernetes' own policies.
pub(super) fn is_policy(template: &Value) -> bool {
    template.get("kind").and_then(Value::as_str) == Some(KIND)
}

impl NativeTest {
    /// Reads the policy and the binding of a test.
    ///
    /// # Errors
    /// Everything that keeps the policy from judging.
    pub(super) fn read(folder: &Path, test: &Test) -> Result<Self, String> {
        let mut manifests = Vec::new();
        for path in [&test.template, &test.constraint] {
            let path = path.as_deref().ok_or("must define template and constraint")?;
            manifests.extend(read(folder, path)?);
        }
        let path = folder.join(test.template.as_deref().unwrap_or_default());
        let test = Self { path, manifests };
        test.policies(&[])?;
        Ok(test)
    }

    fn policies(&self, more: &[Manifest]) -> Result<ReadPolicies, String> {
        let all: Vec<&Manifest> = self.manifests.iter().chain(more).collect();
        let read = ReadPolicies::of(&all);
        match read.errors.as_slice() {
            [] => Ok(read),
            errors => Err(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
        }
    }

    /// Judges a case: an object as if it were created, or the request of an AdmissionReview.
    pub(super) fn run_case(
        &self,
        folder: &Path,
        case: &Case,
        options: &RunOptions<'_>,
    ) -> Result<Judged, String> {
        let mut inventory = Vec::new();
        for path in &case.inventory {
            inventory.extend(read(folder, path)?);
        }
        let policies = self.policies(&inventory)?.policies;
        let path = case.object.as_deref().ok_or("invalid Case: must define object")?;
        let object = required(folder, Some(path), "object")?;
        let review = if is_admission_review(&object) {
            request(&object)?
        } else {
            let document =
                Document::from_value(&object).map_err(|error| format!("not a Kubernetes object: {error}"))?;
            if is_native_kind(document.group(), document.kind()) {
                return Judged::of(case, &Verdict::default());
            }
            let namespaces =
                inventory.iter().filter_map(|manifest| Document::from_value(&manifest.object).ok());
            let mut namespaces = namespaces.filter(Document::is_namespace);
            let own = namespaces.find(|namespace| namespace.name() == document.namespace());
            creation_of(&document, own.as_ref())?
        };
        let mut judged = Judged::of(case, &Verdict::new(policies.violations_of(&review)))?;
        if options.trace || options.coverage.is_some() {
            self.explain(&policies, &review, options, &mut judged);
        }
        Ok(judged)
    }

    /// Notes how the policy judged a request, where that was asked for.
    fn explain(
        &self,
        policies: &NativePolicies,
        review: &Review,
        options: &RunOptions<'_>,
        judged: &mut Judged,
    ) {
        for (mut explanation, policy) in policies.explain_request(None, review) {
            if let Some(coverage) = options.coverage {
                coverage.add(&self.path, &explanation);
            }
            if options.trace {
                policy.locate(&mut explanation);
                judged.trace.extend(inner(&explanation).lines().map(str::to_owned));
            }
        }
    }
}
