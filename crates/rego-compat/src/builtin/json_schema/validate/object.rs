//! Objects.

use crate::value::{Object as Pairs, Value};

use super::super::Error;
use super::super::diagnostic::{Place, Report};
use super::super::node::{Additional, Object};
use super::{Checked, Validator};

impl Validator<'_> {
    /// Returns all but the values of the properties that have a schema of their own.
    pub(super) fn object(
        &self,
        rules: &Object,
        pairs: &Pairs,
        place: &Place<'_>,
        report: &mut Report,
    ) -> Checked {
        let count = i64::try_from(pairs.len()).unwrap_or(i64::MAX);
        if let Some(least) = rules.least.filter(|least| count < *least) {
            self.add(
                "array_min_properties",
                place,
                &format!("Must have at least {least} properties"),
                report,
            )?;
        }
        if let Some(most) = rules.most.filter(|most| count > *most) {
            self.add("array_max_properties", place, &format!("Must have at most {most} properties"), report)?;
        }
        for name in &rules.required {
            self.meter.spend(1)?;
            if pairs.contains_key(&(&**name).into()) {
                report.passed();
            } else {
                self.add("required", place, &format!("{name} is required"), report)?;
            }
        }
        for (name, value) in pairs.iter() {
            self.additional(rules, name, value, place, report)?;
        }
        self.names(rules, pairs, place, report)?;
        report.passed();
        Ok(())
    }

    fn additional(
        &self,
        rules: &Object,
        name: &Value,
        value: &Value,
        place: &Place<'_>,
        report: &mut Report,
    ) -> Checked {
        let name = name_of(name);
        let is_known = rules.properties.binary_search_by(|(known, _)| (**known).cmp(name)).is_ok();
        let fits = self.patterns(rules, name, value, place, report)?;
        if is_known || fits {
            return Ok(());
        }
        match rules.additional {
            Some(Additional::Refused) => {
                let text = format!("Additional property {name} is not allowed");
                self.add("additional_property_not_allowed", place, &text, report)?;
            }
            Some(Additional::Schema(schema)) => {
                report.merge(self.alone(schema, value, &Place::below(place, name))?);
            }
            Some(Additional::Allowed) | None => {}
        }
        Ok(())
    }

    /// Returns true if a name fits one of the patterns, whose schemas are asked.
    fn patterns(
        &self,
        rules: &Object,
        name: &str,
        value: &Value,
        place: &Place<'_>,
        report: &mut Report,
    ) -> Result<bool, Error> {
        let mut fits = false;
        for (pattern, schema) in &rules.patterns {
            self.pay_search(pattern, name)?;
            if pattern.regex.is_match(name) {
                fits = true;
                report.merge(self.alone(*schema, value, &Place::below(place, name))?);
            }
        }
        if fits {
            report.passed();
        }
        Ok(fits)
    }

    fn names(&self, rules: &Object, pairs: &Pairs, place: &Place<'_>, report: &mut Report) -> Checked {
        let Some(schema) = rules.names else { return Ok(()) };
        for name in pairs.keys() {
            let alone = self.alone(schema, name, place)?;
            if !alone.is_valid() {
                let text = format!("Property name of \"{}\" does not match", name_of(name));
                self.add("invalid_property_name", place, &text, report)?;
                report.merge(alone);
            }
        }
        Ok(())
    }

    pub(super) fn properties(
        &self,
        rules: &Object,
        pairs: &Pairs,
        place: &Place<'_>,
        report: &mut Report,
    ) -> Checked {
        for (name, schema) in &rules.properties {
            self.meter.spend(1)?;
            if let Some(value) = pairs.get(&(&**name).into()) {
                self.check(*schema, value, &Place::below(place, name), report)?;
            }
        }
        Ok(())
    }
}

fn name_of(name: &Value) -> &str {
    match name {
        Value::String(name) => name,
        _ => "",
    }
}
