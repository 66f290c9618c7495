//! Types: what they have, implement and refer to.

use std::collections::HashSet;

use crate::meter::Meter;

use super::super::ast::{Definition, FieldDefinition, Type};
use super::{Error, Schema, name_is_free};

fn require(holds: bool) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::Invalid) }
}

impl Schema {
    pub(super) fn check_definition(&self, definition: &Definition, meter: &Meter) -> Result<(), Error> {
        let kind = definition.kind.as_str();
        let location = if kind == "INPUT_OBJECT" { "INPUT_FIELD_DEFINITION" } else { "FIELD_DEFINITION" };
        for field in &definition.fields {
            meter.spend(4)?;
            name_is_free(&field.name)?;
            require(self.definition_of(field.kind.as_deref()).is_some())?;
            self.check_arguments(&field.arguments, None, meter)?;
            self.check_directives(&field.directives, location, None, true, meter)?;
        }
        for member in &definition.types {
            require(self.definition(member).is_some_and(|member| member.kind == "OBJECT"))?;
        }
        for interface in &definition.interfaces {
            self.check_interface(definition, interface, meter)?;
        }
        self.check_kind(definition, meter)?;
        require(are_unique(definition.fields.iter().map(|field| field.name.as_str())))?;
        require(are_unique(definition.values.iter().map(|value| value.name.as_str())))?;
        require(are_unique(definition.types.iter().map(String::as_str)))?;
        if !definition.built_in {
            name_is_free(&definition.name)?;
        }
        // Those of a type and of what extends it stand in several places.
        self.check_directives(&definition.directives, kind, None, false, meter)
    }

    /// Checks that a type has what its kind must have.
    fn check_kind(&self, definition: &Definition, meter: &Meter) -> Result<(), Error> {
        let kinds_fit = |fits: fn(&Definition) -> bool| {
            let kind = |field: &FieldDefinition| self.definition_of(field.kind.as_deref()).is_none_or(fits);
            definition.fields.iter().all(kind)
        };
        match definition.kind.as_str() {
            "OBJECT" | "INTERFACE" => {
                require(!definition.fields.is_empty())?;
                require(kinds_fit(|kind| kind.is_leaf() || kind.is_composite()))
            }
            "INPUT_OBJECT" => {
                require(!definition.fields.is_empty())?;
                require(kinds_fit(Definition::is_input))
            }
            "ENUM" => {
                require(!definition.values.is_empty())?;
                for value in &definition.values {
                    require(!matches!(value.name.as_str(), "true" | "false" | "null"))?;
                    self.check_directives(&value.directives, "ENUM_VALUE", None, true, meter)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Checks that a type has all fields of the interfaces it implements, and implements theirs.
    fn check_interface(&self, definition: &Definition, name: &str, meter: &Meter) -> Result<(), Error> {
        let interface = self.definition(name).filter(|interface| interface.kind == "INTERFACE");
        let interface = interface.ok_or(Error::Invalid)?;
        for required in &interface.fields {
            meter.spend(u64::try_from(definition.fields.len()).unwrap_or(u64::MAX).saturating_add(4))?;
            let found = definition.field(&required.name).ok_or(Error::Invalid)?;
            require(self.is_covariant(required.kind.as_deref(), found.kind.as_deref()))?;
            for argument in &required.arguments {
                let same =
                    found.arguments.iter().find(|other| other.name == argument.name).ok_or(Error::Invalid)?;
                let (Some(wanted), Some(given)) = (&argument.kind, &same.kind) else {
                    return Err(Error::Invalid);
                };
                require(wanted.fits(given, given.required))?;
            }
            for argument in &found.arguments {
                let is_known = required.arguments.iter().any(|other| other.name == argument.name);
                let is_required = argument.kind.as_ref().is_some_and(|kind| kind.required);
                require(is_known || !is_required || argument.default.is_some())?;
            }
        }
        require(interface.interfaces.iter().all(|outer| definition.interfaces.contains(outer)))
    }

    /// Returns true if a field of one type may stand for a field of another.
    fn is_covariant(&self, required: Option<&Type>, actual: Option<&Type>) -> bool {
        let (Some(mut required), Some(mut actual)) = (required, actual) else { return false };
        loop {
            if required.required && !actual.required {
                return false;
            }
            if !required.name.is_empty() {
                let possible = self.possible_types(&required.name);
                return required.name == actual.name || possible.contains(&actual.name);
            }
            match (&required.element, &actual.element) {
                (Some(wanted), Some(given)) => (required, actual) = (wanted, given),
                _ => return false,
            }
        }
    }

    /// Inputs that need one another cannot be written down.
    pub(super) fn check_circle<'a>(
        &'a self,
        definition: &'a Definition,
        visited: &mut HashSet<&'a str>,
        path: &mut HashSet<&'a str>,
        meter: &Meter,
    ) -> Result<(), Error> {
        meter.check_stack()?;
        if !visited.insert(&definition.name) {
            return Ok(());
        }
        path.insert(&definition.name);
        for field in &definition.fields {
            let needed = field.kind.as_ref().filter(|kind| kind.required && !kind.name.is_empty());
            let inner = needed.and_then(|kind| self.definition(&kind.name));
            let Some(inner) = inner.filter(|inner| inner.kind == "INPUT_OBJECT") else { continue };
            require(!path.contains(inner.name.as_str()))?;
            self.check_circle(inner, visited, path, meter)?;
        }
        path.remove(definition.name.as_str());
        Ok(())
    }
}

fn are_unique<'a>(mut names: impl Iterator<Item = &'a str>) -> bool {
    let mut seen = HashSet::new();
    names.all(|name| seen.insert(name))
}
