//! `ConstraintTemplate` in all served versions: its fields, and their validation.
//!
//! Its code is compiled in `driver`, and its constraint CRD is built in `target`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::field_error::decode;
use super::{FieldError, FieldErrors, TEMPLATES_GROUP};

/// A policy with open parameters, and the schema of those parameters.
///
/// Versions `v1`, `v1beta1` and `v1alpha1` have the same fields; they differ only in the default of
/// `legacySchema`, see [`ConstraintTemplate::legacy_schema`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConstraintTemplate {
    /// `templates.gatekeeper.sh/` and a version.
    pub api_version: String,
    /// Always `ConstraintTemplate`.
    pub kind: String,
    /// Name and labels; the name must be the constraint kind in lower case.
    pub metadata: ObjectMeta,
    /// The policy.
    #[serde(default)]
    pub spec: ConstraintTemplateSpec,
}

/// The part of Kubernetes' object metadata that the decision process reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectMeta {
    /// Name, unique among the cluster-scoped objects of one kind.
    pub name: String,
    /// Identity across deletion and re-creation.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Revision of the spec; `None` outside a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// Labels; a template's are copied to its constraint CRD.
    pub labels: BTreeMap<String, String>,
}

/// The `spec` of a template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ConstraintTemplateSpec {
    /// The constraint kind to create.
    pub crd: TemplateCrd,
    /// Exactly one target with its code.
    pub targets: Vec<TargetSpec>,
}

/// The `crd` block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TemplateCrd {
    /// Names and parameter schema.
    pub spec: CrdSpec,
}

/// The `crd.spec` block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CrdSpec {
    /// Names of the constraint kind.
    pub names: CrdNames,
    /// Schema of `spec.parameters` of its constraints.
    pub validation: Option<CrdValidation>,
}

/// The names of a constraint kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CrdNames {
    /// The kind, in CamelCase.
    pub kind: String,
    /// Short names for `kubectl`.
    pub short_names: Vec<String>,
}

/// The schema of the parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CrdValidation {
    /// Structural schema; absent means no parameters at all (unless `legacySchema`).
    #[serde(rename = "openAPIV3Schema")]
    pub open_api_v3_schema: Option<Value>,
    /// Accept a non-structural schema by letting unknown fields through everywhere.
    pub legacy_schema: Option<bool>,
}

/// One target and the code that judges its reviews.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TargetSpec {
    /// Name of the target, such as `admission.k8s.gatekeeper.sh`.
    pub target: String,
    /// Shorthand for the engine `Rego`.
    pub rego: String,
    /// Libraries of the shorthand.
    pub libs: Vec<String>,
    /// Code by engine.
    pub code: Vec<Code>,
    /// Admission operations the template wants to see.
    pub operations: Operations,
}

/// Admission operations; empty or `*` means all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Operations(pub Vec<String>);

/// Source code for one engine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Code {
    /// `Rego` or `K8sNativeValidation`.
    pub engine: String,
    /// The source, in the engine's own shape.
    pub source: Value,
}

/// The source shape of the engine `Rego`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RegoSource {
    /// The entry module, with a rule named `violation`.
    pub rego: String,
    /// Exactly `v1` selects Rego v1 syntax; anything else is v0, as in Gatekeeper.
    pub version: String,
    /// Library modules, each in a package below `lib`.
    pub libs: Vec<String>,
}

// === impl ConstraintTemplate ===

impl ConstraintTemplate {
    /// Reads a template of any served version.
    ///
    /// # Errors
    /// A decoding error, or everything that [`ConstraintTemplate::validate`] finds.
    pub fn from_value(value: &Value) -> Result<Self, FieldErrors> {
        let template: Self = decode(value)?;
        template.validate()?;
        Ok(template)
    }

    /// Checks what can be checked without a target or a driver: group, kind, names, number of targets, operations.
    ///
    /// # Errors
    /// All errors of the template.
    pub fn validate(&self) -> Result<(), FieldErrors> {
        let mut errors = Vec::new();
        self.validate_type(&mut errors);
        self.validate_names(&mut errors);
        self.validate_targets(&mut errors);
        FieldErrors::check(errors)
    }

    /// Returns the kind of the constraints that this template creates.
    pub fn constraint_kind(&self) -> &str {
        &self.spec.crd.spec.names.kind
    }

    /// Returns the target, if there is exactly one.
    pub fn target(&self) -> Option<&TargetSpec> {
        match self.spec.targets.as_slice() {
            [target] => Some(target),
            _ => None,
        }
    }

    /// Returns the parameter schema as written.
    pub fn parameter_schema(&self) -> Option<&Value> {
        self.spec.crd.spec.validation.as_ref()?.open_api_v3_schema.as_ref()
    }

    /// Returns `legacySchema`, with the default of the template's version: `false` for v1, `true` for the older ones.
    pub fn legacy_schema(&self) -> bool {
        let written = self.spec.crd.spec.validation.as_ref().and_then(|validation| validation.legacy_schema);
        written.unwrap_or_else(|| self.api_version != format!("{TEMPLATES_GROUP}/v1"))
    }

    fn validate_type(&self, errors: &mut Vec<FieldError>) {
        let version = self.api_version.strip_prefix(TEMPLATES_GROUP).unwrap_or_default();
        if !matches!(version, "/v1" | "/v1beta1" | "/v1alpha1") {
            let served =
                format!("must be {TEMPLATES_GROUP}/v1, /v1beta1 or /v1alpha1, not {:?}", self.api_version);
            errors.push(FieldError::new("/apiVersion", served));
        }
        if self.kind != "ConstraintTemplate" {
            errors.push(FieldError::new("/kind", format!("must be ConstraintTemplate, not {:?}", self.kind)));
        }
    }

    fn validate_names(&self, errors: &mut Vec<FieldError>) {
        let kind = self.constraint_kind();
        if kind.is_empty() {
            errors.push(FieldError::new(
                "/spec/crd/spec/names/kind",
                "must not be empty: name the constraint kind",
            ));
        } else if self.metadata.name != kind.to_lowercase() {
            let rule = format!("must be the constraint kind in lower case, {:?}", kind.to_lowercase());
            errors.push(FieldError::new("/metadata/name", rule));
        }
    }

    fn validate_targets(&self, errors: &mut Vec<FieldError>) {
        let [target] = self.spec.targets.as_slice() else {
            let rule = format!("must hold exactly one target, not {}", self.spec.targets.len());
            errors.push(FieldError::new("/spec/targets", rule));
            return;
        };
        let operations = &target.operations.0;
        if operations.len() > 1 && operations.iter().any(|operation| operation == "*") {
            errors.push(FieldError::new("/spec/targets/0/operations", "`*` must stand alone"));
        }
        for (position, operation) in operations.iter().enumerate() {
            if !matches!(operation.as_str(), "*" | "CREATE" | "UPDATE" | "DELETE" | "CONNECT") {
                let pointer = format!("/spec/targets/0/operations/{position}");
                let rule = format!("must be *, CREATE, UPDATE, DELETE or CONNECT, not {operation:?}");
                errors.push(FieldError::new(pointer, rule));
            }
        }
    }
}

// === impl TargetSpec ===

impl TargetSpec {
    /// Returns the code by engine, with the `rego` shorthand written out. The shorthand replaces any `Rego` entry of
    /// `code`, as Gatekeeper's version conversion does.
    pub fn sources(&self) -> Vec<Code> {
        let mut sources = self.code.clone();
        if !self.rego.is_empty() {
            sources.retain(|code| code.engine != "Rego");
            let source = serde_json::json!({"rego": self.rego, "version": "", "libs": self.libs});
            sources.push(Code { engine: "Rego".to_owned(), source });
        }
        sources
    }
}

// === impl Operations ===

impl Operations {
    /// Returns true if the list is empty, has `*`, or has the operation.
    pub fn include(&self, operation: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|wanted| wanted == "*" || wanted == operation)
    }
}

// === impl RegoSource ===

impl RegoSource {
    /// Decodes the `source` of a `Rego` code block.
    ///
    /// # Errors
    /// The first value of a wrong type, or an absent `rego`.
    pub fn from_value(value: &Value) -> Result<Self, FieldErrors> {
        let source: Self = decode(value)?;
        if source.rego.is_empty() {
            return Err(FieldError::new("/rego", "must hold the entry module").into());
        }
        Ok(source)
    }
}

#[cfg(test)]
mod tests;
