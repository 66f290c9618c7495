//! Bounds, factor and range of a number, with the server's habit of computing in the number's own type.
//!
//! An integer is compared with a bound that has lost its fraction; a bound that does not fit the type is a violation
//! itself.

use serde_json::Number;

use super::{Outcome, Validator, Violation};
use crate::node::Node;
use crate::structural::go_float;

/// The largest double up to which all integers are exact.
const MAX_EXACT: f64 = 9_007_199_254_740_991.0;

pub(super) fn check(validator: &Validator, node: &Node<'_>, number: &Number, path: &str) -> Outcome {
    let range = Range::of(validator, node);
    let value = number.as_f64().unwrap_or_default();
    let mut outcome = Outcome::default();
    range.check(value, number.as_i64(), "Checked", path, &mut outcome);
    if let Some(factor) = node.number("multipleOf").and_then(Number::as_f64) {
        let fits = range.check(factor, None, "MultipleOf", path, &mut outcome);
        factor_of(number, factor, fits, path, &mut outcome);
    }
    for (keyword, exclusive, boundary) in [
        ("maximum", "exclusiveMaximum", "Maximum boundary"),
        ("minimum", "exclusiveMinimum", "Minimum boundary"),
    ] {
        let Some(bound) = node.number(keyword).and_then(Number::as_f64) else {
            continue;
        };
        let fits = range.check(bound, None, boundary, path, &mut outcome);
        let open = node.flag(exclusive);
        let integer = number.as_i64().filter(|_| fits);
        let (broken, printed) = match integer {
            // The server cuts the bound down to the type of the number.
            Some(integer) => {
                (breaks(integer.cmp(&(bound as i64)), keyword, open), (bound as i64).to_string())
            }
            None => (
                value.partial_cmp(&bound).is_some_and(|order| breaks(order, keyword, open)),
                go_number(bound),
            ),
        };
        if broken {
            let relation = match (keyword, open) {
                ("maximum", false) => "less than or equal to",
                ("maximum", true) => "less than",
                (_, false) => "greater than or equal to",
                (_, true) => "greater than",
            };
            outcome.add(Violation::invalid(
                path,
                printed_value(number),
                &format!("should be {relation} {printed}"),
            ));
        }
    }
    outcome.count();
    outcome
}

fn breaks(order: std::cmp::Ordering, keyword: &str, open: bool) -> bool {
    let outside = if keyword == "maximum" { order.is_gt() } else { order.is_lt() };
    outside || (open && order.is_eq())
}

fn factor_of(number: &Number, factor: f64, fits: bool, path: &str, outcome: &mut Outcome) {
    let integer = number.as_i64().filter(|_| fits);
    let printed = if integer.is_some() { (factor as i64).to_string() } else { go_number(factor) };
    let positive = if integer.is_some() { factor as i64 > 0 } else { factor > 0.0 };
    if !positive {
        let message = format!("factor MultipleOf declared for {path} must be positive: {printed}");
        return outcome.add(Violation::worded(path, printed, message));
    }
    let divides = match integer {
        Some(integer) => integer.checked_rem(factor as i64) == Some(0),
        None => {
            let value = number.as_f64().unwrap_or_default();
            is_integer(if factor < 1.0 { 1.0 / factor * value } else { value / factor })
        }
    };
    if !divides {
        outcome.add(Violation::invalid(
            path,
            printed_value(number),
            &format!("should be a multiple of {printed}"),
        ));
    }
}

/// The range that the type and the format allow.
struct Range<'a> {
    kind: &'a str,
    format: &'a str,
}

impl<'a> Range<'a> {
    fn of(validator: &Validator, node: &Node<'a>) -> Self {
        let types = validator.types(node);
        let format = validator.format(node);
        match (&*types, format) {
            (["integer"], "int32" | "int64") | (["number"], "float" | "double") => {
                Self { kind: node.kind(), format }
            }
            (["integer" | "number"], _) => Self { kind: node.kind(), format: "" },
            _ => Self { kind: "", format: "" },
        }
    }

    /// Returns true if the number fits; adds a violation when it does not.
    fn check(&self, value: f64, integer: Option<i64>, what: &str, path: &str, outcome: &mut Outcome) -> bool {
        let whole = integer.is_some() || (value.fract() == 0.0 && value.abs() < 9.3e18);
        let fits = match (self.kind, self.format) {
            ("integer", "int32") => whole && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&value),
            ("integer", _) => whole,
            ("number", "float") => value.abs() <= f64::from(f32::MAX),
            _ => true,
        };
        if !fits {
            let kind = self.kind;
            let format = if self.format.is_empty() {
                "(default format)".to_owned()
            } else {
                format!("with format {}", self.format)
            };
            outcome.add(Violation::whole(format!("{what} value must be of type {kind} {format} in {path}")));
        }
        fits
    }
}

/// Returns true if a double stands for an integer, to the precision the server asks for.
pub(super) fn is_integer(value: f64) -> bool {
    if !value.is_finite() || value.abs() > MAX_EXACT {
        return false;
    }
    let whole = value.trunc();
    let difference = (value - whole).abs();
    difference == 0.0 || (whole != 0.0 && difference / (value.abs() + whole.abs()) < 1e-9)
}

fn printed_value(number: &Number) -> String {
    match (number.as_i64(), number.as_f64()) {
        (Some(integer), _) => integer.to_string(),
        (None, float) => go_number(float.unwrap_or_default()),
    }
}

/// A double as Go's `%v` prints it.
pub(super) fn go_number(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-4 { format_exponent(value) } else { go_float(value) }
}

fn format_exponent(value: f64) -> String {
    let text = format!("{value:e}");
    match text.split_once("e-") {
        Some((digits, exponent)) => format!("{digits}e-{exponent:0>2}"),
        None => text,
    }
}
