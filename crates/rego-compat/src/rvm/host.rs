//! What the virtual machine asks for: OPA's builtin functions, and what tells a conflict from no value.

use std::cell::RefCell;

use crate::value::Object;
use crate::value::Value;

use crate::error::EvalError;
use crate::eval;
use crate::externals::Externals;
use crate::ir::GroupId;
use crate::lookup;
use crate::meter::Meter;
use crate::native;
use crate::plan::Plan;

/// A function of the host, as the machine's program knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) request: Request,
    /// How many arguments the machine passes.
    pub(super) arity: usize,
}

/// What a call asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// A builtin function; of the machine's arguments it takes the first.
    Builtin { id: usize, takes: usize },
    /// A function of whoever evaluates the program.
    External(usize),
    /// What is under a key, the second argument.
    Under,
    /// Keys and values of a collection, of anything else none.
    Pairs,
    /// As `Pairs`, but undefined for anything else.
    Domain,
    /// Each path into a value with what is there.
    Walk,
    /// The value if it is an array of this length.
    ArrayOf(usize),
    /// The value if it is an object of this size.
    ObjectOf(usize),
    /// An object of pairs, in which one key has one value.
    Object(Option<GroupId>),
    /// The one value in an array of arrays.
    Only(GroupId),
    /// The rules' values under a node of the plan, in arrays of pairs, joined with the data there.
    Document(usize),
}

/// Answers the calls of one evaluation.
pub(super) struct Host<'e> {
    plan: &'e Plan,
    calls: &'e [Call],
    data: &'e Value,
    meter: &'e Meter,
    externals: &'e dyn Externals,
    /// Answers of external functions: within one evaluation each argument is asked once.
    remembered: RefCell<Vec<(usize, Value, Option<Value>)>>,
}

impl<'e> Host<'e> {
    pub(super) fn new(
        plan: &'e Plan,
        calls: &'e [Call],
        data: &'e Value,
        meter: &'e Meter,
        externals: &'e dyn Externals,
    ) -> Self {
        Self { plan, calls, data, meter, externals, remembered: RefCell::default() }
    }

    /// The value of a call, `None` where it has none. The machine passes the arguments as one array.
    pub(super) fn answer(&self, identifier: &Value, args: &Value) -> Result<Option<Value>, EvalError> {
        let unknown = || EvalError::Internal(format!("the virtual machine asks for {identifier}"));
        let name = identifier.as_string().map_err(|_| unknown())?;
        let place = name.strip_prefix("host").and_then(|number| number.parse::<usize>().ok());
        let call = place.and_then(|place| self.calls.get(place)).ok_or_else(unknown)?;
        let args: Vec<&Value> = args.as_array().map_err(|_| unknown())?.iter().collect();
        self.meter.spend(1)?;
        match call.request {
            Request::Builtin { id, takes } => {
                native::call(native::implementation(id), args.get(..takes).unwrap_or_default(), self.meter)
            }
            Request::Under => match args.as_slice() {
                [place, key] => Ok(lookup::get(place, key).cloned()),
                _ => Err(unknown()),
            },
            request => match args.first() {
                Some(subject) => self.of_one(request, subject),
                None => Err(unknown()),
            },
        }
    }

    fn of_one(&self, request: Request, subject: &Value) -> Result<Option<Value>, EvalError> {
        let is_collection = matches!(subject, Value::Array(_) | Value::Set(_) | Value::Object(_));
        Ok(match request {
            Request::Builtin { .. } | Request::Under => None,
            Request::External(index) => self.external(index, subject)?,
            Request::Domain if !is_collection => None,
            Request::Pairs | Request::Domain => Some(self.pairs(subject)?),
            Request::Walk => {
                let mut found = Vec::new();
                self.walk(subject, &mut Vec::new(), &mut found)?;
                Some(Value::from(found))
            }
            Request::ArrayOf(length) => {
                let fits = subject.as_array().is_ok_and(|items| items.len() == length);
                fits.then(|| subject.clone())
            }
            Request::ObjectOf(size) => {
                let fits = subject.as_object().is_ok_and(|pairs| pairs.len() == size);
                fits.then(|| subject.clone())
            }
            Request::Object(_) => Some(self.object(subject)?),
            Request::Only(group) => self.only(group, subject)?,
            Request::Document(node) => self.document(node, subject)?,
        })
    }

    fn external(&self, index: usize, argument: &Value) -> Result<Option<Value>, EvalError> {
        let known = |entry: &&(usize, Value, Option<Value>)| entry.0 == index && entry.1 == *argument;
        if let Some((_, _, result)) = self.remembered.borrow().iter().find(known) {
            return Ok(result.clone());
        }
        let Some(name) = self.plan.externals.get(index) else {
            return Ok(None);
        };
        let result = self.externals.call(name, argument)?;
        self.remembered.borrow_mut().push((index, argument.clone(), result.clone()));
        Ok(result)
    }

    fn pairs(&self, subject: &Value) -> Result<Value, EvalError> {
        let mut pairs = Vec::new();
        eval::children(subject, &mut |key, value| {
            self.meter.charge(96)?;
            pairs.push(Value::from(vec![key.into_owned(), value.clone()]));
            Ok(eval::Flow::Continue)
        })?;
        Ok(Value::from(pairs))
    }

    fn walk(&self, value: &Value, path: &mut Vec<Value>, found: &mut Vec<Value>) -> Result<(), EvalError> {
        self.meter.check_stack()?;
        self.meter.charge(path.len().saturating_mul(24).saturating_add(96))?;
        found.push(Value::from(vec![Value::from(path.clone()), value.clone()]));
        eval::children(value, &mut |key, inner| {
            path.push(key.into_owned());
            let walked = self.walk(inner, path, found);
            path.pop();
            walked.map(|()| eval::Flow::Continue)
        })?;
        Ok(())
    }

    fn object(&self, pairs: &Value) -> Result<Value, EvalError> {
        let mut object = Object::new();
        for pair in elements(pairs) {
            let mut pair = elements(pair);
            let Some((key, value)) = pair.next().zip(pair.next()) else { continue };
            self.meter.charge(64)?;
            match object.get(key) {
                Some(known) if known != value => {
                    return Err(eval::of_machine(None));
                }
                Some(_) => {}
                None => drop(object.insert(key.clone(), value.clone())),
            }
        }
        Ok(object.into_value())
    }

    fn only(&self, group: GroupId, gathered: &Value) -> Result<Option<Value>, EvalError> {
        let mut values = elements(gathered).flat_map(elements);
        let Some(first) = values.next() else {
            return Ok(None);
        };
        for value in values {
            native::pay(first, value, self.meter)?;
            if first != value {
                return Err(eval::of_machine(self.plan.groups.get(group)));
            }
        }
        Ok(Some(first.clone()))
    }

    fn document(&self, node: usize, gathered: &Value) -> Result<Option<Value>, EvalError> {
        let path = self.plan.nodes.get(node).map(|node| node.path.as_slice()).unwrap_or_default();
        let mut place = Some(self.data);
        for name in path {
            place = place.and_then(|place| lookup::get(place, &Value::from(&**name)));
        }
        let mut document = match place {
            Some(Value::Object(pairs)) => (**pairs).clone(),
            // Where plain data and rules meet, data wins.
            Some(other) => return Ok(Some(other.clone())),
            None => Object::new(),
        };
        for pair in elements(gathered).flat_map(elements) {
            let mut pair = elements(pair);
            let Some((name, value)) = pair.next().zip(pair.next()) else { continue };
            self.meter.charge(64)?;
            let joined = document.get(name).map_or_else(|| value.clone(), |base| eval::merged(base, value));
            document.insert(name.clone(), joined);
        }
        Ok(Some(document.into_value()))
    }
}

fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flat_map(|items| items.iter())
}
