//! The names that expressions may use, and what becomes of an expression.
//!
//! Which values the names stand for is said when an expression is evaluated, see `eval`.

use crate::check;
use crate::node::Node;
use crate::syntax::Mistake;
use crate::types::Type;
use crate::value::Value;

/// The names that expressions may use: those given, and variables below `variables`.
#[derive(Debug, Default)]
pub struct Environment {
    given: Vec<Given>,
    variables: Vec<Variable>,
    absent: Vec<(String, String)>,
}

/// A name whose value whoever evaluates gives.
#[derive(Debug)]
struct Given {
    name: String,
    of: Type,
    /// Whether it is written below `variables`.
    is_variable: bool,
}

/// `variables.<name>`
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) of: Type,
    pub(crate) node: Node,
    /// See [`Expression::height`].
    pub(crate) height: usize,
}

/// An expression that parsed and fits its environment.
#[derive(Debug)]
pub struct Expression {
    pub(crate) node: Node,
    pub(crate) of: Type,
    /// How deep it nests, the variables it uses included: what bounds the stack and the nesting of values.
    pub(crate) height: usize,
}

// === impl Environment ===

impl Environment {
    /// Adds a name whose value is given at evaluation.
    #[must_use]
    pub fn with(mut self, name: &str, of: Type) -> Self {
        self.given.push(Given { name: name.to_owned(), of, is_variable: false });
        self
    }

    /// Adds `variables.<name>`, whose value is given at evaluation under the name `variables.<name>`.
    #[must_use]
    pub fn with_variable(mut self, name: &str, of: Type) -> Self {
        let node = Node::Given(self.given.len());
        self.given.push(Given { name: format!("variables.{name}"), of: of.clone(), is_variable: true });
        self.variables.push(Variable { name: name.to_owned(), of, node, height: 1 });
        self
    }

    /// What to tell whoever uses a name that is not there.
    #[must_use]
    pub fn without(mut self, name: &str, advice: &str) -> Self {
        self.absent.push((name.to_owned(), advice.to_owned()));
        self
    }

    /// Adds `variables.<name>`, computed when first asked for in an evaluation. It sees what was there before it.
    pub fn define(&mut self, name: &str, expression: Expression) {
        let Expression { node, of, height } = expression;
        self.variables.push(Variable { name: name.to_owned(), of, node, height });
    }

    /// Adds `variables.<name>` of an unknown type and no value: it stands for one whose expression is refused, so that
    /// only its own mistakes are reported.
    pub fn define_unknown(&mut self, name: &str) {
        self.define(name, Expression { node: Node::Constant(Value::Null), of: Type::Dyn, height: 1 });
    }

    /// Parses and checks an expression.
    ///
    /// # Errors
    /// All mistakes, in the order of their places; one, when it does not even parse.
    pub fn compile(&self, text: &str) -> Result<Expression, Vec<Mistake>> {
        check::compile(text, self)
    }

    /// A given name: its position and its type.
    pub(crate) fn given(&self, name: &str) -> Option<(usize, &Type)> {
        let position = self.given.iter().position(|given| !given.is_variable && given.name == name)?;
        self.given.get(position).map(|given| (position, &given.of))
    }

    /// The name at a position, as [`crate::Bindings`] know it.
    pub(crate) fn given_name(&self, position: usize) -> Option<&str> {
        self.given.get(position).map(|given| given.name.as_str())
    }

    /// The position of a variable.
    pub(crate) fn variable(&self, name: &str) -> Option<(usize, &Variable)> {
        let position = self.variables.iter().position(|variable| variable.name == name)?;
        self.variables.get(position).map(|variable| (position, variable))
    }

    pub(crate) fn variables(&self) -> &[Variable] {
        &self.variables
    }

    pub(crate) fn advice(&self, name: &str) -> Option<&str> {
        self.absent.iter().find(|(absent, _)| absent == name).map(|(_, advice)| advice.as_str())
    }
}

// === impl Expression ===

impl Expression {
    /// The type of its value.
    #[must_use]
    pub fn result(&self) -> &Type {
        &self.of
    }
}
