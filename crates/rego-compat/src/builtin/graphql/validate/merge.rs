//! Fields of one name in the answer ask for one thing.
//!
//! Fields are compared within a list of selections and with those of the fragments spread there, and fragments with one
//! another; pairs that were compared are not compared again.
//!
//! ```text
//! { pet { name: nickname  ...F } }   fragment F on Dog { name }
//!
//! `name` is asked for as `nickname` and as `name`: refused. In `... on Dog { name: nickname } ... on Cat { name }` no
//! object is both, so the two never meet, and only their types must agree.
//! ```
//!
//! Source: gqlparser's rule `OverlappingFieldsCanBeMerged`, with which OPA validates, and which follows the GraphQL
//! specification (*Field Selection Merging*) and graphql-js.

use std::collections::{HashMap, HashSet};

use super::super::Error;
use super::super::ast::{Argument, Child, Field, Literal, Selection, Selections, Type, kind};
use super::{Walker, place, require};

/// Pairs of fragments that were compared, and whether as ones that never meet.
#[derive(Default)]
pub(super) struct Compared<'a> {
    pairs: HashMap<(&'a str, &'a str), bool>,
}

impl<'a> Compared<'a> {
    /// Notes a pair; false where there is nothing new to find.
    fn note(&mut self, a: &'a str, b: &'a str, exclusive: bool) -> bool {
        // Fields that may meet are compared more strictly. So a pair that was compared as one that never meets is compared
        // again where it may, and not the other way around.
        match self.pairs.get(&(a, b)) {
            Some(was_exclusive) if exclusive || !was_exclusive => return false,
            _ => {}
        }
        self.pairs.insert((a, b), exclusive);
        self.pairs.insert((b, a), exclusive);
        true
    }
}

/// Fields by their name in the answer, in the order of their first, and the fragments that are spread.
#[derive(Default)]
struct Asked<'a> {
    names: Vec<&'a str>,
    fields: HashMap<&'a str, Vec<&'a Field>>,
    spreads: Vec<&'a str>,
}

impl<'a> Walker<'a> {
    pub(super) fn check_merge(&mut self, selections: &'a Selections) -> Result<(), Error> {
        if selections.0.is_empty() {
            return Ok(());
        }
        let asked = self.asked(selections)?;
        for name in &asked.names {
            let fields = asked.fields.get(name).map_or(&[][..], Vec::as_slice);
            for (at, a) in fields.iter().enumerate() {
                for b in fields.iter().skip(at.saturating_add(1)) {
                    self.check_pair(false, a, b)?;
                }
            }
        }
        // Fields against fragments, and fragments against one another: what is within one fragment is compared where that
        // fragment is validated itself.
        let mut seen = HashSet::new();
        for (at, a) in asked.spreads.iter().enumerate() {
            self.with_fragment(false, &asked, a, &mut seen)?;
            for b in asked.spreads.iter().skip(at.saturating_add(1)) {
                self.fragments_with(false, a, b)?;
            }
        }
        Ok(())
    }

    fn asked(&self, selections: &'a Selections) -> Result<Asked<'a>, Error> {
        let mut asked = Asked::default();
        self.collect(selections, &mut asked)?;
        Ok(asked)
    }

    fn collect(&self, selections: &'a Selections, asked: &mut Asked<'a>) -> Result<(), Error> {
        self.meter.check_stack()?;
        for selection in &selections.0 {
            self.meter.spend(2)?;
            match selection {
                Selection::Field(field) => {
                    let name = if field.alias.is_empty() { &field.name } else { &field.alias };
                    let fields = asked.fields.entry(name).or_default();
                    if fields.is_empty() {
                        asked.names.push(name);
                    }
                    fields.push(field);
                }
                // No boundary for the answer: `{ a ... { b } }` asks for `a` and `b` of one object.
                Selection::Inline(inline) => self.collect(&inline.selections, asked)?,
                Selection::Spread(spread) => asked.spreads.push(&spread.name),
            }
        }
        Ok(())
    }

    /// Fields with those of a fragment, and of the fragments within.
    fn with_fragment(
        &mut self,
        exclusive: bool,
        asked: &Asked<'a>,
        name: &'a str,
        seen: &mut HashSet<&'a str>,
    ) -> Result<(), Error> {
        self.meter.check_stack()?;
        let Some(fragment) = self.fragments.get(name).copied().filter(|_| seen.insert(name)) else {
            return Ok(());
        };
        let other = self.asked(&fragment.selections)?;
        self.between(exclusive, asked, &other)?;
        for inner in other.spreads.iter().filter(|inner| **inner != name) {
            self.with_fragment(exclusive, asked, inner, seen)?;
        }
        Ok(())
    }

    /// Compares two fragments, and the fragments in them.
    fn fragments_with(&mut self, exclusive: bool, a: &'a str, b: &'a str) -> Result<(), Error> {
        self.meter.check_stack()?;
        self.meter.spend(1)?;
        if a == b || !self.merged.note(a, b, exclusive) {
            return Ok(());
        }
        let (Some(first), Some(second)) = (self.fragments.get(a).copied(), self.fragments.get(b).copied())
        else {
            return Ok(());
        };
        let (first, second) = (self.asked(&first.selections)?, self.asked(&second.selections)?);
        self.between(exclusive, &first, &second)?;
        for inner in &second.spreads {
            self.fragments_with(exclusive, a, inner)?;
        }
        for inner in &first.spreads {
            self.fragments_with(exclusive, inner, b)?;
        }
        Ok(())
    }

    fn between(&mut self, exclusive: bool, a: &Asked<'a>, b: &Asked<'a>) -> Result<(), Error> {
        for name in &a.names {
            let (Some(first), Some(second)) = (a.fields.get(name), b.fields.get(name)) else { continue };
            for (one, other) in first.iter().flat_map(|one| second.iter().map(move |other| (one, other))) {
                self.check_pair(exclusive, one, other)?;
            }
        }
        Ok(())
    }

    /// Compares two fields of one name. Those of two object types never meet in one answer.
    fn check_pair(&mut self, exclusive: bool, a: &'a Field, b: &'a Field) -> Result<(), Error> {
        self.meter.spend(4)?;
        self.meter.check_stack()?;
        let known = |field: &Field| self.known.get(&place(field)).copied().unwrap_or((None, None));
        let ((Some(parent_a), kind_a), (Some(parent_b), kind_b)) = (known(a), known(b)) else {
            return Ok(());
        };
        let are_objects = parent_a.kind == "OBJECT" && parent_b.kind == "OBJECT";
        // An interface may be implemented by the other's type: only two object types are surely different objects.
        let never_meet =
            parent_a.name != parent_b.name && are_objects && kind_a.is_some() && kind_b.is_some();
        let exclusive = exclusive || never_meet;
        if !exclusive {
            require(a.name == b.name && same_arguments(&a.arguments, &b.arguments))?;
        }
        // Also where they never meet: a client decodes a field of one name by one type.
        if let (Some(one), Some(other)) = (kind_a, kind_b)
            && let (Some(one), Some(other)) = (&one.kind, &other.kind)
        {
            require(!self.types_conflict(one, other))?;
        }
        self.sub_selections(exclusive, &a.selections, &b.selections)
    }

    fn sub_selections(&mut self, exclusive: bool, a: &'a Selections, b: &'a Selections) -> Result<(), Error> {
        let (first, second) = (self.asked(a)?, self.asked(b)?);
        self.between(exclusive, &first, &second)?;
        for name in &second.spreads {
            self.with_fragment(exclusive, &first, name, &mut HashSet::new())?;
        }
        for name in &first.spreads {
            self.with_fragment(exclusive, &second, name, &mut HashSet::new())?;
        }
        for (one, other) in
            first.spreads.iter().flat_map(|one| second.spreads.iter().map(move |other| (one, other)))
        {
            self.fragments_with(exclusive, one, other)?;
        }
        Ok(())
    }

    fn types_conflict(&self, a: &Type, b: &Type) -> bool {
        match (&a.element, &b.element) {
            (Some(a), Some(b)) => return self.types_conflict(a, b),
            (None, None) => {}
            _ => return true,
        }
        if a.required != b.required {
            return true;
        }
        match (self.schema.definition(&a.name), self.schema.definition(&b.name)) {
            // The parts of objects are compared field by field instead.
            (Some(a), Some(b)) => a.is_leaf() && b.is_leaf() && a.name != b.name,
            _ => false,
        }
    }
}

fn same_arguments(a: &[Argument], b: &[Argument]) -> bool {
    let matches = |one: &Argument| {
        b.iter().any(|other| {
            one.name == other.name
                && matches!((&one.value, &other.value), (Some(one), Some(other)) if same_value(one, other))
        })
    };
    a.len() == b.len() && a.iter().all(matches)
}

fn same_value(a: &Literal, b: &Literal) -> bool {
    if a.kind != b.kind || a.raw != b.raw || a.children.len() != b.children.len() {
        return false;
    }
    let sorted = |literal: &'_ Literal| -> Vec<Child> {
        let mut children = literal.children.clone();
        if literal.kind == kind::OBJECT {
            children.sort_by(|one, other| one.name.cmp(&other.name));
        }
        children
    };
    sorted(a).iter().zip(sorted(b)).all(|(one, other)| {
        one.name == other.name
            && matches!((&one.value, &other.value), (Some(one), Some(other)) if same_value(one, other))
    })
}
