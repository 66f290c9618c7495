//! `encoding/json`: its decoder, strings and values as it writes them, and its indentation.
//!
//! Half of a surrogate pair becomes the replacement character, and numbers keep their spelling. The decoded type is the
//! caller's ([`FromJson`]). How a float is written is [`strconv::format_json`](crate::strconv::format_json).

mod indent;
#[cfg(feature = "marshal")]
mod marshal;
mod quote;

use std::fmt;

pub use indent::indent;
#[cfg(feature = "marshal")]
pub use marshal::marshal;
pub use quote::{quote, quote_without_html};

/// Levels of brackets. Deeper documents are a risk to the stack of the code that walks them.
const MAX_DEPTH: u32 = 512;

/// The reason of an [`Error`] for a string that nests deeper than 512 levels.
pub const TOO_DEEP: &str = "too many levels";

/// The reason why a string is not a JSON document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Error {
    /// The error in words, such as [`TOO_DEEP`].
    pub reason: &'static str,
    /// The offset in bytes from the start.
    pub at: usize,
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.reason, self.at)
    }
}

/// A type that documents are decoded to.
pub trait FromJson: Sized {
    /// The type of an object's keys.
    type Key;
    /// Returns the value of `null`.
    fn null() -> Self;
    /// Returns the value of `true` or `false`.
    fn bool(bool: bool) -> Self;
    /// Returns the value of a number, spelled as JSON spells numbers; `None` where it is out of the type's range.
    fn number(text: &str) -> Option<Self>;
    /// Returns the value of a string.
    fn string(string: &str) -> Self;
    /// Returns the key of a field.
    fn key(key: &str) -> Self::Key;
    /// Returns the value of an array.
    fn array(items: Vec<Self>) -> Self;
    /// Returns the value of an object, with its fields in their order; the last of several with one key counts.
    fn object(fields: Vec<(Self::Key, Self)>) -> Self;
}

/// Decodes one document.
///
/// # Errors
/// The string is not JSON, nests deeper than 512 levels, or has a number out of the type's range.
pub fn decode<D: FromJson>(text: &str) -> Result<D, Error> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.skip_space();
    if reader.at < text.len() { Err(reader.error("something after the document")) } else { Ok(value) }
}

/// Returns true where a number is spelled as JSON spells numbers.
#[must_use]
pub fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let power = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole) && digits(fraction) && digits(power) && (whole.len() == 1 || !whole.starts_with('0'))
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    const fn error(&self, reason: &'static str) -> Error {
        Error { reason, at: self.at }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    const fn skip(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.skip(1);
        }
    }

    /// The next byte that is not a space.
    fn next(&mut self) -> Option<u8> {
        self.skip_space();
        self.peek()
    }

    fn value<D: FromJson>(&mut self, depth: u32) -> Result<D, Error> {
        match self.next() {
            Some(b'"') => Ok(D::string(&self.string()?)),
            Some(b'{') => self.object(self.deeper(depth)?),
            Some(b'[') => self.array(self.deeper(depth)?),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", D::bool(true)),
            Some(b'f') => self.word("false", D::bool(false)),
            Some(b'n') => self.word("null", D::null()),
            Some(_) => Err(self.error("expected a value")),
            None => Err(self.error("the text ends early")),
        }
    }

    const fn deeper(&self, depth: u32) -> Result<u32, Error> {
        if depth < MAX_DEPTH { Ok(depth.saturating_add(1)) } else { Err(self.error(TOO_DEEP)) }
    }

    fn word<D>(&mut self, word: &str, value: D) -> Result<D, Error> {
        if !self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            return Err(self.error("expected a value"));
        }
        self.skip(word.len());
        Ok(value)
    }

    fn number<D: FromJson>(&mut self) -> Result<D, Error> {
        let rest = self.text.get(self.at..).unwrap_or("");
        let end = rest.bytes().position(|b| !matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
        let text = rest.get(..end.unwrap_or(rest.len())).unwrap_or("");
        if !is_number(text) {
            return Err(self.error("not how JSON spells a number"));
        }
        let number = D::number(text).ok_or_else(|| self.error("a number out of range"))?;
        self.skip(text.len());
        Ok(number)
    }

    fn array<D: FromJson>(&mut self, depth: u32) -> Result<D, Error> {
        self.skip(1);
        let mut items = Vec::new();
        if self.next() == Some(b']') {
            self.skip(1);
            return Ok(D::array(items));
        }
        loop {
            items.push(self.value(depth)?);
            if self.closes(b']')? {
                return Ok(D::array(items));
            }
        }
    }

    fn object<D: FromJson>(&mut self, depth: u32) -> Result<D, Error> {
        self.skip(1);
        let mut pairs = Vec::new();
        if self.next() == Some(b'}') {
            self.skip(1);
            return Ok(D::object(pairs));
        }
        loop {
            if self.next() != Some(b'"') {
                return Err(self.error("expected a key"));
            }
            let key = D::key(&self.string()?);
            if self.next() != Some(b':') {
                return Err(self.error("expected a colon"));
            }
            self.skip(1);
            pairs.push((key, self.value(depth)?));
            if self.closes(b'}')? {
                return Ok(D::object(pairs));
            }
        }
    }

    /// Returns true where a collection ends here; otherwise it goes on behind a comma.
    fn closes(&mut self, bracket: u8) -> Result<bool, Error> {
        let closes = match self.next() {
            Some(b',') => false,
            Some(byte) if byte == bracket => true,
            _ => return Err(self.error("expected a comma or the end of the collection")),
        };
        self.skip(1);
        Ok(closes)
    }

    /// The string behind a quote. One without escapes is taken in one piece.
    fn string(&mut self) -> Result<std::borrow::Cow<'t, str>, Error> {
        self.skip(1);
        let mut read = String::new();
        loop {
            let rest = self.text.get(self.at..).unwrap_or("");
            let end = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
            let Some(end) = end else {
                return Err(self.error("a string without an end"));
            };
            let piece = rest.get(..end).unwrap_or("");
            self.skip(end);
            match self.peek() {
                Some(b'"') if read.is_empty() => {
                    self.skip(1);
                    return Ok(piece.into());
                }
                Some(b'"') => {
                    self.skip(1);
                    read.push_str(piece);
                    return Ok(read.into());
                }
                Some(b'\\') => {
                    read.push_str(piece);
                    read.push(self.escape()?);
                }
                _ => return Err(self.error("a control character in a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Error> {
        self.skip(1);
        let plain = match self.peek() {
            Some(b'u') => return self.unicode(),
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            _ => return Err(self.error("an escape that JSON does not have")),
        };
        self.skip(1);
        Ok(plain)
    }

    /// `\u` with four digits, or a pair of them. Half a pair is the replacement character.
    fn unicode(&mut self) -> Result<char, Error> {
        let unit = self.unit()?;
        let low = |reader: &Self| {
            reader.text.as_bytes().get(reader.at..).is_some_and(|rest| rest.starts_with(b"\\u"))
        };
        if (0xd800..0xdc00).contains(&unit) && low(self) {
            let before = self.at;
            self.skip(1);
            let second = self.unit()?;
            if let Some(Ok(pair)) = char::decode_utf16([unit, second]).next() {
                return Ok(pair);
            }
            self.at = before;
        }
        Ok(char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn unit(&mut self) -> Result<u16, Error> {
        self.skip(1);
        let digits = self.text.get(self.at..self.at.saturating_add(4));
        let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        let unit = unit.ok_or_else(|| self.error("expected four hexadecimal digits"))?;
        self.skip(4);
        Ok(unit)
    }
}
