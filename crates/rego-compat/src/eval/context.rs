//! The context of a query: input, data, the rules' values so far, and what `with` put in their place.

use std::cell::{Cell, OnceCell, RefCell};

use crate::value::Value;

use crate::ast::Name;
use crate::externals::Externals;
use crate::meter::Meter;
use crate::plan::{Callee, Plan};

use super::coverage::Witness;
use super::memo::Memo;

/// One state of the documents. `with` makes another one for what it modifies.
pub(crate) struct EvalContext<'p> {
    pub(super) plan: &'p Plan,
    pub(super) input: Value,
    pub(super) data: Value,
    pub(super) meter: &'p Meter,
    pub(super) externals: &'p dyn Externals,
    /// Value of each rule, once it is known.
    pub(super) rules: Vec<OnceCell<Option<Value>>>,
    /// Values of the plan's invariants, once they are known.
    pub(super) invariants: Vec<OnceCell<Option<Value>>>,
    /// Documents that rules and data make together, once they are known.
    pub(super) packages: RefCell<Vec<(usize, Option<Value>)>>,
    /// Functions replaced by others or by values.
    pub(super) mocks: Vec<(Callee, Mock)>,
    /// Paths under `data` that were replaced, and hide the rules there.
    pub(super) replaced: Vec<Vec<Name>>,
    /// The listener of the run, if there is one.
    pub(super) witness: Option<&'p Witness>,
    /// The results of functions of the modules so far.
    pub(super) memo: Memo,
    /// A definition has just given a value that conflicts with another; the values have not been reported yet.
    pub(super) at_odds: Cell<bool>,
    /// Frames to use again.
    frames: RefCell<Vec<Vec<Value>>>,
    /// Results of functions that must answer alike within one evaluation, shared by all contexts of it.
    pub(super) remembered: std::rc::Rc<RefCell<Vec<Remembered>>>,
}

/// The replacement of a function.
#[derive(Clone, Debug)]
pub(super) enum Mock {
    Value(Value),
    Call(Callee),
}

/// A call and its result.
pub(super) struct Remembered {
    pub(super) callee: Callee,
    pub(super) args: Vec<Value>,
    pub(super) result: Option<Value>,
}

impl<'p> EvalContext<'p> {
    pub(crate) fn new(
        plan: &'p Plan,
        input: Value,
        data: Value,
        meter: &'p Meter,
        externals: &'p dyn Externals,
    ) -> Self {
        Self {
            plan,
            input,
            data,
            meter,
            externals,
            rules: empty(plan.groups.len()),
            invariants: empty(plan.invariants),
            packages: RefCell::default(),
            mocks: Vec::new(),
            replaced: Vec::new(),
            witness: None,
            memo: Memo::default(),
            at_odds: Cell::new(false),
            frames: RefCell::default(),
            remembered: std::rc::Rc::default(),
        }
    }

    /// Sets the listener that records the run.
    pub(crate) const fn with_witness(mut self, witness: &'p Witness) -> Self {
        self.witness = Some(witness);
        self
    }

    /// Returns the same context with nothing computed yet, to be modified.
    pub(super) fn branch(&self) -> Self {
        Self {
            plan: self.plan,
            input: self.input.clone(),
            data: self.data.clone(),
            meter: self.meter,
            externals: self.externals,
            rules: empty(self.plan.groups.len()),
            invariants: empty(self.plan.invariants),
            packages: RefCell::default(),
            mocks: self.mocks.clone(),
            replaced: self.replaced.clone(),
            witness: self.witness,
            memo: Memo::default(),
            at_odds: Cell::new(false),
            frames: RefCell::default(),
            remembered: self.remembered.clone(),
        }
    }

    /// Returns a frame of undefined slots.
    pub(super) fn frame(&self, slots: usize) -> Vec<Value> {
        let mut frame = self.frames.borrow_mut().pop().unwrap_or_default();
        frame.resize_with(slots, || Value::Undefined);
        frame
    }

    /// Gives a frame back.
    pub(super) fn recycle(&self, mut frame: Vec<Value>) {
        frame.clear();
        self.frames.borrow_mut().push(frame);
    }
}

fn empty(count: usize) -> Vec<OnceCell<Option<Value>>> {
    std::iter::repeat_with(OnceCell::new).take(count).collect()
}
