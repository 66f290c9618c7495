//! One rule, compiled over the declared type of its value.

use cel_compat::{Environment, Expression, Type, TypeDeclaration};
use serde_json::Value;

use super::Compiled;

/// The expressions of a rule, ready to be evaluated.
pub(super) struct Program {
    pub(super) rule: Expression,
    pub(super) message: Option<Expression>,
    /// The reason why the server would not compile the `messageExpression`.
    message_error: Option<String>,
}

pub(super) fn compile(rule: &Value, declaration: &TypeDeclaration) -> Compiled {
    let max_cardinality = declaration.max_cardinality();
    let optional_old_self = rule.get("optionalOldSelf").and_then(Value::as_bool).unwrap_or(false);
    let environment = Environment::for_rule(declaration, optional_old_self);
    match program(rule, &environment) {
        Err(None) => Compiled { max_cardinality, uses_old_self: None, ..Compiled::default() },
        Err(error) => Compiled { max_cardinality, error, uses_old_self: Some(false), ..Compiled::default() },
        Ok(Program { rule, message, message_error }) => Compiled {
            error: None,
            message_error,
            cost: rule.max_cost().unwrap_or(0),
            message_cost: message.and_then(|message| message.max_cost()),
            max_cardinality,
            uses_old_self: Some(rule.uses("oldSelf")),
        },
    }
}

/// Compiles the expressions of a rule in the environment of its node.
///
/// # Errors
/// The server's compile error; `None` if only the server can decide whether the rule compiles.
pub(super) fn program(rule: &Value, environment: &Environment) -> Result<Program, Option<String>> {
    let text = |field: &str| rule.get(field).and_then(Value::as_str).unwrap_or_default();
    let compiled = CONDITION.compile(environment, text("rule"))?;
    let mut program = Program { rule: compiled, message: None, message_error: None };
    if !text("messageExpression").is_empty() {
        match MESSAGE.compile(environment, text("messageExpression")) {
            Ok(message) => program.message = Some(message),
            Err(error) => program.message_error = error,
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
    fn compile(&self, environment: &Environment, text: &str) -> Result<Expression, Option<String>> {
        match environment.compile(text) {
            Ok(expression) if *expression.result() == self.of => Ok(expression),
            Ok(_) => Err(Some(self.mismatch.to_owned())),
            // The server has bounds of its own.
            Err(issues) if issues.exceed_limit() => Err(None),
            Err(issues) => Err(Some(match issues.program_type() {
                None => format!("{}: {issues}", self.compilation),
                Some(of) if *of == self.of => format!("{}: {issues}", self.instantiation),
                Some(_) => self.mismatch.to_owned(),
            })),
        }
    }
}
