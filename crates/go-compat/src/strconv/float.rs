//! `strconv/ftoa.go`.
//!
//! Rust and Go both print the shortest decimal string that reads back as the same number, and both round a given
//! precision correctly; the layouts differ.
//!
//! ```text
//! number     %e       %g       %f                        JSON
//! 0.00001    1e-05    1e-05    0.00001                   0.00001
//! 1e6        1e+06    1e+06    1000000                   1000000
//! 1e21       1e+21    1e+21    1000000000000000000000    1e+21
//! ```

/// No float has more digits than this behind its point; those beyond are zeros. Rust refuses to print 65,536.
const MOST_DIGITS: usize = 1_100;

/// Formats a float as `strconv.FormatFloat` does with 64 bits. The format is one of `b`, `e`, `E`, `f`, `g`, `G`, `x`
/// and `X`; without a precision the string is the shortest that reads back as the number.
#[must_use]
pub fn format_float(float: f64, format: char, precision: Option<usize>) -> String {
    if float.is_nan() {
        return "NaN".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let sign = if float.is_sign_negative() { "-" } else { "" };
    format!("{sign}{}", unsigned(float.abs(), format, precision))
}

/// Formats as [`format_float`] does with the format `g`, 32 bits and no precision.
#[must_use]
pub fn format_float32(float: f32) -> String {
    if !float.is_finite() {
        return format_float(f64::from(float), 'g', None);
    }
    let sign = if float.is_sign_negative() { "-" } else { "" };
    format!("{sign}{}", general_of(&format!("{:e}", float.abs()), 'g', None))
}

/// Formats a finite number as `encoding/json` writes it, which is not as `%v` does: with an exponent below 1e-6 and
/// from 1e21 on, `1e-7` and not `1e-07`.
#[must_use]
pub fn format_json(float: f64) -> Option<String> {
    if !float.is_finite() {
        return None;
    }
    let magnitude = float.abs();
    if magnitude == 0.0 || (1e-6..1e21).contains(&magnitude) {
        return Some(format!("{float}"));
    }
    let text = format!("{float:e}");
    Some(if magnitude >= 1.0 { text.replace('e', "e+") } else { text })
}

fn unsigned(float: f64, layout: char, precision: Option<usize>) -> String {
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

/// Returns the fewest digits that read back as the float. Where two of them are equally near, Go takes the even one.
fn shortest(float: f64) -> String {
    let text = format!("{float:e}");
    let digits = split_exponent(&text).0.bytes().filter(u8::is_ascii_digit).count();
    // Rust's shortest string may be the odd one. With a precision it rounds the exact value, and halves to even.
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
    general_of(&text, layout, wanted)
}

fn general_of(text: &str, layout: char, wanted: Option<usize>) -> String {
    let (mantissa, exponent) = split_exponent(text);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    // `%g` never shows zeros that a precision asks for: 100 with 5 digits is `100`.
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() {
        return "0".to_owned();
    }
    // Go's `%e is used if the exponent from the conversion is less than -4 or greater than or equal to the precision`; for
    // the shortest string it takes 6 for the precision. `%v` with its 21 is `fmt`'s.
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
    let point = i64::from(exponent).saturating_add(1);
    if wanted > digits && digits >= point { digits } else { wanted }
}

fn without_exponent(digits: &str, exponent: i32) -> String {
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
    // Numbers too small for a hidden bit share the exponent of the smallest that have one.
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
        // Bit 60 has three zeros in front of it. A mantissa whose leading bit is at 52 moves up by 8, which changes nothing;
        // one that is shorter moves further, and its exponent is less by the difference.
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
    // `extra` is what is dropped, moved up to bit 59: above half it rounds up, and at half only an odd `kept` does.
    let mut kept = mantissa.wrapping_shr(dropped);
    if extra | (kept & 1) > 1 << 59 {
        kept = kept.saturating_add(1);
    }
    // 0x1.f8 to one digit is 0x2.0: the leading 1 is then at bit 61 and moves back.
    let kept = kept.wrapping_shl(dropped);
    if kept & (1 << 61) == 0 { (kept, exponent) } else { (kept >> 1, exponent.saturating_add(1)) }
}
