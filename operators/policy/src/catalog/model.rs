//! A catalogue as gator writes and reads it: `PolicyCatalog` of `gator.gatekeeper.sh/v1alpha1`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

pub(super) const API_VERSION: &str = "gator.gatekeeper.sh/v1alpha1";
pub(super) const KIND: &str = "PolicyCatalog";

/// The most bundles that inherit from each other in a row.
const DEEPEST: usize = 10;

static VERSION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^v?\d+\.\d+\.\d+(-[\w.]+)?(\+[\w.]+)?$").ok());

/// Policies, and bundles of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Catalog {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) metadata: Metadata,
    pub(super) bundles: Vec<Bundle>,
    pub(super) policies: Vec<Policy>,
}

/// The metadata of a catalogue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Metadata {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) updated_at: String,
    pub(super) repository: String,
}

/// Policies that belong together, with constraints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Bundle {
    pub(super) name: String,
    pub(super) description: String,
    /// Another bundle, whose policies come first.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) inherits: String,
    pub(super) policies: Vec<String>,
}

/// A template, and its constraints by bundle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Policy {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) description: String,
    pub(super) category: String,
    pub(super) template_path: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) bundle_constraints: BTreeMap<String, String>,
    #[serde(rename = "documentationUrl", skip_serializing_if = "String::is_empty")]
    pub(super) documentation_url: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) bundles: Vec<String>,
}

impl Catalog {
    pub(super) fn policy(&self, name: &str) -> Option<&Policy> {
        self.policies.iter().find(|policy| policy.name == name)
    }

    fn bundle(&self, name: &str) -> Result<&Bundle, String> {
        let missing = || {
            let known: Vec<_> = self.bundles.iter().map(|bundle| bundle.name.as_str()).collect();
            format!("bundle not found: {name}; the catalogue has {}", listed(&known))
        };
        self.bundles.iter().find(|bundle| bundle.name == name).ok_or_else(missing)
    }

    /// The policies of a bundle: first those that it inherits, each once.
    ///
    /// # Errors
    /// A bundle that does not exist, or one that inherits from itself.
    pub(super) fn members(&self, bundle: &str) -> Result<Vec<&str>, String> {
        let mut chain = vec![self.bundle(bundle)?];
        while let Some(last) = chain.last().filter(|last| !last.inherits.is_empty()) {
            let parent = self.bundle(&last.inherits)?;
            if chain.iter().any(|earlier| earlier.name == parent.name) {
                return Err(format!("bundle {bundle}: {} inherits from itself", parent.name));
            }
            if chain.len() >= DEEPEST {
                return Err(format!("bundle {bundle}: more than {DEEPEST} bundles inherit from each other"));
            }
            chain.push(parent);
        }
        let mut seen = BTreeSet::new();
        let all = chain.iter().rev().flat_map(|bundle| &bundle.policies).map(String::as_str);
        Ok(all.filter(|name| seen.insert(*name)).collect())
    }

    /// Lists what keeps a document from being a catalogue at all.
    pub(super) fn head_errors(&self) -> Vec<String> {
        let mut errors = Vec::new();
        if self.api_version.is_empty() {
            errors.push("/apiVersion is missing".to_owned());
        }
        if self.kind != KIND {
            errors.push(format!("/kind must be {KIND}, not {:?}", self.kind));
        }
        if self.metadata.name.is_empty() {
            errors.push("/metadata/name is missing".to_owned());
        }
        errors
    }

    /// Everything that is wrong.
    pub(super) fn errors(&self) -> Vec<String> {
        let mut errors = self.head_errors();
        if self.metadata.version.is_empty() {
            errors.push("/metadata/version is missing".to_owned());
        }
        let mut names = BTreeSet::new();
        for (position, policy) in self.policies.iter().enumerate() {
            let at = format!("/policies/{position}");
            if policy.name.is_empty() {
                errors.push(format!("{at}/name is missing"));
            } else if !names.insert(policy.name.as_str()) {
                errors.push(format!("{at}/name: there are several policies {}", policy.name));
            }
            if policy.template_path.is_empty() {
                errors.push(format!("{at}/templatePath is missing"));
            }
            if !VERSION.as_ref().is_some_and(|version| version.is_match(&policy.version)) {
                errors.push(format!(
                    "{at}/version of {} must be as v1.2.3, not {:?}",
                    policy.name, policy.version
                ));
            }
        }
        for (position, bundle) in self.bundles.iter().enumerate() {
            let at = format!("/bundles/{position}");
            if bundle.name.is_empty() {
                errors.push(format!("{at}/name is missing"));
            } else if let Err(error) = self.members(&bundle.name) {
                errors.push(format!("{at}: {error}"));
            }
            let unknown = bundle.policies.iter().filter(|name| !names.contains(name.as_str()));
            errors.extend(unknown.map(|name| format!("{at}/policies: there is no policy {name}")));
        }
        errors
    }
}

/// Names for people.
pub(super) fn listed(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
