//! `graphql.*`: queries and schemas as `vektah/gqlparser` reads and validates them, which OPA uses.
//!
//! [`parse`] reads text into [`ast`], whose values are OPA's syntax trees; [`schema`] checks a schema and makes it ready to
//! be asked, [`validate`] checks a query against it. Why something is invalid is not said: to a policy an error is
//! undefined, or false.

mod ast;
mod parse;
mod record;
mod schema;
mod token;
mod validate;

use crate::error::EvalError;
use crate::meter::Meter;
use crate::value::Value;

use self::ast::{QueryDocument, SchemaDocument};
use self::record::Part;
use self::schema::Schema;
use super::{Answer, answer, text_at};

/// The reason why there is no answer.
enum Error {
    /// The document is not valid.
    Invalid,
    Limit(EvalError),
}

impl From<EvalError> for Error {
    fn from(limit: EvalError) -> Self {
        Self::Limit(limit)
    }
}

/// Implements `graphql.is_valid(query, schema)`.
pub(super) fn is_valid(args: &[&Value], meter: &Meter) -> Answer {
    verdict(verified(args, meter).map(drop))
}

/// Implements `graphql.schema_is_valid(schema)`.
pub(super) fn schema_is_valid(args: &[&Value], meter: &Meter) -> Answer {
    verdict(schema_at(args, 0, meter).map(drop))
}

/// Implements `graphql.parse(query, schema)`: both trees; undefined where either is invalid.
pub(super) fn parse(args: &[&Value], meter: &Meter) -> Answer {
    match verified(args, meter) {
        Ok((query, schema)) => tree(vec![query, schema], meter),
        Err(Error::Invalid) => Ok(None),
        Err(Error::Limit(limit)) => Err(limit),
    }
}

/// Implements `graphql.parse_and_verify(query, schema)`: validity and both trees, which are empty where either is invalid.
pub(super) fn parse_and_verify(args: &[&Value], meter: &Meter) -> Answer {
    match verified(args, meter) {
        Ok((query, schema)) => tree(vec![Value::Bool(true), query, schema], meter),
        Err(Error::Invalid) => answer(vec![Value::Bool(false), Value::new_object(), Value::new_object()]),
        Err(Error::Limit(limit)) => Err(limit),
    }
}

/// Implements `graphql.parse_query(text)`.
pub(super) fn parse_query(args: &[&Value], meter: &Meter) -> Answer {
    parsed(text_at(args, 0).ok_or(Error::Invalid).and_then(|text| parse::query(text, meter)), meter)
}

/// Implements `graphql.parse_schema(text)`.
pub(super) fn parse_schema(args: &[&Value], meter: &Meter) -> Answer {
    parsed(text_at(args, 0).ok_or(Error::Invalid).and_then(|text| parse::schema(text, meter)), meter)
}

fn verdict(checked: Result<(), Error>) -> Answer {
    match checked {
        Ok(()) => answer(true),
        Err(Error::Invalid) => answer(false),
        Err(Error::Limit(limit)) => Err(limit),
    }
}

fn parsed(document: Result<impl Part, Error>, meter: &Meter) -> Answer {
    match document {
        Ok(document) => {
            let value = document.write();
            meter.charge_tree(&value)?;
            Ok(Some(value))
        }
        Err(Error::Invalid) => Ok(None),
        Err(Error::Limit(limit)) => Err(limit),
    }
}

fn tree(parts: Vec<Value>, meter: &Meter) -> Answer {
    parts.iter().try_for_each(|part| meter.charge_tree(part))?;
    answer(parts)
}

/// Returns the trees of a query and of a schema that it is valid against.
fn verified(args: &[&Value], meter: &Meter) -> Result<(Value, Value), Error> {
    let query: QueryDocument = document(args.first(), parse::query, meter)?;
    let (schema, tree) = schema_at(args, 1, meter)?;
    validate::query(&query, &schema, meter)?;
    Ok((query.write(), tree))
}

/// Returns a sound schema, and its tree.
fn schema_at(args: &[&Value], index: usize, meter: &Meter) -> Result<(Schema, Value), Error> {
    let document: SchemaDocument = document(args.get(index), parse::schema, meter)?;
    let tree = document.write();
    Ok((Schema::of(document, meter)?, tree))
}

/// Returns a document from its text, or from its tree.
fn document<T: Part>(
    value: Option<&&Value>,
    parse: fn(&str, &Meter) -> Result<T, Error>,
    meter: &Meter,
) -> Result<T, Error> {
    match value {
        Some(Value::String(text)) => parse(text, meter),
        Some(tree @ Value::Object(_)) => {
            meter.charge_tree(tree)?;
            T::read(tree).ok_or(Error::Invalid)
        }
        _ => Err(Error::Invalid),
    }
}

#[cfg(test)]
mod tests;
