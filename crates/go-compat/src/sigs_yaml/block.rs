//! Writes YAML for people: block style, in the order of the JSON it is made from.
//!
//! The JSON is read as the YAML it is, and each event is given another style. What is quoted must be read back as text
//! by YAML 1.1 and 1.2 alike, so a word is left bare only where no reader takes it for anything else.

use libyaml_safer::{Emitter, Event, EventData, MappingStyle, Parser, ScalarStyle, SequenceStyle};

use super::{YamlError, scalar};
use crate::yaml::{self, Scalar, Words};

/// Rewrites JSON text as YAML in block style.
///
/// # Errors
/// The text is not JSON.
pub fn block(json: &str) -> Result<String, YamlError> {
    let escaped = escape_breaks(json);
    let mut bytes = escaped.as_bytes();
    let mut parser = Parser::new();
    parser.set_input_string(&mut bytes);
    let mut out = Vec::new();
    {
        let mut emitter = Emitter::new();
        emitter.set_output_string(&mut out);
        emitter.set_unicode(true);
        emitter.set_width(-1);
        loop {
            let mut event = parser.parse().map_err(syntax)?;
            let ends = event.data == EventData::StreamEnd;
            restyle(&mut event);
            emitter.emit(event).map_err(syntax)?;
            if ends {
                emitter.flush().map_err(syntax)?;
                break;
            }
        }
    }
    String::from_utf8(out).map_err(syntax)
}

/// Escapes what YAML takes for ends of lines or for a byte order mark and JSON does not. In JSON they stand only in
/// texts.
fn escape_breaks(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => {
                escaped.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

fn syntax(error: impl std::fmt::Display) -> YamlError {
    yaml::Error::Syntax { line: 0, column: 0, message: error.to_string() }.into()
}

fn restyle(event: &mut Event) {
    match &mut event.data {
        EventData::Scalar { value, style, plain_implicit, quoted_implicit, .. }
            if *style != ScalarStyle::Plain =>
        {
            *style = style_of(value);
            (*plain_implicit, *quoted_implicit) = (true, true);
        }
        EventData::SequenceStart { style, .. } => *style = SequenceStyle::Block,
        EventData::MappingStart { style, .. } => *style = MappingStyle::Block,
        _ => {}
    }
}

/// The emitter falls back to quotes by itself where a style cannot hold the text.
fn style_of(text: &str) -> ScalarStyle {
    let starts_like_a_value =
        text.starts_with(|first: char| first.is_ascii_digit() || "+-.=<~".contains(first));
    let plain = Scalar { text: text.to_owned(), is_quoted: false, tag: None };
    let resolved = scalar::resolve(&plain, Words::Yaml11);
    let is_text = resolved.is_ok_and(|value| value.as_str() == Some(text));
    match text {
        _ if text.contains('\n') && !text.contains('\r') => ScalarStyle::Literal,
        _ if is_text && !starts_like_a_value => ScalarStyle::Plain,
        _ => ScalarStyle::SingleQuoted,
    }
}
