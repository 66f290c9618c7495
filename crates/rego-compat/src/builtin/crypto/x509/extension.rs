//! The extensions of a certificate that Go reads.

use std::collections::BTreeSet;

use num_bigint::BigUint;

use go_compat::utf8;

use crate::value::{Object, Value};

use super::alternative::Alternatives;
use super::constraint::Constraints;
use super::der::{self, Reader};
use super::name::identifier;
use super::{base64, list_or_null, record, texts};
use crate::builtin::operand::CallError;

/// An extension as it stands there.
pub(super) struct Extension<'d> {
    pub(super) id: Vec<u32>,
    pub(super) critical: bool,
    pub(super) value: &'d [u8],
}

impl<'d> Extension<'d> {
    pub(super) fn read(mut reader: Reader<'d>) -> Result<Self, CallError> {
        let id = reader.identifier()?;
        let critical = reader.peeks(der::BOOLEAN) && reader.boolean()?;
        Ok(Self { id, critical, value: reader.read(der::OCTET_STRING)?.0 })
    }

    /// Adds the extensions of a list to `found`; two of one kind are an error, also where they are in two lists.
    pub(super) fn read_list(
        mut list: Reader<'d>,
        seen: &mut BTreeSet<Vec<u32>>,
        found: &mut Vec<Self>,
    ) -> Result<(), CallError> {
        while !list.is_empty() {
            let extension = Self::read(list.read(der::SEQUENCE)?)?;
            if !seen.insert(extension.id.clone()) {
                return Err(CallError::Failed);
            }
            found.push(extension);
        }
        Ok(())
    }

    pub(super) fn to_value(&self) -> Value {
        record(vec![
            ("Id", identifier(&self.id)),
            ("Critical", Value::Bool(self.critical)),
            ("Value", base64(self.value)),
        ])
    }

    fn must_not_be_critical(&self) -> Result<(), CallError> {
        if self.critical { Err(CallError::Failed) } else { Ok(()) }
    }
}

/// A limit that may be missing, which is not the same as one of zero.
#[derive(Default)]
pub(super) struct Skip(pub(super) Option<i64>);

impl Skip {
    fn fields(&self, name: &'static str, zero: &'static str) -> [(&'static str, Value); 2] {
        [(name, Value::from(self.0.unwrap_or(0))), (zero, Value::Bool(self.0 == Some(0)))]
    }
}

/// The contents of the extensions.
#[derive(Default)]
pub(super) struct Extensions {
    list: Vec<Value>,
    pub(super) unhandled: Vec<Vec<u32>>,
    pub(super) key_usage: i64,
    /// Go's numbers of the usages that it knows.
    pub(super) usages: Vec<i64>,
    pub(super) unknown_usages: Vec<Vec<u32>>,
    /// The basic constraints: true for an authority's, and the number that may stand below.
    pub(super) basic: Option<(bool, i64)>,
    pub(super) subject_key: Option<Vec<u8>>,
    pub(super) authority_key: Option<Vec<u8>>,
    status_servers: Vec<String>,
    issuers: Vec<String>,
    pub(super) alternatives: Alternatives,
    /// The names' bytes, if there are any.
    pub(super) raw_alternatives: Option<Vec<u8>>,
    pub(super) constraints: Constraints,
    pub(super) is_constrained: bool,
    revocations: Vec<String>,
    pub(super) policies: Option<Vec<Vec<u8>>>,
    pub(super) mappings: Vec<Mapping>,
    pub(super) inhibit_any: Skip,
    pub(super) inhibit_mapping: Skip,
    pub(super) require_explicit: Skip,
}

impl Extensions {
    pub(super) fn of(found: Vec<Extension<'_>>) -> Result<Self, CallError> {
        let mut all = Self::default();
        for extension in found {
            all.list.push(extension.to_value());
            let handled = all.take(&extension)?;
            if extension.critical && !handled {
                all.unhandled.push(extension.id);
            }
        }
        Ok(all)
    }

    /// Reads an extension; returns true if all of it was understood.
    fn take(&mut self, extension: &Extension<'_>) -> Result<bool, CallError> {
        let mut value = Reader(extension.value);
        match extension.id.as_slice() {
            [2, 5, 29, 14] => {
                extension.must_not_be_critical()?;
                self.subject_key = Some(value.read(der::OCTET_STRING)?.0.to_vec());
            }
            [2, 5, 29, 15] => {
                let bits = value.bits()?;
                self.key_usage = (0..9).filter(|bit| bits.at(*bit)).map(|bit| 1i64 << bit).sum();
            }
            [2, 5, 29, 17] => {
                self.raw_alternatives = Some(extension.value.to_vec());
                self.alternatives = Alternatives::read(value)?;
                return Ok(!self.alternatives.is_empty());
            }
            [2, 5, 29, 19] => self.basic = Some(basic(value)?),
            [2, 5, 29, 30] => {
                let (constraints, handled) = Constraints::read(value, extension.critical)?;
                self.constraints = constraints;
                self.is_constrained = true;
                return Ok(handled);
            }
            [2, 5, 29, 31] => self.revocations = revocations(value)?,
            [2, 5, 29, 32] => self.policies = Some(policies(value)?),
            [2, 5, 29, 33] => self.mappings = mappings(value)?,
            [2, 5, 29, 35] => {
                extension.must_not_be_critical()?;
                let key = value.read(der::SEQUENCE)?.optional(der::field(0))?;
                self.authority_key = key.map(|key| key.0.to_vec());
            }
            [2, 5, 29, 36] => self.take_policy_constraints(value)?,
            [2, 5, 29, 37] => self.take_usages(value)?,
            [2, 5, 29, 54] => self.inhibit_any = Skip(Some(value.small(der::INTEGER)?)),
            [1, 3, 6, 1, 5, 5, 7, 1, 1] => {
                extension.must_not_be_critical()?;
                self.take_information(value)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn take_policy_constraints(&mut self, mut value: Reader<'_>) -> Result<(), CallError> {
        let mut list = value.read(der::SEQUENCE)?;
        if list.peeks(der::field(0)) {
            self.require_explicit = Skip(Some(list.small(der::field(0))?));
        }
        if list.peeks(der::field(1)) {
            self.inhibit_mapping = Skip(Some(list.small(der::field(1))?));
        }
        Ok(())
    }

    fn take_usages(&mut self, mut value: Reader<'_>) -> Result<(), CallError> {
        let mut list = value.read(der::SEQUENCE)?;
        while !list.is_empty() {
            let id = list.identifier()?;
            match usage(&id) {
                Some(known) => self.usages.push(known),
                None => self.unknown_usages.push(id),
            }
        }
        Ok(())
    }

    fn take_information(&mut self, mut value: Reader<'_>) -> Result<(), CallError> {
        let mut list = value.read(der::SEQUENCE)?;
        while !list.is_empty() {
            let mut entry = list.read(der::SEQUENCE)?;
            let method = entry.identifier()?;
            let Some(address) = entry.optional(der::field(6))? else { continue };
            match method.as_slice() {
                [1, 3, 6, 1, 5, 5, 7, 48, 1] => self.status_servers.push(utf8::lossy(address.0)),
                [1, 3, 6, 1, 5, 5, 7, 48, 2] => self.issuers.push(utf8::lossy(address.0)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns Go's fields of a certificate that come from its extensions.
    pub(super) fn fields(&self) -> Vec<(&'static str, Value)> {
        let identifiers = |ids: &[Vec<u32>]| list_or_null(ids.iter().map(|id| identifier(id)).collect());
        let key = |key: &Option<Vec<u8>>| key.as_deref().map_or(Value::Null, base64);
        let strings = |strings: &[String]| texts(strings.iter().map(String::as_str));
        let (authority, length) = self.basic.unwrap_or((false, 0));
        let small: Option<Vec<Value>> = self.policies.as_ref().map(|policies| {
            policies.iter().filter_map(|policy| der::identifier(policy)).map(|id| identifier(&id)).collect()
        });
        let policies = self.policies.iter().flatten().map(|policy| Value::from(dotted(policy))).collect();
        let mut fields = vec![
            ("KeyUsage", Value::from(self.key_usage)),
            ("Extensions", list_or_null(self.list.clone())),
            ("ExtraExtensions", Value::Null),
            ("UnhandledCriticalExtensions", identifiers(&self.unhandled)),
            ("ExtKeyUsage", list_or_null(self.usages.iter().map(|usage| Value::from(*usage)).collect())),
            ("UnknownExtKeyUsage", identifiers(&self.unknown_usages)),
            ("BasicConstraintsValid", Value::Bool(self.basic.is_some())),
            ("IsCA", Value::Bool(authority)),
            ("MaxPathLen", Value::from(length)),
            ("MaxPathLenZero", Value::Bool(self.basic.is_some() && length == 0)),
            ("SubjectKeyId", key(&self.subject_key)),
            ("AuthorityKeyId", key(&self.authority_key)),
            ("OCSPServer", strings(&self.status_servers)),
            ("IssuingCertificateURL", strings(&self.issuers)),
            ("CRLDistributionPoints", strings(&self.revocations)),
            ("PolicyIdentifiers", small.map_or(Value::Null, Value::from)),
            ("Policies", list_or_null(policies)),
            ("PolicyMappings", list_or_null(self.mappings.iter().map(mapping).collect())),
        ];
        fields.extend(self.inhibit_any.fields("InhibitAnyPolicy", "InhibitAnyPolicyZero"));
        fields.extend(self.inhibit_mapping.fields("InhibitPolicyMapping", "InhibitPolicyMappingZero"));
        fields.extend(self.require_explicit.fields("RequireExplicitPolicy", "RequireExplicitPolicyZero"));
        fields.extend(self.alternatives.fields());
        fields.extend(self.constraints.fields());
        fields
    }
}

fn basic(mut value: Reader<'_>) -> Result<(bool, i64), CallError> {
    let mut list = value.read(der::SEQUENCE)?;
    let authority = list.peeks(der::BOOLEAN) && list.boolean()?;
    let length =
        if list.peeks(der::INTEGER) { list.small(der::INTEGER)? } else { return Ok((authority, -1)) };
    if length < 0 { Err(CallError::Failed) } else { Ok((authority, length)) }
}

fn revocations(mut value: Reader<'_>) -> Result<Vec<String>, CallError> {
    let (mut list, mut found) = (value.read(der::SEQUENCE)?, Vec::new());
    while !list.is_empty() {
        let mut point = list.read(der::SEQUENCE)?;
        let Some(mut name) = point.optional(der::wrapped(0))? else { continue };
        let mut names = name.read(der::wrapped(0))?;
        while names.peeks(der::field(6)) {
            found.push(utf8::lossy(names.read(der::field(6))?.0));
        }
    }
    Ok(found)
}

fn policies(mut value: Reader<'_>) -> Result<Vec<Vec<u8>>, CallError> {
    let (mut list, mut found, mut seen) = (value.read(der::SEQUENCE)?, Vec::new(), BTreeSet::new());
    while !list.is_empty() {
        let policy = list.read(der::SEQUENCE)?.read(der::OBJECT_IDENTIFIER)?.0;
        if !seen.insert(policy) || !is_identifier(policy) {
            return Err(CallError::Failed);
        }
        found.push(policy.to_vec());
    }
    Ok(found)
}

/// Returns true if bytes are numbers of an identifier, however large, in their shortest form.
fn is_identifier(bytes: &[u8]) -> bool {
    let starts = bytes.iter().enumerate().filter(|(index, _)| {
        index.checked_sub(1).and_then(|before| bytes.get(before)).is_none_or(|before| before & 0x80 == 0)
    });
    bytes.last().is_some_and(|last| last & 0x80 == 0) && starts.into_iter().all(|(_, byte)| *byte != 0x80)
}

/// A policy above, and what it is below.
type Mapping = (Vec<u8>, Vec<u8>);

fn mappings(mut value: Reader<'_>) -> Result<Vec<Mapping>, CallError> {
    let (mut list, mut found) = (value.read(der::SEQUENCE)?, Vec::new());
    while !list.is_empty() {
        let mut pair = list.read(der::SEQUENCE)?;
        let (issuer, subject) = (pair.read(der::OBJECT_IDENTIFIER)?.0, pair.read(der::OBJECT_IDENTIFIER)?.0);
        found.push((issuer.to_vec(), subject.to_vec()));
    }
    Ok(found)
}

fn mapping((issuer, subject): &Mapping) -> Value {
    let fields = [("IssuerDomainPolicy", dotted(issuer)), ("SubjectDomainPolicy", dotted(subject))];
    fields.into_iter().map(|(name, id)| (Value::from(name), Value::from(id))).collect::<Object>().into_value()
}

/// Returns an identifier as people write it; its numbers may be of any size.
fn dotted(bytes: &[u8]) -> String {
    let mut numbers: Vec<String> = Vec::new();
    let mut number = BigUint::ZERO;
    for byte in bytes {
        number = (number << 7u32) | BigUint::from(byte & 0x7f);
        if byte & 0x80 != 0 {
            continue;
        }
        if numbers.is_empty() {
            let first = u32::try_from(&number / 40u32).unwrap_or(2).min(2);
            numbers.push(first.to_string());
            number -= BigUint::from(first.saturating_mul(40));
        }
        numbers.push(number.to_string());
        number = BigUint::ZERO;
    }
    numbers.join(".")
}

/// Returns Go's number of a usage.
fn usage(id: &[u32]) -> Option<i64> {
    Some(match id {
        [2, 5, 29, 37, 0] => 0,
        [1, 3, 6, 1, 5, 5, 7, 3, usage @ 1..=9] => i64::from(*usage),
        [1, 3, 6, 1, 4, 1, 311, 10, 3, 3] => 10,
        [2, 16, 840, 1, 113_730, 4, 1] => 11,
        [1, 3, 6, 1, 4, 1, 311, 2, 1, 22] => 12,
        [1, 3, 6, 1, 4, 1, 311, 61, 1, 1] => 13,
        _ => return None,
    })
}
