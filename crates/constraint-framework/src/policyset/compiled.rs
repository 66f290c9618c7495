//! What a template and a constraint become: ready to judge, never changed.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::api::{Constraint, ConstraintRef, ConstraintSpec, ConstraintTemplate, FieldError, FieldErrors};
use crate::driver::Program;
use crate::error::IngestError;
use crate::review::{Enforcement, EnforcementPoint, Json, Review};
use crate::target::{Matcher, Target};

/// A template whose code compiled.
#[derive(Clone, Debug)]
pub struct CompiledTemplate(Arc<TemplateParts>);

#[derive(Debug)]
struct TemplateParts {
    template: ConstraintTemplate,
    target: Arc<dyn Target>,
    program: Arc<dyn Program>,
    crd: Value,
}

/// A constraint that its template accepts.
#[derive(Debug)]
pub(super) struct CompiledConstraint {
    pub(super) id: ConstraintRef,
    pub(super) matcher: Box<dyn Matcher>,
    pub(super) enforcement: Enforcement,
    pub(super) parameters: Json,
    pub(super) template: CompiledTemplate,
}

impl CompiledTemplate {
    pub(super) fn new(
        template: &ConstraintTemplate,
        target: Arc<dyn Target>,
        program: Arc<dyn Program>,
        crd: Value,
    ) -> Result<Self, IngestError> {
        Ok(Self(Arc::new(TemplateParts { template: template.clone(), target, program, crd })))
    }

    /// The kind of its constraints.
    pub fn constraint_kind(&self) -> &str {
        self.0.template.constraint_kind()
    }

    /// The CRD of its constraints.
    pub fn crd(&self) -> &Value {
        &self.0.crd
    }

    pub(super) fn program(&self) -> &dyn Program {
        self.0.program.as_ref()
    }

    /// The operations of a template hold only at the webhook; an audit has none to compare.
    pub(super) fn wants(&self, review: &Review, point: EnforcementPoint) -> bool {
        let wants = |target: &crate::api::TargetSpec| target.wants(&review.operation);
        point != EnforcementPoint::WEBHOOK || self.0.template.target().is_none_or(wants)
    }

    /// Checks a constraint against this template's schema and its target. Defaults of the schema are filled in, as
    /// an API server does before anyone sees the constraint.
    pub(super) fn compile_constraint(
        &self,
        constraint: &Constraint,
    ) -> Result<CompiledConstraint, IngestError> {
        let spec = ConstraintSpec::from_value(&self.complete(constraint)?)?;
        let enforcement = Enforcement::compile(&spec);
        let matcher = self.0.target.matcher(spec.match_spec.as_ref());
        match (enforcement, matcher) {
            (Ok(enforcement), Ok(matcher)) => Ok(CompiledConstraint {
                id: constraint.id.clone(),
                matcher,
                enforcement,
                parameters: Json::from_value(spec.parameters.as_ref().unwrap_or(&json!({})))?,
                template: self.clone(),
            }),
            (enforcement, matcher) => {
                let errors = [enforcement.err(), matcher.err()];
                Err(FieldErrors::all(errors.into_iter().flatten()).into())
            }
        }
    }

    /// The constraint's `spec` with its defaults, or everything that the schema of its kind has against it. Unknown
    /// fields are refused: a misspelt parameter would otherwise be a policy that does nothing.
    fn complete(&self, constraint: &Constraint) -> Result<Value, FieldErrors> {
        let mut object = json!({"metadata": {"name": constraint.id.name}});
        if let Some(fields) = object.as_object_mut().filter(|_| !constraint.spec.is_null()) {
            fields.insert("spec".to_owned(), constraint.spec.clone());
        }
        let schema = self.0.crd.pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap_or(&Value::Null);
        let verdict = schema_merge::validate_object(schema, &object);
        let refused =
            verdict.errors.iter().map(|finding| FieldError::new(finding.pointer(), finding.to_string()));
        let unknown = verdict.unknown_fields.iter().map(|field| {
            FieldError::new(
                "",
                format!("{field}: unknown field: it is not in the schema of kind {}", constraint.id.kind),
            )
        });
        FieldErrors::check(refused.chain(unknown).collect())?;
        Ok(verdict.stored.get("spec").cloned().unwrap_or(Value::Null))
    }
}
