//! An object to be judged, and its name in output.

use constraint_framework::expansion::Resultant;
use constraint_framework::review::Document;
use constraint_framework::target::{AdmissionTarget, Target};

use crate::cli::manifest::Place;
use crate::cli::native::is_native_kind;

use super::kinds;

/// The identity of a resource, where an object has its kind and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct ResourceId {
    /// The target whose policies judge it.
    pub(in crate::cli) target: &'static str,
    pub(in crate::cli) r#type: String,
    pub(in crate::cli) name: String,
}

/// An object to judge, and what it generates.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Subject {
    pub(in crate::cli) place: Place,
    pub(in crate::cli) object: Document,
    pub(in crate::cli) resultants: Vec<Resultant>,
    /// Set where it is not a Kubernetes object.
    pub(in crate::cli) resource: Option<ResourceId>,
}

impl Subject {
    /// Returns true if it is an object, and not a policy of any kind.
    pub(in crate::cli) fn is_no_policy(&self) -> bool {
        let group = self.object.group();
        !kinds::is_of_gatekeeper(group) && !is_native_kind(group, self.object.kind())
    }

    /// The target whose policies judge it.
    pub(in crate::cli) fn target(&self) -> &str {
        self.resource.as_ref().map_or(AdmissionTarget.name(), |resource| resource.target)
    }

    /// `apps/v1/Deployment`, or the type of a resource.
    pub(in crate::cli) fn type_name(&self) -> String {
        match &self.resource {
            Some(resource) => resource.r#type.clone(),
            None => format!("{}/{}", self.object.api_version(), self.object.kind()),
        }
    }

    /// The name, with the namespace if there is one.
    pub(in crate::cli) fn full_name(&self) -> String {
        match (&self.resource, self.object.namespace()) {
            (Some(resource), _) => resource.name.clone(),
            (None, "") => self.object.name().to_owned(),
            (None, namespace) => format!("{namespace}/{}", self.object.name()),
        }
    }
}
