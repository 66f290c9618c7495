//! One rule, compiled over the declared type of its value.

use cel_compat::{Environment, Expression, Type, TypeDeclaration};
use serde_json::Value;

use super::{Compiled, NotCompiled};

/// The expressions of a rule, ready to be evaluated.
pub(super) struct Program {
    pub(super) rule: Expression,
    pub(super) message: Option<Expression>,
    message_error: Option<NotCompiled>,
}

pub(super) fn compile(rule: &Value, declaration: &TypeDeclaration) -> Compiled {
    let max_cardinality = declaration.max_cardinality();
    let optional_old_self = rule.get("optionalOldSelf").and_then(Value::as_bool).unwrap_or(false);
    let environment = Environment::for_rule(declaration, optional_old_self);
    match program(rule, &environment) {
        Err(error) => {
            let is_refused = matches!(error, NotCompiled::Refused(_));
            let uses_old_self = is_refused.then_some(false);
            Compiled { max_cardinality, error: Some(error), uses_old_self, ..Compiled::default() }
        }
        Ok(Program { rule, message, message_error }) => Compiled {
            error: None,
            message_error,
            cost: cost(&rule),
            message_cost: message.as_ref().map(cost),
            max_cardinality,
            uses_old_self: Some(rule.uses("oldSelf")),
        },
    }
}

/// Every expression of a rule has an estimate; one without has to be refused, not to be free.
fn cost(expression: &Expression) -> u64 {
    expression.max_cost().unwrap_or(u64::MAX)
}

/// Compiles the expressions of a rule in the environment of its node.
///
/// # Errors
/// The rule does not compile, or only the server can decide whether it does.
pub(super) fn program(rule: &Value, environment: &Environment) -> Result<Program, NotCompiled> {
    let text = |field: &str| rule.get(field).and_then(Value::as_str).unwrap_or_default();
    let compiled = CONDITION.compile(environment, text("rule"))?;
    let mut program = Program { rule: compiled, message: None, message_error: None };
    if !text("messageExpression").is_empty() {
        match MESSAGE.compile(environment, text("messageExpression")) {
            Ok(message) => program.message = Some(message),
            Err(error) => program.message_error = Some(error),
        }
    }
    Ok(program)
}

const CONDITION: Goal = Goal {
    of: Type::Bool,
    compilation: "compilation failed",
    instantiation: "program instantiation failed",
    mismatch: "cel expression must evaluate to a bool",
};
const MESSAGE: Goal = Goal {
    of: Type::String,
    compilation: "messageExpression compilation failed",
    instantiation: "messageExpression instantiation failed",
    mismatch: "messageExpression must evaluate to a string",
};

/// The purpose of an expression, and the server's words when it is not fit for it.
struct Goal {
    of: Type,
    compilation: &'static str,
    instantiation: &'static str,
    mismatch: &'static str,
}

impl Goal {
    fn compile(&self, environment: &Environment, text: &str) -> Result<Expression, NotCompiled> {
        match environment.compile(text) {
            Ok(expression) if *expression.result() == self.of => Ok(expression),
            Ok(_) => Err(NotCompiled::Refused(self.mismatch.to_owned())),
            // The server has bounds of its own.
            Err(issues) if issues.exceed_limit() => {
                let texts: Vec<_> = issues.iter().map(|issue| issue.message.as_str()).collect();
                Err(NotCompiled::LeftToServer(texts.join("; ")))
            }
            Err(issues) => Err(NotCompiled::Refused(match issues.program_type() {
                None => format!("{}: {issues}", self.compilation),
                Some(of) if *of == self.of => format!("{}: {issues}", self.instantiation),
                Some(_) => self.mismatch.to_owned(),
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_without_an_estimate_is_refused_and_not_free() {
        let of_rule = Environment::for_rule(&TypeDeclaration::boolean(), false).compile("self").unwrap();
        assert!(cost(&of_rule) < u64::MAX);
        let other = Environment::default().with("self", Type::Bool).compile("self").unwrap();
        assert_eq!(cost(&other), u64::MAX);
    }
}
