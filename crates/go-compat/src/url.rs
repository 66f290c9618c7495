//! `uri.parse` and `uri.is_valid`. Source: OPA `topdown/uri.go` and Go's `net/url`.
//!
//! Also for those who need addresses as Go takes them apart: certificates, and requests to be signed.

use std::net::IpAddr;

use crate::value::{Object, Value};

use super::Outcome;
use super::encoding::text_of;
use super::operand::{self, Fault};

/// `uri.parse(text)`: those of the parts that are not empty.
pub(super) fn parse(args: &[Value]) -> Outcome {
    operand::string(args, 0).and_then(Uri::parse).map(|uri| uri.into_value()).into()
}

/// `uri.is_valid(text)`; an empty text is not, and nothing but a text is.
pub(super) fn is_valid(args: &[Value]) -> Outcome {
    let valid = |text: &str| !text.is_empty() && Uri::parse(text).is_ok();
    Outcome::Value(Value::Bool(operand::string(args, 0).is_ok_and(valid)))
}

/// An address as Go writes it again.
pub(crate) fn rewritten(text: &str) -> Option<String> {
    Uri::parse(text).ok().map(|uri| uri.text())
}

/// An address, taken apart. Bytes stand for text that need not be UTF-8 once its escapes are read.
#[derive(Debug, Default)]
pub(super) struct Uri {
    scheme: String,
    /// All of it behind the scheme, where no slash begins it.
    opaque: String,
    /// The name, and the password if there is one.
    user: Option<User>,
    /// With the port, brackets and all.
    pub(super) host: Vec<u8>,
    pub(super) path: Vec<u8>,
    /// As it was written, where that is not how the path would be.
    raw_path: Option<String>,
    pub(super) raw_query: String,
    fragment: Vec<u8>,
    raw_fragment: Option<String>,
    /// A question mark with nothing behind it.
    force_query: bool,
    /// A path that could have had a host.
    omit_host: bool,
}

/// Where escapes are read, which decides about what needs none.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Path,
    Host,
    Zone,
    UserInfo,
    Fragment,
}

impl Part {
    /// Whether a byte stands for itself in this part.
    fn is_plain(self, byte: u8) -> bool {
        let also: &[u8] = match self {
            Self::Path => b"$&+,/:;=@",
            Self::Host | Self::Zone => b"!$&'()*+,;=:[]<>\"",
            Self::UserInfo => b"$&+,;=",
            Self::Fragment => b"!$&()*+,/:;=?@",
        };
        byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || also.contains(&byte)
    }

    const fn is_host(self) -> bool {
        matches!(self, Self::Host | Self::Zone)
    }

    /// Whether a byte may be written as an escape.
    fn may_be_escaped(self, byte: u8) -> bool {
        match self {
            Self::Host => byte >= 0x80 || byte == b'%',
            Self::Zone => byte == b'%' || byte == b' ' || Self::Host.is_plain(byte),
            _ => true,
        }
    }
}

impl Uri {
    pub(super) fn parse(text: &str) -> Result<Self, Fault> {
        let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut uri = Self::without_fragment(rest).map_err(|fault| format!("parse \"{rest}\": {fault}"))?;
        uri.fragment = unescaped(fragment, Part::Fragment)?;
        uri.raw_fragment = (escaped(&uri.fragment, Part::Fragment) != fragment).then(|| fragment.to_owned());
        Ok(uri)
    }

    fn without_fragment(text: &str) -> Result<Self, Fault> {
        if text.bytes().any(|byte| byte.is_ascii_control()) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        let mut uri = Self::default();
        if text == "*" {
            uri.path = b"*".to_vec();
            return Ok(uri);
        }
        let (scheme, rest) = scheme(text)?;
        uri.scheme = scheme.to_ascii_lowercase();
        uri.force_query = rest.ends_with('?') && rest.matches('?').count() == 1;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        uri.raw_query = query.to_owned();
        if !rest.starts_with('/') {
            if !uri.scheme.is_empty() {
                uri.opaque = rest.to_owned();
                return Ok(uri);
            }
            if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
                return Err("first path segment in URL cannot contain colon".to_owned());
            }
        }
        let mut path = rest;
        let authority = (!uri.scheme.is_empty() || !rest.starts_with("///")).then(|| rest.strip_prefix("//"));
        if let Some(authority) = authority.flatten() {
            let end = authority.find('/').unwrap_or(authority.len());
            let (authority, after) = authority.split_at_checked(end).unwrap_or((authority, ""));
            (uri.user, uri.host) = user_and_host(&uri.scheme, authority)?;
            path = after;
        } else {
            uri.omit_host = !uri.scheme.is_empty();
        }
        uri.path = unescaped(path, Part::Path)?;
        uri.raw_path = (escaped(&uri.path, Part::Path) != path).then(|| path.to_owned());
        Ok(uri)
    }

    /// The host without its port and brackets, and the port.
    fn host_and_port(&self) -> (&[u8], &[u8]) {
        let (mut host, mut port) = (self.host.as_slice(), [].as_slice());
        let colon = host.iter().rposition(|byte| *byte == b':');
        if let Some((before, after)) = colon.and_then(|colon| host.split_at_checked(colon))
            && let Some(digits) = after.strip_prefix(b":")
            && digits.iter().all(u8::is_ascii_digit)
        {
            (host, port) = (before, digits);
        }
        let bare = host.strip_prefix(b"[").and_then(|host| host.strip_suffix(b"]"));
        (bare.unwrap_or(host), port)
    }

    /// The path as it goes over the wire.
    pub(super) fn escaped_path(&self) -> String {
        match &self.raw_path {
            Some(raw) if is_encoded(raw, Part::Path) => raw.clone(),
            _ if self.path == b"*" => "*".to_owned(),
            _ => escaped(&self.path, Part::Path),
        }
    }

    fn escaped_fragment(&self) -> String {
        match &self.raw_fragment {
            Some(raw) if is_encoded(raw, Part::Fragment) => raw.clone(),
            _ => escaped(&self.fragment, Part::Fragment),
        }
    }

    /// The address as Go puts it together again.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        if !self.scheme.is_empty() {
            out.push_str(&format!("{}:", self.scheme));
        }
        if self.opaque.is_empty() {
            self.push_authority(&mut out);
            self.push_path(&mut out);
        } else {
            out.push_str(&self.opaque);
        }
        if self.force_query || !self.raw_query.is_empty() {
            out.push_str(&format!("?{}", self.raw_query));
        }
        if !self.fragment.is_empty() {
            out.push_str(&format!("#{}", self.escaped_fragment()));
        }
        out
    }

    fn push_authority(&self, out: &mut String) {
        let nameless = self.host.is_empty() && self.user.is_none();
        if nameless && (self.scheme.is_empty() || self.omit_host) {
            return;
        }
        if !nameless || !self.path.is_empty() {
            out.push_str("//");
        }
        if let Some((name, password)) = &self.user {
            out.push_str(&escaped(name, Part::UserInfo));
            if let Some(password) = password {
                out.push_str(&format!(":{}", escaped(password, Part::UserInfo)));
            }
            out.push('@');
        }
        out.push_str(&escaped(&self.host, Part::Host));
    }

    fn push_path(&self, out: &mut String) {
        let path = self.escaped_path();
        if !path.is_empty() && !path.starts_with('/') && !self.host.is_empty() {
            out.push('/');
        }
        if out.is_empty() && path.split('/').next().is_some_and(|segment| segment.contains(':')) {
            out.push_str("./");
        }
        out.push_str(&path);
    }

    /// Go's own structure of an address.
    pub(super) fn to_fields(&self) -> Value {
        let text = |bytes: &[u8]| Value::from(text_of(bytes));
        let raw = |raw: &Option<String>| Value::from(raw.clone().unwrap_or_default());
        let fields = [
            ("Scheme", Value::from(self.scheme.as_str())),
            ("Opaque", Value::from(self.opaque.as_str())),
            ("User", self.user.as_ref().map_or(Value::Null, |_| Value::new_object())),
            ("Host", text(&self.host)),
            ("Path", text(&self.path)),
            ("Fragment", text(&self.fragment)),
            ("RawQuery", Value::from(self.raw_query.as_str())),
            ("RawPath", raw(&self.raw_path)),
            ("RawFragment", raw(&self.raw_fragment)),
            ("ForceQuery", Value::Bool(self.force_query)),
            ("OmitHost", Value::Bool(self.omit_host)),
        ];
        fields.into_iter().map(|(name, value)| (Value::from(name), value)).collect::<Object>().into_value()
    }

    fn into_value(self) -> Value {
        let (host, port) = self.host_and_port();
        let path = text_of(&self.path);
        let raw_path = self.raw_path.clone().filter(|raw| !raw.is_empty()).unwrap_or_else(|| path.clone());
        let raw_path = if path.is_empty() { String::new() } else { raw_path };
        let parts = [
            ("scheme", self.scheme.clone()),
            ("hostname", text_of(host)),
            ("port", text_of(port)),
            ("path", path),
            ("raw_path", raw_path),
            ("raw_query", self.raw_query.clone()),
            ("fragment", text_of(&self.fragment)),
        ];
        let filled = parts.into_iter().filter(|(_, text)| !text.is_empty());
        filled.map(|(name, text)| (Value::from(name), Value::from(text))).collect::<Object>().into_value()
    }
}

/// The scheme, empty if there is none, and what follows its colon.
fn scheme(text: &str) -> Result<(&str, &str), Fault> {
    let length =
        text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)).count();
    let Some((scheme, rest)) = text.split_at_checked(length) else { return Ok(("", text)) };
    match rest.strip_prefix(':') {
        Some(_) if scheme.is_empty() => Err("missing protocol scheme".to_owned()),
        Some(rest) if scheme.starts_with(|first: char| first.is_ascii_alphabetic()) => Ok((scheme, rest)),
        _ => Ok(("", text)),
    }
}

/// A name, and a password if there is one.
type User = (Vec<u8>, Option<Vec<u8>>);

/// The user of an authority, if it has one, and its host and port.
fn user_and_host(scheme: &str, authority: &str) -> Result<(Option<User>, Vec<u8>), Fault> {
    let (user, host) =
        authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    let host = parsed_host(scheme, host)?;
    let Some(user) = user else { return Ok((None, host)) };
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
    if !user.bytes().all(allowed) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    let (name, password) =
        user.split_once(':').map_or((user, None), |(name, password)| (name, Some(password)));
    let name = unescaped(name, Part::UserInfo)?;
    let password = password.map(|password| unescaped(password, Part::UserInfo)).transpose()?;
    Ok((Some((name, password)), host))
}

fn parsed_host(scheme: &str, host: &str) -> Result<Vec<u8>, Fault> {
    match host.rfind('[') {
        Some(0) => return literal(host),
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {}
    }
    let strict = matches!(scheme, "http" | "https");
    let colon = if strict { host.find(':') } else { host.rfind(':') };
    check_port(colon.and_then(|colon| host.get(colon..)).unwrap_or(""))?;
    unescaped(host, Part::Host)
}

/// An address of version 6 in brackets, perhaps with a zone and a port.
fn literal(host: &str) -> Result<Vec<u8>, Fault> {
    let (inside, port) = host.rsplit_once(']').ok_or("missing ']' in host")?;
    check_port(port)?;
    let inside = inside.strip_prefix('[').unwrap_or(inside);
    let zone = inside.find("%25").unwrap_or(inside.len());
    let (address, zone) = inside.split_at_checked(zone).unwrap_or((inside, ""));
    let name = [unescaped(address, Part::Host)?, unescaped(zone, Part::Zone)?].concat();
    if !is_address(&name) {
        return Err("invalid IP-literal".to_owned());
    }
    Ok([b"[".to_vec(), name, b"]".to_vec(), port.as_bytes().to_vec()].concat())
}

fn is_address(name: &[u8]) -> bool {
    let name = text_of(name);
    let (address, zone) = name.split_once('%').unwrap_or((&name, "zone"));
    !zone.is_empty() && matches!(address.parse(), Ok(IpAddr::V6(_)))
}

fn check_port(port: &str) -> Result<(), Fault> {
    let digits = port.strip_prefix(':').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    if port.is_empty() || digits.is_some() {
        return Ok(());
    }
    Err(format!("invalid port \"{port}\" after host"))
}

fn unescaped(text: &str, part: Part) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16));
            let (high, low) = (digit(), digit());
            let read = high.zip(low).map(|(high, low)| high.saturating_mul(16).saturating_add(low));
            let read =
                read.and_then(|byte| u8::try_from(byte).ok()).filter(|byte| part.may_be_escaped(*byte));
            bytes.push(read.ok_or_else(|| format!("invalid URL escape in \"{text}\""))?);
        } else if part.is_host() && byte < 0x80 && !part.is_plain(byte) {
            return Err(format!("invalid character {:?} in host name", char::from(byte)));
        } else {
            bytes.push(byte);
        }
    }
    Ok(bytes)
}

/// A part with what does not stand for itself escaped.
fn escaped(bytes: &[u8], part: Part) -> String {
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        if part.is_plain(*byte) {
            out.push(char::from(*byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Whether a part may go over the wire as it is.
fn is_encoded(text: &str, part: Part) -> bool {
    text.bytes().all(|byte| part.is_plain(byte) || b"!$&'()*+,;=:@[]%".contains(&byte))
}
