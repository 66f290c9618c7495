//! JSON text to values and back, with the numbers as they are spelled.
//!
//! A reader of our own, because a general one hands numbers over as binary ones, and refuses half of a
//! surrogate pair that Go's decoder replaces.

use super::number::spelling::is_json;
use super::{Array, Number, Object, Value, ValueError};

/// Levels of brackets. Deeper values are a risk to the stack of those who walk them.
const MAX_DEPTH: u32 = 512;

/// What is wrong with a text that nests deeper.
pub(super) const TOO_DEEP: &str = "too many levels";

pub(super) fn read(text: &str) -> Result<Value, ValueError> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.skip_space();
    if reader.at < text.len() { Err(reader.fault("something after the document")) } else { Ok(value) }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    const fn fault(&self, reason: &'static str) -> ValueError {
        ValueError::Json { reason, at: self.at }
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

    /// The next byte that is no space.
    fn next(&mut self) -> Option<u8> {
        self.skip_space();
        self.peek()
    }

    fn value(&mut self, depth: u32) -> Result<Value, ValueError> {
        match self.next() {
            Some(b'"') => Ok(Value::from(&*self.string()?)),
            Some(b'{') => self.object(self.deeper(depth)?),
            Some(b'[') => self.array(self.deeper(depth)?),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(_) => Err(self.fault("expected a value")),
            None => Err(self.fault("the text ends early")),
        }
    }

    const fn deeper(&self, depth: u32) -> Result<u32, ValueError> {
        if depth < MAX_DEPTH { Ok(depth.saturating_add(1)) } else { Err(self.fault(TOO_DEEP)) }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, ValueError> {
        if !self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            return Err(self.fault("expected a value"));
        }
        self.skip(word.len());
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, ValueError> {
        let rest = self.text.get(self.at..).unwrap_or("");
        let end = rest.bytes().position(|b| !matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
        let text = rest.get(..end.unwrap_or(rest.len())).unwrap_or("");
        if !is_json(text) {
            return Err(self.fault("not how JSON spells a number"));
        }
        let number = Number::in_document(text).ok_or_else(|| self.fault("a number out of range"))?;
        self.skip(text.len());
        Ok(Value::Number(number))
    }

    fn array(&mut self, depth: u32) -> Result<Value, ValueError> {
        self.skip(1);
        let mut items = Vec::new();
        if self.next() == Some(b']') {
            self.skip(1);
            return Ok(Array::new().into_value());
        }
        loop {
            items.push(self.value(depth)?);
            if self.closes(b']')? {
                items.shrink_to_fit();
                return Ok(Array::from(items).into_value());
            }
        }
    }

    fn object(&mut self, depth: u32) -> Result<Value, ValueError> {
        self.skip(1);
        let mut pairs = Vec::new();
        if self.next() == Some(b'}') {
            self.skip(1);
            return Ok(Object::new().into_value());
        }
        loop {
            if self.next() != Some(b'"') {
                return Err(self.fault("expected a key"));
            }
            let key = Value::from(&*self.string()?);
            if self.next() != Some(b':') {
                return Err(self.fault("expected a colon"));
            }
            self.skip(1);
            pairs.push((key, self.value(depth)?));
            if self.closes(b'}')? {
                pairs.shrink_to_fit();
                return Ok(Object::of(pairs).into_value());
            }
        }
    }

    /// Whether a collection ends here; otherwise it goes on behind a comma.
    fn closes(&mut self, bracket: u8) -> Result<bool, ValueError> {
        let closes = match self.next() {
            Some(b',') => false,
            Some(byte) if byte == bracket => true,
            _ => return Err(self.fault("expected a comma or the end of the collection")),
        };
        self.skip(1);
        Ok(closes)
    }

    /// The string behind a quote. One without escapes is taken in one piece.
    fn string(&mut self) -> Result<std::borrow::Cow<'t, str>, ValueError> {
        self.skip(1);
        let mut read = String::new();
        loop {
            let rest = self.text.get(self.at..).unwrap_or("");
            let end = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
            let Some(end) = end else {
                return Err(self.fault("a string without an end"));
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
                _ => return Err(self.fault("a control character in a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, ValueError> {
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
            _ => return Err(self.fault("an escape that JSON does not have")),
        };
        self.skip(1);
        Ok(plain)
    }

    /// `\u` with four digits, or a pair of them. Half a pair is the replacement character.
    fn unicode(&mut self) -> Result<char, ValueError> {
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

    fn unit(&mut self) -> Result<u16, ValueError> {
        self.skip(1);
        let digits = self.text.get(self.at..self.at.saturating_add(4));
        let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        let unit = unit.ok_or_else(|| self.fault("expected four hexadecimal digits"))?;
        self.skip(4);
        Ok(unit)
    }
}

pub(super) fn write(value: &Value) -> String {
    let mut out = String::new();
    write_to(value, &mut out);
    out
}

fn write_to(value: &Value, out: &mut String) {
    match value {
        Value::Null | Value::Undefined => out.push_str("null"),
        Value::Bool(bool) => out.push_str(if *bool { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&number.json_text()),
        Value::String(text) => quote(text, out),
        Value::Array(items) => list(items.iter(), out),
        Value::Set(items) => list(items.iter(), out),
        Value::Object(pairs) => {
            out.push('{');
            for (position, (key, value)) in pairs.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                match key {
                    Value::String(text) => quote(text, out),
                    key => quote(&write(key), out),
                }
                out.push(':');
                write_to(value, out);
            }
            out.push('}');
        }
    }
}

fn list<'v>(items: impl Iterator<Item = &'v Value>, out: &mut String) {
    out.push('[');
    for (position, item) in items.enumerate() {
        if position > 0 {
            out.push(',');
        }
        write_to(item, out);
    }
    out.push(']');
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)) {
        let (plain, special) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(plain);
        let byte = special.bytes().next().unwrap_or(0);
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            byte => out.push_str(&format!("\\u{byte:04x}")),
        }
        rest = special.get(1..).unwrap_or("");
    }
    out.push_str(rest);
    out.push('"');
}
