//! The operations that turn one JSON document into another. Both documents are known, so positions in lists are
//! exact; the tests in a patch make sure that the server starts from the same document.

use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, PatchOperation, RemoveOperation, ReplaceOperation, TestOperation};
use serde_json::{Map, Value};

use crate::path::pointer;

/// The facts that a patch tests besides the uid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PatchPrecondition {
    /// The resourceVersion and the old value of each leaf: any other write makes the edit stale.
    #[default]
    Version,
    /// The old value of each leaf only: writes elsewhere in the object do not disturb.
    Leaves,
}

/// The operations of one patch, while two documents are compared.
pub(crate) struct Operations {
    pub(crate) operations: Vec<PatchOperation>,
    /// Pointers to values that had to be tested and cannot be.
    pub(crate) untestable: Vec<String>,
    precondition: PatchPrecondition,
    /// A list that changes is replaced, instead of its elements.
    whole_lists: bool,
    at: Vec<String>,
}

type Members = Map<String, Value>;

impl Operations {
    pub(crate) fn new(precondition: PatchPrecondition, whole_lists: bool) -> Self {
        Self { operations: Vec::new(), untestable: Vec::new(), precondition, whole_lists, at: Vec::new() }
    }

    pub(crate) fn test(&mut self, path: &[&str], value: String) {
        let path = PointerBuf::from_tokens(path.iter().copied());
        self.operations.push(PatchOperation::Test(TestOperation { path, value: Value::String(value) }));
    }

    /// Appends what turns `before`, at the current position, into `after`.
    pub(crate) fn difference(&mut self, before: &Value, after: &Value) {
        match (before, after) {
            _ if before == after => {}
            (Value::Object(before), Value::Object(after)) => self.members(before, after),
            (Value::Array(before), Value::Array(after)) if !self.whole_lists => self.elements(before, after),
            _ => {
                self.test_old(before);
                let (path, value) = (self.path(), after.clone());
                self.operations.push(PatchOperation::Replace(ReplaceOperation { path, value }));
            }
        }
    }

    pub(crate) fn members(&mut self, before: &Members, after: &Members) {
        for (name, old) in before.iter().filter(|(name, _)| !after.contains_key(*name)) {
            self.below(name.clone(), |all| all.remove(old));
        }
        for (name, value) in after {
            self.below(name.clone(), |all| match before.get(name) {
                Some(old) => all.difference(old, value),
                None => {
                    if all.precondition == PatchPrecondition::Leaves {
                        // The API server's `test` of null passes where there is nothing.
                        all.test_old(&Value::Null);
                    }
                    all.add(value);
                }
            });
        }
    }

    /// Elements that are equal at the front and at the back stay; those between are changed in place, then the
    /// rest is removed from the back or added.
    fn elements(&mut self, before: &[Value], after: &[Value]) {
        if self.precondition == PatchPrecondition::Leaves && !self.test_old_list(before) {
            return;
        }
        let (front, back) = common_ends(before, after);
        let end = |list: &[Value]| list.len().saturating_sub(back);
        let both = end(before).min(end(after));
        let between = before.iter().zip(after).enumerate().take(both).skip(front);
        for (index, (old, new)) in between {
            self.below(index.to_string(), |all| all.difference(old, new));
        }
        for (index, old) in before.iter().enumerate().take(end(before)).skip(both).rev() {
            self.below(index.to_string(), |all| all.remove(old));
        }
        for (index, new) in after.iter().enumerate().take(end(after)).skip(both) {
            self.below(index.to_string(), |all| all.add(new));
        }
    }

    fn below(&mut self, step: String, visit: impl FnOnce(&mut Self)) {
        self.at.push(step);
        visit(self);
        self.at.pop();
    }

    fn path(&self) -> PointerBuf {
        PointerBuf::from_tokens(self.at.iter().map(String::as_str))
    }

    /// In an object `add` replaces a member that exists (RFC 6902, 4.1); in a list it inserts.
    fn add(&mut self, value: &Value) {
        let (path, value) = (self.path(), value.clone());
        self.operations.push(PatchOperation::Add(AddOperation { path, value }));
    }

    fn remove(&mut self, old: &Value) {
        self.test_old(old);
        let path = self.path();
        self.operations.push(PatchOperation::Remove(RemoveOperation { path }));
    }

    fn test_old(&mut self, old: &Value) {
        if is_testable(old) {
            let (path, value) = (self.path(), old.clone());
            self.operations.push(PatchOperation::Test(TestOperation { path, value }));
        } else if self.precondition == PatchPrecondition::Leaves {
            self.untestable.push(pointer(&self.at));
        }
    }

    /// Positions hold only for the list that was read, so without the resourceVersion all of it is tested.
    fn test_old_list(&mut self, old: &[Value]) -> bool {
        let list = Value::Array(old.to_vec());
        if !is_testable(&list) {
            self.untestable.push(pointer(&self.at));
            return false;
        }
        let path = self.path();
        self.operations.push(PatchOperation::Test(TestOperation { path, value: list }));
        true
    }
}

/// Returns false for floats and for nulls in lists and objects. The API server compares numbers as text, and its text
/// of a float can differ from ours; a null inside the value of a `test` ends the request without an answer (1.36).
fn is_testable(value: &Value) -> bool {
    let holds = |below: &Value| !below.is_null() && is_testable(below);
    match value {
        Value::Number(number) => number.is_i64() || number.is_u64(),
        Value::Array(items) => items.iter().all(holds),
        Value::Object(fields) => fields.values().all(holds),
        _ => true,
    }
}

/// The merge patch (RFC 7386) that turns `before` into `after`, or the pointer of a null that it cannot carry.
pub(crate) fn merge_patch(before: &Members, after: &Members) -> Result<Members, String> {
    let mut out = Members::new();
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        out.insert(name.clone(), Value::Null);
    }
    for (name, value) in after.iter().filter(|(name, value)| before.get(*name) != Some(value)) {
        let below = match (before.get(name), value) {
            (Some(Value::Object(before)), Value::Object(after)) => {
                merge_patch(before, after).map(Value::Object)
            }
            // The list or scalar is replaced; an object merges into what a non-object target counts as: nothing.
            _ => null_in(value).map_or_else(|| Ok(value.clone()), Err),
        };
        let below = below.map_err(|at| format!("{}{at}", pointer([name])))?;
        out.insert(name.clone(), below);
    }
    Ok(out)
}

/// The pointer of a null member that would get lost. A merge patch takes it for a removal, and the API server leaves it
/// out of the objects in lists too; a null element of a list stays.
fn null_in(value: &Value) -> Option<String> {
    let below = |name: &str, value: &Value| null_in(value).map(|at| format!("{}{at}", pointer([name])));
    match value {
        Value::Null => Some(String::new()),
        Value::Object(fields) => fields.iter().find_map(|(name, value)| below(name, value)),
        Value::Array(items) => {
            let mut items = items.iter().enumerate().filter(|(_, item)| !item.is_null());
            items.find_map(|(index, item)| below(&index.to_string(), item))
        }
        _ => None,
    }
}

/// One value that differs between two states of an object.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ValueChange {
    /// Pointer from the root of the object.
    pub pointer: String,
    /// The value when the duck was read, if there was one.
    pub read: Option<Value>,
    /// The value now, if there is one.
    pub found: Option<Value>,
}

/// The differences between two states, descending into objects.
pub(crate) fn changes(read: &Value, found: &Value) -> Vec<ValueChange> {
    let mut out = Vec::new();
    collect(&mut Vec::new(), Some(read), Some(found), &mut out);
    out
}

fn collect<'a>(
    at: &mut Vec<&'a str>,
    read: Option<&'a Value>,
    found: Option<&'a Value>,
    out: &mut Vec<ValueChange>,
) {
    match (read, found) {
        _ if read == found => {}
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let added = new.keys().filter(|name| !old.contains_key(*name));
            for name in old.keys().chain(added) {
                at.push(name);
                collect(at, old.get(name), new.get(name), out);
                at.pop();
            }
        }
        _ => out.push(ValueChange { pointer: pointer(&*at), read: read.cloned(), found: found.cloned() }),
    }
}

/// Counts the equal elements at the front and at the back of two lists; together at most as many as the shorter list has.
///
/// `[a, b, c]` and `[a, x, y, c]` have one at the front and one at the back, `[a, a]` and `[a]` one at the front.
pub(crate) fn common_ends(before: &[Value], after: &[Value]) -> (usize, usize) {
    let front = before.iter().zip(after).take_while(|(old, new)| old == new).count();
    let rest = before.len().min(after.len()).saturating_sub(front);
    let from_behind = before.iter().rev().zip(after.iter().rev());
    (front, from_behind.take(rest).take_while(|(old, new)| old == new).count())
}
