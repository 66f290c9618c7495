//! Equations and calls that say what a value has to be.

use std::rc::Rc;

use crate::ir::{Operand, Reference, Root, Slot};
use crate::value::Value;

use super::Want;
use super::level::Need;
use super::record::{Recorder, is_scalar};

impl Recorder<'_> {
    /// Records `left = right`.
    pub(super) fn equation(&mut self, left: &Operand, right: &Operand) {
        let plug = |recorder: &Self, operand: &Operand| match operand {
            Operand::Ref(reference) => Operand::Ref(Box::new(recorder.plugged(reference))),
            other => other.clone(),
        };
        // `k := "a"; input[k] == 1` asks for `input.a`.
        let (left, right) = (plug(self, left), plug(self, right));
        if self.element(&left, &right) || self.element(&right, &left) {
            return;
        }
        // One side is enough: in `input.a == input.b` OPA learns of neither.
        if !self.side(&left, &right) {
            self.side(&right, &left);
        }
    }

    /// Records `collection[_] = value`; returns false where the equation is something else.
    fn element(&mut self, collection: &Operand, value: &Operand) -> bool {
        let Operand::Ref(reference) = collection else { return false };
        let Some((Operand::Var(_) | Operand::Array(_) | Operand::Object(_) | Operand::Set(_), keys)) =
            reference.path.split_last()
        else {
            return false;
        };
        // `input.list[_] == 1`: whatever the key is, the collection has to have the value.
        let Some(place) = self.place(reference, keys) else { return false };
        let Some(value) = self.constant(value).filter(is_scalar) else { return false };
        self.insert_at(&place, Want::Member(value), reference);
        true
    }

    /// Records what `a = b` requires of `a`.
    fn side(&mut self, a: &Operand, b: &Operand) -> bool {
        match a {
            Operand::Var(slot) => {
                // `x = 1` alone asks for nothing, and gives statements behind it a constant.
                if let Some(value) = self.constant(b) {
                    Rc::make_mut(&mut self.constants).insert(*slot, value);
                }
                let Some(want) = want(b) else { return false };
                let Some(place) = self.resolve(*slot) else { return false };
                self.insert(Need { place, want });
                true
            }
            Operand::Ref(reference) => {
                let Some(place) = self.place(reference, &reference.path) else { return false };
                // `x := 1; input.a == x` asks for 1; where `x` has no constant, `x` stands for the value from now on.
                let known = match b {
                    Operand::Var(slot) => self.constants.get(slot).map(want_of),
                    _ => None,
                };
                let Some(want) = known.or_else(|| want(b)) else { return false };
                self.insert_at(&place, want, reference);
                true
            }
            _ => false,
        }
    }

    /// Returns the constant that an operand is, or that its variable has.
    fn constant(&self, operand: &Operand) -> Option<Value> {
        match operand {
            Operand::Const(Value::Undefined) => None,
            Operand::Const(value) => Some(value.clone()),
            Operand::Var(slot) => self.constants.get(slot).cloned(),
            _ => None,
        }
    }

    /// Records `data.collection[key]`, whose key another place has; returns false where the reference is something else.
    pub(super) fn key_of_collection(&mut self, reference: &Reference) -> bool {
        let Some((Operand::Var(slot), keys)) = reference.path.split_last() else { return false };
        if reference.root != Root::Data {
            return false;
        }
        let Some(collection) = self.place(reference, keys) else { return false };
        let Some(key) = self.resolve(*slot) else { return false };
        let collection = self.table.number(&collection, None);
        if !self.needs.keyed.contains(&(key, collection)) {
            self.needs.keyed.push((key, collection));
        }
        true
    }

    pub(super) fn call(&mut self, name: &str, args: &[Operand]) {
        match (name, args) {
            ("equal", [left, right]) => self.equation(left, right),
            ("glob.match", [pattern, delimiters, subject]) => self.glob(pattern, delimiters, subject),
            ("internal.member_2", [element, collection]) => self.membership(element, collection),
            ("startswith", [text, start]) => self.affix(text, start, Want::Prefix),
            ("endswith", [text, end]) => self.affix(text, end, Want::Suffix),
            ("strings.any_prefix_match", [text, starts]) => self.any_affix(text, starts, Want::Prefix),
            ("strings.any_suffix_match", [text, ends]) => self.any_affix(text, ends, Want::Suffix),
            _ => {}
        }
    }

    /// Returns the place whose value a variable has, if it is in the input or plain data.
    fn document(&mut self, operand: &Operand) -> Option<usize> {
        let Operand::Var(slot) = operand else { return None };
        let number = self.resolve(*slot)?;
        let place = self.table.place(number)?;
        self.is_plain(place).then_some(number)
    }

    fn membership(&mut self, element: &Operand, collection: &Operand) {
        // `x := input.a; x in [1, 2]` asks for one of the values at `input.a`; `1 in input.list` for a member.
        if let Operand::Var(slot) = element
            && let Some(place) = self.resolve(*slot)
        {
            let wants = self.elements(collection);
            return self.one_of(place, wants);
        }
        let want = match self.constant(element) {
            Some(value) if is_scalar(&value) => Want::Member(value),
            None if matches!(element, Operand::Var(_)) => Want::Open(slot_of(element)),
            _ => return,
        };
        if let Some(place) = self.document(collection) {
            self.insert(Need { place, want });
        }
    }

    /// Returns what an element of a collection that is written out may be; nothing for other collections.
    fn elements(&self, collection: &Operand) -> Vec<Want> {
        match (self.constant(collection), collection) {
            (Some(Value::Array(items)), _) => items.iter().map(want_of).collect(),
            (Some(Value::Set(items)), _) => items.iter().map(want_of).collect(),
            (Some(Value::Object(pairs)), _) => pairs.iter().map(|(_, value)| want_of(value)).collect(),
            (None, Operand::Array(items) | Operand::Set(items)) => {
                items.iter().map(want_of_element).collect()
            }
            (None, Operand::Object(pairs)) => pairs.iter().map(|(_, value)| want_of_element(value)).collect(),
            _ => Vec::new(),
        }
    }

    fn affix(&mut self, text: &Operand, affix: &Operand, want: fn(String) -> Want) {
        let Some(place) = self.document(text) else { return };
        if let Some(Value::String(affix)) = self.constant(affix) {
            self.insert(Need { place, want: want(affix.to_string()) });
        }
    }

    fn any_affix(&mut self, text: &Operand, affixes: &Operand, want: fn(String) -> Want) {
        let Some(place) = self.document(text) else { return };
        let affixes: Vec<Value> = match self.constant(affixes) {
            Some(affix @ Value::String(_)) => return self.affix(text, &Operand::Const(affix), want),
            Some(Value::Array(items)) => items.iter().cloned().collect(),
            Some(Value::Set(items)) => items.iter().cloned().collect(),
            _ => return,
        };
        let texts: Option<Vec<Want>> = affixes
            .iter()
            .map(|affix| if let Value::String(text) = affix { Some(want(text.to_string())) } else { None })
            .collect();
        if let Some(wants) = texts.filter(|wants| !wants.is_empty()) {
            self.one_of(place, wants);
        }
    }

    /// Records `glob.match` with a pattern of fixed texts and `*`. As in OPA, constants are read where they are written only.
    fn glob(&mut self, pattern: &Operand, delimiters: &Operand, subject: &Operand) {
        let (Operand::Const(Value::String(pattern)), Operand::Const(Value::Array(delimiters))) =
            (pattern, delimiters)
        else {
            return;
        };
        let mut between = String::new();
        for delimiter in delimiters.iter() {
            let Value::String(text) = delimiter else { return };
            between.push_str(text);
        }
        // As `glob.match` has it: without delimiters, a dot is one.
        if delimiters.is_empty() {
            between.push('.');
        }
        let parts: Option<Vec<Option<Value>>> = split_escaped(pattern, &between).iter().map(part).collect();
        if let (Some(parts), Operand::Var(slot)) = (parts, subject)
            && let Some(place) = self.resolve(*slot)
        {
            self.insert(Need { place, want: Want::Parts(between, parts) });
        }
    }
}

const fn slot_of(operand: &Operand) -> Option<Slot> {
    match operand {
        Operand::Var(slot) => Some(*slot),
        _ => None,
    }
}

/// Returns what the value on the other side of an equation has to be; `None` where OPA does not look.
fn want(operand: &Operand) -> Option<Want> {
    match operand {
        Operand::Var(slot) => Some(Want::Open(Some(*slot))),
        Operand::Const(Value::Array(items)) => {
            let parts: Option<Vec<_>> =
                items.iter().map(|item| is_scalar(item).then(|| Some(item.clone()))).collect();
            parts.map(Want::Array)
        }
        Operand::Const(value) if is_scalar(value) => Some(Want::Scalar(value.clone())),
        Operand::Array(items) => {
            let part = |item: &Operand| match item {
                Operand::Var(_) => Some(None),
                Operand::Const(value) if is_scalar(value) => Some(Some(value.clone())),
                _ => None,
            };
            items.iter().map(part).collect::<Option<Vec<_>>>().map(Want::Array)
        }
        _ => None,
    }
}

fn want_of(value: &Value) -> Want {
    match value {
        Value::Array(items) => {
            Want::Array(items.iter().map(|item| is_scalar(item).then(|| item.clone())).collect())
        }
        scalar if is_scalar(scalar) => Want::Scalar(scalar.clone()),
        _ => Want::Anything,
    }
}

fn want_of_element(operand: &Operand) -> Want {
    match operand {
        Operand::Const(value) => want_of(value),
        _ => Want::Anything,
    }
}

/// Returns a part of a pattern: any text, or one text; `None` where it is more than that.
fn part(part: &String) -> Option<Option<Value>> {
    if part == "*" {
        return Some(None);
    }
    let mut escaped = false;
    for letter in part.chars() {
        if letter == '\\' {
            escaped = !escaped;
            continue;
        }
        // `*` within a text (`a*b`), and alternatives, are more than one text: OPA's tree has no branch for them.
        if !escaped && matches!(letter, '[' | '?' | '{' | '*') {
            return None;
        }
        escaped = false;
    }
    Some(Some(Value::from(part.as_str())))
}

/// Returns the texts between delimiters that have no backslash before them.
pub(crate) fn split_escaped(text: &str, delimiters: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut escaped = false;
    for letter in text.chars() {
        if letter == '\\' || escaped {
            escaped = !escaped;
        } else if delimiters.contains(letter) {
            parts.push(String::new());
            continue;
        }
        if let Some(last) = parts.last_mut() {
            last.push(letter);
        }
    }
    parts
}
