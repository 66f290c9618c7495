//! Documents compared with a compiled schema, in the library's order and with its scores.

mod array;
mod object;
mod scalar;

use crate::error::EvalError;
use crate::meter::Meter;
use crate::value::Value;

use super::Error;
use super::canonical;
use super::diagnostic::{Diagnostic, Place, Report};
use super::node::{Dependency, Node, NodeId, Schema};

impl Schema {
    /// Validates a document.
    pub(super) fn validate(&self, document: &Value, meter: &Meter) -> Result<Vec<Diagnostic>, Error> {
        let validator = Validator { schema: self, meter };
        Ok(validator.alone(self.root, document, &Place::ROOT)?.diagnostics)
    }
}

struct Validator<'a> {
    schema: &'a Schema,
    meter: &'a Meter,
}

type Checked = Result<(), Error>;

impl<'a> Validator<'a> {
    fn node(&self, id: NodeId) -> Result<&'a Node, Error> {
        self.schema.nodes.get(id).ok_or_else(|| Error::Schema(String::new()))
    }

    /// Returns a report of its own.
    fn alone(&self, id: NodeId, value: &Value, place: &Place<'_>) -> Result<Report, Error> {
        let mut report = Report::default();
        self.check(id, value, place, &mut report)?;
        Ok(report)
    }

    fn add(
        &self,
        kind: &'static str,
        place: &Place<'_>,
        text: &str,
        report: &mut Report,
    ) -> Result<(), EvalError> {
        report.add(kind, place, text.to_owned(), self.meter)
    }

    fn check(&self, id: NodeId, value: &Value, place: &Place<'_>, report: &mut Report) -> Checked {
        self.meter.spend(4)?;
        self.meter.check_stack()?;
        let node = self.node(id)?;
        if let Some(pass) = node.pass {
            if !pass {
                self.add("false", place, "False always fails validation", report)?;
            }
            return Ok(());
        }
        if let Some(target) = node.reference {
            return self.check(target, value, place, report);
        }
        if let Some(given) = self.wrong_type(node, value)? {
            let expected = match node.types.as_slice() {
                [one] => (*one).to_owned(),
                several => format!("[{}]", several.join(",")),
            };
            let text = format!("Invalid type. Expected: {expected}, given: {given}");
            report.add("invalid_type", place, text, self.meter)?;
            return Ok(());
        }
        self.combined(node, value, place, report)?;
        match value {
            Value::Array(items) => self.array(&node.array, items, place, report)?,
            Value::Object(pairs) => self.object(&node.object, pairs, place, report)?,
            Value::Number(number) => self.number(&node.number, number, place, report)?,
            _ => {}
        }
        self.common(node, value, place, report)?;
        match value {
            Value::Object(pairs) => self.properties(&node.object, pairs, place, report)?,
            Value::String(text) => self.text(&node.text, text, place, report)?,
            _ => {}
        }
        report.passed();
        Ok(())
    }

    /// Returns the type of a value that has none of those asked for.
    fn wrong_type(&self, node: &Node, value: &Value) -> Result<Option<&'static str>, Error> {
        if node.types.is_empty() {
            return Ok(None);
        }
        let given = match value {
            Value::Number(number) => {
                let is_whole = super::decimal::Decimal::of(number, self.meter)?.is_some_and(|n| n.is_whole());
                let given = if is_whole { "integer" } else { "number" };
                let fits = node.types.contains(&"number") || node.types.contains(&given);
                return Ok((!fits).then_some(given));
            }
            other => other.type_name(),
        };
        Ok((!node.types.contains(&given)).then_some(given))
    }

    /// Validates `anyOf`, `oneOf`, `allOf`, `not` and the like.
    fn combined(&self, node: &Node, value: &Value, place: &Place<'_>, report: &mut Report) -> Checked {
        self.any_of(node, value, place, report)?;
        self.one_of(node, value, place, report)?;
        let mut all_fit = true;
        for schema in &node.all_of {
            let alone = self.alone(*schema, value, place)?;
            all_fit &= alone.is_valid();
            report.merge(alone);
        }
        if !all_fit {
            self.add("number_all_of", place, "Must validate all the schemas (allOf)", report)?;
        }
        if let Some(not) = node.not
            && self.alone(not, value, place)?.is_valid()
        {
            self.add("number_not", place, "Must not validate the schema (not)", report)?;
        }
        self.dependencies(node, value, place, report)?;
        self.conditional(node, value, place, report)?;
        report.passed();
        Ok(())
    }

    fn any_of(&self, node: &Node, value: &Value, place: &Place<'_>, report: &mut Report) -> Checked {
        let mut best: Option<Report> = None;
        for schema in &node.any_of {
            let alone = self.alone(*schema, value, place)?;
            if alone.is_valid() {
                return Ok(());
            }
            best = Some(closer(best, alone));
        }
        let Some(best) = best else { return Ok(()) };
        self.add("number_any_of", place, "Must validate at least one schema (anyOf)", report)?;
        report.merge(best);
        Ok(())
    }

    fn one_of(&self, node: &Node, value: &Value, place: &Place<'_>, report: &mut Report) -> Checked {
        let (mut fitting, mut best) = (0usize, None);
        for schema in &node.one_of {
            let alone = self.alone(*schema, value, place)?;
            if alone.is_valid() {
                fitting = fitting.saturating_add(1);
            } else if fitting == 0 {
                best = Some(closer(best, alone));
            }
        }
        if fitting == 1 || node.one_of.is_empty() {
            return Ok(());
        }
        self.add("number_one_of", place, "Must validate one and only one schema (oneOf)", report)?;
        if let Some(best) = best.filter(|_| fitting == 0) {
            report.merge(best);
        }
        Ok(())
    }

    fn dependencies(&self, node: &Node, value: &Value, place: &Place<'_>, report: &mut Report) -> Checked {
        let Value::Object(pairs) = value else { return Ok(()) };
        for (name, dependency) in &node.object.dependencies {
            self.meter.spend(1)?;
            if !pairs.contains_key(&(&**name).into()) {
                continue;
            }
            match dependency {
                Dependency::Schema(schema) => self.check(*schema, value, place, report)?,
                Dependency::Keys(keys) => {
                    for key in keys.iter().filter(|key| !pairs.contains_key(&(&***key).into())) {
                        self.add("missing_dependency", place, &format!("Has a dependency on {key}"), report)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn conditional(&self, node: &Node, value: &Value, place: &Place<'_>, report: &mut Report) -> Checked {
        let Some(condition) = node.condition else { return Ok(()) };
        let holds = self.alone(condition, value, place)?.is_valid();
        let (branch, kind, text) = if holds {
            (node.consequence, "condition_then", "Must validate \"then\" as \"if\" was valid")
        } else {
            (node.alternative, "condition_else", "Must validate \"else\" as \"if\" was not valid")
        };
        let Some(branch) = branch else { return Ok(()) };
        let alone = self.alone(branch, value, place)?;
        if !alone.is_valid() {
            self.add(kind, place, text, report)?;
            report.merge(alone);
        }
        Ok(())
    }

    /// Validates `const`, `enum` and `format`.
    fn common(&self, node: &Node, value: &Value, place: &Place<'_>, report: &mut Report) -> Checked {
        if node.constant.is_some() || node.choices.is_some() {
            self.meter.charge_tree(value)?;
            let text = canonical::text(value)?;
            if let Some(constant) = node.constant.as_ref().filter(|constant| **constant != text) {
                report.add_named("const", place, &format!("does not match: {constant}"), self.meter)?;
            }
            if let Some(choices) = node.choices.as_ref().filter(|choices| !choices.contains(&text)) {
                let allowed = choices.join(", ");
                self.meter.charge(allowed.len())?;
                report.add_named(
                    "enum",
                    place,
                    &format!("must be one of the following: {allowed}"),
                    self.meter,
                )?;
            }
        }
        if let (Some(format), Value::String(text)) = (&node.text.format, value) {
            self.meter.charge_tree(value)?;
            if !super::format::fits(format, text) {
                self.add("format", place, &format!("Does not match format '{format}'"), report)?;
            }
        }
        report.passed();
        Ok(())
    }
}

/// Returns the better of two reports, the first where they are equally good.
fn closer(best: Option<Report>, other: Report) -> Report {
    match best {
        Some(best) if best.score >= other.score => best,
        _ => other,
    }
}
