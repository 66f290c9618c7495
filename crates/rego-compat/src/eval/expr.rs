//! Values of expressions: borrowed from where they are, wherever possible.

use std::borrow::Cow;

use crate::value::Value;
use crate::value::{Array, Object, Set};

use crate::error::EvalError;
use crate::lookup::{self, Lookup};
use crate::plan::{BuiltinCall, Callee, Expr, Get, Invariant, missing};

use super::context::{Mock, Remembered};
use super::document::Inner;
use super::{EvalContext, Frame};

/// A value, or none.
pub(super) type Found<'a> = Result<Option<Cow<'a, Value>>, EvalError>;

impl EvalContext<'_> {
    /// Returns the value of an expression whose slots all have values.
    pub(crate) fn value<'a>(&'a self, expr: &'a Expr, frame: &'a Frame) -> Found<'a> {
        if let Some(found) = self.place(expr, frame) {
            return Ok(found.map(Cow::Borrowed));
        }
        Ok(match expr {
            Expr::Data => defined(Some(&self.data)),
            Expr::Rule(group) => self.rule_value(*group)?.map(Cow::Borrowed),
            Expr::Package(node) => self.package(*node)?.map(Cow::Owned),
            Expr::Get(get) => self.get(get, frame)?,
            Expr::Array(items) => self.array(items, frame)?.map(Cow::Owned),
            Expr::Set(items) => self.set(items, frame)?.map(Cow::Owned),
            Expr::Object(pairs) => self.object(pairs, frame)?.map(Cow::Owned),
            Expr::Builtin(call) => self.builtin(call, frame)?.map(Cow::Owned),
            Expr::Call(call) => {
                let Some(args) = self.owned(&call.args, frame)? else {
                    return Ok(None);
                };
                self.call(call.callee, args)?.map(Cow::Owned)
            }
            Expr::Invariant(invariant) => self.invariant(invariant)?,
            Expr::Slot(slot) => return Err(missing("variable", *slot)),
            Expr::Const(_) | Expr::Input | Expr::Undefined => None,
        })
    }

    /// Returns the value of an expression that reads no variable, computed once.
    fn invariant<'a>(&'a self, invariant: &'a Invariant) -> Found<'a> {
        let Some(cell) = self.invariants.get(invariant.id) else {
            return Err(missing("invariant", invariant.id));
        };
        let value = self.value(&invariant.expr, &[])?.map(Cow::into_owned);
        Ok(cell.get_or_init(|| value).as_ref().map(Cow::Borrowed))
    }

    fn get<'a>(&'a self, get: &'a Get, frame: &'a Frame) -> Found<'a> {
        self.meter.spend(1)?;
        if let Expr::Package(node) = get.base {
            return self.get_package(node, &get.path, frame);
        }
        let lookup = self.lookup_below(&get.base);
        match self.value(&get.base, frame)? {
            None => Ok(None),
            Some(Cow::Borrowed(mut value)) => {
                for part in &get.path {
                    match self.step_into(value, part, lookup, frame)? {
                        Some(inner) => value = inner,
                        None => return Ok(None),
                    }
                }
                Ok(Some(Cow::Borrowed(value)))
            }
            Some(Cow::Owned(mut value)) => {
                for part in &get.path {
                    match self.step_into(&value, part, lookup, frame)?.cloned() {
                        Some(inner) => value = inner,
                        None => return Ok(None),
                    }
                }
                Ok(Some(Cow::Owned(value)))
            }
        }
    }

    /// Returns how keys are looked up below a document: plain data is OPA's store, unless `with` put something there.
    pub(super) fn lookup_below(&self, base: &Expr) -> Lookup {
        self.lookup_in(matches!(base, Expr::Data))
    }

    pub(super) fn lookup_in(&self, stored: bool) -> Lookup {
        if stored && self.replaced.is_empty() { lookup::stored } else { lookup::get }
    }

    /// Goes down through packages one key at a time: rules on other ways are not evaluated.
    fn get_package<'a>(&'a self, node: usize, path: &'a [Expr], frame: &'a Frame) -> Found<'a> {
        self.meter.check_stack()?;
        let Some((first, rest)) = path.split_first() else {
            return Ok(self.package(node)?.map(Cow::Owned));
        };
        let Some(key) = self.value(first, frame)? else {
            return Ok(None);
        };
        match self.package_child(node, &key)? {
            None => Ok(None),
            Some(Inner::Package(child)) => self.get_package(child, rest, frame),
            Some(Inner::Value(mut value, lookup)) => {
                for part in rest {
                    match self.step_into(&value, part, lookup, frame)?.cloned() {
                        Some(inner) => value = inner,
                        None => return Ok(None),
                    }
                }
                Ok(Some(Cow::Owned(value)))
            }
        }
    }

    fn step_into<'v>(
        &self,
        value: &'v Value,
        part: &Expr,
        lookup: Lookup,
        frame: &Frame,
    ) -> Result<Option<&'v Value>, EvalError> {
        // Constant keys are by far the most common, and need no evaluation.
        if let Expr::Const(key) = part {
            return Ok(lookup(value, key));
        }
        Ok(match self.value(part, frame)? {
            Some(key) => {
                self.pay_element(&key)?;
                lookup(value, &key)
            }
            None => None,
        })
    }

    fn array(&self, items: &[Expr], frame: &Frame) -> Result<Option<Value>, EvalError> {
        let mut array = Array::new();
        for item in items {
            match self.value(item, frame)? {
                Some(value) => array.push(value.into_owned()),
                None => return Ok(None),
            }
        }
        self.built(array.into_value()).map(Some)
    }

    fn set(&self, items: &[Expr], frame: &Frame) -> Result<Option<Value>, EvalError> {
        let mut set = Set::new();
        for item in items {
            match self.value(item, frame)? {
                Some(value) => {
                    self.pay_element(&value)?;
                    set.insert(value.into_owned())
                }
                None => return Ok(None),
            };
        }
        self.built(set.into_value()).map(Some)
    }

    fn object(&self, pairs: &[(Expr, Expr)], frame: &Frame) -> Result<Option<Value>, EvalError> {
        let mut object = Object::new();
        for (key, value) in pairs {
            let (Some(key), Some(value)) = (self.value(key, frame)?, self.value(value, frame)?) else {
                return Ok(None);
            };
            self.pay_element(&key)?;
            object.insert(key.into_owned(), value.into_owned());
        }
        self.built(object.into_value()).map(Some)
    }

    /// Pays for looking up or inserting a key or element, which is compared with what is there.
    pub(super) fn pay_element(&self, value: &Value) -> Result<(), EvalError> {
        match value {
            Value::Array(_) | Value::Set(_) | Value::Object(_) => self.meter.charge_tree(value),
            _ => Ok(()),
        }
    }

    fn built(&self, value: Value) -> Result<Value, EvalError> {
        self.meter.spend(1)?;
        self.meter.charge_built(&value)?;
        Ok(value)
    }

    fn owned(&self, exprs: &[Expr], frame: &Frame) -> Result<Option<Vec<Value>>, EvalError> {
        let mut values = Vec::with_capacity(exprs.len());
        for expr in exprs {
            match self.value(expr, frame)? {
                Some(value) => values.push(value.into_owned()),
                None => return Ok(None),
            }
        }
        Ok(Some(values))
    }

    fn builtin(&self, call: &BuiltinCall, frame: &Frame) -> Result<Option<Value>, EvalError> {
        if !self.mocks.is_empty() && self.is_mocked(Callee::Builtin(call.builtin)) {
            let args = self.owned(&call.args, frame)?;
            return args.map_or(Ok(None), |args| self.call(Callee::Builtin(call.builtin), args));
        }
        if let Some(done) = self.builtin_in_place(call, frame) {
            return done;
        }
        // No allocation for the arities that occur: arguments are borrowed where they are.
        match call.args.as_slice() {
            [a] => {
                let Some(a) = self.value(a, frame)? else {
                    return Ok(None);
                };
                self.run_builtin(call, &[&a])
            }
            [a, b] => {
                let Some(a) = self.value(a, frame)? else {
                    return Ok(None);
                };
                let Some(b) = self.value(b, frame)? else {
                    return Ok(None);
                };
                self.run_builtin(call, &[&a, &b])
            }
            [a, b, c] => {
                let Some(a) = self.value(a, frame)? else {
                    return Ok(None);
                };
                let Some(b) = self.value(b, frame)? else {
                    return Ok(None);
                };
                let Some(c) = self.value(c, frame)? else {
                    return Ok(None);
                };
                self.run_builtin(call, &[&a, &b, &c])
            }
            args => {
                let mut values = Vec::with_capacity(args.len());
                for arg in args {
                    match self.value(arg, frame)? {
                        Some(value) => values.push(value),
                        None => return Ok(None),
                    }
                }
                let borrowed: Vec<&Value> = values.iter().map(AsRef::as_ref).collect();
                self.run_builtin(call, &borrowed)
            }
        }
    }

    /// Calls a builtin of one or two arguments, none of which has to be computed.
    fn builtin_in_place(
        &self,
        call: &BuiltinCall,
        frame: &Frame,
    ) -> Option<Result<Option<Value>, EvalError>> {
        Some(match call.args.as_slice() {
            [a] => match self.place(a, frame)? {
                Some(a) => self.run_builtin(call, &[a]),
                None => Ok(None),
            },
            [a, b] => match (self.place(a, frame)?, self.place(b, frame)?) {
                (Some(a), Some(b)) => self.run_builtin(call, &[a, b]),
                _ => Ok(None),
            },
            _ => return None,
        })
    }

    fn run_builtin(&self, call: &BuiltinCall, args: &[&Value]) -> Result<Option<Value>, EvalError> {
        self.meter.called()?;
        if call.builtin.pure {
            return call.builtin.call(args, self.meter);
        }
        let callee = Callee::Builtin(call.builtin);
        if let Some(known) = self.recall(callee, args)? {
            return Ok(known);
        }
        let result = call.builtin.call(args, self.meter)?;
        self.remember(callee, args.iter().map(|arg| (*arg).clone()).collect(), &result);
        Ok(result)
    }

    pub(super) fn recall(&self, callee: Callee, args: &[&Value]) -> Result<Option<Option<Value>>, EvalError> {
        let remembered = self.remembered.borrow();
        self.meter.spend(u64::try_from(remembered.len() / 4).unwrap_or(u64::MAX))?;
        let mut calls =
            remembered.iter().filter(|call| call.callee == callee && call.args.len() == args.len());
        let known = calls.find(|call| call.args.iter().zip(args).all(|(a, b)| a == *b));
        Ok(known.map(|call| call.result.clone()))
    }

    pub(super) fn remember(&self, callee: Callee, args: Vec<Value>, result: &Option<Value>) {
        self.remembered.borrow_mut().push(Remembered { callee, args, result: result.clone() });
    }

    pub(super) fn is_mocked(&self, callee: Callee) -> bool {
        self.mocks.iter().any(|(mocked, _)| *mocked == callee)
    }

    /// Calls a function with values.
    pub(super) fn call(&self, callee: Callee, args: Vec<Value>) -> Result<Option<Value>, EvalError> {
        let mock =
            self.mocks.iter().rev().find(|(mocked, _)| *mocked == callee).map(|(_, mock)| mock.clone());
        match mock {
            Some(Mock::Value(value)) => Ok(Some(value)),
            Some(Mock::Call(other)) => {
                // What stands for a function sees all functions as they are.
                let mut context = self.branch();
                context.mocks.clear();
                context.call_unmocked(other, args)
            }
            None => self.call_unmocked(callee, args),
        }
    }

    fn call_unmocked(&self, callee: Callee, args: Vec<Value>) -> Result<Option<Value>, EvalError> {
        match callee {
            Callee::Function(group) => self.function_value(group, args),
            Callee::Builtin(builtin) => {
                let borrowed: Vec<&Value> = args.iter().collect();
                builtin.call(&borrowed, self.meter)
            }
            Callee::Hook(hook) => {
                self.run_hook(hook, &args)?;
                Ok(Some(true.into()))
            }
            Callee::External(index) => {
                let borrowed: Vec<&Value> = args.iter().collect();
                if let Some(known) = self.recall(callee, &borrowed)? {
                    return Ok(known);
                }
                let Some(name) = self.plan.externals.get(index) else {
                    return Err(missing("host function", index));
                };
                let Some(argument) = args.first().cloned() else { return Err(missing("argument", 0)) };
                self.meter.charge_tree(&argument)?;
                self.meter.charge(64)?;
                let result = self.externals.call(name, &argument)?;
                self.remember(callee, args, &result);
                Ok(result)
            }
        }
    }
}

pub(super) fn defined(value: Option<&Value>) -> Option<Cow<'_, Value>> {
    value.filter(|value| !matches!(value, Value::Undefined)).map(Cow::Borrowed)
}
