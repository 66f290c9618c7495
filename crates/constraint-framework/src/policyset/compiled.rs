//! What a template and a constraint become: ready to judge, never changed.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::api::{Constraint, ConstraintRef, ConstraintTemplate, FieldErrors};
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
        Ok(Self(Arc::new(TemplateParts {
            template: template.clone(),
            target,
            program,
            crd,
        })))
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

    /// Checks a constraint against this template and its target.
    pub(super) fn compile_constraint(
        &self,
        constraint: &Constraint,
    ) -> Result<CompiledConstraint, IngestError> {
        let enforcement = Enforcement::compile(&constraint.spec);
        let matcher = self.0.target.matcher(constraint.spec.match_spec.as_ref());
        match (enforcement, matcher) {
            (Ok(enforcement), Ok(matcher)) => Ok(CompiledConstraint {
                id: constraint.id.clone(),
                matcher,
                enforcement,
                parameters: Json::from_value(constraint.spec.parameters.as_ref().unwrap_or(&json!({})))?,
                template: self.clone(),
            }),
            (enforcement, matcher) => {
                let errors = [enforcement.err(), matcher.err()];
                Err(FieldErrors::all(errors.into_iter().flatten()).into())
            }
        }
    }
}
