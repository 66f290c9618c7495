//! The CRD of a template's constraints, built from three schemas: of the framework, the target and the template.
//!
//! `schema_merge` keeps the three apart and names the origin of each error; the schemas of framework and target are the same
//! for all templates, and are merged once. The object is the one that OPA's constraint framework generates, without
//! `status`, which belongs to the API server. This module writes nothing to a cluster, adds no owner reference and does not
//! look for another CRD of that name.

use std::collections::BTreeMap;

use schema_merge::{
    Errors, Fragment, Frame, MergeError, Merger, MetadataLimits, MountPath, ObjectVerdict, Sharing,
    StringLimits, is_dns1035_label,
};
use serde_json::{Map, Value, json};

use crate::api::CONSTRAINTS_GROUP;

/// The most bytes of a DNS-1035 label, which every name of a CRD has to be.
const LABEL_LENGTH: usize = 63;
/// `List` is appended to the kind, and the list kind is a label too.
const KIND_LENGTH: usize = 59;
/// The label by which constraint CRDs are found. It wins over a template's own.
const CONSTRAINT_LABEL: (&str, &str) = ("gatekeeper.sh/constraint", "yes");
/// The path at which a template's own schema is mounted.
const PARAMETERS: [&str; 2] = ["spec", "parameters"];
/// The pointer to that schema in a template.
const TEMPLATE_SCHEMA: &str = "/spec/crd/spec/validation/openAPIV3Schema";

const FRAMEWORK: &str = "constraint framework";
const TARGET: &str = "target";

/// The parts of a constraint CRD.
#[derive(Clone, Copy, Debug)]
pub struct CrdParts<'a> {
    /// `metadata.name` of the template.
    pub template_name: &'a str,
    /// The kind of the constraints.
    pub kind: &'a str,
    /// Short names of the constraints, for kubectl.
    pub short_names: &'a [String],
    /// The template's labels, which the CRD inherits.
    pub labels: &'a BTreeMap<String, String>,
    /// The schema of `spec.parameters`, if the template has one.
    pub parameters: Option<&'a Value>,
    /// True for a schema from before structural schemas: unknown fields are kept then.
    pub legacy_schema: bool,
}

/// The builder of the CRDs of the constraints of one target.
#[derive(Clone, Debug)]
pub struct ConstraintCrds {
    frame: Frame,
}

/// The error that keeps a template from having a CRD.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CrdError {
    /// The template names no kind.
    #[error("the kind is empty: name the kind of the constraints this template creates")]
    KindMissing,
    /// The name of the template is not its kind in lower case.
    #[error(
        "the template is called {name:?}, but must be called {expected:?}, which is its kind in lower case"
    )]
    Name {
        /// The name it has.
        name: String,
        /// The name it must have.
        expected: String,
    },
    /// The kind is too long for a CRD.
    #[error(
        "the kind {kind:?} has {length} characters, and 59 is the longest: with \"List\" appended it must still be a label of at most 63 characters"
    )]
    KindLength {
        /// The kind as written.
        kind: String,
        /// Its length in characters.
        length: usize,
    },
    /// The kind holds characters that a CRD name cannot have.
    #[error(
        "the kind {0:?} must start with a letter, consist of letters, digits and '-', and end with a letter or digit"
    )]
    Kind(String),
    /// A short name is not a label.
    #[error(
        "the short name {name:?} must be at most 63 lower case letters, digits and '-', start with a letter and not end with '-'"
    )]
    ShortName {
        /// The index among the short names.
        index: usize,
        /// The short name as written.
        name: String,
    },
    /// The schemas do not make one structural schema.
    #[error(transparent)]
    Schema(MergeError),
}

/// Everything that keeps a template from having a CRD: errors of names first, then those of schemas by place.
pub type CrdErrors = Errors<CrdError>;

impl CrdError {
    /// Returns the field of the template to correct, as a JSON pointer; empty where the error is in the schema of the
    /// target or of the framework.
    #[must_use]
    pub fn pointer(&self) -> String {
        match self {
            Self::KindMissing | Self::KindLength { .. } | Self::Kind(_) => {
                "/spec/crd/spec/names/kind".to_owned()
            }
            Self::Name { .. } => "/metadata/name".to_owned(),
            Self::ShortName { index, .. } => format!("/spec/crd/spec/names/shortNames/{index}"),
            Self::Schema(error) => {
                let mount = MountPath::of(PARAMETERS).schema_path().pointer();
                let inside = error.path().pointer();
                inside.strip_prefix(&mount).map(|rest| format!("{TEMPLATE_SCHEMA}{rest}")).unwrap_or_default()
            }
        }
    }
}

// === impl ConstraintCrds ===

impl ConstraintCrds {
    /// Creates the builder for the target with this schema of `spec.match`.
    #[must_use]
    pub fn new(match_schema: Value) -> Self {
        let merger = Merger::new()
            .status_subresource(true)
            .grant("status", FRAMEWORK)
            .limit_metadata(MetadataLimits::name(StringLimits::max_length(63)))
            .seal(
                MountPath::of(["spec"]),
                ["enforcementAction", "match", "parameters", "scopedEnforcementActions"],
            )
            .mount(
                Fragment::new(FRAMEWORK, MountPath::root(), framework_schema())
                    .sharing(Sharing::SharedStrict),
            )
            .mount(Fragment::new(TARGET, MountPath::of(["spec", "match"]), match_schema));
        Self { frame: merger.frame(MountPath::of(PARAMETERS)) }
    }

    /// Checks that the parts make a CRD, without building it.
    ///
    /// # Errors
    /// Everything that is wrong with the names and the schemas: first the names, then the schemas by place.
    pub fn check(&self, parts: &CrdParts<'_>) -> Result<(), CrdErrors> {
        settled(name_errors(parts), self.frame.check(fragment(parts).as_ref()))
    }

    /// Builds the CRD of the constraints of one template.
    ///
    /// The same parts give the same object, down to the order of keys. The template's labels are copied.
    ///
    /// # Errors
    /// As [`ConstraintCrds::check`].
    pub fn build(&self, parts: &CrdParts<'_>) -> Result<Value, CrdErrors> {
        let schema = self.frame.build(fragment(parts).as_ref());
        settled(name_errors(parts), schema).map(|schema| crd(parts, schema))
    }

    /// Validates a constraint as an API server that has the CRD of these parts does.
    #[must_use]
    pub fn validate(&self, parts: &CrdParts<'_>, constraint: &Value) -> ObjectVerdict {
        self.frame.validate_object(fragment(parts).as_ref(), constraint)
    }
}

fn settled<T>(mut errors: Vec<CrdError>, schema: Result<T, Errors<MergeError>>) -> Result<T, CrdErrors> {
    match schema {
        Ok(schema) if errors.is_empty() => return Ok(schema),
        Ok(_) => {}
        Err(refused) => errors.extend(refused.into_iter().map(CrdError::Schema)),
    }
    Err(errors.into())
}

fn name_errors(parts: &CrdParts<'_>) -> Vec<CrdError> {
    let mut errors = Vec::new();
    let expected = parts.kind.to_lowercase();
    let length = parts.kind.chars().count();
    if parts.kind.is_empty() {
        errors.push(CrdError::KindMissing);
    } else {
        if parts.template_name != expected {
            errors.push(CrdError::Name { name: parts.template_name.to_owned(), expected: expected.clone() });
        }
        if length > KIND_LENGTH {
            errors.push(CrdError::KindLength { kind: parts.kind.to_owned(), length });
        }
        if !is_dns1035_label(&expected) {
            errors.push(CrdError::Kind(parts.kind.to_owned()));
        }
    }
    let is_short_name = |name: &str| is_dns1035_label(name) && name.len() <= LABEL_LENGTH;
    let bad = parts.short_names.iter().enumerate().filter(|(_, name)| !is_short_name(name));
    errors.extend(bad.map(|(index, name)| CrdError::ShortName { index, name: name.clone() }));
    errors
}

/// Returns the fragment of the template, which is the schema of `spec.parameters`, if there is one.
fn fragment(parts: &CrdParts<'_>) -> Option<Fragment> {
    let origin = format!("template {}", parts.template_name);
    let fragment = Fragment::new(origin, MountPath::of(PARAMETERS), parameters(parts)?);
    // A schema without a type that keeps everything admits an object; one of another type does not.
    Some(if fragment.schema.get("type").is_none() { fragment.any_type() } else { fragment })
}

fn framework_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "enforcementAction": {"type": "string", "default": "deny"},
                    "scopedEnforcementActions": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "action": {"type": "string"},
                                "enforcementPoints": {
                                    "type": "array",
                                    "items": {"type": "object", "properties": {"name": {"type": "string"}}},
                                },
                            },
                        },
                    },
                },
            },
            "status": {"x-kubernetes-preserve-unknown-fields": true},
        },
    })
}

/// Returns the template's schema of `spec.parameters`; a legacy template without one accepts anything.
fn parameters(parts: &CrdParts<'_>) -> Option<Value> {
    if !parts.legacy_schema {
        return parts.parameters.cloned();
    }
    let mut schema = parts.parameters.cloned().unwrap_or_else(|| json!({}));
    preserve_unknown_fields(&mut schema);
    Some(schema)
}

/// Keeps unknown fields in every object and in everything without a type, as templates before v1 expect.
///
/// Adds no types and leaves junctors as they are: a schema that is not structural for another reason stays refused.
fn preserve_unknown_fields(schema: &mut Value) {
    let Value::Object(node) = schema else { return };
    let kind = node.get("type").map_or(Some(""), Value::as_str);
    match kind {
        Some("" | "object") => {
            node.insert("x-kubernetes-preserve-unknown-fields".to_owned(), json!(true));
        }
        Some("array") if node.get("items").is_none_or(Value::is_null) => {
            node.insert("items".to_owned(), json!({"x-kubernetes-preserve-unknown-fields": true}));
            return;
        }
        _ => {}
    }
    if let Some(Value::Object(properties)) = node.get_mut("properties") {
        properties.values_mut().for_each(preserve_unknown_fields);
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(schema) = node.get_mut(keyword) {
            preserve_unknown_fields(schema);
        }
    }
}

fn crd(parts: &CrdParts<'_>, schema: Value) -> Value {
    let plural = parts.kind.to_lowercase();
    let mut labels = parts.labels.clone();
    labels.insert(CONSTRAINT_LABEL.0.to_owned(), CONSTRAINT_LABEL.1.to_owned());
    let mut names = Map::new();
    names.insert("categories".to_owned(), json!(["constraint", "constraints"]));
    names.insert("kind".to_owned(), json!(parts.kind));
    names.insert("listKind".to_owned(), json!(format!("{}List", parts.kind)));
    names.insert("plural".to_owned(), json!(plural));
    if !parts.short_names.is_empty() {
        names.insert("shortNames".to_owned(), json!(parts.short_names));
    }
    names.insert("singular".to_owned(), json!(plural));
    let versions = [version("v1beta1", true, schema.clone()), version("v1alpha1", false, schema)];
    let mut crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"labels": labels, "name": format!("{plural}.{CONSTRAINTS_GROUP}")},
        "spec": {
            "conversion": {"strategy": "None"},
            "group": CONSTRAINTS_GROUP,
            "names": names,
            "scope": "Cluster",
        },
    });
    // Moved in: `json!` would copy the schemas, which are most of the work of ingesting a template.
    if let Some(Value::Object(spec)) = crd.get_mut("spec") {
        spec.insert("versions".to_owned(), versions.into_iter().collect());
    }
    crd
}

fn version(name: &str, storage: bool, schema: Value) -> Value {
    let mut version = json!({
        "additionalPrinterColumns": [
            {
                "description": "Type of enforcement action",
                "jsonPath": ".spec.enforcementAction",
                "name": "enforcement-action",
                "type": "string",
            },
            {
                "description": "Total number of violations",
                "jsonPath": ".status.totalViolations",
                "name": "total-violations",
                "type": "integer",
            },
        ],
        "name": name,
        "schema": {},
        "served": true,
        "storage": storage,
        "subresources": {"status": {}},
    });
    if let Some(Value::Object(place)) = version.get_mut("schema") {
        place.insert("openAPIV3Schema".to_owned(), schema);
    }
    version
}

#[cfg(test)]
mod tests;
