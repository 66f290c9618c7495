//! Directives where they are used, and arguments where they are defined.

use std::collections::HashSet;

use crate::meter::Meter;

use super::super::ast::{ArgumentDefinition, Directive, kind};
use super::{Error, Schema, name_is_free};

impl Schema {
    /// Arguments of a field, or of the directive that is named, which they must not use.
    pub(super) fn check_arguments(
        &self,
        arguments: &[ArgumentDefinition],
        directive: Option<&str>,
        meter: &Meter,
    ) -> Result<(), Error> {
        for argument in arguments {
            meter.spend(4)?;
            name_is_free(&argument.name)?;
            let definition = self.definition_of(argument.kind.as_deref()).ok_or(Error::Invalid)?;
            if !definition.is_input() {
                return Err(Error::Invalid);
            }
            self.check_directives(&argument.directives, "ARGUMENT_DEFINITION", directive, true, meter)?;
        }
        Ok(())
    }

    pub(super) fn check_directives(
        &self,
        directives: &[Directive],
        location: &str,
        current: Option<&str>,
        is_one_place: bool,
        meter: &Meter,
    ) -> Result<(), Error> {
        let mut seen = HashSet::new();
        for directive in directives {
            meter.spend(4)?;
            name_is_free(&directive.name)?;
            let definition = self.directive(&directive.name).ok_or(Error::Invalid)?;
            let is_again = is_one_place && !seen.insert(directive.name.as_str()) && !definition.repeatable;
            let is_elsewhere = !definition.locations.iter().any(|known| known == location);
            if current == Some(directive.name.as_str()) || is_again || is_elsewhere {
                return Err(Error::Invalid);
            }
            for argument in &directive.arguments {
                if !definition.arguments.iter().any(|known| known.name == argument.name) {
                    return Err(Error::Invalid);
                }
            }
            for wanted in &definition.arguments {
                let is_required =
                    wanted.kind.as_ref().is_some_and(|kind| kind.required) && wanted.default.is_none();
                let given = directive.arguments.iter().find(|argument| argument.name == wanted.name);
                let has_value = given
                    .and_then(|given| given.value.as_ref())
                    .is_some_and(|value| value.kind != kind::NULL);
                if is_required && !has_value {
                    return Err(Error::Invalid);
                }
            }
        }
        Ok(())
    }
}
