//! Other names of a subject: hosts, mailboxes, addresses.

use std::net::IpAddr;

use go_compat::url::Url;
use go_compat::utf8;

use crate::value::{Object, Value};

use super::der::{self, Reader};
use super::host::{self, is_domain};
use super::{list_or_null, texts};
use crate::builtin::operand::CallError;

#[derive(Default)]
pub(super) struct Alternatives {
    pub(super) hosts: Vec<String>,
    pub(super) mailboxes: Vec<String>,
    pub(super) addresses: Vec<Vec<u8>>,
    pub(super) uris: Vec<Url>,
}

/// Returns a text in ASCII.
pub(super) fn ascii(bytes: &[u8]) -> Result<String, CallError> {
    if bytes.is_ascii() {
        return Ok(bytes.iter().map(|byte| char::from(*byte)).collect());
    }
    Err(CallError::Failed)
}

/// Returns an address as Go writes it; one of version 4 is one however it is held.
pub(super) fn address(bytes: &[u8]) -> String {
    match host::address(bytes) {
        // Rust shows an old way of embedding addresses, which Go does not.
        Some(IpAddr::V6(six)) if matches!(six.segments(), [0, 0, 0, 0, 0, 0, high, _] if high != 0) => {
            let [.., high, low] = six.segments();
            format!("::{high:x}:{low:x}")
        }
        Some(address) => address.to_string(),
        None => String::new(),
    }
}

impl Alternatives {
    pub(super) fn read(mut value: Reader<'_>) -> Result<Self, CallError> {
        let (mut list, mut found) = (value.read(der::SEQUENCE)?, Self::default());
        while !list.is_empty() {
            let name = list.any()?;
            match name.tag {
                0x81 => found.mailboxes.push(ascii(name.content)?),
                0x82 => found.hosts.push(ascii(name.content)?),
                0x86 => {
                    let uri = Url::parse(&ascii(name.content)?)?;
                    if !uri.host.is_empty() && !is_domain(&uri.host, false) {
                        return Err(CallError::Failed);
                    }
                    found.uris.push(uri);
                }
                0x87 if matches!(name.content.len(), 4 | 16) => found.addresses.push(name.content.to_vec()),
                0x87 => return Err(CallError::Failed),
                _ => {}
            }
        }
        Ok(found)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.hosts.is_empty()
            && self.mailboxes.is_empty()
            && self.addresses.is_empty()
            && self.uris.is_empty()
    }

    pub(super) fn fields(&self) -> [(&'static str, Value); 4] {
        let addresses: Vec<String> = self.addresses.iter().map(|bytes| address(bytes)).collect();
        [
            ("DNSNames", texts(self.hosts.iter().map(String::as_str))),
            ("EmailAddresses", texts(self.mailboxes.iter().map(String::as_str))),
            ("IPAddresses", texts(addresses.iter().map(String::as_str))),
            ("URIs", list_or_null(self.uris.iter().map(url_fields).collect())),
        ]
    }

    pub(super) fn uri_texts(&self) -> Value {
        list_or_null(self.uris.iter().map(|uri| Value::from(uri.to_string())).collect())
    }
}

/// Returns Go's structure of a URL, as its JSON encoder writes it.
fn url_fields(url: &Url) -> Value {
    let text = |bytes: &[u8]| Value::from(utf8::lossy(bytes));
    let raw = |raw: &Option<String>| Value::from(raw.clone().unwrap_or_default());
    let fields = [
        ("Scheme", Value::from(url.scheme.as_str())),
        ("Opaque", Value::from(url.opaque.as_str())),
        ("User", url.user.as_ref().map_or(Value::Null, |_| Value::new_object())),
        ("Host", text(&url.host)),
        ("Path", text(&url.path)),
        ("Fragment", text(&url.fragment)),
        ("RawQuery", Value::from(url.raw_query.as_str())),
        ("RawPath", raw(&url.raw_path)),
        ("RawFragment", raw(&url.raw_fragment)),
        ("ForceQuery", Value::Bool(url.force_query)),
        ("OmitHost", Value::Bool(url.omit_host)),
    ];
    fields.into_iter().map(|(name, value)| (Value::from(name), value)).collect::<Object>().into_value()
}
