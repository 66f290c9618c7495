//! `strings.render_template`: Go's `text/template` over JSON, as OPA calls it.
//!
//! [`token`] takes the text apart, [`parse`] reads it into [`node`]s, [`execute`] walks through these and asks
//! [`evaluate`] for values, which ask [`function`]s. Values are what Go's decoder makes of JSON ([`item`]): a number is a
//! string with a type of its own, so that `{{if .count}}` holds for 0 and `{{eq .count 1}}` is an error.

mod compare;
mod constant;
mod escape;
mod evaluate;
mod execute;
mod function;
mod item;
mod node;
mod parse;
mod token;

use crate::error::EvalError;
use crate::meter::Meter;
use crate::value::Value;
use crate::value::literal;

use self::execute::execute;
use super::{Answer, answer, text_at};

/// Bytes of a token and of the node it is part of.
const TOKEN_BYTES: usize = 96;

/// The reason why a template gives nothing.
enum Exit {
    /// Go reports an error.
    Error,
    /// `{{break}}`
    Break,
    /// `{{continue}}`
    Continue,
    Limit(EvalError),
}

impl From<EvalError> for Exit {
    fn from(limit: EvalError) -> Self {
        Self::Limit(limit)
    }
}

pub(super) fn render(args: &[&Value], meter: &Meter) -> Answer {
    let (Some(text), Some(data @ Value::Object(_))) = (text_at(args, 0), args.get(1)) else {
        return Ok(None);
    };
    meter.charge_tree(data)?;
    // OPA hands its variables over as the text it prints them as, which is JSON only if there are no sets and the like.
    let Ok(data) = Value::from_json_str(&literal::of(data)) else { return Ok(None) };
    meter.afford_bytes(text.len().saturating_mul(TOKEN_BYTES))?;
    meter.spend(u64::try_from(text.len() / 4).unwrap_or(u64::MAX))?;
    let Some(tokens) = token::tokens(text) else { return Ok(None) };
    let rendered = parse::templates(&tokens, meter).and_then(|templates| execute(&templates, &data, meter));
    match rendered {
        Ok(text) => answer(text.replace("<no value>", "<undefined>")),
        Err(Exit::Limit(limit)) => Err(limit),
        Err(Exit::Error | Exit::Break | Exit::Continue) => Ok(None),
    }
}

#[cfg(test)]
mod tests;
