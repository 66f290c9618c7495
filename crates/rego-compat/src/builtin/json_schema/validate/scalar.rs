//! Numbers and strings.

use std::cmp::Ordering;

use crate::error::EvalError;
use crate::value::Number as Given;
use go_compat::regexp::Pattern;

use super::super::decimal::Decimal;
use super::super::diagnostic::{Place, Report};
use super::super::node::{Number, Text};
use super::{Checked, Validator};

impl Validator<'_> {
    pub(super) fn number(
        &self,
        rules: &Number,
        given: &Given,
        place: &Place<'_>,
        report: &mut Report,
    ) -> Checked {
        if let Some(number) = Decimal::of(given, self.meter)? {
            self.bounds(rules, &number, place, report)?;
        }
        report.passed();
        Ok(())
    }

    fn bounds(&self, rules: &Number, number: &Decimal, place: &Place<'_>, report: &mut Report) -> Checked {
        if let Some(multiple) = rules.multiple_of.as_ref().filter(|multiple| !number.is_multiple_of(multiple))
        {
            self.add("multiple_of", place, &format!("Must be a multiple of {}", multiple.text()), report)?;
        }
        let wrong = |bound: &Option<Decimal>, refused: fn(Ordering) -> bool| {
            bound.as_ref().filter(|bound| refused(number.compare(bound))).map(Decimal::text)
        };
        if let Some(most) = wrong(&rules.maximum, Ordering::is_gt) {
            self.add("number_lte", place, &format!("Must be less than or equal to {most}"), report)?;
        }
        if let Some(most) = wrong(&rules.below, Ordering::is_ge) {
            self.add("number_lt", place, &format!("Must be less than {most}"), report)?;
        }
        if let Some(least) = wrong(&rules.minimum, Ordering::is_lt) {
            self.add("number_gte", place, &format!("Must be greater than or equal to {least}"), report)?;
        }
        if let Some(least) = wrong(&rules.above, Ordering::is_le) {
            self.add("number_gt", place, &format!("Must be greater than {least}"), report)?;
        }
        Ok(())
    }

    pub(super) fn text(&self, rules: &Text, text: &str, place: &Place<'_>, report: &mut Report) -> Checked {
        self.meter.spend(u64::try_from(text.len() / 64).unwrap_or(u64::MAX))?;
        let count = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        if let Some(least) = rules.least.filter(|least| count < *least) {
            let text = format!("String length must be greater than or equal to {least}");
            self.add("string_gte", place, &text, report)?;
        }
        if let Some(most) = rules.most.filter(|most| count > *most) {
            let text = format!("String length must be less than or equal to {most}");
            self.add("string_lte", place, &text, report)?;
        }
        if let Some((written, pattern)) = &rules.pattern {
            self.pay_search(pattern, text)?;
            if !pattern.regex.is_match(text) {
                self.add("pattern", place, &format!("Does not match pattern '{written}'"), report)?;
            }
        }
        report.passed();
        Ok(())
    }

    /// Pays for a search, which reads each character with each state of the pattern at most.
    pub(super) fn pay_search(&self, pattern: &Pattern, text: &str) -> Result<(), EvalError> {
        let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
        self.meter.spend(length / 64)?;
        self.meter.afford(length.saturating_mul(pattern.states) / 4)
    }
}
