//! Requests for a certificate.

use std::collections::BTreeSet;

use crate::value::{Object, Value};

use super::alternative::Alternatives;
use super::base64;
use super::der::{self, Reader};
use super::extension::Extension;
use super::list_or_null;
use super::name::{Name, Values, attribute, identifier, type_and_value};
use super::public_key::SubjectKey;
use super::signature::Algorithm;
use crate::builtin::operand::CallError;

const EXTENSION_REQUEST: &[u32] = &[1, 2, 840, 113_549, 1, 9, 14];

/// Returns a request as Go's structure.
pub(super) fn read(raw: &[u8]) -> Result<Value, CallError> {
    let mut outer = Reader(raw);
    let mut input = outer.read(der::SEQUENCE)?;
    if !outer.is_empty() {
        return Err(CallError::Failed);
    }
    let signed = input.element(der::SEQUENCE)?.raw;
    let mut body = Reader(signed).read(der::SEQUENCE)?;
    let version = body.small(der::INTEGER)?;
    let subject = body.any()?.raw;
    let raw_key = body.element(der::SEQUENCE)?.raw;
    let attributes = body.read(der::wrapped(0))?;
    let algorithm = Algorithm::read(input.read(der::SEQUENCE)?)?;
    let signature = input.bits()?.right_aligned();
    let info = SubjectKey::read(Reader(raw_key).read(der::SEQUENCE)?)?;
    let (attributes, extensions) = (readable(attributes)?, requested(attributes)?);
    let mut alternatives = Alternatives::default();
    for extension in extensions.iter().filter(|extension| extension.id == [2, 5, 29, 17]) {
        alternatives = Alternatives::read(Reader(extension.value))?;
    }
    let fields = [
        ("Raw", base64(raw)),
        ("RawTBSCertificateRequest", base64(signed)),
        ("RawSubjectPublicKeyInfo", base64(raw_key)),
        ("RawSubject", base64(subject)),
        ("Version", Value::from(version)),
        ("Signature", base64(&signature)),
        ("SignatureAlgorithm", Value::from(algorithm.number())),
        ("PublicKeyAlgorithm", Value::from(info.algorithm)),
        ("PublicKey", info.key.to_value()),
        ("Subject", Name::read(Reader(subject), Values::Any)?.to_value()),
        ("Attributes", list_or_null(attributes)),
        ("Extensions", list_or_null(extensions.iter().map(Extension::to_value).collect())),
        ("ExtraExtensions", Value::Null),
    ];
    let fields = fields.into_iter().chain(alternatives.fields());
    Ok(fields.map(|(name, value)| (Value::from(name), value)).collect::<Object>().into_value())
}

/// Returns the attributes that are sets of lists of pairs; others are passed over.
fn readable(mut attributes: Reader<'_>) -> Result<Vec<Value>, CallError> {
    let mut found = Vec::new();
    while !attributes.is_empty() {
        let element = attributes.any()?;
        found.extend(pairs(Reader(element.raw)).ok());
    }
    Ok(found)
}

fn pairs(mut raw: Reader<'_>) -> Result<Value, CallError> {
    let mut pair = raw.read(der::SEQUENCE)?;
    let kind = pair.identifier()?;
    let (mut set, mut lists) = (pair.read(der::SET)?, Vec::new());
    while !set.is_empty() {
        let (mut list, mut entries) = (set.read(der::SEQUENCE)?, Vec::new());
        while !list.is_empty() {
            let (kind, value) = attribute(list.read(der::SEQUENCE)?, Values::Any)?;
            entries.push(type_and_value(&kind, &value));
        }
        lists.push(Value::from(entries));
    }
    let fields = [(Value::from("Type"), identifier(&kind)), (Value::from("Value"), Value::from(lists))];
    Ok(Object::of(fields.into()).into_value())
}

/// Returns the extensions that are asked for.
fn requested(mut attributes: Reader<'_>) -> Result<Vec<Extension<'_>>, CallError> {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    while !attributes.is_empty() {
        let element = attributes.any()?;
        let Ok(mut values) = values_of(Reader(element.raw)) else { continue };
        Extension::read_list(values.read(der::SEQUENCE)?, &mut seen, &mut found)?;
    }
    Ok(found)
}

/// Returns the values of an attribute that asks for extensions.
fn values_of(mut raw: Reader<'_>) -> Result<Reader<'_>, CallError> {
    let mut pair = raw.read(der::SEQUENCE)?;
    let kind = pair.identifier()?;
    let values = pair.read(der::SET)?;
    if kind != EXTENSION_REQUEST || values.is_empty() {
        return Err(CallError::Failed);
    }
    Ok(values)
}
