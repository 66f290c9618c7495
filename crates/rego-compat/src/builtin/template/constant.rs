//! Numbers, characters and texts as Go writes them (`strconv`).

use go_compat::strconv::{Unquoted, parse_float, parse_int, parse_uint, unquote, unquote_char};
use go_compat::utf8;

use super::node::Constant;

/// A number; none where Go refuses it.
pub(super) fn number(text: &str) -> Option<Constant> {
    if let Some(imaginary) = text.strip_suffix('i') {
        return parse_float(imaginary).ok().map(|imaginary| Constant::Complex(0.0, imaginary));
    }
    if let Ok(int) = parse_int(text, 0) {
        return Some(Constant::Int(int));
    }
    if parse_uint(text, 0).is_ok() {
        return Some(Constant::Overflow);
    }
    if !text.contains(['.', 'e', 'E', 'p', 'P']) {
        return None;
    }
    parse_float(text).ok().map(Constant::Float)
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
    Some(Constant::Complex(parse_float(real).ok()?, parse_float(imaginary).ok()?))
}

/// A character in quotes, as a number.
pub(super) fn character(text: &str) -> Option<i64> {
    let inside = text.strip_prefix('\'')?.strip_suffix('\'')?;
    let (character, rest) = unquote_char(inside, '\'')?;
    rest.is_empty().then_some(match character {
        Unquoted::Char(character) => i64::from(u32::from(character)),
        Unquoted::Byte(byte) => i64::from(byte),
    })
}

/// A text in quotes. Each byte that is not UTF-8 becomes the replacement character.
pub(super) fn text(quoted: &str) -> Option<String> {
    unquote(quoted).map(|bytes| utf8::lossy(&bytes))
}
