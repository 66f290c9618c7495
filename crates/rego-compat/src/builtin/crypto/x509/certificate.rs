//! A certificate: what is in it, and what verification looks at.

use std::collections::BTreeSet;

use num_bigint::{BigInt, Sign};

use crate::value::{Object, Value};

use super::base64;
use super::der::{self, Bits, Reader};
use super::extension::{Extension, Extensions};
use super::name::{Name, Values, number};
use super::public_key::{PublicKey, SubjectKey};
use super::signature::Algorithm;
use super::time::{moment, shown};
use crate::builtin::operand::CallError;

/// A certificate that could be read.
pub(in super::super) struct Certificate {
    pub(super) raw: Vec<u8>,
    pub(super) signed: Vec<u8>,
    pub(super) raw_subject: Vec<u8>,
    pub(super) raw_issuer: Vec<u8>,
    pub(super) raw_key: Vec<u8>,
    pub(super) signature: Vec<u8>,
    pub(super) algorithm: Algorithm,
    pub(super) key: PublicKey,
    pub(super) version: i64,
    /// Seconds since 1970.
    pub(super) not_before: i64,
    pub(super) not_after: i64,
    pub(super) extensions: Extensions,
    fields: Object,
}

impl Certificate {
    /// Returns all the certificates that are one after the other in some bytes.
    pub(super) fn read_all(bytes: &[u8]) -> Result<Vec<Self>, CallError> {
        let (mut reader, mut found) = (Reader(bytes), Vec::new());
        while !reader.is_empty() {
            found.push(Self::read(reader.element(der::SEQUENCE)?.raw)?);
        }
        Ok(found)
    }

    /// Reads one certificate, with nothing behind it.
    pub(super) fn read(raw: &[u8]) -> Result<Self, CallError> {
        let mut input = alone(raw)?;
        let signed = input.element(der::SEQUENCE)?.raw;
        let mut body = Reader(signed).read(der::SEQUENCE)?;
        let (version, serial) = (version(&mut body)?, serial(&mut body)?);
        let algorithm = algorithm(&mut body, &mut input)?;
        let (raw_issuer, issuer) = name(&mut body)?;
        let mut validity = body.read(der::SEQUENCE)?;
        let (not_before, not_after) = (moment(&mut validity)?, moment(&mut validity)?);
        let (raw_subject, subject) = name(&mut body)?;
        let raw_key = body.element(der::SEQUENCE)?.raw;
        let info = SubjectKey::read(Reader(raw_key).read(der::SEQUENCE)?)?;
        let extensions = Extensions::of(extensions(version, &mut body)?)?;
        let signature = input.bits().as_ref().map(Bits::right_aligned).map_err(|_| CallError::Failed)?;
        let mut fields = vec![
            ("Raw", base64(raw)),
            ("RawTBSCertificate", base64(signed)),
            ("RawSubjectPublicKeyInfo", base64(raw_key)),
            ("RawSubject", base64(raw_subject)),
            ("RawIssuer", base64(raw_issuer)),
            ("Signature", base64(&signature)),
            ("SignatureAlgorithm", Value::from(algorithm.number())),
            ("PublicKeyAlgorithm", Value::from(info.algorithm)),
            ("PublicKey", info.key.to_value()),
            ("Version", Value::from(version)),
            ("SerialNumber", number(&serial)),
            ("Issuer", issuer.to_value()),
            ("Subject", subject.to_value()),
        ];
        fields.extend([("NotBefore", shown(not_before)), ("NotAfter", shown(not_after))]);
        fields.extend(extensions.fields());
        let fields = fields.into_iter().map(|(name, value)| (Value::from(name), value)).collect();
        Ok(Self {
            raw: raw.to_vec(),
            signed: signed.to_vec(),
            raw_subject: raw_subject.to_vec(),
            raw_issuer: raw_issuer.to_vec(),
            raw_key: raw_key.to_vec(),
            signature,
            algorithm,
            key: info.key,
            version,
            not_before: not_before.0,
            not_after: not_after.0,
            extensions,
            fields,
        })
    }

    /// Returns the certificate as JSON; `URIStrings` are OPA's own.
    pub(super) fn to_value(&self, with_uri_texts: bool) -> Value {
        let mut fields = self.fields.clone();
        if with_uri_texts {
            fields.insert(Value::from("URIStrings"), self.extensions.alternatives.uri_texts());
        }
        fields.into_value()
    }
}

/// Returns the content of a list that is all there is.
fn alone(raw: &[u8]) -> Result<Reader<'_>, CallError> {
    let mut outer = Reader(raw);
    let content = outer.read(der::SEQUENCE)?;
    if outer.is_empty() { Ok(content) } else { Err(CallError::Failed) }
}

/// Returns a name, and its bytes.
fn name<'d>(body: &mut Reader<'d>) -> Result<(&'d [u8], Name), CallError> {
    let raw = body.element(der::SEQUENCE)?.raw;
    Ok((raw, Name::read(Reader(raw), Values::Texts)?))
}

fn serial(body: &mut Reader<'_>) -> Result<BigInt, CallError> {
    let serial = body.integer()?;
    if serial.sign() == Sign::Minus { Err(CallError::Failed) } else { Ok(serial) }
}

/// Returns the algorithm of the signature, which stands inside and outside of what is signed.
fn algorithm(body: &mut Reader<'_>, input: &mut Reader<'_>) -> Result<Algorithm, CallError> {
    let inner = body.read(der::SEQUENCE)?;
    if inner.0 != input.read(der::SEQUENCE)?.0 {
        return Err(CallError::Failed);
    }
    Algorithm::read(inner)
}

fn version(body: &mut Reader<'_>) -> Result<i64, CallError> {
    let version = match body.optional(der::wrapped(0))? {
        Some(mut wrapped) => {
            let version = wrapped.small(der::INTEGER)?;
            if !wrapped.is_empty() {
                return Err(CallError::Failed);
            }
            version
        }
        None => 0,
    };
    match version {
        0..=2 => Ok(version.saturating_add(1)),
        _ => Err(CallError::Failed),
    }
}

/// Returns the extensions of a certificate of version 3, each once.
fn extensions<'d>(version: i64, body: &mut Reader<'d>) -> Result<Vec<Extension<'d>>, CallError> {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    if version > 1 {
        body.optional(der::field(1))?;
        body.optional(der::field(2))?;
    }
    let wrapped = if version == 3 { body.optional(der::wrapped(3))? } else { None };
    let Some(mut wrapped) = wrapped else { return Ok(found) };
    Extension::read_list(wrapped.read(der::SEQUENCE)?, &mut seen, &mut found)?;
    Ok(found)
}
