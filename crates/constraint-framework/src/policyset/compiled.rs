//! Compiled templates and constraints: ready to judge, never changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::api::{
    Constraint, ConstraintRef, ConstraintSpec, ConstraintTemplate, FieldError, FieldErrors, ObjectMeta,
    Operations,
};
use crate::driver::{CelDriver, CompileError, CompiledPolicy, Driver};
use crate::error::IngestError;
use crate::inventory::Reads;
use crate::review::{Enforcement, EnforcementPoint, Json, Review};
use crate::target::{ConstraintCrds, CrdParts, MatchCriteria, MatchError, Matcher, Target};

use super::contain::contained;
use super::place::pointer;

/// A template whose code compiled. Cloning shares it.
#[derive(Clone, Debug)]
pub struct CompiledTemplate(Arc<TemplateParts>);

/// The parts of a template that outlive the compilation. The manifest is not kept, and neither is the CRD: most of it
/// is the same for all templates, so that it is built again at each call.
#[derive(Debug)]
struct TemplateParts {
    constraint_kind: String,
    operations: Operations,
    target: Arc<dyn Target>,
    programs: Programs,
    crds: Arc<ConstraintCrds>,
    /// The enforcement points that constraints can name.
    points: Arc<[EnforcementPoint]>,
    own: OwnParts,
}

/// The parts of a CRD that the template adds. The schema is kept as text, which takes a tenth of the memory.
#[derive(Debug)]
struct OwnParts {
    short_names: Vec<String>,
    labels: BTreeMap<String, String>,
    parameters: Option<Kept>,
    legacy_schema: bool,
}

/// The depth up to which a value is kept as text; serde_json reads 127 levels.
const READABLE: usize = 100;

/// A JSON value that is seldom read.
#[derive(Debug)]
enum Kept {
    Text(Box<str>),
    /// Nests deeper than serde_json reads.
    Deep(Value),
}

/// The code of a template by engine.
#[derive(Debug)]
pub(super) struct Programs {
    /// The engine whose violations count, and its code.
    pub(super) deciding: (String, Arc<dyn CompiledPolicy>),
    /// The others, where they are compared.
    pub(super) others: Vec<(String, Arc<dyn CompiledPolicy>)>,
}

/// A constraint that its template accepts.
#[derive(Debug)]
pub(super) struct CompiledConstraint {
    pub(super) id: ConstraintRef,
    pub(super) metadata: ObjectMeta,
    matcher: Box<dyn Matcher>,
    pub(super) enforcement: Enforcement,
    pub(super) parameters: Json,
    pub(super) template: CompiledTemplate,
}

// === impl Kept ===

impl Kept {
    fn new(value: Value) -> Self {
        if is_deeper(&value, READABLE) {
            return Self::Deep(value);
        }
        Self::Text(value.to_string().into_boxed_str())
    }

    fn value(&self) -> Result<Value, IngestError> {
        match self {
            Self::Text(text) => serde_json::from_str(text)
                .map_err(|error| IngestError::Internal(format!("the schema of the parameters: {error}"))),
            Self::Deep(value) => Ok(value.clone()),
        }
    }
}

// === impl CompiledTemplate ===

impl CompiledTemplate {
    /// Creates the compiled form of `template`, of which `crds` has a CRD.
    pub(super) fn new(
        template: &ConstraintTemplate,
        target: Arc<dyn Target>,
        programs: Programs,
        crds: Arc<ConstraintCrds>,
        points: Arc<[EnforcementPoint]>,
    ) -> Self {
        Self(Arc::new(TemplateParts {
            constraint_kind: template.constraint_kind().to_owned(),
            operations: template.target().map(|target| target.operations.clone()).unwrap_or_default(),
            target,
            programs,
            crds,
            points,
            own: OwnParts {
                short_names: template.spec.crd.spec.names.short_names.clone(),
                labels: template.metadata.labels.clone(),
                parameters: template.parameter_schema().cloned().map(Kept::new),
                legacy_schema: template.legacy_schema(),
            },
        }))
    }

    /// Returns true if its code is in CEL.
    pub fn is_in_cel(&self) -> bool {
        self.0.programs.deciding.0 == CelDriver.engine()
    }

    /// Returns the kind of its constraints.
    pub fn constraint_kind(&self) -> &str {
        &self.0.constraint_kind
    }

    /// Returns the name of its target.
    pub(super) fn target(&self) -> &str {
        self.0.target.name()
    }

    /// Returns the CRD of its constraints. Built at each call.
    ///
    /// # Errors
    /// None that a compiled template is known to have: [`Compiler::compile`](super::Compiler::compile) refuses a template
    /// without a CRD.
    pub fn crd(&self) -> Result<Value, IngestError> {
        Ok(self.with_parts(|crds, parts| crds.build(parts))??)
    }

    fn with_parts<T>(
        &self,
        read: impl FnOnce(&ConstraintCrds, &CrdParts<'_>) -> T,
    ) -> Result<T, IngestError> {
        let TemplateParts { constraint_kind, crds, own, .. } = &*self.0;
        let parameters = own.parameters.as_ref().map(Kept::value).transpose()?;
        let parts = CrdParts {
            template_name: &constraint_kind.to_lowercase(),
            kind: constraint_kind,
            short_names: &own.short_names,
            labels: &own.labels,
            parameters: parameters.as_ref(),
            legacy_schema: own.legacy_schema,
        };
        Ok(read(crds, &parts))
    }

    /// Returns the errors in its code that do not keep it from deciding, see [`CompiledPolicy::warnings`].
    pub fn warnings(&self) -> impl Iterator<Item = &CompileError> {
        self.programs().flat_map(|(_, program)| program.warnings())
    }

    pub(super) fn program(&self) -> &dyn CompiledPolicy {
        self.0.programs.deciding.1.as_ref()
    }

    /// Returns the paths that its code reads in the inventory.
    pub(super) fn reads(&self) -> impl Iterator<Item = &Reads> {
        self.programs().filter_map(|(_, program)| program.reads())
    }

    /// Returns all compiled code by engine, that which decides first.
    pub(super) fn programs(&self) -> impl Iterator<Item = (&str, &dyn CompiledPolicy)> {
        let programs = std::iter::once(&self.0.programs.deciding).chain(&self.0.programs.others);
        programs.map(|(engine, program)| (engine.as_str(), program.as_ref()))
    }

    /// Returns true if the review is one of this template's target.
    fn is_about(&self, review: &Review) -> bool {
        review.target().is_empty() || review.target() == self.target()
    }

    /// Returns true if the template applies to the operation of a review. Its operations hold only at the webhook: an audit
    /// has none to compare.
    fn wants(&self, review: &Review, point: EnforcementPoint) -> bool {
        point != EnforcementPoint::WEBHOOK || self.0.operations.include(review.operation())
    }

    /// Checks a constraint against this template's schema and its target. Defaults of the schema are filled in, as
    /// an API server does before anyone sees the constraint.
    pub(super) fn compile_constraint(
        &self,
        constraint: &Constraint,
    ) -> Result<CompiledConstraint, IngestError> {
        let spec = ConstraintSpec::from_value(&self.complete(constraint)?)?;
        let (enforcement, matcher) = common_parts(&spec, self.0.target.as_ref(), &self.0.points)?;
        Ok(CompiledConstraint {
            id: constraint.id.clone(),
            metadata: constraint.metadata.clone(),
            matcher,
            enforcement,
            parameters: Json::from_value(spec.parameters.as_ref().unwrap_or(&Value::Null))?,
            template: self.clone(),
        })
    }

    /// Returns the constraint's `spec` with its defaults, or all errors by the schema of its kind. Unknown fields are
    /// refused: a misspelt parameter would otherwise be a policy that does nothing.
    fn complete(&self, constraint: &Constraint) -> Result<Value, IngestError> {
        let mut object = json!({"metadata": {"name": constraint.id.name}});
        if let Some(fields) = object.as_object_mut().filter(|_| !constraint.spec.is_null()) {
            fields.insert("spec".to_owned(), constraint.spec.clone());
        }
        let mut verdict = self.with_parts(|crds, parts| crds.validate(parts, &object))?;
        let refused = verdict.errors.iter().map(|diagnostic| {
            // The place of a diagnostic is one step with all of its path.
            let path = diagnostic.path.server("");
            let text = diagnostic.to_string();
            // The pointer says where.
            let rule = text.strip_prefix(&format!("{path}: ")).unwrap_or(&text).to_owned();
            FieldError::new(pointer(path.strip_prefix("<nil>").unwrap_or(&path), &object), rule)
        });
        let unknown = verdict.unknown_fields.iter().map(|field| {
            let rule = format!("unknown field: it is not in the schema of kind {}", constraint.id.kind);
            FieldError::new(pointer(field, &object), rule)
        });
        FieldErrors::check(refused.chain(unknown).collect())?;
        Ok(verdict.stored.get_mut("spec").map(Value::take).unwrap_or_default())
    }
}

/// Compiles the parts that constraints of all templates of a target have in common: actions and match block.
///
/// # Errors
/// Everything that is wrong with either.
pub(super) fn common_parts(
    spec: &ConstraintSpec,
    target: &dyn Target,
    points: &[EnforcementPoint],
) -> Result<(Enforcement, Box<dyn Matcher>), FieldErrors> {
    let enforcement = Enforcement::compile(spec, points);
    let asked = contained(|| target.matcher(spec.match_spec.as_ref()));
    let matcher = asked.unwrap_or_else(|| Err(FieldError::new("/spec/match", TARGET_FAILED).into()));
    match (enforcement, matcher) {
        (Ok(enforcement), Ok(matcher)) => Ok((enforcement, matcher)),
        (enforcement, matcher) => {
            let errors = [enforcement.err(), matcher.err()];
            Err(FieldErrors::all(errors.into_iter().flatten()))
        }
    }
}

const TARGET_FAILED: &str = "the target failed on it: report it with the constraint";

// === impl CompiledConstraint ===

impl CompiledConstraint {
    /// Returns the places of the objects that can match: everywhere, if the target panics.
    pub(super) fn criteria(&self) -> MatchCriteria {
        contained(|| self.matcher.criteria()).unwrap_or_else(MatchCriteria::everywhere)
    }

    /// Returns true if it judges reviews like this at the point, by its actions and its template; what it matches is another question.
    pub(super) fn acts(&self, review: &Review, point: EnforcementPoint) -> bool {
        let template = &self.template;
        self.enforcement.applies(point) && template.is_about(review) && template.wants(review, point)
    }

    pub(super) fn matches(&self, review: &Review) -> Result<bool, MatchError> {
        contained(|| self.matcher.matches(review)).unwrap_or(Err(MatchError::TargetFailed))
    }
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return true };
    match value {
        Value::Array(list) => list.iter().any(|child| is_deeper(child, below)),
        Value::Object(map) => map.values().any(|child| is_deeper(child, below)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::policyset::Compiler;

    use super::*;

    #[test]
    fn what_is_kept_comes_back_however_deep_it_is() {
        let mut value = json!("x");
        for _ in 0..300 {
            value = json!({"a": [value]});
            assert_eq!(Kept::new(value.clone()).value(), Ok(value.clone()));
        }
        assert!(matches!(Kept::new(json!({"a": [1]})), Kept::Text(_)));
    }

    #[test]
    fn a_schema_that_cannot_be_read_again_is_an_error_and_not_a_template_without_parameters() {
        let template = json!({
            "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "metadata": {"name": "k"},
            "spec": {
                "crd": {"spec": {"names": {"kind": "K"}, "validation": {"openAPIV3Schema": {"type": "object"}}}},
                "targets": [{
                    "target": "admission.k8s.gatekeeper.sh",
                    "rego": "package k\nviolation[{\"msg\": \"no\"}] { true }",
                }],
            },
        });
        let template = ConstraintTemplate::from_value(&template).unwrap();
        let mut compiled = Compiler::default().compile(&template).unwrap();
        assert_eq!(compiled.crd(), Compiler::default().crd(&template));
        Arc::get_mut(&mut compiled.0).unwrap().own.parameters = Some(Kept::Text("{".into()));
        assert!(matches!(compiled.crd(), Err(IngestError::Internal(_))));
        let constraint = json!({
            "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "K", "metadata": {"name": "c"}});
        let constraint = Constraint::from_value(&constraint).unwrap();
        assert!(matches!(compiled.compile_constraint(&constraint), Err(IngestError::Internal(_))));
    }
}
