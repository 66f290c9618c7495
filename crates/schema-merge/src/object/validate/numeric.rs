//! Bounds, factor and range of a number, with the server's habit of computing in the number's own type.
//!
//! An integer is compared with a bound that has lost its fraction; a bound that does not fit the type is a violation
//! itself.

use go_compat::strconv::format_float;
use serde_json::Number;

use super::{Outcome, Validator, Violation};
use crate::node::Node;

/// The largest double up to which all integers are exact.
const MAX_EXACT: f64 = 9_007_199_254_740_991.0;

pub(super) fn check(validator: &Validator, node: &Node<'_>, number: &Number, path: &str) -> Outcome {
    let range = Range::of(validator, node);
    let mut outcome = Outcome::default();
    let Some(value) = number.as_f64() else {
        outcome.add(Violation::whole(format!("{number} in {path} is out of range of a double")));
        return outcome;
    };
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
            None => {
                (value.partial_cmp(&bound).is_some_and(|order| breaks(order, keyword, open)), go_float(bound))
            }
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
                go_number(number),
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
    let printed = if integer.is_some() { (factor as i64).to_string() } else { go_float(factor) };
    let positive = if integer.is_some() { factor as i64 > 0 } else { factor > 0.0 };
    if !positive {
        let message = format!("factor MultipleOf declared for {path} must be positive: {printed}");
        return outcome.add(Violation::worded(path, printed, message));
    }
    let divides = match integer {
        Some(integer) => integer.checked_rem(factor as i64) == Some(0),
        None => number.as_f64().is_some_and(|value| {
            is_integer(if factor < 1.0 { 1.0 / factor * value } else { value / factor })
        }),
    };
    if !divides {
        outcome.add(Violation::invalid(
            path,
            go_number(number),
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

/// A number as `%v` prints it: the server holds an integer of 64 bits, or a double.
pub(super) fn go_number(number: &Number) -> String {
    match (number.as_i64(), number.as_f64()) {
        (Some(integer), _) => integer.to_string(),
        (None, Some(float)) => go_float(float),
        (None, None) => number.to_string(),
    }
}

/// A double as `%v` prints it. Messages have the numbers of `fmt`, not those of JSON.
fn go_float(value: f64) -> String {
    format_float(value, 'g', None)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate_object;

    #[test]
    fn messages_have_numbers_as_go_prints_them() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "number", "maximum": 1e6}, "e": {"enum": [1]}}});
        for (value, printed) in
            [(json!(2_000_000.5), "2.0000005e+06"), (json!(u64::MAX), "1.8446744073709552e+19")]
        {
            let errors = validate_object(&schema, &json!({"n": value})).errors;
            assert_eq!(
                errors.to_string(),
                format!("n: Invalid value: {printed}: n in body should be less than or equal to 1e+06")
            );
        }
        let errors = validate_object(&schema, &json!({"e": 1e-7})).errors;
        assert_eq!(errors.to_string(), "e: Unsupported value: 1e-07: supported values: \"1\"");
    }
}
