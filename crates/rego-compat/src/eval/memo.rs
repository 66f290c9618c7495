//! Results of functions of the modules, remembered within one state of the documents, as OPA does.
//!
//! A call is known again where its arguments are equal scalars or the very same collections: comparing collections
//! would cost more than most functions. Results of builtin functions that have to answer alike are elsewhere, in
//! [`super::context::Remembered`].

use std::cell::RefCell;
use std::sync::Arc;

use crate::value::Value;

/// Calls that are remembered at once. What is asked again is asked soon; a longer list takes longer to search.
const CAPACITY: usize = 48;

/// The results of functions.
#[derive(Default)]
pub(super) struct Memo {
    calls: RefCell<Calls>,
}

/// The calls, and a hash of each beside them: most calls differ in it, and a search compares only hashes.
#[derive(Default)]
struct Calls {
    marks: Vec<usize>,
    known: Vec<Known>,
}

struct Known {
    function: usize,
    args: Vec<Value>,
    result: Option<Value>,
}

impl Memo {
    /// Returns the result of an earlier call, if there was one like this.
    pub(super) fn find(&self, function: usize, args: &[Value]) -> Option<Option<Value>> {
        let mark = mark(function, args);
        let calls = self.calls.borrow();
        let mut marked = calls.marks.iter().zip(&calls.known).filter(|(known, _)| **known == mark);
        let known = marked.find(|(_, known)| known.function == function && all_same(&known.args, args))?;
        Some(known.1.result.clone())
    }

    pub(super) fn keep(&self, function: usize, args: Vec<Value>, result: &Option<Value>) {
        let mut calls = self.calls.borrow_mut();
        if calls.known.len() < CAPACITY {
            calls.marks.push(mark(function, &args));
            calls.known.push(Known { function, args, result: result.clone() });
        }
    }
}

/// Returns a number that is the same for calls of a function with the same arguments.
fn mark(function: usize, args: &[Value]) -> usize {
    args.iter().fold(function, |mark, arg| mark.wrapping_mul(31).wrapping_add(mark_of(arg)))
}

fn mark_of(arg: &Value) -> usize {
    match arg {
        Value::Array(items) => Arc::as_ptr(items).addr(),
        Value::Set(items) => Arc::as_ptr(items).addr(),
        Value::Object(pairs) => Arc::as_ptr(pairs).addr(),
        Value::String(text) => text.len().wrapping_add(text.bytes().last().map_or(0, usize::from)),
        // Equal numbers may be spelled in many ways.
        Value::Number(_) => 1,
        Value::Bool(truth) => 2_usize.wrapping_add(usize::from(*truth)),
        Value::Null | Value::Undefined => 4,
    }
}

fn all_same(known: &[Value], args: &[Value]) -> bool {
    known.iter().zip(args).all(|(known, arg)| is_same(known, arg))
}

fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => Arc::ptr_eq(a, b),
        (Value::Set(a), Value::Set(b)) => Arc::ptr_eq(a, b),
        (Value::Object(a), Value::Object(b)) => Arc::ptr_eq(a, b),
        (Value::Array(_) | Value::Set(_) | Value::Object(_), _) => false,
        (_, Value::Array(_) | Value::Set(_) | Value::Object(_)) => false,
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scalars_and_the_same_collections_are_known_again() {
        let memo = Memo::default();
        let list = Value::from(vec![Value::from("a")]);
        memo.keep(1, vec![list.clone(), "x".into()], &Some(7u64.into()));
        assert_eq!(memo.find(1, &[list.clone(), "x".into()]), Some(Some(7u64.into())));
        assert_eq!(memo.find(1, &[list.clone(), "y".into()]), None);
        assert_eq!(memo.find(2, &[list, "x".into()]), None);
        assert_eq!(memo.find(1, &[Value::from(vec![Value::from("a")]), "x".into()]), None);
        memo.keep(3, vec![1_u64.into()], &None);
        assert_eq!(memo.find(3, &[Value::from_json_str("1.0").unwrap()]), Some(None));
    }
}
