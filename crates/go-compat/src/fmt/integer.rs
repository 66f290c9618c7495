//! Integers under Go's integer verbs: `int64` (`fmt/format.go`) and `*big.Int` (`math/big/intconv.go`).
//!
//! The two differ in corners (zero padding, `%q`, unknown verbs), so each is written as Go writes it.

use num_bigint::BigInt;

use super::{Spec, string};

/// Prints an `int64`; false if the verb does not take one.
pub(super) fn print(int: i64, verb: char, spec: Spec, out: &mut String) -> bool {
    match verb {
        'v' | 'd' => based(int, Base::Decimal, verb, spec, out),
        'b' => based(int, Base::Binary, verb, spec, out),
        'o' | 'O' => based(int, Base::Octal, verb, spec, out),
        'x' => based(int, Base::Hex, verb, spec, out),
        'X' => based(int, Base::UpperHex, verb, spec, out),
        'c' => spec.pad(string::rune(int).encode_utf8(&mut [0; 4]), out),
        'q' => spec.pad(&crate::strconv::quote_rune(string::rune(int), spec.plus), out),
        'U' => unicode(int, spec, out),
        _ => return false,
    }
    true
}

#[derive(Clone, Copy)]
enum Base {
    Binary,
    Octal,
    Decimal,
    Hex,
    UpperHex,
}

impl Base {
    fn digits(self, magnitude: u64) -> String {
        match self {
            Self::Binary => format!("{magnitude:b}"),
            Self::Octal => format!("{magnitude:o}"),
            Self::Decimal => magnitude.to_string(),
            Self::Hex => format!("{magnitude:x}"),
            Self::UpperHex => format!("{magnitude:X}"),
        }
    }

    /// Returns what `#` puts in front; an octal number gets a zero only if it does not start with one.
    fn sharp_prefix(self, digits: &str) -> &'static str {
        match self {
            Self::Binary => "0b",
            Self::Octal if !digits.starts_with('0') => "0",
            Self::Hex => "0x",
            Self::UpperHex => "0X",
            Self::Octal | Self::Decimal => "",
        }
    }
}

fn sign(negative: bool, spec: Spec) -> &'static str {
    match (negative, spec.plus, spec.space) {
        (true, _, _) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        (false, false, false) => "",
    }
}

fn based(int: i64, base: Base, verb: char, spec: Spec, out: &mut String) {
    if spec.precision == Some(0) && int == 0 {
        // Precision 0 and value 0 print nothing, but padding.
        return spec.without_zero().padding(spec.width.unwrap_or(0), out);
    }
    let sign = sign(int < 0, spec);
    let least = match (spec.precision, spec.width) {
        (Some(precision), _) => precision,
        (None, Some(width)) if spec.zero && !spec.minus => width.saturating_sub(sign.len()),
        _ => 0,
    };
    let digits = string::zeros_before(&base.digits(int.unsigned_abs()), least);
    let sharp = if spec.sharp { base.sharp_prefix(&digits) } else { "" };
    let letter = if verb == 'O' { "0o" } else { "" };
    spec.without_zero().pad(&format!("{sign}{letter}{sharp}{digits}"), out);
}

/// `U+0078`, or `U+0078 'x'` under `#`.
fn unicode(int: i64, spec: Spec, out: &mut String) {
    let point = int.cast_unsigned();
    let least = spec.precision.unwrap_or(0).max(4);
    let mut body = format!("U+{}", string::zeros_before(&format!("{point:X}"), least));
    let printable =
        u32::try_from(point).ok().and_then(char::from_u32).filter(|c| crate::strconv::is_print(*c));
    if let Some(character) = printable.filter(|_| spec.sharp) {
        body.push_str(&format!(" '{character}'"));
    }
    spec.without_zero().pad(&body, out);
}

/// Prints an integer beyond 64 bits, as `(*big.Int).Format` does, which knows its own bad verbs.
pub(super) fn print_big(big: &BigInt, verb: char, spec: Spec, out: &mut String) {
    let (radix, prefix) = match verb {
        'b' => (2, "0b"),
        'o' => (8, "0"),
        'O' => (8, ""),
        'd' | 's' | 'v' => (10, ""),
        'x' => (16, "0x"),
        'X' => (16, "0X"),
        _ => {
            return out.push_str(&format!("%!{verb}(big.Int={})", big));
        }
    };
    let spec = Spec { sharp: spec.sharp || spec.go_syntax, plus: spec.plus || spec.plus_v, ..spec };
    let text = big.to_str_radix(radix);
    let (negative, digits) = text.strip_prefix('-').map_or((false, text.as_str()), |rest| (true, rest));
    let digits = if verb == 'X' { digits.to_ascii_uppercase() } else { digits.to_owned() };
    let sign = sign(negative, spec);
    let prefix = match (verb, spec.sharp) {
        ('O', _) => "0o",
        (_, true) => prefix,
        (_, false) => "",
    };
    let precision = spec.precision.unwrap_or(0);
    let digits = string::zeros_before(&digits, precision);
    let length = sign.len().saturating_add(prefix.len()).saturating_add(digits.len());
    let missing = spec.width.unwrap_or(0).saturating_sub(length);
    let (left, zeros, right) = match (spec.minus, spec.zero && spec.precision.is_none()) {
        (true, _) => (0, 0, missing),
        (false, true) => (0, missing, 0),
        (false, false) => (missing, 0, 0),
    };
    out.extend(std::iter::repeat_n(' ', left));
    out.push_str(sign);
    out.push_str(prefix);
    out.extend(std::iter::repeat_n('0', zeros));
    out.push_str(&digits);
    out.extend(std::iter::repeat_n(' ', right));
}
