//! URLs as Go's `net/url` reads those of requests: nothing is normalised, and a path that begins with `/` is enough.

use std::collections::BTreeMap;

use crate::value::Value;
use crate::value::{Declared, Key};

use super::super::meter::{EvalError, Meter};
use super::Native;

#[derive(Clone, Debug, Default)]
struct Url {
    scheme: String,
    user: Option<String>,
    host: String,
    /// Behind the scheme, where no path follows.
    opaque: String,
    /// As written.
    path: String,
    /// `None` where there is not even a question mark.
    query: Option<String>,
    fragment: String,
}

impl Declared for Url {
    const NAME: &'static str = "kubernetes.URL";
}

impl PartialEq for Url {
    /// As Go's texts of them compare, where the path is escaped in one way.
    fn eq(&self, other: &Self) -> bool {
        let parts = |url: &Self| {
            let names = [&url.scheme, &url.host, &url.opaque, &url.fragment].map(String::clone);
            (names, url.user.clone(), escaped_path(&url.path), url.query.clone())
        };
        parts(self) == parts(other)
    }
}

impl Eq for Url {}

/// Characters that stand for themselves everywhere.
fn is_unreserved(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.~".contains(c)
}

pub(super) fn function(name: &str) -> Option<Native> {
    Some(match name {
        "url" => |meter, arguments| read(meter, arguments)?.map(Value::opaque),
        "isURL" => |meter, arguments| read(meter, arguments).map(|read| Value::Bool(read.is_ok())),
        "getScheme" => |_, arguments| this(arguments).map(|url| Value::text(url.scheme.as_str())),
        "getHost" => |_, arguments| this(arguments).map(|url| Value::text(url.host.as_str())),
        "getHostname" => |_, arguments| this(arguments).map(|url| Value::text(split_port(&url.host).0)),
        "getPort" => |_, arguments| this(arguments).map(|url| Value::text(split_port(&url.host).1)),
        "getEscapedPath" => |meter, arguments| {
            let url = this(arguments)?;
            meter.bytes(url.path.len().saturating_mul(3))?;
            Ok(Value::text(escaped_path(&url.path)))
        },
        "getQuery" => |meter, arguments| {
            let url = this(arguments)?;
            let written = url.query.as_deref().unwrap_or_default();
            meter.bytes(written.len().saturating_mul(2))?;
            Ok(query(written))
        },
        _ => return None,
    })
}

fn this(arguments: &[Value]) -> Result<&Url, EvalError> {
    match arguments {
        [Value::Opaque(opaque)] => opaque.downcast_ref().ok_or_else(EvalError::no_overload),
        _ => Err(EvalError::no_overload()),
    }
}

type Read = Result<Url, EvalError>;

fn read(meter: &mut Meter, arguments: &[Value]) -> Result<Read, EvalError> {
    let [Value::String(raw)] = arguments else {
        return Err(EvalError::no_overload());
    };
    meter.bytes(raw.len())?;
    let refused = |reason| {
        EvalError::Failed(format!("URL parse error during conversion from string: parse {raw:?}: {reason}"))
    };
    Ok(parse(raw).map_err(refused))
}

/// Whether Go reads a text as the URL of a request.
pub(super) fn is_request_uri(raw: &str) -> bool {
    parse(raw).is_ok()
}

/// Reads a URL twice, as Kubernetes does: as that of a request, which says whether it is one, and then without its
/// fragment, which a request does not have.
fn parse(raw: &str) -> Result<Url, &'static str> {
    read_as(raw, true)?;
    let (before, fragment) = raw.split_once('#').unwrap_or((raw, ""));
    unescaped(fragment).ok_or("invalid URL escape")?;
    let mut url = read_as(before, false)?;
    url.fragment = fragment.to_owned();
    Ok(url)
}

fn read_as(raw: &str, is_request: bool) -> Result<Url, &'static str> {
    if raw.chars().any(|c| c.is_ascii_control()) {
        return Err("net/url: invalid control character in URL");
    }
    if raw.is_empty() && is_request {
        return Err("empty url");
    }
    let mut url = Url::default();
    if raw == "*" {
        url.path = raw.to_owned();
        return Ok(url);
    }
    let (scheme, rest) = split_scheme(raw)?;
    url.scheme = scheme.to_ascii_lowercase();
    let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
    url.query = query.map(str::to_owned);
    if !rest.starts_with('/') {
        if url.scheme.is_empty() {
            return Err("invalid URI for request");
        }
        url.opaque = rest.to_owned();
        return Ok(url);
    }
    // Without a scheme, a request's path may begin with two slashes; elsewhere an authority follows them.
    let has_authority = !url.scheme.is_empty() || !is_request && !rest.starts_with("///");
    let mut path = rest;
    if let Some(behind) = rest.strip_prefix("//").filter(|_| has_authority) {
        let end = behind.find('/').unwrap_or(behind.len());
        let (authority, tail) = behind.split_at_checked(end).unwrap_or((behind, ""));
        set_authority(&mut url, authority)?;
        path = tail;
    }
    unescaped(path).ok_or("invalid URL escape")?;
    url.path = path.to_owned();
    Ok(url)
}

/// The scheme and what follows its colon; an empty scheme where there is none.
fn split_scheme(raw: &str) -> Result<(&str, &str), &'static str> {
    for (at, c) in raw.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err("missing protocol scheme"),
            ':' => return Ok(raw.split_once(':').unwrap_or(("", raw))),
            _ => break,
        }
    }
    Ok(("", raw))
}

fn set_authority(url: &mut Url, authority: &str) -> Result<(), &'static str> {
    let host = match authority.rsplit_once('@') {
        Some((user, host)) => {
            let is_valid = user.chars().all(|c| is_unreserved(c) || "-._:~!$&'()*+,;=%@".contains(c));
            if !is_valid || unescaped(user).is_none() {
                return Err("net/url: invalid userinfo");
            }
            url.user = Some(user.to_owned());
            host
        }
        None => authority,
    };
    url.host = checked_host(host)?;
    Ok(())
}

fn checked_host(host: &str) -> Result<String, &'static str> {
    if host.starts_with('[') {
        let (inside, port) = host.rsplit_once(']').ok_or("missing ']' in host")?;
        if !is_port(port) {
            return Err("invalid port after host");
        }
        let inside = inside.strip_prefix('[').unwrap_or(inside);
        // A zone stands behind an escaped percent sign.
        let (address, zone) =
            inside.split_once("%25").map_or((inside, None), |(address, zone)| (address, Some(zone)));
        address.parse::<std::net::Ipv6Addr>().map_err(|_| "invalid host")?;
        let zone = match zone {
            None => String::new(),
            Some("") => return Err("invalid host"),
            Some(zone) => format!("%{}", unescaped(zone).ok_or("invalid URL escape")?),
        };
        return Ok(format!("[{address}{zone}]{port}"));
    }
    if let Some(colon) = host.find(':')
        && !is_port(host.get(colon..).unwrap_or_default())
    {
        return Err("invalid port after host");
    }
    let is_valid = |c: char| !c.is_ascii() || is_unreserved(c) || "!$&'()*+,;=:[]<>\"%".contains(c);
    if !host.chars().all(is_valid) {
        return Err("invalid character in host name");
    }
    // An escape in a host may stand for nothing that could be written plainly.
    let escapes_ascii = host.split('%').skip(1).any(|behind| {
        u8::from_str_radix(behind.get(..2).unwrap_or_default(), 16).is_ok_and(|byte| byte.is_ascii())
    });
    if escapes_ascii {
        return Err("invalid URL escape");
    }
    unescaped(host).ok_or("invalid URL escape")
}

/// Nothing, or a colon and digits.
fn is_port(port: &str) -> bool {
    match port.strip_prefix(':') {
        Some(digits) => digits.chars().all(|c| c.is_ascii_digit()),
        None => port.is_empty(),
    }
}

/// Host without brackets, and port.
fn split_port(host: &str) -> (&str, &str) {
    let (name, port) = match host.rfind(':') {
        Some(colon) if is_port(host.get(colon..).unwrap_or_default()) => {
            let port = host.get(colon.saturating_add(1)..).unwrap_or_default();
            (host.get(..colon).unwrap_or_default(), port)
        }
        _ => (host, ""),
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    (bare.unwrap_or(name), port)
}

/// The text with its `%xx` replaced; `None` where one is malformed or the result is no text.
fn unescaped(escaped: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some((plain, behind)) = rest.split_once('%') {
        bytes.extend_from_slice(plain.as_bytes());
        let code = behind.get(..2).filter(|code| code.chars().all(|c| c.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        rest = behind.get(2..)?;
    }
    bytes.extend_from_slice(rest.as_bytes());
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The path as written where that is a valid encoding, else escaped anew.
fn escaped_path(path: &str) -> String {
    let is_valid = |c: char| is_unreserved(c) || "!$&'()*+,;=:@[]/%".contains(c);
    if path.chars().all(is_valid) {
        return path.to_owned();
    }
    let plain = unescaped(path).unwrap_or_default();
    let mut escaped = String::new();
    for c in plain.chars() {
        if is_unreserved(c) || "$&+,/:;=@".contains(c) {
            escaped.push(c);
        } else {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                escaped.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    escaped
}

/// The values of each name in a query; what is malformed is left out.
fn query(query: &str) -> Value {
    let mut values: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let plain = |part: &str| unescaped(&part.replace('+', " "));
    for pair in query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if let (Some(name), Some(value)) = (plain(name), plain(value)) {
            values.entry(name).or_default().push(Value::text(value));
        }
    }
    let entries = values.into_iter().map(|(name, values)| (Key::String(name.into()), Value::list(values)));
    Value::Map(entries.collect())
}
