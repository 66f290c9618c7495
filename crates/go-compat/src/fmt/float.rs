//! `float64` under Go's floating-point verbs (`fmt/format.go`, `strconv/ftoa.go`).
//!
//! Rust and Go both print the shortest decimal text that reads back as the same number, and both round a
//! given precision correctly; only the layout differs, and that is what this file does.

use super::Spec;

/// No float has more digits than this behind its point; those beyond are zeros. Rust refuses to print 65,536.
const MOST_DIGITS: usize = 1_100;

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
    let mut number = laid_out(float.abs(), layout, precision);
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

/// `strconv.FormatFloat` of a number that is not negative.
fn laid_out(float: f64, layout: char, precision: Option<usize>) -> String {
    match layout {
        'b' => binary(float),
        'e' | 'E' => exponent_of(float, layout, precision),
        'f' => precision.map_or_else(
            || float.to_string(),
            |precision| {
                let exact = precision.min(MOST_DIGITS);
                format!("{float:.exact$}{}", "0".repeat(precision.saturating_sub(exact)))
            },
        ),
        'x' | 'X' => hexadecimal(float, layout, precision),
        _ => general(float, layout, precision),
    }
}

/// `%e`: Rust's text with Go's exponent, which has a sign and at least two digits.
fn exponent_of(float: f64, letter: char, precision: Option<usize>) -> String {
    let exact = precision.map(|precision| precision.min(MOST_DIGITS));
    let text = exact.map_or_else(|| shortest(float), |exact| format!("{float:.exact$e}"));
    let (mantissa, exponent) = split_exponent(&text);
    let zeros = "0".repeat(precision.unwrap_or(0).saturating_sub(MOST_DIGITS));
    format!("{mantissa}{zeros}{letter}{}", exponent_text(exponent))
}

/// As few digits as tell the float from its neighbours. Where two texts are equally near, Go takes the even one.
fn shortest(float: f64) -> String {
    let text = format!("{float:e}");
    let digits = split_exponent(&text).0.bytes().filter(u8::is_ascii_digit).count();
    let even = format!("{float:.precision$e}", precision = digits.saturating_sub(1));
    if even.parse() == Ok(float) { even } else { text }
}

fn exponent_text(exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{:02}", exponent.unsigned_abs())
}

/// Rust's `1.5e-7` as mantissa and exponent.
fn split_exponent(text: &str) -> (&str, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    (mantissa, exponent.parse().unwrap_or(0))
}

/// `%g`: without an exponent where that is short enough.
fn general(float: f64, layout: char, precision: Option<usize>) -> String {
    let wanted = precision.map(|precision| precision.max(1));
    let text = wanted.map_or_else(
        || shortest(float),
        |wanted| format!("{float:.precision$e}", precision = wanted.saturating_sub(1).min(MOST_DIGITS)),
    );
    let (mantissa, exponent) = split_exponent(&text);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_end_matches('0');
    let limit = match wanted {
        None => 6,
        Some(wanted) => integral_limit(wanted, digits.len(), exponent),
    };
    if exponent < -4 || i64::from(exponent) >= limit {
        let letter = if layout == 'G' { 'E' } else { 'e' };
        return format!("{}{letter}{}", pointed(digits, 1), exponent_text(exponent));
    }
    without_exponent(digits, exponent)
}

/// The exponent from which `%g` shows one: the precision, or the number of digits where all of them are
/// before the point.
fn integral_limit(wanted: usize, digits: usize, exponent: i32) -> i64 {
    let (wanted, digits) = (wanted as i64, digits as i64);
    // A zero has no digits and its point stands before them.
    let point = if digits == 0 { 0 } else { i64::from(exponent).saturating_add(1) };
    if wanted > digits && digits >= point { digits } else { wanted }
}

fn without_exponent(digits: &str, exponent: i32) -> String {
    if digits.is_empty() {
        return "0".to_owned();
    }
    match usize::try_from(exponent) {
        Ok(exponent) => {
            let before = exponent.saturating_add(1);
            pointed(&format!("{digits:0<before$}"), before)
        }
        Err(_) => {
            let zeros = usize::try_from(exponent.unsigned_abs()).unwrap_or(0).saturating_sub(1);
            format!("0.{}{digits}", "0".repeat(zeros))
        }
    }
}

/// `digits` with a decimal point after the first `before` of them, where more follow.
fn pointed(digits: &str, before: usize) -> String {
    match digits.split_at_checked(before) {
        Some((whole, fraction)) if !fraction.is_empty() => format!("{whole}.{fraction}"),
        Some((whole, _)) => whole.to_owned(),
        None => "0".to_owned(),
    }
}

/// The stored mantissa and exponent of a float, with the hidden bit.
fn parts(float: f64) -> (u64, i32) {
    const MANTISSA_BITS: u32 = 52;
    let bits = float.to_bits();
    let stored = i32::try_from((bits >> MANTISSA_BITS) & 0x7ff).unwrap_or(0);
    let fraction = bits & ((1 << MANTISSA_BITS) - 1);
    if stored == 0 {
        (fraction, -1022)
    } else {
        (fraction | (1 << MANTISSA_BITS), stored.saturating_sub(1023))
    }
}

/// `%b`: an integer times a power of two, such as `4503599627370496p-52`.
fn binary(float: f64) -> String {
    let (mantissa, exponent) = parts(float);
    format!("{mantissa}p{:+}", exponent.saturating_sub(52))
}

/// `%x`: `0x1.8p+01`. The mantissa is held with its leading 1 at bit 60, so that a hexadecimal digit of the
/// fraction is four bits below it.
fn hexadecimal(float: f64, letter: char, precision: Option<usize>) -> String {
    let (mut mantissa, mut exponent) = parts(float);
    if mantissa == 0 {
        exponent = 0;
    } else {
        let shift = mantissa.leading_zeros().saturating_sub(3);
        exponent = exponent.saturating_sub(i32::try_from(shift).unwrap_or(0)).saturating_add(8);
        mantissa = mantissa.wrapping_shl(shift);
    }
    if let Some(precision) = precision.filter(|precision| *precision < 15) {
        (mantissa, exponent) = rounded(mantissa, exponent, precision);
    }
    let fraction = format!("{:015x}", mantissa & ((1 << 60) - 1));
    let fraction = match precision {
        None => fraction.trim_end_matches('0').to_owned(),
        Some(precision) => fraction.chars().chain(std::iter::repeat('0')).take(precision).collect(),
    };
    let point = if fraction.is_empty() { "" } else { "." };
    let power = if letter == 'X' { 'P' } else { 'p' };
    let body = format!("{}{point}{fraction}", mantissa >> 60);
    let body = if letter == 'X' { body.to_ascii_uppercase() } else { body };
    format!("0{letter}{body}{power}{}", exponent_text(exponent))
}

/// Rounds the fraction to `precision` hexadecimal digits, halves to even.
fn rounded(mantissa: u64, exponent: i32, precision: usize) -> (u64, i32) {
    let kept_bits = u32::try_from(precision).unwrap_or(15).saturating_mul(4);
    let dropped = 60_u32.saturating_sub(kept_bits);
    let extra = mantissa.wrapping_shl(kept_bits) & ((1 << 60) - 1);
    let mut kept = mantissa.wrapping_shr(dropped);
    if extra | (kept & 1) > 1 << 59 {
        kept = kept.saturating_add(1);
    }
    let kept = kept.wrapping_shl(dropped);
    if kept & (1 << 61) == 0 { (kept, exponent) } else { (kept >> 1, exponent.saturating_add(1)) }
}

/// What `#` asks for: a decimal point always, and under `%g` the trailing zeros.
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
