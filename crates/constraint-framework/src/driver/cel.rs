//! The driver of the engine `K8sNativeValidation`: policies in CEL, as ValidatingAdmissionPolicies have them.
//!
//! `cel/source` reads a source, `cel-compat` compiles and evaluates expressions, and `cel/program` decides. This file compiles
//! the expressions of a source in the environment of a policy.

mod explain;
mod program;
mod source;
mod subject;

use std::sync::Arc;

use cel_compat::{Environment, Expression, Type};

use self::program::{CelProgram, Condition, Validation};
use self::source::Source;

use super::{BodyTrace, Budget, Case, CompileError, CompileErrors, CompiledPolicy, Driver};

/// The driver of the engine `K8sNativeValidation`: compiles templates written in CEL.
#[derive(Clone, Copy, Debug, Default)]
pub struct CelDriver;

/// The driver of ValidatingAdmissionPolicies: as [`CelDriver`], with the names that the API server gives to expressions. The
/// source has the fields `validations`, `variables`, `matchConditions` and `failurePolicy` of its spec.
///
/// The fields are those of `OptionalVariableDeclarations` in `k8s.io/apiserver/pkg/admission/plugin/cel`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ValidatingPolicyDriver {
    /// The policy has a `paramKind`, so that expressions may use `params`.
    pub has_params: bool,
    /// Expressions may use the types of mutations: `Object` and those of its fields, and `JSONPatch`.
    pub has_patch_types: bool,
}

impl CelDriver {
    fn program(source: &serde_json::Value) -> Result<CelProgram, CompileErrors> {
        compile(source, environment(), Messages::MayFail)
    }
}

impl Driver for CelDriver {
    fn engine(&self) -> &str {
        "K8sNativeValidation"
    }

    fn compile(&self, source: &serde_json::Value) -> Result<Arc<dyn CompiledPolicy>, CompileErrors> {
        Ok(Arc::new(Self::program(source)?))
    }

    fn explain(
        &self,
        source: &serde_json::Value,
        case: &Case<'_>,
        budget: &Budget,
    ) -> Result<Vec<BodyTrace>, CompileErrors> {
        Ok(Self::program(source)?.traces(case, budget))
    }
}

impl ValidatingPolicyDriver {
    fn program(self, source: &serde_json::Value) -> Result<CelProgram, CompileErrors> {
        compile(source, native_environment(self), Messages::MustCompile)
    }
}

impl Driver for ValidatingPolicyDriver {
    fn engine(&self) -> &str {
        "ValidatingAdmissionPolicy"
    }

    fn compile(&self, source: &serde_json::Value) -> Result<Arc<dyn CompiledPolicy>, CompileErrors> {
        Ok(Arc::new(self.program(source)?))
    }

    fn explain(
        &self,
        source: &serde_json::Value,
        case: &Case<'_>,
        budget: &Budget,
    ) -> Result<Vec<BodyTrace>, CompileErrors> {
        Ok(self.program(source)?.traces(case, budget))
    }
}

/// The treatment of a message expression that does not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Messages {
    /// A warning, as in Gatekeeper.
    MayFail,
    /// An error, as in the API server.
    MustCompile,
}

fn compile(
    source: &serde_json::Value,
    environment: Environment,
    messages: Messages,
) -> Result<CelProgram, CompileErrors> {
    let source = Source::read(source)?;
    let mut compiler = Compiler { environment, messages, errors: Vec::new(), warnings: Vec::new() };
    // For the API server match conditions have no variables, for Gatekeeper they have.
    let before = matches!(messages, Messages::MustCompile).then(|| compiler.match_conditions(&source));
    for (position, variable) in source.variables.iter().enumerate() {
        compiler.variable(position, variable);
    }
    let conditions = before.unwrap_or_else(|| compiler.match_conditions(&source));
    let validations: Vec<_> = source
        .validations
        .iter()
        .enumerate()
        .filter_map(|(position, validation)| compiler.validation(position, validation))
        .collect();
    if !compiler.errors.is_empty() {
        return Err(compiler.errors.into());
    }
    Ok(CelProgram {
        failure_policy: source.failure_policy(),
        environment: compiler.environment,
        conditions,
        validations,
        warnings: compiler.warnings,
    })
}

/// Returns the names that every expression knows.
fn common_environment() -> Environment {
    Environment::default()
        .with("object", Type::Dyn)
        .with("oldObject", Type::Dyn)
        .with("request", Type::REQUEST)
        .with("namespaceObject", Type::NAMESPACE)
        .with_hint("authorizer", "a policy has no authorizer here: it is judged by audits and files too")
        .with_hint("variables", "name the variable: variables.<name>")
        .with_hint("cel", "cel.bind is not part of Kubernetes' CEL: declare a variable")
}

/// Returns the names that the API server gives to a ValidatingAdmissionPolicy.
fn native_environment(driver: ValidatingPolicyDriver) -> Environment {
    let environment = common_environment().without_quoted_names();
    let environment = if driver.has_params {
        environment.with("params", Type::Dyn)
    } else {
        environment.with_hint("params", "the policy has no paramKind")
    };
    if driver.has_patch_types { environment.with_patch_types() } else { environment }
}

/// Returns the names that Gatekeeper gives to every expression, and advice about those it does not.
fn environment() -> Environment {
    common_environment()
        .with_variable("params", Type::Dyn)
        .with_variable("anyObject", Type::Dyn)
        .with_hint("params", "use variables.params, which is the constraint's spec.parameters")
        .with_hint("anyObject", "use variables.anyObject")
}

/// The compiler of the expressions of one source, with the errors so far.
struct Compiler {
    environment: Environment,
    messages: Messages,
    errors: Vec<CompileError>,
    /// Warnings, which do not keep the policy from deciding.
    warnings: Vec<CompileError>,
}

impl Compiler {
    /// Compiles a variable, which sees those above it. One that does not compile is declared all the same, so that only its
    /// own errors are reported.
    fn variable(&mut self, position: usize, variable: &source::Named) {
        let place = format!("/variables/{position}/expression");
        match self.expression(&place, &variable.expression, None) {
            Ok(expression) => self.environment.define(&variable.name, expression),
            Err(errors) => {
                self.errors.extend(errors);
                self.environment.define_unknown(&variable.name);
            }
        }
    }

    fn match_conditions(&mut self, source: &Source) -> Vec<Condition> {
        let conditions = source.match_conditions();
        conditions
            .filter_map(|(place, named)| self.condition(&format!("{place}/expression"), &named.expression))
            .collect()
    }

    fn condition(&mut self, place: &str, text: &str) -> Option<Condition> {
        match self.expression(place, text, Some(&Type::Bool)) {
            Ok(expression) => Some(Condition { text: text.to_owned(), expression }),
            Err(errors) => {
                self.errors.extend(errors);
                None
            }
        }
    }

    fn validation(&mut self, position: usize, validation: &source::Validation) -> Option<Validation> {
        let place = format!("/validations/{position}");
        let condition = self.condition(&format!("{place}/expression"), &validation.expression);
        let message_expression = self.message(&place, &validation.message_expression);
        Some(Validation { condition: condition?, message: validation.message.clone(), message_expression })
    }

    /// Compiles the expression of a message. Kubernetes' validator, and with it Gatekeeper, ignores one that does
    /// not compile and uses `message`: what is violated does not depend on it.
    fn message(&mut self, place: &str, text: &str) -> Option<Expression> {
        if text.trim().is_empty() {
            return None;
        }
        match self.expression(&format!("{place}/messageExpression"), text, Some(&Type::String)) {
            Ok(expression) => Some(expression),
            Err(errors) if self.messages == Messages::MustCompile => {
                self.errors.extend(errors);
                None
            }
            Err(errors) => {
                let ignored = |error: CompileError| CompileError {
                    message: format!("{}; ignored, `message` is used instead", error.message),
                    ..error
                };
                self.warnings.extend(errors.into_iter().map(ignored));
                None
            }
        }
    }

    fn expression(
        &self,
        place: &str,
        text: &str,
        wanted: Option<&Type>,
    ) -> Result<Expression, CompileErrors> {
        let expression = self.environment.compile(text).map_err(|issues| {
            let located = |issue: cel_compat::Issue| {
                error("cel_compile_error", issue.message, located(place, text, issue.at))
            };
            CompileErrors::from(issues.into_iter().map(located).collect::<Vec<_>>())
        })?;
        match wanted.filter(|wanted| *wanted != expression.result()) {
            None => Ok(expression),
            Some(wanted) => {
                let message = format!("must evaluate to {wanted} but got {}", expression.result());
                Err(vec![error("cel_type_error", message, format!("source{place}"))].into())
            }
        }
    }
}

fn error(code: &str, message: String, location: String) -> CompileError {
    CompileError { code: code.to_owned(), message, location }
}

/// Returns the pointer to an expression with line and column, both from 1.
fn located(place: &str, text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count().saturating_add(1);
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count().saturating_add(1);
    format!("source{place}:{line}:{column}")
}

#[cfg(test)]
mod tests;
