//! Values as Go's YAML encoder writes them, in blocks of two spaces.

use std::borrow::Cow;
use std::collections::BTreeMap;

use go_compat::strconv;
use go_compat::yaml::{Resolved, Words, is_break, plain};

use crate::value::{Number, Value};

use super::order::natural;
use super::quotes::{Features, Style, is_printable};
use super::read;
use crate::builtin::json::{marshalled, name_of};
use crate::builtin::operand::CallError;

/// Keys longer than this, or of several lines, stand behind a question mark.
const LONGEST_SIMPLE_KEY: usize = 128;

pub(super) fn document(value: &Value) -> Result<String, CallError> {
    let mut writer = Writer { out: String::new(), ended: false };
    writer.block(value, 0, Place::Root)?;
    Ok(writer.out)
}

/// The text before a value on its line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    /// `- `, or the `? ` of a key.
    Dash,
    /// `key:`.
    Key,
}

struct Writer {
    out: String,
    /// The last line has ended already.
    ended: bool,
}

impl Writer {
    /// Writes a value whose line has begun, and ends it. `indent` is that of the block around it.
    fn block(&mut self, value: &Value, indent: usize, place: Place) -> Result<(), CallError> {
        let inner = match place {
            Place::Root => 0,
            Place::Dash => indent.saturating_add(2),
            // To the next multiple of two.
            Place::Key => indent.saturating_add(2) & !1,
        };
        match value {
            Value::Array(items) if !items.is_empty() => self.sequence(items.iter(), inner, place),
            Value::Set(items) if !items.is_empty() => self.sequence(items.iter(), inner, place),
            Value::Object(pairs) if !pairs.is_empty() => {
                let mut fields = BTreeMap::new();
                for (key, value) in pairs.iter() {
                    fields.insert(name_of(key)?, value);
                }
                let mut fields: Vec<(String, &Value)> = fields.into_iter().collect();
                fields.sort_by(|(a, _), (b, _)| natural(a, b));
                self.mapping(&fields, inner, place)
            }
            value => {
                if place == Place::Key {
                    self.out.push(' ');
                }
                // Further lines of a text are indented even where nothing is around it.
                self.scalar(value, if place == Place::Root { 2 } else { inner })?;
                self.end_line();
                Ok(())
            }
        }
    }

    fn end_line(&mut self) {
        if !std::mem::take(&mut self.ended) {
            self.out.push('\n');
        }
    }

    /// Begins the line of an entry; the first behind a dash stands on its line.
    fn entry(&mut self, first: bool, indent: usize, place: Place) {
        if first && place == Place::Key {
            self.out.push('\n');
        }
        if !first || place == Place::Key {
            self.out.extend(std::iter::repeat_n(' ', indent));
        }
    }

    fn sequence<'v>(
        &mut self,
        items: impl Iterator<Item = &'v Value>,
        indent: usize,
        place: Place,
    ) -> Result<(), CallError> {
        for (position, item) in items.enumerate() {
            self.entry(position == 0, indent, place);
            self.out.push_str("- ");
            self.block(item, indent, Place::Dash)?;
        }
        Ok(())
    }

    fn mapping(&mut self, fields: &[(String, &Value)], indent: usize, place: Place) -> Result<(), CallError> {
        for (position, (name, value)) in fields.iter().enumerate() {
            self.entry(position == 0, indent, place);
            // A key of several lines is not allowed where the encoder reads it.
            let name = reread(name).ok().filter(|read| !name.contains('\u{85}') || read == name);
            let name = name.ok_or(CallError::Failed)?;
            if name.chars().any(is_break) || name.len() > LONGEST_SIMPLE_KEY {
                self.out.push_str("? ");
                self.text(&name, indent.saturating_add(2), false);
                self.end_line();
                self.out.extend(std::iter::repeat_n(' ', indent));
                self.out.push_str(": ");
                self.block(value, indent, Place::Dash)?;
            } else {
                self.text(&name, indent, true);
                self.out.push(':');
                self.block(value, indent, Place::Key)?;
            }
        }
        Ok(())
    }

    fn scalar(&mut self, value: &Value, indent: usize) -> Result<(), CallError> {
        match value {
            Value::Null | Value::Undefined => self.out.push_str("null"),
            Value::Bool(word) => self.out.push_str(if *word { "true" } else { "false" }),
            Value::Number(number) => self.out.push_str(&number_text(number)?),
            Value::String(text) => self.text(&reread(text)?, indent, false),
            Value::Array(_) | Value::Set(_) => self.out.push_str("[]"),
            Value::Object(_) => self.out.push_str("{}"),
        }
        Ok(())
    }

    fn text(&mut self, text: &str, indent: usize, is_key: bool) {
        let features = Features::of(text);
        match features.style(text, is_key) {
            Style::Plain => self.out.push_str(text),
            Style::Single => {
                self.out.push('\'');
                let text = text.replace('\'', "''");
                self.lines(&text, indent, false);
                self.out.push('\'');
            }
            Style::Double => self.double(text),
            Style::Literal => self.literal(text, indent),
        }
    }

    fn double(&mut self, text: &str) {
        // The encoder looks at the beginning of the text for a byte order mark, wherever it is.
        let marked = text.starts_with('\u{feff}');
        self.out.push('"');
        for character in text.chars() {
            match character {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                other if is_printable(other) && !is_break(other) && !marked => self.out.push(other),
                other => self.out.push_str(&escape(other)),
            }
        }
        self.out.push('"');
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.out.push('|');
        if text.starts_with(|first| first == ' ' || is_break(first)) {
            self.out.push('2');
        }
        let mut ends = text.chars().rev();
        match (ends.next().is_some_and(is_break), ends.next()) {
            (false, _) => self.out.push('-'),
            (true, None) => self.out.push('+'),
            (true, Some(before)) if is_break(before) => self.out.push('+'),
            (true, Some(_)) => {}
        }
        self.out.push('\n');
        self.ended = self.lines(text, indent, true);
    }

    /// Writes a text with its lines indented, and the first one if it is at the beginning of a line; whether the last
    /// one has ended.
    fn lines(&mut self, text: &str, indent: usize, mut begins: bool) -> bool {
        for character in text.chars() {
            if begins && !is_break(character) {
                self.out.extend(std::iter::repeat_n(' ', indent));
            }
            begins = is_break(character);
            self.out.push(character);
        }
        begins
    }
}

/// Returns a text as the encoder finds it, which reads it from JSON first: a few characters are not allowed in YAML, or are
/// line breaks in it.
fn reread(text: &str) -> Result<Cow<'_, str>, CallError> {
    let odd = |character| matches!(character, '\u{7f}'..='\u{9f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    if !text.contains(odd) {
        return Ok(Cow::Borrowed(text));
    }
    match read::first_document(&marshalled(&Value::from(text))?)? {
        Value::String(text) => Ok(Cow::Owned(text.to_string())),
        _ => Err(CallError::Failed),
    }
}

/// Numbers have been read once more by then: whole ones of 64 bits, and floats.
fn number_text(number: &Number) -> Result<String, CallError> {
    let text = number.text();
    if !number.is_json() {
        return Err(CallError::Failed);
    }
    match plain(&text, Words::Yaml12) {
        Resolved::Int(whole) => Ok(whole.to_string()),
        Resolved::Float(float) => Ok(strconv::format_float(float, 'g', None)),
        // Too large for a float: a word like any other.
        _ => Ok(text.into_owned()),
    }
}

fn escape(character: char) -> String {
    let short = match character {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        other => {
            let code = u32::from(other);
            return match code {
                0..=0xff => format!("\\x{code:02X}"),
                0x100..=0xffff => format!("\\u{code:04X}"),
                _ => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{short}")
}
