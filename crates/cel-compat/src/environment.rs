//! The names that expressions may use, and the compiled form of an expression.
//!
//! Expressions are compiled in `check`; the values of the names are supplied when they are evaluated, in `eval`.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::declaration::TypeDeclaration;
use crate::node::Node;
use crate::types::Type;
use crate::value::Value;

/// The names that expressions may use: those given, and variables below `variables`.
#[derive(Debug)]
pub struct Environment {
    /// Identifies this environment: the positions in its expressions are valid in no other one.
    id: u64,
    given: Vec<Given>,
    variables: Vec<Variable>,
    /// Names that are not declared, and what to write instead.
    hints: Vec<(String, String)>,
    /// The declaration of `self`, when costs are estimated.
    root: Option<TypeDeclaration>,
    /// Names of fields may stand in `` ` ``.
    has_quoted_names: bool,
    has_patch_types: bool,
}

/// A variable supplied by the caller at evaluation time.
#[derive(Debug)]
struct Given {
    name: String,
    of: Type,
    /// True if it is written below `variables`.
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
    /// The environment that compiled its expression.
    pub(crate) environment: u64,
}

/// An expression that parsed and fits its environment.
#[derive(Debug)]
pub struct Expression {
    pub(crate) node: Node,
    pub(crate) of: Type,
    /// The depth of its nesting, the variables it uses included: it bounds the stack and the nesting of values.
    pub(crate) height: usize,
    /// See [`Expression::max_cost`].
    pub(crate) max_cost: Option<u64>,
    /// The names it uses, those that macros bind included.
    pub(crate) names: BTreeSet<String>,
    /// The environment that compiled it.
    pub(crate) environment: u64,
}

// === impl Environment ===

impl Default for Environment {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self {
            id,
            given: Vec::new(),
            variables: Vec::new(),
            hints: Vec::new(),
            root: None,
            has_quoted_names: true,
            has_patch_types: false,
        }
    }
}

impl Environment {
    /// Returns the environment of a rule in `x-kubernetes-validations`: `self` and `oldSelf` of the declared type, `oldSelf`
    /// optional if the rule sets `optionalOldSelf`. Expressions get an estimate of their cost.
    #[must_use]
    pub fn for_rule(declaration: &TypeDeclaration, optional_old_self: bool) -> Self {
        let of = declaration.type_of().clone();
        let old = if optional_old_self { Type::optional(of.clone()) } else { of.clone() };
        let environment = Self::default().with("self", of).with("oldSelf", old);
        Self { root: Some(declaration.clone()), ..environment }.without_quoted_names()
    }

    /// Refuses names of fields in `` ` ``: the version of cel-go in the API server 1.36 does, the one in Gatekeeper takes them.
    #[must_use]
    pub const fn without_quoted_names(mut self) -> Self {
        self.has_quoted_names = false;
        self
    }

    /// Adds what the expressions of mutations have: the types `Object`, those of its fields (`Object.spec`) and `JSONPatch`,
    /// and the function `jsonpatch.escapeKey`. Their values are maps, and fields of `Object` may have any name: those of a kind
    /// are in the schemas of a cluster.
    #[must_use]
    pub const fn with_patch_types(mut self) -> Self {
        self.has_patch_types = true;
        self
    }

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
        let environment = self.id;
        self.variables.push(Variable { name: name.to_owned(), of, node, height: 1, environment });
        self
    }

    /// Sets a hint for the error about a name that is not declared.
    #[must_use]
    pub fn with_hint(mut self, name: &str, hint: &str) -> Self {
        self.hints.push((name.to_owned(), hint.to_owned()));
        self
    }

    /// Adds `variables.<name>`, computed when first asked for in an evaluation. It sees what was there before it. The expression is
    /// one that this environment compiled; evaluations that use the variable fail otherwise.
    pub fn define(&mut self, name: &str, expression: Expression) {
        let Expression { node, of, height, environment, .. } = expression;
        self.variables.push(Variable { name: name.to_owned(), of, node, height, environment });
    }

    /// Adds `variables.<name>` of an unknown type and no value: it stands for one whose expression is refused, so that
    /// only the issues of that expression are reported.
    pub fn define_unknown(&mut self, name: &str) {
        let node = Node::Constant(Value::Null);
        let environment = self.id;
        self.variables.push(Variable { name: name.to_owned(), of: Type::Dyn, node, height: 1, environment });
    }

    pub(crate) const fn id(&self) -> u64 {
        self.id
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

    pub(crate) const fn has_quoted_names(&self) -> bool {
        self.has_quoted_names
    }

    pub(crate) const fn has_patch_types(&self) -> bool {
        self.has_patch_types
    }

    pub(crate) const fn root(&self) -> Option<&TypeDeclaration> {
        self.root.as_ref()
    }

    pub(crate) fn hint(&self, name: &str) -> Option<&str> {
        self.hints.iter().find(|(absent, _)| absent == name).map(|(_, hint)| hint.as_str())
    }
}

// === impl Expression ===

impl Expression {
    /// Returns the type of its value.
    #[must_use]
    pub const fn result(&self) -> &Type {
        &self.of
    }

    /// Returns what an evaluation costs at most, in the API server's units; estimated for the environment of a rule
    /// only.
    #[must_use]
    pub const fn max_cost(&self) -> Option<u64> {
        self.max_cost
    }

    /// Returns true if the expression uses a name.
    #[must_use]
    pub fn uses(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}
