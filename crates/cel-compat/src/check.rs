//! Checks an expression and resolves it: unknown names and functions, wrong arguments and wrong results are found
//! before anything is evaluated.
//!
//! The rules are those of cel-go's checker under the options that Kubernetes sets. Neighbours: `types` says what fits
//! what, `overload` what can be called; `check/call` resolves calls, `check/macros` what only looks like one.

mod call;
mod format;
mod literal;
mod macros;

use std::collections::{BTreeSet, HashMap};

use crate::value::Value;

use super::cost::{self, Resolved};
use super::environment::{Environment, Expression};
use super::issue::{Issue, Issues};
use super::kubernetes::{field, type_name};
use super::library;
use super::node::{Call as CallNode, Node};
use super::overload::overloads;
use super::parser::{RESERVED, parse};
use super::syntax::{Expr, ExprKind, Select};
use super::types::{Fields, Mapping, Type};

/// The most levels of an expression and of the variables it uses, one below the other. It bounds how deep values can
/// nest, and with that the stack that comparing and dropping them takes.
const TALLEST: usize = 500;

impl Environment {
    /// Parses and checks an expression.
    ///
    /// # Errors
    /// All issues of the first step that has any, in the order of their places: parsing, types, literals, constants.
    /// cel-go takes the same steps.
    pub fn compile(&self, source: &str) -> Result<Expression, Issues> {
        compile(source, self)
    }
}

fn compile(source: &str, environment: &Environment) -> Result<Expression, Issues> {
    let expr = parse(source, environment.has_quoted_names())?;
    let mut checker = Checker {
        environment,
        mapping: Mapping::default(),
        locals: Vec::new(),
        literals: Vec::new(),
        lenient: 0,
        typed: HashMap::new(),
        resolved: HashMap::new(),
        names: BTreeSet::new(),
        below: 0,
        found: Found::default(),
    };
    let (node, of) = checker.check(&expr);
    if checker.found.types.is_empty() {
        checker.check_literals();
    }
    let height = expr.height().saturating_add(checker.below);
    if height > TALLEST {
        let message = format!("nested deeper than {TALLEST}, the variables it uses included");
        checker.found.types.push(Issue::of_limit(message));
    }
    let of = checker.mapping.settle(&of);
    checker.found.first_step(source, &of)?;
    let max_cost = environment.root().map(|root| checker.max_cost(&expr, root));
    Ok(Expression { node, of, height, max_cost, names: checker.names, environment: environment.id() })
}

/// The issues of each step.
#[derive(Default)]
struct Found {
    types: Vec<Issue>,
    literals: Vec<Issue>,
    constants: Vec<Issue>,
}

impl Found {
    fn first_step(&mut self, source: &str, of: &Type) -> Result<(), Issues> {
        for step in [&mut self.types, &mut self.literals] {
            if !step.is_empty() {
                return Err(Issues::new(source, std::mem::take(step)));
            }
        }
        match std::mem::take(&mut self.constants).into_iter().next() {
            Some(issue) => Err(Issues::of_program(source, issue, of.clone())),
            None => Ok(()),
        }
    }
}

struct Checker<'a> {
    environment: &'a Environment,
    mapping: Mapping,
    /// Names bound by macros around the place checked, the innermost last.
    locals: Vec<(String, Type)>,
    /// The types of the elements of each list literal, and of the keys and of the values of each map literal: they
    /// must be the same. True for a list.
    literals: Vec<(Vec<(usize, Type)>, bool)>,
    /// The number of calls around the place checked that take lists of mixed elements.
    lenient: usize,
    /// The type of each part, by its address, as far as it is asked for later.
    typed: HashMap<usize, Type>,
    /// The overloads of each call, by its address, as far as it is asked for later.
    resolved: HashMap<usize, Resolved>,
    /// The names used.
    names: BTreeSet<String>,
    /// The height of the tallest variable used.
    below: usize,
    found: Found,
}

type Checked = (Node, Type);

impl Checker<'_> {
    fn check(&mut self, expr: &Expr) -> Checked {
        let checked = self.check_kind(expr);
        if self.lenient > 0 || self.environment.root().is_some() {
            self.typed.insert(expr.address(), checked.1.clone());
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
            ExprKind::Message(message) => self.message(expr.at, message),
            ExprKind::Call(call) => self.call(expr, call),
        }
    }

    /// Reports an issue; what follows goes on as if the place had any type.
    fn issue(&mut self, at: usize, message: impl Into<String>) -> Checked {
        self.found.types.push(Issue::new(at, message));
        (Node::Constant(Value::Null), Type::Error)
    }

    /// A type as issues print it, with everything unknown as `dyn`.
    fn printed(&self, of: &Type) -> String {
        self.printed_open(&self.mapping.settle(of))
    }

    /// A type as issues print it, with what is not known yet as `_var0` and so on. cel-go's numbers are others.
    fn printed_open(&self, of: &Type) -> String {
        of.printed(&|fields: &Fields| {
            let name = self.environment.root().and_then(|root| root.name_of(fields, "selfType"));
            name.unwrap_or_else(|| "object".to_owned())
        })
    }

    /// The name of a type without its parameters.
    fn printed_name(&self, of: &Type) -> String {
        match of {
            Type::List(_) => "list".to_owned(),
            Type::Map(..) => "map".to_owned(),
            Type::Optional(_) => "optional_type".to_owned(),
            Type::Duration | Type::Timestamp => of.to_string(),
            other => self.printed(other),
        }
    }

    fn max_cost(&mut self, expr: &Expr, root: &super::declaration::TypeDeclaration) -> u64 {
        let mapping = &self.mapping;
        self.typed.values_mut().for_each(|of| *of = mapping.settle(of));
        cost::estimate(expr, &self.typed, &self.resolved, root)
    }

    fn name(&mut self, at: usize, written: &str) -> Checked {
        let name = written.strip_prefix('.').unwrap_or(written);
        if let Some(local) = self.local(name) {
            self.names.insert(name.to_owned());
            return local;
        }
        if let Some((position, of)) = self.environment.given(name) {
            let found = (Node::Given(position), of.clone());
            self.names.insert(name.to_owned());
            return found;
        }
        if let Some(name) = type_name(name) {
            return (Node::Constant(Value::Type(name)), Type::Type);
        }
        match self.environment.hint(name) {
            Some(advice) => self.issue(at, format!("{}: {advice}", undeclared(written))),
            None => self.issue(at, undeclared(written)),
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
        let field = self.property(&of, &select.field);
        let (result, is_optional) = self.field(expr.at, &of, &field);
        if select.optional {
            let result = if is_optional { result } else { Type::optional(result) };
            return (Node::SelectOptional { operand: Box::new(operand), field }, result);
        }
        (Node::select(operand, field), result)
    }

    /// The name of the property that a field means: a reserved word may be written for `__word__`, if that is declared
    /// (`recognizeKeywordAsFieldName` in `k8s.io/apiserver/pkg/cel/types.go`).
    fn property(&self, operand: &Type, field: &str) -> String {
        if RESERVED.contains(&field)
            && let Type::Struct(fields) = self.mapping.resolve(operand).unwrapped().0
        {
            let property = format!("__{field}__");
            if fields.get(&property).is_some() {
                return property;
            }
        }
        field.to_owned()
    }

    /// `variables.name`, where `variables` is not a name of a macro. Rules of a schema have none.
    fn variable(&mut self, at: usize, select: &Select) -> Option<Checked> {
        let is_variables = matches!(&select.operand.kind, ExprKind::Name(name) if name == "variables");
        if !is_variables || self.environment.root().is_some() || self.local("variables").is_some() {
            return None;
        }
        let Some((position, variable)) = self.environment.variable(&select.field) else {
            let message =
                format!("undefined field '{}': no variable of that name is declared above", select.field);
            return Some(self.issue(at, message));
        };
        self.below = self.below.max(variable.height);
        let of = variable.of.clone();
        if select.optional {
            let node = Node::Call(Box::new(CallNode {
                function: library::optional_of,
                overloads: overloads("optional.of", false),
                arguments: vec![Node::Variable(position)],
            }));
            return Some((node, Type::optional(of)));
        }
        Some((Node::Variable(position), of))
    }

    /// The type of a field, and whether it is an optional because its operand is one.
    fn field(&mut self, at: usize, operand: &Type, name: &str) -> (Type, bool) {
        let operand = self.mapping.resolve(operand);
        let (target, is_optional) = operand.unwrapped();
        let result = match target {
            Type::Map(_, value) => (**value).clone(),
            Type::Object(object) => field(object, name).unwrap_or_else(|| self.undefined(at, name)),
            Type::Struct(fields) => match fields.get(name) {
                Some(field) => field.clone(),
                None => self.undefined(at, name),
            },
            Type::Open(_) => {
                self.mapping.fits(&Type::Dyn, target);
                Type::Dyn
            }
            Type::Dyn | Type::Error => Type::Dyn,
            // cel-go takes these for objects and finds no declaration of their fields.
            Type::Opaque(of) if !of.starts_with("net.") => {
                self.issue(at, format!("unexpected failed resolution of '{of}'")).1
            }
            other => {
                let other = self.printed(other);
                self.issue(at, format!("type '{other}' does not support field selection"));
                Type::Dyn
            }
        };
        if is_optional { (Type::optional(result), true) } else { (result, false) }
    }

    fn undefined(&mut self, at: usize, field: &str) -> Type {
        self.issue(at, format!("undefined field '{field}'")).1
    }
}

/// Nothing of that name is declared. Containers are for protocol buffers; Kubernetes has none.
fn undeclared(name: &str) -> String {
    format!("undeclared reference to '{name}' (in container '')")
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
