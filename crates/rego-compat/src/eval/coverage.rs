//! Notes about one run: the places it passed and the cases of tests it met. `hook` writes them.

use std::cell::{Cell, RefCell};

use crate::value::Value;

/// Notes about one run.
#[derive(Debug, Default)]
pub(crate) struct Witness {
    /// True for each mark of the plan that was passed.
    pub(crate) passed: Vec<Cell<bool>>,
    /// Names of the cases met, in order.
    pub(crate) cases: RefCell<Vec<Vec<Value>>>,
}

impl Witness {
    /// Returns a witness for a plan with this many marks.
    pub(crate) fn new(marks: usize) -> Self {
        Self { passed: vec![Cell::new(false); marks], cases: RefCell::default() }
    }
}
