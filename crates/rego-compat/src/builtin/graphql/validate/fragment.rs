//! Fragments, and subscriptions, whose fields fragments may hide.

use std::collections::HashSet;

use super::super::Error;
use super::super::ast::{Definition, Fragment, Inline, Operation, Selection, Selections, Spread};
use super::{Walker, require};

impl<'a> Walker<'a> {
    pub(super) fn inline(&mut self, parent: Option<&'a Definition>, inline: &'a Inline) -> Result<(), Error> {
        let definition =
            if inline.condition.is_empty() { parent } else { self.schema.definition(&inline.condition) };
        self.directives(&inline.directives, "INLINE_FRAGMENT")?;
        self.selections(definition, &inline.selections)?;
        if !inline.condition.is_empty() {
            require(definition.is_some_and(Definition::is_composite))?;
            self.check_possible(parent, &inline.condition)?;
        }
        self.check_merge(&inline.selections)
    }

    pub(super) fn spread(&mut self, parent: Option<&'a Definition>, spread: &'a Spread) -> Result<(), Error> {
        let fragment = *self.fragments.get(spread.name.as_str()).ok_or(Error::Invalid)?;
        let definition = self.schema.definition(&fragment.condition);
        self.directives(&spread.directives, "FRAGMENT_SPREAD")?;
        if self.spread.insert(&fragment.name) {
            self.directives(&fragment.directives, "FRAGMENT_DEFINITION")?;
            self.selections(definition, &fragment.selections)?;
        }
        if !self.is_in_fragments {
            self.used_fragments.insert(&spread.name);
        }
        self.check_possible(parent, &fragment.condition)
    }

    pub(super) fn fragment(&mut self, fragment: &'a Fragment) -> Result<(), Error> {
        let definition = self.schema.definition(&fragment.condition);
        self.directives(&fragment.directives, "FRAGMENT_DEFINITION")?;
        self.selections(definition, &fragment.selections)?;
        require(
            definition.is_some_and(|definition| fragment.condition.is_empty() || definition.is_composite()),
        )?;
        self.check_cycle(fragment, &mut HashSet::new())?;
        self.is_in_fragments = true;
        require(self.used_fragments.contains(fragment.name.as_str()))?;
        self.check_merge(&fragment.selections)?;
        require(self.fragments_seen.insert(&fragment.name))
    }

    /// Checks that an object of one type may be one of the other.
    fn check_possible(&self, parent: Option<&Definition>, condition: &str) -> Result<(), Error> {
        let Some(parent) = parent.filter(|parent| parent.is_composite()) else { return Ok(()) };
        let Some(definition) =
            self.schema.definition(condition).filter(|definition| definition.is_composite())
        else {
            return Ok(());
        };
        let itself = [parent.name.clone()];
        let parents =
            if parent.kind == "OBJECT" { &itself } else { self.schema.possible_types(&parent.name) };
        let possible = self.schema.possible_types(&definition.name);
        let pairs = parents.len().saturating_mul(possible.len());
        self.meter.spend(u64::try_from(pairs).unwrap_or(u64::MAX))?;
        require(possible.iter().any(|name| parents.contains(name)))
    }

    fn check_cycle(&mut self, fragment: &'a Fragment, path: &mut HashSet<&'a str>) -> Result<(), Error> {
        self.meter.check_stack()?;
        if !self.cycles.insert(&fragment.name) {
            return Ok(());
        }
        path.insert(&fragment.name);
        let mut spreads = Vec::new();
        self.spreads(&fragment.selections, &mut spreads)?;
        for spread in spreads {
            require(!path.contains(spread.name.as_str()))?;
            if let Some(inner) = self.fragments.get(spread.name.as_str()).copied() {
                self.check_cycle(inner, path)?;
            }
        }
        path.remove(fragment.name.as_str());
        Ok(())
    }

    fn spreads(&self, selections: &'a Selections, found: &mut Vec<&'a Spread>) -> Result<(), Error> {
        self.meter.check_stack()?;
        for selection in &selections.0 {
            self.meter.spend(1)?;
            match selection {
                Selection::Field(field) => self.spreads(&field.selections, found)?,
                Selection::Inline(inline) => self.spreads(&inline.selections, found)?,
                Selection::Spread(spread) => found.push(spread),
            }
        }
        Ok(())
    }

    /// Checks that a subscription asks for one field, and not for the schema.
    pub(super) fn check_subscription(&self, operation: &'a Operation) -> Result<(), Error> {
        let mut names = HashSet::new();
        self.top_fields(&operation.selections, &mut names, &mut HashSet::new())?;
        require(names.len() <= 1 && !names.iter().any(|name| name.starts_with("__")))
    }

    fn top_fields(
        &self,
        selections: &'a Selections,
        names: &mut HashSet<&'a str>,
        within: &mut HashSet<&'a str>,
    ) -> Result<(), Error> {
        self.meter.check_stack()?;
        for selection in &selections.0 {
            self.meter.spend(1)?;
            match selection {
                Selection::Field(field) => {
                    names.insert(&field.name);
                }
                Selection::Inline(inline) => self.top_fields(&inline.selections, names, within)?,
                Selection::Spread(spread) => {
                    let fragment = *self.fragments.get(spread.name.as_str()).ok_or(Error::Invalid)?;
                    if within.insert(&fragment.name) {
                        self.top_fields(&fragment.selections, names, within)?;
                    }
                }
            }
        }
        Ok(())
    }
}
