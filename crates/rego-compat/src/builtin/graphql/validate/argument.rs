//! Arguments of fields and directives.

use std::collections::HashSet;

use super::super::Error;
use super::super::ast::{Argument, ArgumentDefinition};
use super::{Walker, require, value};

impl<'a> Walker<'a> {
    /// Walks through the values.
    pub(super) fn arguments(
        &mut self,
        arguments: &'a [Argument],
        wanted: Option<&'a [ArgumentDefinition]>,
    ) -> Result<(), Error> {
        for argument in arguments {
            let Some(value) = argument.value.as_deref() else { return Err(Error::Invalid) };
            let definition =
                wanted.and_then(|wanted| wanted.iter().find(|known| known.name == argument.name));
            let expected = definition.map_or_else(value::Expected::default, |definition| {
                let has_default = value::is_some(definition.default.as_deref());
                value::Expected::of(definition.kind.as_deref(), has_default, self.schema)
            });
            self.value(value, expected)?;
        }
        Ok(())
    }

    /// Checks that arguments are given once, that none is unknown, and that no required one is missing.
    pub(super) fn check_arguments(
        &self,
        arguments: &[Argument],
        wanted: Option<&[ArgumentDefinition]>,
        only_known: bool,
    ) -> Result<(), Error> {
        let mut seen = HashSet::new();
        require(arguments.iter().all(|argument| seen.insert(argument.name.as_str())))?;
        let Some(wanted) = wanted else { return Ok(()) };
        if only_known {
            let is_known = |argument: &Argument| wanted.iter().any(|known| known.name == argument.name);
            require(arguments.iter().all(is_known))?;
        }
        let is_there = |definition: &ArgumentDefinition| {
            let is_required = definition.kind.as_ref().is_some_and(|kind| kind.required);
            !is_required || definition.default.is_some() || seen.contains(definition.name.as_str())
        };
        require(wanted.iter().all(is_there))
    }
}
