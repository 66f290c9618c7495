//! Queries compared with a schema (`gqlparser/validator`): one walk, in which every rule looks at what it is about.
//!
//! A fragment is walked where it is spread, once for an operation, and once by itself.

mod argument;
mod fragment;
mod merge;
mod value;

use std::collections::{HashMap, HashSet};

use crate::meter::Meter;

use super::Error;
use super::ast::{
    Definition, Directive, Field, FieldDefinition, Fragment, Operation, QueryDocument, Selection, Selections,
    Variable,
};
use super::schema::Schema;

/// Validates a query.
pub(super) fn query(document: &QueryDocument, schema: &Schema, meter: &Meter) -> Result<(), Error> {
    let mut walker = Walker::new(document, schema, meter);
    for operation in &document.operations {
        walker.spread.clear();
        walker.operation(operation)?;
    }
    for fragment in &document.fragments {
        walker.spread.clear();
        walker.fragment(fragment)?;
    }
    Ok(())
}

/// The field, as far as it is known: the type it is asked of, and its definition there.
type Known<'a> = (Option<&'a Definition>, Option<&'a FieldDefinition>);

struct Walker<'a> {
    document: &'a QueryDocument,
    schema: &'a Schema,
    meter: &'a Meter,
    fragments: HashMap<&'a str, &'a Fragment>,
    /// The operation that is walked through.
    current: Option<&'a Operation>,
    /// Its variables, by the first of each name, and those that are used.
    variables: HashMap<&'a str, &'a Variable>,
    used_variables: HashSet<&'a str>,
    /// Fragments that were walked through in this operation.
    spread: HashSet<&'a str>,
    operations_seen: HashSet<&'a str>,
    fragments_seen: HashSet<&'a str>,
    used_fragments: HashSet<&'a str>,
    /// Spreads count as uses only until the first fragment has been walked through.
    is_in_fragments: bool,
    cycles: HashSet<&'a str>,
    /// Fields by where they are in memory.
    known: HashMap<usize, Known<'a>>,
    merged: merge::Compared<'a>,
}

fn require(holds: bool) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::Invalid) }
}

/// Returns a name for a part of a tree that stays where it is.
fn place<T>(part: &T) -> usize {
    std::ptr::from_ref(part).addr()
}

impl<'a> Walker<'a> {
    fn new(document: &'a QueryDocument, schema: &'a Schema, meter: &'a Meter) -> Self {
        let mut fragments = HashMap::new();
        for fragment in &document.fragments {
            fragments.entry(fragment.name.as_str()).or_insert(fragment);
        }
        Self {
            document,
            schema,
            meter,
            fragments,
            current: None,
            variables: HashMap::new(),
            used_variables: HashSet::new(),
            spread: HashSet::new(),
            operations_seen: HashSet::new(),
            fragments_seen: HashSet::new(),
            used_fragments: HashSet::new(),
            is_in_fragments: false,
            cycles: HashSet::new(),
            known: HashMap::new(),
            merged: merge::Compared::default(),
        }
    }

    fn operation(&mut self, operation: &'a Operation) -> Result<(), Error> {
        self.current = Some(operation);
        self.variables.clear();
        self.used_variables.clear();
        for variable in &operation.variables {
            let definition = self.schema.definition_of(variable.kind.as_deref()).ok_or(Error::Invalid)?;
            require(definition.is_input())?;
            // There is one of a name only.
            require(self.variables.insert(&variable.name, variable).is_none())?;
        }
        let (kind, location) = match operation.kind.as_str() {
            "query" | "" => ("query", "QUERY"),
            "mutation" => ("mutation", "MUTATION"),
            "subscription" => ("subscription", "SUBSCRIPTION"),
            _ => return Err(Error::Invalid),
        };
        let root = self.schema.root(kind);
        for variable in &operation.variables {
            if let Some(default) = &variable.default {
                self.value(default, value::Expected::of(variable.kind.as_deref(), false, self.schema))?;
            }
            self.directives(&variable.directives, "VARIABLE_DEFINITION")?;
        }
        self.directives(&operation.directives, location)?;
        self.selections(root, &operation.selections)?;
        require(root.is_some())?;
        require(!operation.name.is_empty() || self.document.operations.len() <= 1)?;
        require(
            operation.variables.iter().all(|variable| self.used_variables.contains(variable.name.as_str())),
        )?;
        self.check_merge(&operation.selections)?;
        if kind == "subscription" {
            self.check_subscription(operation)?;
        }
        require(self.operations_seen.insert(&operation.name))?;
        self.current = None;
        Ok(())
    }

    fn selections(
        &mut self,
        parent: Option<&'a Definition>,
        selections: &'a Selections,
    ) -> Result<(), Error> {
        self.meter.check_stack()?;
        for selection in &selections.0 {
            self.meter.spend(8)?;
            match selection {
                Selection::Field(field) => self.field(parent, field)?,
                Selection::Inline(inline) => self.inline(parent, inline)?,
                Selection::Spread(spread) => self.spread(parent, spread)?,
            }
        }
        Ok(())
    }

    fn field(&mut self, parent: Option<&'a Definition>, field: &'a Field) -> Result<(), Error> {
        let definition = self.schema.field(parent, &field.name);
        self.meter.charge(64)?;
        self.known.insert(place(field), (parent, definition));
        let inner = definition.and_then(|definition| self.schema.definition_of(definition.kind.as_deref()));
        let wanted = definition.map(|definition| definition.arguments.as_slice());
        self.arguments(&field.arguments, wanted)?;
        self.directives(&field.directives, "FIELD")?;
        self.selections(inner, &field.selections)?;
        require(parent.is_none() || definition.is_some())?;
        self.check_arguments(&field.arguments, wanted, parent.is_some())?;
        if let Some(inner) = inner {
            require(inner.is_leaf() == field.selections.0.is_empty())?;
        }
        if self.current.is_some() { self.check_merge(&field.selections) } else { Ok(()) }
    }

    fn directives(&mut self, directives: &'a [Directive], location: &str) -> Result<(), Error> {
        let mut seen = HashSet::new();
        for directive in directives {
            self.meter.spend(4)?;
            let definition = self.schema.directive(&directive.name).ok_or(Error::Invalid)?;
            self.arguments(&directive.arguments, Some(&definition.arguments))?;
            require(definition.locations.iter().any(|known| known == location))?;
            self.check_arguments(&directive.arguments, Some(&definition.arguments), true)?;
            require(seen.insert(directive.name.as_str()) || definition.repeatable)?;
        }
        Ok(())
    }
}
