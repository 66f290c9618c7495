//! Percent signs: what each part of a URL escapes, and reads.

use crate::error::GoError;
use crate::strconv::quote;
use crate::utf8::lossy;

/// The part of a URL in which escapes are read, which decides what needs none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Path,
    Query,
    Host,
    Zone,
    UserInfo,
    Fragment,
}

impl Part {
    /// Returns true where a byte stands for itself in this part.
    pub(super) fn is_plain(self, byte: u8) -> bool {
        let also: &[u8] = match self {
            Self::Path => b"$&+,/:;=@",
            Self::Query => b"",
            Self::Host | Self::Zone => b"!$&'()*+,;=:[]<>\"",
            Self::UserInfo => b"$&+,;=",
            Self::Fragment => b"!$&()*+,/:;=?@",
        };
        byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || also.contains(&byte)
    }

    const fn is_host(self) -> bool {
        matches!(self, Self::Host | Self::Zone)
    }

    /// Returns true where a byte may be written as an escape.
    fn may_be_escaped(self, byte: u8) -> bool {
        match self {
            Self::Host => byte >= 0x80 || byte == b'%',
            Self::Zone => byte == b'%' || byte == b' ' || Self::Host.is_plain(byte),
            _ => true,
        }
    }
}

pub(super) fn unescaped(text: &str, part: Part) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte == b'%' {
            let read = hexadecimal(after).filter(|byte| part.may_be_escaped(*byte));
            bytes.push(read.ok_or_else(|| bad_escape(after))?);
            rest = after.get(2..).unwrap_or_default();
        } else if *byte == b'+' && part == Part::Query {
            bytes.push(b' ');
        } else if part.is_host() && *byte < 0x80 && !part.is_plain(*byte) {
            return Err(format!(
                "invalid character {} in host name",
                quote(char::from(*byte).encode_utf8(&mut [0; 4]))
            ));
        } else {
            bytes.push(*byte);
        }
    }
    Ok(bytes)
}

/// The byte that the first two hexadecimal digits are.
fn hexadecimal(digits: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*digits.get(at)?).to_digit(16);
    u8::try_from(digit(0)?.saturating_mul(16).saturating_add(digit(1)?)).ok()
}

/// `url.EscapeError`, by what follows the percent sign.
fn bad_escape(after: &[u8]) -> String {
    let escape: Vec<u8> = std::iter::once(b'%').chain(after.iter().copied().take(2)).collect();
    format!("invalid URL escape {}", quote(&lossy(&escape)))
}

/// Escapes a string as `url.QueryEscape` does.
#[must_use]
pub fn query_escape(text: &str) -> String {
    escaped(text.as_bytes(), Part::Query)
}

/// Unescapes a string as `url.QueryUnescape` does.
///
/// # Errors
/// A percent sign without two hexadecimal digits behind it; in Go's words.
pub fn query_unescape(text: &str) -> Result<String, GoError> {
    unescaped(text, Part::Query).map(|bytes| lossy(&bytes)).map_err(GoError)
}

/// A part with what does not stand for itself escaped.
pub(super) fn escaped(bytes: &[u8], part: Part) -> String {
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        if part.is_plain(*byte) {
            out.push(char::from(*byte));
        } else if *byte == b' ' && part == Part::Query {
            out.push('+');
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Returns true where a part may go over the wire as it is.
pub(super) fn is_encoded(text: &str, part: Part) -> bool {
    text.bytes().all(|byte| part.is_plain(byte) || b"!$&'()*+,;=:@[]%".contains(&byte))
}
