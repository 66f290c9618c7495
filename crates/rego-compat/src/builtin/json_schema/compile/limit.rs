//! The keywords that bound numbers, lengths and counts.

use std::rc::Rc;

use crate::error::EvalError;
use crate::value::Value;
use eval_budget::Limit;
use go_compat::regexp;

use super::super::Error;
use super::super::decimal::Decimal;
use super::super::node::{Draft, Node};
use super::{Compiler, Keywords, invalid_type, must_be};

/// One end of a range of numbers: its value, or the value it does not reach.
type Bound = (Option<Decimal>, Option<Decimal>);

impl Compiler<'_> {
    pub(super) fn limits(&mut self, keywords: Keywords<'_>, node: &mut Node) -> Result<(), Error> {
        node.number.multiple_of = self.multiple(keywords)?;
        (node.number.minimum, node.number.above) = self.bound(keywords, "minimum", "exclusiveMinimum")?;
        (node.number.maximum, node.number.below) = self.bound(keywords, "maximum", "exclusiveMaximum")?;
        (node.text.least, node.text.most) = range(keywords, "minLength", "maxLength")?;
        ordered("minLength", "maxLength", node.text.least, node.text.most)?;
        if let Some(pattern) = keywords.text("pattern")? {
            let regex = match regexp::compile(pattern) {
                Ok(pattern) => pattern,
                Err(regexp::Error::Syntax(_)) => {
                    return Err(Error::Schema("pattern must be a valid regex".to_owned()));
                }
                Err(_) => return Err(Error::Limit(EvalError::Budget(Limit::Memory))),
            };
            node.text.pattern = Some((pattern.to_owned(), regex));
        }
        node.text.format = keywords.text("format")?.filter(|format| !format.is_empty()).map(str::to_owned);
        (node.object.least, node.object.most) = range(keywords, "minProperties", "maxProperties")?;
        ordered("minProperties", "maxProperties", node.object.least, node.object.most)?;
        node.object.required = required(keywords)?;
        (node.array.least, node.array.most) = range(keywords, "minItems", "maxItems")?;
        node.array.unique = match keywords.get("uniqueItems") {
            None => false,
            Some(Value::Bool(unique)) => *unique,
            Some(_) => return Err(must_be("a", "uniqueItems", "boolean")),
        };
        Ok(())
    }

    fn number(&self, value: &Value) -> Result<Option<Decimal>, Error> {
        match value {
            Value::Number(number) => Ok(Decimal::of(number, self.meter)?),
            _ => Ok(None),
        }
    }

    fn multiple(&self, keywords: Keywords<'_>) -> Result<Option<Decimal>, Error> {
        let Some(value) = keywords.get("multipleOf") else { return Ok(None) };
        let number = self.number(value)?.ok_or_else(|| invalid_type("Number", "multipleOf"))?;
        if !number.is_positive() {
            return Err(Error::Schema("multipleOf must be strictly greater than 0".to_owned()));
        }
        Ok(Some(number))
    }

    fn bound(&self, keywords: Keywords<'_>, key: &str, exclusive: &str) -> Result<Bound, Error> {
        let bound = match keywords.get(key) {
            None => None,
            Some(value) => Some(self.number(value)?.ok_or_else(|| must_be("a", key, "Number"))?),
        };
        let number = || self.number(keywords.get(exclusive).unwrap_or(&Value::Null));
        match (keywords.get(exclusive), keywords.draft) {
            (None, _) => Ok((bound, None)),
            (Some(Value::Bool(excluded)), Draft::Four | Draft::Any) => match bound {
                None => Err(Error::Schema(format!("{exclusive} cannot be used without {key}"))),
                Some(bound) if *excluded => Ok((None, Some(bound))),
                bound => Ok((bound, None)),
            },
            (Some(Value::Number(_)), Draft::Six | Draft::Seven | Draft::Any) => Ok((bound, number()?)),
            (Some(_), Draft::Four) => Err(invalid_type("boolean", exclusive)),
            (Some(_), Draft::Any) => Err(invalid_type("boolean/number", exclusive)),
            (Some(_), _) => Err(invalid_type("number", exclusive)),
        }
    }
}

/// Returns two keywords whose values are counts.
fn range(keywords: Keywords<'_>, least: &str, most: &str) -> Result<(Option<i64>, Option<i64>), Error> {
    Ok((count(keywords, least)?, count(keywords, most)?))
}

/// Reads a count, which must be spelled without a point.
fn count(keywords: Keywords<'_>, key: &str) -> Result<Option<i64>, Error> {
    let count: Option<i64> = match keywords.get(key) {
        None => return Ok(None),
        Some(Value::Number(number)) => number.text().parse().ok(),
        Some(_) => None,
    };
    let count = count.ok_or_else(|| must_be("an", key, "integer"))?;
    if count < 0 {
        return Err(Error::Schema(format!("{key} must be greater than or equal to 0")));
    }
    Ok(Some(count))
}

fn ordered(lower: &str, upper: &str, least: Option<i64>, most: Option<i64>) -> Result<(), Error> {
    match (least, most) {
        (Some(least), Some(most)) if least > most => {
            Err(Error::Schema(format!("{lower} cannot be greater than {upper}")))
        }
        _ => Ok(()),
    }
}

fn required(keywords: Keywords<'_>) -> Result<Vec<Rc<str>>, Error> {
    let mut required: Vec<Rc<str>> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for name in keywords.list("required")?.unwrap_or(&[]) {
        let Value::String(name) = name else { return Err(invalid_type("string", "required")) };
        if !seen.insert(&**name) {
            return Err(Error::Schema("required items must be unique".to_owned()));
        }
        required.push(Rc::from(&**name));
    }
    Ok(required)
}
