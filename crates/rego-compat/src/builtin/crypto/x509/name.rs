//! Distinguished names, and the kinds of text they are made of.

use num_bigint::BigInt;

use go_compat::utf8;

use crate::value::{Number, Object, Value};

use super::der::{self, Reader};
use super::time::{moment, shown};
use super::{base64, list_or_null, texts};
use crate::builtin::operand::CallError;

/// The attributes of a name, in order, each with its value as JSON.
#[derive(Default)]
pub(super) struct Name(Vec<(Vec<u32>, Value)>);

/// The values that are accepted: certificates have only strings in their names, requests anything.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    Texts,
    Any,
}

impl Name {
    /// Reads the content of a name.
    pub(super) fn read(mut raw: Reader<'_>, values: Values) -> Result<Self, CallError> {
        let mut attributes = Vec::new();
        let mut sets = raw.read(der::SEQUENCE)?;
        while !sets.is_empty() {
            let mut set = sets.read(der::SET)?;
            while !set.is_empty() {
                attributes.push(attribute(set.read(der::SEQUENCE)?, values)?);
            }
        }
        Ok(Self(attributes))
    }

    pub(super) fn to_value(&self) -> Value {
        let of = |last: u32| self.0.iter().filter(move |(kind, _)| **kind == [2, 5, 4, last]);
        let all =
            |last: u32| texts(of(last).filter_map(|(_, value)| value.as_string().ok()).map(|text| &**text));
        let one = |last: u32| of(last).rfind(|(_, value)| value.as_string().is_ok());
        let single = |last: u32| one(last).map_or_else(|| Value::from(""), |(_, value)| value.clone());
        let names = self.0.iter().map(|(kind, value)| type_and_value(kind, value)).collect();
        let fields = [
            ("Country", all(6)),
            ("Organization", all(10)),
            ("OrganizationalUnit", all(11)),
            ("Locality", all(7)),
            ("Province", all(8)),
            ("StreetAddress", all(9)),
            ("PostalCode", all(17)),
            ("SerialNumber", single(5)),
            ("CommonName", single(3)),
            ("Names", list_or_null(names)),
            ("ExtraNames", Value::Null),
        ];
        fields.into_iter().map(|(name, value)| (Value::from(name), value)).collect::<Object>().into_value()
    }
}

/// Numbers of an identifier as JSON.
pub(super) fn identifier(numbers: &[u32]) -> Value {
    Value::from(numbers.iter().map(|number| Value::from(*number)).collect::<Vec<_>>())
}

pub(super) fn type_and_value(kind: &[u32], value: &Value) -> Value {
    let pairs = [(Value::from("Type"), identifier(kind)), (Value::from("Value"), value.clone())];
    Object::of(pairs.into()).into_value()
}

/// Returns an identifier and a value.
pub(super) fn attribute(mut pair: Reader<'_>, values: Values) -> Result<(Vec<u32>, Value), CallError> {
    let kind = pair.identifier()?;
    let element = pair.any()?;
    let value = match values {
        Values::Texts => Value::from(text(element.tag, element.content)?),
        Values::Any => any(element.tag, element.content, element.raw)?,
    };
    Ok((kind, value))
}

/// Decodes an element of any type as Go does.
fn any(tag: u8, content: &[u8], raw: &[u8]) -> Result<Value, CallError> {
    Ok(match tag {
        der::INTEGER => Value::Number(Number::from(Reader(raw).small(der::INTEGER)?)),
        der::OCTET_STRING => base64(content),
        der::OBJECT_IDENTIFIER => identifier(&Reader(raw).identifier()?),
        der::UTC_TIME | der::GENERALIZED_TIME => shown(moment(&mut Reader(raw))?),
        0x14 => Value::from(utf8::lossy(content)),
        0x0c | 0x12 | 0x13 | 0x16 | 0x1e => Value::from(text(tag, content)?),
        _ => Value::Null,
    })
}

fn text(tag: u8, content: &[u8]) -> Result<String, CallError> {
    let ascii = |valid: fn(&u8) -> bool| {
        let fits = content.iter().all(valid);
        fits.then(|| content.iter().map(|byte| char::from(*byte)).collect::<String>())
    };
    let text = match tag {
        // T61String, which everybody takes for Latin 1.
        0x14 => Some(content.iter().map(|byte| char::from(*byte)).collect()),
        0x13 => ascii(|byte| byte.is_ascii_alphanumeric() || b"'()+,-./ :=?*&".contains(byte)),
        0x0c => String::from_utf8(content.to_vec()).ok(),
        0x1e => basic_plane(content),
        0x16 => ascii(u8::is_ascii),
        0x12 => ascii(|byte| byte.is_ascii_digit() || *byte == b' '),
        _ => None,
    };
    text.ok_or(CallError::Failed)
}

/// Reads a BMPString: two bytes for each character, without surrogate pairs.
fn basic_plane(content: &[u8]) -> Option<String> {
    let content =
        content.strip_suffix(&[0, 0]).filter(|_| content.len().is_multiple_of(2)).unwrap_or(content);
    if !content.len().is_multiple_of(2) {
        return None;
    }
    let units = content.chunks_exact(2).map(|pair| match pair {
        [high, low] => u16::from_be_bytes([*high, *low]),
        _ => 0xffff,
    });
    let character = |unit| match unit {
        0xfffe | 0xffff | 0xfdd0..=0xfdef => None,
        unit => char::from_u32(u32::from(unit)),
    };
    units.map(character).collect()
}

/// Returns a whole number as JSON.
pub(super) fn number(number: &BigInt) -> Value {
    Value::Number(Number::from(number))
}
