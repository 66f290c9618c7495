//! Arrays.

use std::collections::HashMap;

use crate::value::Value;

use super::super::canonical;
use super::super::diagnostic::{Place, Report};
use super::super::node::{Additional, Array, Items, NodeId};
use super::{Checked, Validator, closer};

impl Validator<'_> {
    pub(super) fn array(
        &self,
        rules: &Array,
        items: &[Value],
        place: &Place<'_>,
        report: &mut Report,
    ) -> Checked {
        self.items(rules, items, place, report)?;
        let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
        if let Some(least) = rules.least.filter(|least| count < *least) {
            self.add("array_min_items", place, &format!("Array must have at least {least} items"), report)?;
        }
        if let Some(most) = rules.most.filter(|most| count > *most) {
            self.add("array_max_items", place, &format!("Array must have at most {most} items"), report)?;
        }
        if rules.unique {
            self.unique(items, place, report)?;
        }
        if let Some(contains) = rules.contains {
            self.contains(contains, items, place, report)?;
        }
        report.passed();
        Ok(())
    }

    fn items(&self, rules: &Array, items: &[Value], place: &Place<'_>, report: &mut Report) -> Checked {
        let schemas = match &rules.items {
            Items::Any => return Ok(()),
            Items::Each(schema) => return self.each(*schema, 0, items, place, report),
            Items::Tuple(schemas) => schemas,
        };
        for (position, (schema, item)) in schemas.iter().zip(items).enumerate() {
            self.each(*schema, position, std::slice::from_ref(item), place, report)?;
        }
        // A list of no schemas says nothing.
        let Some(rest) = items.get(schemas.len()..).filter(|rest| !rest.is_empty() && !schemas.is_empty())
        else {
            return Ok(());
        };
        match rules.additional {
            Some(Additional::Refused) => {
                self.add("array_no_additional_items", place, "No additional items allowed on array", report)?;
            }
            Some(Additional::Schema(schema)) => self.each(schema, schemas.len(), rest, place, report)?,
            Some(Additional::Allowed) | None => {}
        }
        Ok(())
    }

    /// Items from a position on against one schema.
    fn each(
        &self,
        schema: NodeId,
        first: usize,
        items: &[Value],
        place: &Place<'_>,
        report: &mut Report,
    ) -> Checked {
        for (position, item) in items.iter().enumerate() {
            let name = first.saturating_add(position).to_string();
            report.merge(self.alone(schema, item, &Place::below(place, &name))?);
        }
        Ok(())
    }

    fn unique(&self, items: &[Value], place: &Place<'_>, report: &mut Report) -> Checked {
        let mut seen = HashMap::new();
        for (position, item) in items.iter().enumerate() {
            self.meter.charge_tree(item)?;
            let text = canonical::text(item)?;
            self.meter.charge(text.len())?;
            if let Some(before) = seen.insert(text, position) {
                let text = format!("array items[{before},{position}] must be unique");
                self.add("unique", place, &text, report)?;
            }
        }
        Ok(())
    }

    fn contains(&self, schema: NodeId, items: &[Value], place: &Place<'_>, report: &mut Report) -> Checked {
        let mut best = None;
        for (position, item) in items.iter().enumerate() {
            let alone = self.alone(schema, item, &Place::below(place, &position.to_string()))?;
            if alone.is_valid() {
                return Ok(());
            }
            best = Some(closer(best, alone));
        }
        self.add("contains", place, "At least one of the items must match", report)?;
        if let Some(best) = best {
            report.merge(best);
        }
        Ok(())
    }
}
