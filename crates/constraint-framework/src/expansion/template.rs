//! `ExpansionTemplate` (`expansion.gatekeeper.sh/v1alpha1`, `/v1beta1`): its fields, and their validation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::{FieldError, FieldErrors, ObjectMeta, decode};
use crate::review::Action;

use super::EXPANSION_GROUP;

/// The longest name that Gatekeeper accepts.
const MAX_NAME: usize = 63;

/// An ExpansionTemplate: a kind of generators, and the objects that they create.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpansionTemplate {
    /// `metadata.name` of the template.
    pub name: String,
    /// The kinds of the generators.
    pub apply_to: Vec<ApplyTo>,
    /// The path of the generated object's template in the generator, such as `spec.template`.
    pub template_source: String,
    /// The kind of the generated object.
    pub generated: GeneratedGvk,
    /// The action of every violation of a generated object, instead of its constraint's own.
    pub enforcement_action: Option<Action>,
}

/// Kinds of objects: any combination of a group, a version and a kind listed here. There are no wildcards.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ApplyTo {
    /// API groups; `""` is the core group.
    pub groups: Vec<String>,
    /// API versions without the group.
    pub versions: Vec<String>,
    /// Kinds, in CamelCase.
    pub kinds: Vec<String>,
}

/// Group, version and kind of the objects that a generator creates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GeneratedGvk {
    /// API group; empty for the core group.
    pub group: String,
    /// API version without the group.
    pub version: String,
    /// Kind, in CamelCase.
    pub kind: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    api_version: String,
    kind: String,
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Spec,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    apply_to: Vec<ApplyTo>,
    template_source: String,
    #[serde(rename = "generatedGVK")]
    generated: GeneratedGvk,
    enforcement_action: String,
}

impl ApplyTo {
    /// Returns true if a kind is one of these.
    pub fn matches(&self, group: &str, version: &str, kind: &str) -> bool {
        let lists = |list: &[String], word: &str| list.iter().any(|listed| listed == word);
        lists(&self.groups, group) && lists(&self.versions, version) && lists(&self.kinds, kind)
    }
}

impl GeneratedGvk {
    /// Returns group and version as manifests write them: `apps/v1`, or `v1` in the core group.
    pub fn api_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }
}

impl ExpansionTemplate {
    /// Reads an ExpansionTemplate of either version.
    ///
    /// # Errors
    /// The first field that does not decode, or everything that Gatekeeper refuses: a missing or too long name, no `applyTo`, no
    /// `templateSource`, no `generatedGVK`, a template that generates what it applies to. An unknown
    /// `enforcementAction` is refused as well.
    pub fn from_value(value: &Value) -> Result<Self, FieldErrors> {
        let Manifest { api_version, kind, metadata, spec } = decode(value)?;
        let mut errors = Vec::new();
        let mut must = |holds: bool, pointer: &str, rule: String| {
            if !holds {
                errors.push(FieldError::new(pointer, rule));
            }
        };
        let version = api_version.strip_prefix(EXPANSION_GROUP).unwrap_or_default();
        let served = format!("must be {EXPANSION_GROUP}/v1alpha1 or /v1beta1, not {api_version:?}");
        must(matches!(version, "/v1alpha1" | "/v1beta1"), "/apiVersion", served);
        must(kind == "ExpansionTemplate", "/kind", format!("must be ExpansionTemplate, not {kind:?}"));
        let length = metadata.name.len();
        let rule = format!("must have 1 to {MAX_NAME} characters, not {length}");
        must((1..=MAX_NAME).contains(&length), "/metadata/name", rule);
        must(!spec.apply_to.is_empty(), "/spec/applyTo", "must name at least one generator".to_owned());
        let source = "must be the path of a template, such as spec.template".to_owned();
        must(!spec.template_source.is_empty(), "/spec/templateSource", source);
        let GeneratedGvk { group, version, kind } = &spec.generated;
        let whole = !version.is_empty() && !kind.is_empty();
        must(whole, "/spec/generatedGVK", "must have a version and a kind".to_owned());
        let itself = spec.apply_to.iter().any(|entry| entry.matches(group, version, kind));
        must(!itself, "/spec/generatedGVK", format!("must not be {kind:?}, to which the template applies"));
        let word = spec.enforcement_action.as_str();
        let action = Action::parse(word);
        let rule = format!("must be deny, dryrun or warn, not {word:?}");
        must(word.is_empty() || action.is_some(), "/spec/enforcementAction", rule);
        FieldErrors::check(errors)?;
        Ok(Self {
            name: metadata.name,
            apply_to: spec.apply_to,
            template_source: spec.template_source,
            generated: spec.generated,
            enforcement_action: action,
        })
    }

    /// Returns true if objects of a kind are generators.
    pub fn applies_to(&self, group: &str, version: &str, kind: &str) -> bool {
        self.apply_to.iter().any(|entry| entry.matches(group, version, kind))
    }
}
