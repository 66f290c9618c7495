//! Evaluates checked expressions, as cel-go does: errors are values that only `&&`, `||`, `all` and `exists` absorb.
//!
//! Values are shared, never copied: selecting a field of a large object costs the same as of a small one.

mod access;
mod fold;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use eval_budget::Budget;

use super::environment::{Environment, Expression};
use super::error::EvalError;
use super::meter::Meter;
use super::node::{Call, Node, OptionalMap, Path};
use super::operator::{Operator, negate};
use super::value::{Key, Value};
use access::{check_index, find, has, missing, select, select_optional};

/// The values of the names that an [`Environment`] was given.
pub trait Bindings {
    /// Returns the value of a name; called only where an expression uses the name. Variables come as `variables.<name>`.
    /// The value of an object that is absent is `Value::Null`.
    ///
    /// # Errors
    /// [`EvalError::Internal`] for a name without a value, and [`EvalError::Unreadable`] for a value that there is and that cannot be
    /// supplied: the evaluation ends with either. `&&` and `||` absorb [`EvalError::Failed`], as they do any error of the language.
    fn value(&self, name: &str) -> Result<Value, EvalError>;
}

impl Bindings for BTreeMap<String, Value> {
    fn value(&self, name: &str) -> Result<Value, EvalError> {
        self.get(name).cloned().ok_or_else(|| EvalError::no_value(name))
    }
}

/// One evaluation of any number of expressions, under one budget: its names' values, and what it knows already.
///
/// Stays on the thread that made it.
pub struct Evaluation<'a> {
    environment: &'a Environment,
    bindings: &'a dyn Bindings,
    /// The values of the variables, as far as they were requested.
    known: Vec<Option<Result<Value, String>>>,
    locals: Vec<Value>,
    meter: Meter,
}

impl<'a> Evaluation<'a> {
    /// Begins an evaluation; the clock of the budget runs from here.
    pub fn new(environment: &'a Environment, bindings: &'a dyn Bindings, budget: &Budget) -> Self {
        let known = environment.variables().iter().map(|_| None).collect();
        Self { environment, bindings, known, locals: Vec::new(), meter: Meter::new(*budget) }
    }

    /// Replaces the values of the names. What is spent stays spent.
    #[must_use]
    pub fn rebind(mut self, bindings: &'a dyn Bindings) -> Self {
        self.known.iter_mut().for_each(|known| *known = None);
        Self { bindings, ..self }
    }

    /// Evaluates an expression that this evaluation's environment compiled.
    ///
    /// # Errors
    /// An error of the language, an exhausted budget, a value that the bindings cannot supply, or [`EvalError::Internal`] for an
    /// expression that another environment compiled.
    pub fn evaluate(&mut self, expression: &Expression) -> Result<Value, EvalError> {
        self.check_origin(expression.environment)?;
        self.meter.enter();
        self.locals.clear();
        self.node(&expression.node)
    }

    fn check_origin(&self, environment: u64) -> Result<(), EvalError> {
        if environment == self.environment.id() {
            return Ok(());
        }
        Err(EvalError::Internal("another environment compiled the expression".to_owned()))
    }

    fn node(&mut self, node: &Node) -> Result<Value, EvalError> {
        self.read(node, |value| Ok(value.clone()), Ok)
    }

    fn holds(&mut self, node: &Node) -> Result<bool, EvalError> {
        self.with_value(node, as_bool)
    }

    /// Returns the result of `f` for the value of a node.
    fn with_value<T>(
        &mut self,
        node: &Node,
        f: impl Fn(&Value) -> Result<T, EvalError>,
    ) -> Result<T, EvalError> {
        self.read(node, &f, |value| f(&value))
    }

    /// Returns the result of `placed` for the value of a node where it is, or of `made` for one that had to be computed.
    fn read<T>(
        &mut self,
        node: &Node,
        placed: impl FnOnce(&Value) -> Result<T, EvalError>,
        made: impl FnOnce(Value) -> Result<T, EvalError>,
    ) -> Result<T, EvalError> {
        if let Some((value, steps)) = self.place(node) {
            self.meter.steps(steps)?;
            return placed(value);
        }
        let value = self.compute(node)?;
        made(value)
    }

    /// The value of a node that is somewhere already, and the steps to it: a constant, a name, or what lies below one.
    /// Most of what policies ask comes to that, and to look at a value where it is needs no count of references.
    fn place<'v>(&'v self, node: &'v Node) -> Option<(&'v Value, usize)> {
        match node {
            Node::Constant(value) => Some((value, 1)),
            Node::Local(slot) => self.locals.get(*slot).map(|value| (value, 1)),
            Node::Variable(position) => match self.known.get(*position)? {
                Some(Ok(value)) => Some((value, 1)),
                _ => None,
            },
            Node::Path(path) => {
                let (root, steps) = self.place(&path.root)?;
                let field = |value: &'v Value, field: &String| match value {
                    Value::Map(map) => map.field(field),
                    _ => None,
                };
                let value = path.fields.iter().try_fold(root, field)?;
                Some((value, steps.saturating_add(path.fields.len())))
            }
            _ => None,
        }
    }

    fn compute(&mut self, node: &Node) -> Result<Value, EvalError> {
        self.meter.descend()?;
        match node {
            Node::Constant(value) => Ok(value.clone()),
            Node::Given(position) => self.given(*position),
            Node::Variable(position) => self.variable(*position),
            Node::Local(slot) => Err(EvalError::Internal(format!("no value in slot {slot} of the macros"))),
            Node::Path(path) => self.path(path),
            Node::SelectOptional { operand, field } => {
                self.with_value(operand, |value| select_optional(value, field))
            }
            Node::Has { operand, field } => {
                self.with_value(operand, |value| has(value, field)).map(Value::Bool)
            }
            Node::Index(pair) => self.index(pair, false),
            Node::IndexOptional(pair) => self.index(pair, true),
            Node::Every(operands) => self.logic(operands, false),
            Node::Some(operands) => self.logic(operands, true),
            Node::Not(operand) => self.holds(operand).map(|truth| Value::Bool(!truth)),
            Node::Negate(operand) => negate(&self.node(operand)?),
            Node::Conditional(parts) => {
                let [condition, then, otherwise] = parts.as_ref();
                let chosen = if self.holds(condition)? { then } else { otherwise };
                self.node(chosen)
            }
            Node::Operation(operator, operands) => self.operation(*operator, operands),
            Node::Otherwise { parts, is_value } => self.otherwise(parts, *is_value),
            Node::Call(call) => self.call(call),
            Node::List(elements) => self.list(elements),
            Node::Map(entries) => self.map(entries),
            Node::Fold(fold) => self.fold(fold),
            Node::Optional(map) => self.optional_map(map),
        }
    }

    /// A chain of fields below a value that has to be computed, or one that ends in an error.
    fn path(&mut self, path: &Path) -> Result<Value, EvalError> {
        self.meter.steps(path.fields.len().saturating_sub(1))?;
        let root = self.node(&path.root)?;
        path.fields.iter().try_fold(root, |value, field| select(&value, field))
    }

    fn operation(&mut self, operator: Operator, [a, b]: &[Node; 2]) -> Result<Value, EvalError> {
        if let Some((a, to_a)) = self.place(a)
            && let Some((b, to_b)) = self.place(b)
        {
            self.meter.steps(to_a.saturating_add(to_b))?;
            return operator.apply(&self.meter, Cow::Borrowed(a), Cow::Borrowed(b));
        }
        let (a, b) = (self.node(a)?, self.node(b)?);
        operator.apply(&self.meter, Cow::Owned(a), Cow::Owned(b))
    }

    fn given(&self, position: usize) -> Result<Value, EvalError> {
        let name = self.environment.given_name(position);
        self.bindings
            .value(name.ok_or_else(|| EvalError::Internal(format!("no name at position {position}")))?)
    }

    /// A variable, evaluated when first asked for.
    fn variable(&mut self, position: usize) -> Result<Value, EvalError> {
        if let Some(Some(known)) = self.known.get(position) {
            return known.clone().map_err(EvalError::Failed);
        }
        let environment = self.environment;
        let Some(variable) = environment.variables().get(position) else {
            return Err(EvalError::Internal(format!("no variable at position {position}")));
        };
        self.check_origin(variable.environment)?;
        let locals = std::mem::take(&mut self.locals);
        let outcome = self.node(&variable.node);
        self.locals = locals;
        let outcome = match outcome {
            Ok(value) => Ok(value),
            Err(EvalError::Failed(message)) => {
                Err(format!("composited variable {:?} fails to evaluate: {message}", variable.name))
            }
            Err(fatal) => return Err(fatal),
        };
        if let Some(slot) = self.known.get_mut(position) {
            *slot = Some(outcome.clone());
        }
        outcome.map_err(EvalError::Failed)
    }

    /// `&&` and `||`: the deciding operand wins, wherever it stands, over errors and over what is not a bool.
    fn logic(&mut self, operands: &[Node], deciding: bool) -> Result<Value, EvalError> {
        decide(operands.iter().map(|operand| self.holds(operand)), deciding)
    }

    fn index(&mut self, pair: &[Node; 2], is_optional: bool) -> Result<Value, EvalError> {
        let [operand, index] = pair;
        let operand = self.node(operand)?;
        if matches!(operand, Value::Optional(None)) {
            return Ok(operand);
        }
        let index = self.node(index)?;
        check_index(&index)?;
        match operand.as_optional() {
            Some(None) => Ok(operand),
            Some(Some(inner)) => find(inner, &index).map(|found| Value::optional(found.cloned())),
            None if is_optional => find(&operand, &index).map(|found| Value::optional(found.cloned())),
            None => find(&operand, &index)?.cloned().ok_or_else(|| missing(&operand, &index)),
        }
    }

    /// `or` and `orValue`: the second operand is evaluated only where the first is none.
    fn otherwise(&mut self, [target, other]: &[Node; 2], is_value: bool) -> Result<Value, EvalError> {
        let target = self.node(target)?;
        match target.as_optional() {
            Some(Some(inner)) if is_value => Ok(inner.clone()),
            Some(Some(_)) => Ok(target),
            Some(None) => self.node(other),
            None => Err(EvalError::no_overload()),
        }
    }

    fn call(&mut self, call: &Call) -> Result<Value, EvalError> {
        // No allocation for the arities that occur.
        match call.arguments.as_slice() {
            [a] => {
                let arguments = [self.node(a)?];
                self.function(call, &arguments)
            }
            [a, b] => {
                let arguments = [self.node(a)?, self.node(b)?];
                self.function(call, &arguments)
            }
            all => {
                let mut arguments = Vec::with_capacity(all.len());
                for argument in all {
                    arguments.push(self.node(argument)?);
                }
                self.function(call, &arguments)
            }
        }
    }

    fn function(&self, call: &Call, arguments: &[Value]) -> Result<Value, EvalError> {
        let fits = call.overloads.iter().any(|overload| {
            overload.arguments.len() == arguments.len()
                && overload.arguments.iter().zip(arguments).all(|(of, value)| of.admits(value))
        });
        if !fits {
            return Err(EvalError::no_overload());
        }
        (call.function)(&self.meter, arguments)
    }

    fn list(&mut self, elements: &[(bool, Node)]) -> Result<Value, EvalError> {
        self.meter.elements(elements.len())?;
        let mut list = Vec::with_capacity(elements.len());
        for (is_optional, element) in elements {
            let value = self.node(element)?;
            list.extend(present(*is_optional, value)?);
        }
        Ok(Value::List(Arc::new(list)))
    }

    fn map(&mut self, entries: &[(bool, Node, Node)]) -> Result<Value, EvalError> {
        self.meter.elements(entries.len().saturating_mul(2))?;
        let mut map = Vec::with_capacity(entries.len());
        for (is_optional, name, value) in entries {
            let name = Key::try_from(self.node(name)?)?;
            let value = self.node(value)?;
            if let Some(value) = present(*is_optional, value)? {
                map.push((name, value));
            }
        }
        Ok(Value::Map(map.into_iter().collect()))
    }

    fn optional_map(&mut self, map: &OptionalMap) -> Result<Value, EvalError> {
        let target = self.node(&map.target)?;
        let Some(inner) = target.as_optional().ok_or_else(EvalError::no_overload)? else {
            return Ok(Value::optional(None));
        };
        self.locals.truncate(map.slot);
        self.locals.push(inner.clone());
        let result = self.node(&map.body);
        self.locals.truncate(map.slot);
        let result = result?;
        Ok(if map.is_flat { result } else { Value::optional(Some(result)) })
    }
}

/// The value of `&&` and `all` (`deciding` is false), of `||` and `exists` (it is true): one operand with the deciding value
/// is enough, whichever others fail. `false && 1/0 > 0` and `1/0 > 0 && false` are both false; without it the first error
/// counts. Internal errors and an exhausted budget end the evaluation.
fn decide(truths: impl Iterator<Item = Result<bool, EvalError>>, deciding: bool) -> Result<Value, EvalError> {
    let mut failed = None;
    for truth in truths {
        match truth {
            Ok(truth) if truth == deciding => return Ok(Value::Bool(deciding)),
            Ok(_) => {}
            Err(EvalError::Failed(message)) => {
                failed.get_or_insert(message);
            }
            Err(fatal) => return Err(fatal),
        }
    }
    failed.map_or(Ok(Value::Bool(!deciding)), |message| Err(EvalError::Failed(message)))
}

fn as_bool(value: &Value) -> Result<bool, EvalError> {
    match value {
        Value::Bool(truth) => Ok(*truth),
        _ => Err(EvalError::no_overload()),
    }
}

/// Returns what `?element` contributes.
fn present(is_optional: bool, value: Value) -> Result<Option<Value>, EvalError> {
    if !is_optional {
        return Ok(Some(value));
    }
    value.as_optional().map(|inner| inner.cloned()).ok_or_else(|| {
        EvalError::failed("cannot initialize an optional element from a value that is not an optional")
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::node::{Fold, Shape};
    use super::super::types::Type;
    use super::*;

    fn evaluate(node: Node, environment: &Environment) -> Result<Value, EvalError> {
        let expression = Expression {
            node,
            of: Type::Dyn,
            height: 1,
            max_cost: None,
            names: BTreeSet::new(),
            environment: environment.id(),
        };
        let values = BTreeMap::new();
        Evaluation::new(environment, &values, &Budget::default()).evaluate(&expression)
    }

    /// The forms that absorb errors of the language, each around a node.
    fn absorbing(broken: fn() -> Node) -> Vec<Node> {
        let truth = |truth| Node::Constant(Value::Bool(truth));
        let fold = |shape| {
            let range = Node::Constant(Value::list(vec![Value::Int(1), Value::Int(2)]));
            Node::Fold(Box::new(Fold { range, slot: 0, is_pair: false, shape }))
        };
        vec![
            broken(),
            Node::Some(vec![broken(), truth(true)]),
            Node::Every(vec![broken(), truth(false)]),
            fold(Shape::Exists(Node::Some(vec![broken(), truth(true)]))),
            fold(Shape::All(broken())),
        ]
    }

    #[test]
    fn a_broken_position_is_an_internal_error_that_nothing_absorbs() {
        let mut environment = Environment::default().with("object", Type::Dyn);
        let missing: [fn() -> Node; 4] =
            [|| Node::Local(9), || Node::Given(9), || Node::Variable(9), || Node::Given(0)];
        for node in missing.into_iter().flat_map(absorbing) {
            let shown = format!("{node:?}");
            assert!(matches!(evaluate(node, &environment), Err(EvalError::Internal(_))), "{shown}");
        }
        environment.define("v", environment.compile("object.a").unwrap());
        let uses = environment.compile("true || variables.v || variables.v == 1").unwrap();
        assert_eq!(evaluate(uses.node, &environment), Ok(Value::Bool(true)), "never requested");
        let uses = environment.compile("variables.v || true").unwrap();
        let error = evaluate(uses.node, &environment).unwrap_err();
        assert_eq!(error.to_string(), "internal error: no value for the name object");
    }

    #[test]
    fn a_macro_that_lost_its_slot_is_an_internal_error() {
        let range = Node::Constant(Value::list(vec![Value::Int(1)]));
        let shape = Shape::Filter(Node::Constant(Value::Bool(true)));
        let node = Node::Fold(Box::new(Fold { range, slot: 3, is_pair: false, shape }));
        assert!(matches!(evaluate(node, &Environment::default()), Err(EvalError::Internal(_))));
    }

    #[test]
    fn an_expression_of_another_environment_is_an_internal_error() {
        let made = |names: [&str; 2]| {
            names
                .into_iter()
                .fold(Environment::default(), |environment, name| environment.with(name, Type::Dyn))
        };
        let (mut own, other) = (made(["a", "b"]), made(["b", "a"]));
        let values: BTreeMap<String, Value> =
            [("a".to_owned(), Value::Int(1)), ("b".to_owned(), Value::Int(2))].into();
        own.define("v", other.compile("a").unwrap());
        for expression in [other.compile("a").unwrap(), own.compile("variables.v").unwrap()] {
            let answer = Evaluation::new(&own, &values, &Budget::default()).evaluate(&expression);
            assert!(matches!(answer, Err(EvalError::Internal(_))), "{answer:?}");
        }
        let expression = own.compile("a").unwrap();
        assert_eq!(
            Evaluation::new(&own, &values, &Budget::default()).evaluate(&expression),
            Ok(Value::Int(1))
        );
    }
}
