//! The names that an authority may vouch for.

use std::net::IpAddr;

use crate::value::{Object, Value};

use super::alternative::{address, ascii};
use super::der::{self, Reader};
use super::host::is_domain;
use super::{base64, list_or_null, texts};
use crate::builtin::operand::CallError;

/// Names that are permitted, or excluded.
#[derive(Default)]
pub(super) struct Subtrees {
    pub(super) hosts: Vec<String>,
    /// Addresses with their masks.
    pub(super) networks: Vec<(Vec<u8>, Vec<u8>)>,
    pub(super) mailboxes: Vec<String>,
    pub(super) domains: Vec<String>,
}

#[derive(Default)]
pub(super) struct Constraints {
    critical: bool,
    pub(super) permitted: Subtrees,
    pub(super) excluded: Subtrees,
}

impl Constraints {
    /// Returns the constraints, and whether all kinds of names in them are known.
    pub(super) fn read(mut value: Reader<'_>, critical: bool) -> Result<(Self, bool), CallError> {
        let mut top = value.read(der::SEQUENCE)?;
        let (permitted, excluded) = (top.optional(der::wrapped(0))?, top.optional(der::wrapped(1))?);
        if !value.is_empty() || !top.is_empty() {
            return Err(CallError::Failed);
        }
        let bytes = |tree: Option<Reader<'_>>| tree.is_some_and(|tree| !tree.is_empty());
        if !bytes(permitted) && !bytes(excluded) {
            return Err(CallError::Failed);
        }
        let read = |tree: Option<Reader<'_>>| Subtrees::read(tree.unwrap_or(Reader(&[])));
        let ((permitted, known), (excluded, also_known)) = (read(permitted)?, read(excluded)?);
        Ok((Self { critical, permitted, excluded }, known && also_known))
    }

    pub(super) fn fields(&self) -> Vec<(&'static str, Value)> {
        let mut fields = vec![("PermittedDNSDomainsCritical", Value::Bool(self.critical))];
        let names = [
            ["PermittedDNSDomains", "PermittedIPRanges", "PermittedEmailAddresses", "PermittedURIDomains"],
            ["ExcludedDNSDomains", "ExcludedIPRanges", "ExcludedEmailAddresses", "ExcludedURIDomains"],
        ];
        for (names, trees) in names.into_iter().zip([&self.permitted, &self.excluded]) {
            fields.extend(names.into_iter().zip(trees.values()));
        }
        fields
    }
}

impl Subtrees {
    fn read(mut trees: Reader<'_>) -> Result<(Self, bool), CallError> {
        let (mut found, mut known) = (Self::default(), true);
        while !trees.is_empty() {
            let base = trees.read(der::SEQUENCE)?.any()?;
            match base.tag {
                0x81 => {
                    let text = ascii(base.content)?;
                    let valid = if text.contains('@') {
                        super::mailbox::Mailbox::parse(&text).is_some()
                    } else {
                        is_domain(base.content, true)
                    };
                    if !valid {
                        return Err(CallError::Failed);
                    }
                    found.mailboxes.push(text);
                }
                0x82 => found.hosts.push(domain(base.content)?),
                0x86 if ascii(base.content)?.parse::<IpAddr>().is_ok() => return Err(CallError::Failed),
                0x86 => found.domains.push(domain(base.content)?),
                0x87 => found.networks.push(network(base.content)?),
                _ => known = false,
            }
        }
        Ok((found, known))
    }

    fn values(&self) -> [Value; 4] {
        let strings = |strings: &[String]| texts(strings.iter().map(String::as_str));
        let network = |(ip, mask): &(Vec<u8>, Vec<u8>)| {
            let pairs = [(Value::from("IP"), Value::from(address(ip))), (Value::from("Mask"), base64(mask))];
            Object::of(pairs.into()).into_value()
        };
        [
            strings(&self.hosts),
            list_or_null(self.networks.iter().map(network).collect()),
            strings(&self.mailboxes),
            strings(&self.domains),
        ]
    }
}

fn domain(bytes: &[u8]) -> Result<String, CallError> {
    let text = ascii(bytes)?;
    if is_domain(bytes, true) { Ok(text) } else { Err(CallError::Failed) }
}

/// Returns an address and a mask, which is ones and then zeros.
fn network(bytes: &[u8]) -> Result<(Vec<u8>, Vec<u8>), CallError> {
    let (ip, mask) = bytes.split_at_checked(bytes.len() / 2).ok_or(CallError::Failed)?;
    let mut rest = mask.iter().skip_while(|byte| **byte == 0xff);
    let edge =
        rest.next().is_none_or(|byte| byte.leading_ones().saturating_add(byte.trailing_zeros().min(8)) == 8);
    if !matches!(bytes.len(), 8 | 32) || !edge || rest.any(|byte| *byte != 0) {
        return Err(CallError::Failed);
    }
    Ok((ip.to_vec(), mask.to_vec()))
}
