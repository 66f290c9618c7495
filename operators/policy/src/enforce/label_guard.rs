//! The guard of the label that takes a Namespace out of enforcement.

use std::collections::BTreeMap;

use admission_server::{AdmissionHandler, AdmissionRequest, AdmissionResponse};
use futures::future::BoxFuture;
use serde::Deserialize;

use super::is_namespace;

/// Namespaces with this label are not sent to the webhook.
const IGNORE_LABEL: &str = "admission.gatekeeper.sh/ignore";

/// The Namespaces that may carry the label `admission.gatekeeper.sh/ignore`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExemptNamespaces {
    /// Whole names.
    pub names: Vec<String>,
    /// Beginnings of names.
    pub prefixes: Vec<String>,
    /// Ends of names.
    pub suffixes: Vec<String>,
}

impl ExemptNamespaces {
    /// Returns whether a Namespace of this name may carry the label. Empty entries match nothing.
    pub fn contains(&self, name: &str) -> bool {
        self.names.iter().any(|exempt| !exempt.is_empty() && exempt == name)
            || self.prefixes.iter().any(|prefix| !prefix.is_empty() && name.starts_with(prefix.as_str()))
            || self.suffixes.iter().any(|suffix| !suffix.is_empty() && name.ends_with(suffix.as_str()))
    }
}

/// The handler of `/v1/admitlabel`: a Namespace that is not exempt must not carry the ignore label, or any user who may edit a
/// Namespace could take it out of enforcement.
#[derive(Clone, Debug)]
pub struct LabelGuard(pub ExemptNamespaces);

#[derive(Deserialize)]
struct Labelled {
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
struct Metadata {
    /// The API server sends the name of a Namespace that it is to generate in neither place; then none is exempt.
    #[serde(default)]
    name: String,
    #[serde(default)]
    labels: Option<BTreeMap<String, Option<String>>>,
}

impl LabelGuard {
    fn judge(&self, request: &AdmissionRequest) -> AdmissionResponse {
        if !is_namespace(request) || request.operation == "DELETE" {
            return AdmissionResponse::allow();
        }
        let object = match request.object::<Labelled>() {
            Ok(Some(object)) => object.metadata,
            Ok(None) => return AdmissionResponse::error("the request holds no Namespace"),
            Err(error) => return AdmissionResponse::error(format!("the Namespace cannot be read: {error}")),
        };
        let labels = object.labels.unwrap_or_default();
        if !labels.contains_key(IGNORE_LABEL) || self.0.contains(&object.name) {
            return AdmissionResponse::allow();
        }
        // Gatekeeper's words up to the semicolon.
        AdmissionResponse::deny(format!(
            "Only exempt namespace can have the {IGNORE_LABEL} label; start webtroller with --exempt-namespace={} (in the chart: controllerManager.exemptNamespaces)",
            object.name
        ))
    }
}

impl AdmissionHandler for LabelGuard {
    fn admit(&self, request: AdmissionRequest) -> BoxFuture<'_, AdmissionResponse> {
        Box::pin(std::future::ready(self.judge(&request)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_prefixes_and_suffixes_exempt_and_empty_ones_do_not() {
        let strings = |all: &[&str]| all.iter().map(|&text| text.to_owned()).collect();
        let exempt = ExemptNamespaces {
            names: strings(&["kube-system", ""]),
            prefixes: strings(&["team-", ""]),
            suffixes: strings(&["-ci", ""]),
        };
        for (name, expected) in [
            ("kube-system", true),
            ("kube-systems", false),
            ("team-a", true),
            ("a-team-a", false),
            ("a-ci", true),
            ("ci", false),
            ("", false),
        ] {
            assert_eq!(exempt.contains(name), expected, "{name}");
        }
    }
}
