//! Values: of the types that are expected, with variables that are defined.

use std::collections::HashSet;

use super::super::Error;
use super::super::ast::{Definition, Literal, Type, kind};
use super::super::schema::Schema;
use super::{Walker, require};

/// The facts known of the place where a value stands.
#[derive(Clone, Copy, Default)]
pub(super) struct Expected<'a> {
    kind: Option<&'a Type>,
    has_default: bool,
    definition: Option<&'a Definition>,
}

impl<'a> Expected<'a> {
    pub(super) fn of(kind: Option<&'a Type>, has_default: bool, schema: &'a Schema) -> Self {
        Self { kind, has_default, definition: schema.definition_of(kind) }
    }
}

/// Returns true if there is a default other than `null`.
pub(super) fn is_some(default: Option<&Literal>) -> bool {
    default.is_some_and(|default| default.kind != kind::NULL)
}

impl<'a> Walker<'a> {
    pub(super) fn value(&mut self, value: &'a Literal, expected: Expected<'a>) -> Result<(), Error> {
        self.meter.spend(4)?;
        self.meter.check_stack()?;
        if value.kind == kind::OBJECT {
            self.children(value, expected)?;
        }
        if value.kind == kind::LIST {
            let element = expected.kind.and_then(|kind| kind.element.as_deref());
            let inner = match element {
                Some(_) => Expected { kind: element, has_default: false, definition: expected.definition },
                None => Expected::default(),
            };
            for child in &value.children {
                self.value(child.value.as_deref().ok_or(Error::Invalid)?, inner)?;
            }
        }
        if value.kind == kind::VARIABLE && self.current.is_some() {
            self.variable(&value.raw, expected)?;
        }
        match (expected.kind, expected.definition) {
            (Some(kind), Some(definition)) => self.check_value(value, kind, definition),
            _ => Ok(()),
        }
    }

    fn children(&mut self, value: &'a Literal, expected: Expected<'a>) -> Result<(), Error> {
        let mut seen = HashSet::new();
        let is_one_of = expected.definition.is_some_and(|definition| {
            definition.directives.iter().any(|directive| directive.name == "oneOf")
        });
        for child in &value.children {
            let field = expected.definition.and_then(|definition| definition.field(&child.name));
            let inner = field.map_or_else(Expected::default, |field| {
                Expected::of(field.kind.as_deref(), is_some(field.default.as_deref()), self.schema)
            });
            let literal = child.value.as_deref().ok_or(Error::Invalid)?;
            self.value(literal, inner)?;
            require(seen.insert(child.name.as_str()))?;
            // Of such an input the one field must have a value, whatever the variable's.
            if is_one_of
                && literal.kind == kind::VARIABLE
                && let Some(variable) = self.variables.get(literal.raw.as_str())
            {
                require(variable.kind.as_ref().is_some_and(|kind| kind.required))?;
            }
        }
        Ok(())
    }

    /// Checks that a variable is defined, and of a type that is allowed here.
    fn variable(&mut self, name: &'a str, expected: Expected<'a>) -> Result<(), Error> {
        let variable = *self.variables.get(name).ok_or(Error::Invalid)?;
        self.used_variables.insert(name);
        let (Some(wanted), Some(kind)) = (expected.kind, &variable.kind) else { return Ok(()) };
        let is_required = wanted.required && !is_some(variable.default.as_deref()) && !expected.has_default;
        require(kind.fits(wanted, is_required))
    }

    fn check_value(&self, value: &Literal, expected: &Type, definition: &Definition) -> Result<(), Error> {
        require(value.kind != kind::NULL || !expected.required)?;
        let name = definition.name.as_str();
        let is_known = matches!(name, "Int" | "Float" | "String" | "Boolean" | "ID");
        if definition.kind == "SCALAR" && !is_known {
            return Ok(());
        }
        require(self.has_value(value)?)?;
        match value.kind {
            kind::LIST => require(expected.element.is_some()),
            kind::INT => require(matches!(name, "Int" | "Float" | "ID")),
            kind::FLOAT => require(name == "Float"),
            kind::STRING | kind::BLOCK => {
                require(definition.kind != "ENUM" && matches!(name, "String" | "ID"))
            }
            kind::ENUM => {
                let is_one = definition.values.iter().any(|known| known.name == value.raw);
                require(definition.kind == "ENUM" && is_one)
            }
            kind::BOOLEAN => require(name == "Boolean"),
            kind::OBJECT => check_object(value, definition),
            _ => Ok(()),
        }
    }

    /// Returns true if all numbers within are in the range of 64 bits.
    fn has_value(&self, value: &Literal) -> Result<bool, Error> {
        self.meter.spend(1)?;
        self.meter.check_stack()?;
        Ok(match value.kind {
            kind::INT => value.raw.parse::<i64>().is_ok(),
            kind::FLOAT => value.raw.parse::<f64>().is_ok_and(f64::is_finite),
            kind::BOOLEAN => matches!(value.raw.as_str(), "true" | "false"),
            kind::LIST | kind::OBJECT => {
                for child in &value.children {
                    if !self.has_value(child.value.as_deref().ok_or(Error::Invalid)?)? {
                        return Ok(false);
                    }
                }
                true
            }
            _ => true,
        })
    }
}

fn check_object(value: &Literal, definition: &Definition) -> Result<(), Error> {
    for field in &definition.fields {
        let is_required = field.kind.as_ref().is_some_and(|kind| kind.required) && field.default.is_none();
        let is_there = || value.children.iter().any(|child| child.name == field.name);
        require(!is_required || is_there())?;
    }
    if definition.directives.iter().any(|directive| directive.name == "oneOf") {
        let [only] = value.children.as_slice() else { return Err(Error::Invalid) };
        require(is_some(only.value.as_deref()))?;
    }
    require(value.children.iter().all(|child| definition.field(&child.name).is_some()))
}
