//! Checks an expression and resolves it: unknown names and functions, wrong arguments and wrong results are found
//! before anything is evaluated.
//!
//! The rules are those of cel-go's checker under the options that Kubernetes sets. Neighbours: `types` says what fits
//! what, `overload` what can be called; `check/call` resolves calls, `check/macros` what only looks like one.

mod call;
mod format;
mod literal;
mod macros;

use std::collections::HashMap;

use crate::value::Value;

use super::declared::{field, type_name};
use super::environment::{Environment, Expression};
use super::library;
use super::node::{Call as CallNode, Node};
use super::overload::overloads;
use super::parser::parse;
use super::syntax::{Expr, ExprKind, Mistake, Select};
use super::types::{Findings, Type};

/// The most levels of an expression and of the variables it uses, one below the other. It bounds how deep values can
/// nest, and with that the stack that comparing and dropping them takes.
const TALLEST: usize = 500;

/// Parses and checks an expression.
///
/// # Errors
/// All mistakes; one, when it does not even parse.
pub(super) fn compile(source: &str, environment: &Environment) -> Result<Expression, Vec<Mistake>> {
    let expr = parse(source).map_err(|mistake| vec![mistake])?;
    let mut checker = Checker {
        environment,
        findings: Findings::default(),
        locals: Vec::new(),
        literals: Vec::new(),
        lenient: 0,
        typed: HashMap::new(),
        below: 0,
        mistakes: Vec::new(),
    };
    let (node, of) = checker.check(&expr);
    checker.check_literals();
    let height = expr.height().saturating_add(checker.below);
    if height > TALLEST {
        let message = format!("nested deeper than {TALLEST}, the variables it uses included");
        checker.mistake(expr.at, message);
    }
    if checker.mistakes.is_empty() {
        Ok(Expression { node, of: checker.findings.settle(&of), height })
    } else {
        checker.mistakes.sort_by_key(|mistake| mistake.at);
        Err(checker.mistakes)
    }
}

struct Checker<'a> {
    environment: &'a Environment,
    findings: Findings,
    /// Names bound by macros around the place checked, the innermost last.
    locals: Vec<(String, Type)>,
    /// The element types of every list and map literal, which must be the same within each.
    literals: Vec<Vec<(usize, Type)>>,
    /// How many calls around the place checked take lists of mixed elements.
    lenient: usize,
    /// The types found inside the arguments of `format`, by the address of the expression.
    typed: HashMap<usize, Type>,
    /// The height of the tallest variable used.
    below: usize,
    mistakes: Vec<Mistake>,
}

type Checked = (Node, Type);

impl Checker<'_> {
    fn check(&mut self, expr: &Expr) -> Checked {
        let checked = self.check_kind(expr);
        if self.lenient > 0 {
            self.typed.insert(address(expr), checked.1.clone());
        }
        checked
    }

    fn check_kind(&mut self, expr: &Expr) -> Checked {
        match &expr.kind {
            ExprKind::Literal(value) => (Node::Constant(value.clone()), literal_type(value)),
            ExprKind::Name(name) => self.name(expr.at, name),
            ExprKind::Select(select) => self.select(expr, select),
            ExprKind::List(elements) => self.list(elements),
            ExprKind::Map(entries) => self.map(entries),
            ExprKind::Call(call) => self.call(expr.at, call),
        }
    }

    /// Notes a mistake; what follows goes on as if the place were dynamic.
    fn mistake(&mut self, at: usize, message: impl Into<String>) -> Checked {
        self.mistakes.push(Mistake::new(at, message));
        (Node::Constant(Value::Null), Type::Dyn)
    }

    fn name(&mut self, at: usize, name: &str) -> Checked {
        if let Some(local) = self.local(name) {
            return local;
        }
        if let Some((position, of)) = self.environment.given(name) {
            return (Node::Given(position), of.clone());
        }
        if let Some(name) = type_name(name) {
            return (Node::Constant(Value::Type(name)), Type::Type);
        }
        match self.environment.advice(name) {
            Some(advice) => self.mistake(at, format!("undeclared reference to '{name}': {advice}")),
            None => self.mistake(at, format!("undeclared reference to '{name}'")),
        }
    }

    fn local(&self, name: &str) -> Option<Checked> {
        let slot = self.locals.iter().rposition(|(local, _)| local == name)?;
        let (_, of) = self.locals.get(slot)?;
        Some((Node::Local(slot), of.clone()))
    }

    // === selections ===

    fn select(&mut self, expr: &Expr, select: &Select) -> Checked {
        if let Some(variable) = self.variable(expr.at, select) {
            return variable;
        }
        if let Some(name) = expr.dotted().as_deref().and_then(type_name) {
            return (Node::Constant(Value::Type(name)), Type::Type);
        }
        let (operand, of) = self.check(&select.operand);
        let (result, is_optional) = self.field(expr.at, &of, &select.field);
        let operand = Box::new(operand);
        let field = select.field.clone();
        if select.optional {
            let result = if is_optional { result } else { Type::optional(result) };
            return (Node::SelectOptional { operand, field }, result);
        }
        (Node::Select { operand, field }, result)
    }

    /// `variables.name`, where `variables` is no name of a macro.
    fn variable(&mut self, at: usize, select: &Select) -> Option<Checked> {
        let is_variables = matches!(&select.operand.kind, ExprKind::Name(name) if name == "variables");
        if !is_variables || self.local("variables").is_some() {
            return None;
        }
        let Some((position, variable)) = self.environment.variable(&select.field) else {
            let message =
                format!("undefined field '{}': no variable of that name is declared above", select.field);
            return Some(self.mistake(at, message));
        };
        self.below = self.below.max(variable.height);
        let of = variable.of.clone();
        if select.optional {
            let present = library::optional_of();
            let node = Node::Call(Box::new(CallNode {
                function: present,
                overloads: overloads("optional.of", false),
                arguments: vec![Node::Variable(position)],
            }));
            return Some((node, Type::optional(of)));
        }
        Some((Node::Variable(position), of))
    }

    /// The type of a field, and whether it is an optional because its operand is one.
    fn field(&mut self, at: usize, operand: &Type, name: &str) -> (Type, bool) {
        let operand = self.findings.resolve(operand);
        let (target, is_optional) = operand.unwrapped();
        let result = match target {
            Type::Map(_, value) => (**value).clone(),
            Type::Object(object) => field(object, name)
                .unwrap_or_else(|| self.mistake(at, format!("undefined field '{name}' of {object}")).1),
            Type::Open(_) => {
                self.findings.fits(&Type::Dyn, target);
                Type::Dyn
            }
            Type::Dyn => Type::Dyn,
            other => self.mistake(at, format!("type '{other}' does not support field selection")).1,
        };
        if is_optional { (Type::optional(result), true) } else { (result, false) }
    }
}

/// What tells one part of an expression from another while it is checked.
fn address(expr: &Expr) -> usize {
    std::ptr::from_ref(expr).addr()
}

fn literal_type(value: &Value) -> Type {
    match value {
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::Int,
        Value::Uint(_) => Type::Uint,
        Value::Float(_) => Type::Double,
        Value::String(_) => Type::String,
        Value::Bytes(_) => Type::Bytes,
        Value::Null => Type::Null,
        _ => Type::Dyn,
    }
}
