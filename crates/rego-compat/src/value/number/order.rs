//! Numbers compared as OPA's `ast.NumberCompare` does: as the decimals they denote, except that two long ones
//! that end in zeros are equal where they are the same binary float.

use std::cmp::Ordering;

use super::spelling::{Spelling, whole};
use super::{Number, Repr};

/// The significant digits up to which OPA compares decimals as such without a look at their floats.
const SHORT_DIGITS: usize = 15;

/// The bound on the position of the first digit of such a decimal.
const SHORT_POINT: i64 = 300;

impl Eq for Number {}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Repr::Small(a), Repr::Small(b)) => a.cmp(b),
            _ => texts(&self.text(), &other.text()),
        }
    }
}

fn texts(a: &str, b: &str) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    if let (Some(a), Some(b)) = (whole(a), whole(b)) {
        return a.cmp(&b);
    }
    let (Some(x), Some(y)) = (Spelling::read(a), Spelling::read(b)) else {
        return a.cmp(b);
    };
    if is_float(a) && is_float(b) && !(is_short(&x) && is_short(&y)) && same_float(&x, &y) {
        return Ordering::Equal;
    }
    x.decimal().compare(&y.decimal())
}

/// OPA takes off zeros and points at the end, and asks whether a point is left; where there was nothing to
/// take off it does not ask.
fn is_float(text: &str) -> bool {
    let rest = text.trim_end_matches(['.', '0']);
    rest.len() < text.len() && rest.contains('.')
}

fn is_short(spelling: &Spelling) -> bool {
    let significant = spelling.digits.trim_start_matches('0').len();
    let point = (significant as i64).saturating_sub(spelling.fraction).saturating_add(spelling.exponent);
    significant <= SHORT_DIGITS && (significant == 0 || point.abs() <= SHORT_POINT)
}

fn same_float(a: &Spelling, b: &Spelling) -> bool {
    matches!((a.to_f64(), b.to_f64()), (Some(a), Some(b)) if a == b)
}
