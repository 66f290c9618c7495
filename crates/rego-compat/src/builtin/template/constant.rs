//! Numbers, characters and texts as Go writes them (`strconv`).

use super::node::Constant;

/// A number; none where Go refuses it.
pub(super) fn number(text: &str) -> Option<Constant> {
    if let Some(imaginary) = text.strip_suffix('i') {
        return float(imaginary).map(|imaginary| Constant::Complex(0.0, imaginary));
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if let Some(magnitude) = integer(unsigned) {
        let negative = text.starts_with('-');
        let signed =
            if negative { 0_i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() };
        return match signed {
            Some(int) => Some(Constant::Int(int)),
            None if text.len() == unsigned.len() => Some(Constant::Overflow),
            None => None,
        };
    }
    if !text.contains(['.', 'e', 'E', 'p', 'P']) {
        return None;
    }
    float(text).map(Constant::Float)
}

/// `1+2i`
pub(super) fn complex(text: &str) -> Option<Constant> {
    let text = text.strip_suffix('i')?;
    let splits = |(at, character): &(usize, char)| {
        let before = text.get(..*at).unwrap_or("");
        matches!(character, '+' | '-') && *at > 0 && !before.ends_with(['e', 'E', 'p', 'P'])
    };
    let (at, _) = text.char_indices().find(splits)?;
    let (real, imaginary) = text.split_at_checked(at)?;
    Some(Constant::Complex(float(real)?, float(imaginary)?))
}

/// The base that a prefix names, and the digits behind it.
fn based(unsigned: &str) -> (u32, &str) {
    for (prefixes, base) in [(["0x", "0X"], 16), (["0o", "0O"], 8), (["0b", "0B"], 2)] {
        for prefix in prefixes {
            if let Some(digits) = unsigned.strip_prefix(prefix) {
                return (base, digits);
            }
        }
    }
    match unsigned.strip_prefix('0') {
        Some(digits) if !digits.is_empty() => (8, digits),
        _ => (10, unsigned),
    }
}

fn integer(unsigned: &str) -> Option<u64> {
    let (base, digits) = based(unsigned);
    let is_prefixed = digits.len() < unsigned.len();
    let plain = digits.replace('_', "");
    let is_digit = |digit: char| digit.is_digit(base);
    if plain.is_empty() || !plain.chars().all(is_digit) || !are_separators(digits, is_prefixed) {
        return None;
    }
    u64::from_str_radix(&plain, base).ok()
}

/// Underscores stand between digits, or behind a prefix.
fn are_separators(digits: &str, is_prefixed: bool) -> bool {
    let starts_well = is_prefixed || !digits.starts_with('_');
    starts_well && !digits.ends_with('_') && !digits.contains("__")
}

fn float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    if let Some(digits) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        return hexadecimal(digits).map(|float| sign * float);
    }
    let touches =
        |sign: char| unsigned.contains(&format!("_{sign}")) || unsigned.contains(&format!("{sign}_"));
    if !are_separators(unsigned, false) || ['.', 'e', 'E', '+', '-'].into_iter().any(touches) {
        return None;
    }
    let plain = unsigned.replace('_', "");
    if !plain.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    plain.parse().ok().filter(|float: &f64| float.is_finite()).map(|float| sign * float)
}

/// `1.8p4` behind its prefix. The digits beyond a float's are dropped.
fn hexadecimal(digits: &str) -> Option<f64> {
    let (mantissa, exponent) = digits.split_once(['p', 'P'])?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut value = 0.0_f64;
    let mut count = 0_i32;
    for digit in whole.chars().chain(fraction.chars()).filter(|c| *c != '_') {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
        count = count.saturating_add(1);
    }
    let power: i32 = exponent.replace('_', "").parse().ok()?;
    let places = i32::try_from(fraction.replace('_', "").len()).ok()?;
    let float = value * 2.0_f64.powi(power.saturating_sub(places.saturating_mul(4)));
    (count > 0 && float.is_finite()).then_some(float)
}

/// A character in quotes, as a number.
pub(super) fn character(text: &str) -> Option<i64> {
    let inside = text.strip_prefix('\'')?.strip_suffix('\'')?;
    let (character, rest) = unescaped(inside, '\'')?;
    rest.is_empty().then_some(match character {
        Unit::Character(character) => i64::from(u32::from(character)),
        Unit::Byte(byte) => i64::from(byte),
    })
}

/// A text in quotes. Bytes that are no text become what Go prints for them.
pub(super) fn text(quoted: &str) -> Option<String> {
    if let Some(raw) = quoted.strip_prefix('`') {
        return Some(raw.strip_suffix('`')?.replace('\r', ""));
    }
    let mut rest = quoted.strip_prefix('"')?.strip_suffix('"')?;
    let mut bytes = Vec::with_capacity(rest.len());
    while !rest.is_empty() {
        let (unit, after) = unescaped(rest, '"')?;
        match unit {
            Unit::Character(character) => {
                bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes())
            }
            Unit::Byte(byte) => bytes.push(byte),
        }
        rest = after;
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

enum Unit {
    Character(char),
    Byte(u8),
}

/// The first character, escaped or not, and what follows it.
fn unescaped(text: &str, quote: char) -> Option<(Unit, &str)> {
    let mut characters = text.chars();
    let first = characters.next()?;
    if first == quote || first == '\n' {
        return None;
    }
    if first != '\\' {
        return Some((Unit::Character(first), characters.as_str()));
    }
    let escape = characters.next()?;
    let rest = characters.as_str();
    let code = |length: usize, radix: u32| {
        let (digits, after) = rest.split_at_checked(length)?;
        digits
            .chars()
            .all(|digit| digit.is_digit(radix))
            .then(|| u32::from_str_radix(digits, radix).ok())?
            .map(|code| (code, after))
    };
    let character = match escape {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '\\' => '\\',
        _ if escape == quote => quote,
        'x' => {
            return code(2, 16).and_then(|(code, rest)| Some((Unit::Byte(u8::try_from(code).ok()?), rest)));
        }
        'u' => {
            return code(4, 16).and_then(|(code, rest)| Some((Unit::Character(char::from_u32(code)?), rest)));
        }
        'U' => {
            return code(8, 16).and_then(|(code, rest)| Some((Unit::Character(char::from_u32(code)?), rest)));
        }
        '0'..='7' => {
            let (digits, after) = text.get(1..)?.split_at_checked(3)?;
            let is_octal = digits.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
            let byte = u8::from_str_radix(digits, 8).ok().filter(|_| is_octal)?;
            return Some((Unit::Byte(byte), after));
        }
        _ => return None,
    };
    Some((Unit::Character(character), rest))
}
