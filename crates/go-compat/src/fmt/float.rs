//! `float64` under Go's floating-point verbs (`fmt/format.go`).

use super::Spec;
use crate::strconv::format_float;

/// Prints a float; false if the verb does not take one.
pub(super) fn print(float: f64, verb: char, spec: Spec, out: &mut String) -> bool {
    let (layout, default_precision) = match verb {
        'v' => ('g', None),
        'b' | 'g' | 'G' | 'x' | 'X' => (verb, None),
        'f' | 'F' => ('f', Some(6)),
        'e' | 'E' => (verb, Some(6)),
        _ => return false,
    };
    let precision = spec.precision.or(default_precision);
    let mut number = format_float(float.abs(), layout, precision);
    if spec.sharp && layout != 'b' {
        number = with_point(&number, layout, precision);
    }
    signed(float.is_sign_negative(), &number, spec, out);
    true
}

/// Puts sign and padding around an unsigned number. Zeros go between the sign and the digits.
fn signed(negative: bool, number: &str, spec: Spec, out: &mut String) {
    let sign = match (negative, spec.plus, spec.space) {
        (true, _, _) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        (false, false, false) => return spec.pad(number, out),
    };
    let length = number.len().saturating_add(1);
    match spec.width {
        Some(width) if spec.zero && !spec.minus && width > length => {
            out.push_str(sign);
            spec.padding(width.saturating_sub(length), out);
            out.push_str(number);
        }
        _ => spec.pad(&format!("{sign}{number}"), out),
    }
}

/// Applies what `#` asks for: a decimal point always, and under `%g` the trailing zeros.
fn with_point(number: &str, layout: char, precision: Option<usize>) -> String {
    let tail_at = number.find(|c| match c {
        'p' | 'P' => true,
        'e' | 'E' => !matches!(layout, 'x' | 'X'),
        _ => false,
    });
    let (head, tail) = tail_at.and_then(|at| number.split_at_checked(at)).unwrap_or((number, ""));
    let significant = head.chars().filter(|c| *c != '.').skip_while(|c| *c == '0').count();
    let mut wanted = match layout {
        'g' | 'G' | 'x' => precision.unwrap_or(6),
        _ => 0,
    };
    let mut point = "";
    if !head.contains('.') {
        point = ".";
        if head == "0" {
            wanted = wanted.saturating_sub(1);
        }
    }
    format!("{head}{point}{}{tail}", "0".repeat(wanted.saturating_sub(significant)))
}
