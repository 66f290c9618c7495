//! The prices of reading keys and certificates, see `builtin/price`.

use crate::builtin::price::{arguments, size};
use crate::builtin::text_at;
use crate::error::EvalError;
use crate::meter::Meter;
use crate::value::Value;

/// Private keys are checked, which takes long.
pub(in crate::builtin) fn keys(args: &[&Value], meter: &Meter) -> Result<(), EvalError> {
    bytes(args, meter, 800)
}

/// Certificates are read, and their signatures checked.
pub(in crate::builtin) fn certificates(args: &[&Value], meter: &Meter) -> Result<(), EvalError> {
    bytes(args, meter, 200)
}

/// Charges a number of steps for each byte of a string.
fn bytes(args: &[&Value], meter: &Meter, each: u64) -> Result<(), EvalError> {
    arguments(args, meter)?;
    let length = args.iter().enumerate().map(|(index, _)| text_at(args, index).unwrap_or("").len()).sum();
    meter.afford(size(length).saturating_mul(each))
}

/// Pays like [`certificates`]; besides, each name in a certificate may be compared with each that those above it permit.
pub(in crate::builtin) fn chain(args: &[&Value], meter: &Meter) -> Result<(), EvalError> {
    certificates(args, meter)?;
    let names = size(text_at(args, 0).unwrap_or("").len()) / 32;
    meter.afford(names.saturating_mul(names))
}
