//! `net/url`: URLs taken apart and put together.

mod escape;

use std::net::IpAddr;

use crate::error::GoError;
use crate::strconv::quote;
use crate::utf8::lossy;

use escape::{Part, escaped, is_encoded, unescaped};
pub use escape::{query_escape, query_unescape};

/// `url.URL`. Hosts, paths and fragments are bytes: they need not be UTF-8 once their escapes are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Url {
    /// In lower case; empty where there is none.
    pub scheme: String,
    /// All of it behind the scheme, where no slash begins it.
    pub opaque: String,
    /// The name, and the password if there is one.
    pub user: Option<Userinfo>,
    /// With the port, brackets and all.
    pub host: Vec<u8>,
    /// Without escapes.
    pub path: Vec<u8>,
    /// The path as it was written, where that is not how the path would be.
    pub raw_path: Option<String>,
    /// The query as it was written.
    pub raw_query: String,
    /// Without escapes.
    pub fragment: Vec<u8>,
    /// The fragment as it was written, where that is not how the fragment would be.
    pub raw_fragment: Option<String>,
    /// A question mark with nothing behind it.
    pub force_query: bool,
    /// A path that could have had a host.
    pub omit_host: bool,
}

impl Url {
    /// Parses a URL as `url.Parse` does.
    ///
    /// # Errors
    /// Go refuses the string; in Go's words: `parse "%zz": invalid URL escape "%zz"`.
    pub fn parse(text: &str) -> Result<Self, GoError> {
        let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = Self::before_fragment(rest, false).map_err(|reason| refused(rest, &reason))?;
        url.fragment = unescaped(fragment, Part::Fragment).map_err(|reason| refused(text, &reason))?;
        url.raw_fragment = (escaped(&url.fragment, Part::Fragment) != fragment).then(|| fragment.to_owned());
        Ok(url)
    }

    /// Parses as `url.ParseRequestURI` does: an absolute URL or an absolute path, without a fragment.
    ///
    /// # Errors
    /// Go refuses the string; in Go's words.
    pub fn parse_request_uri(text: &str) -> Result<Self, GoError> {
        Self::before_fragment(text, true).map_err(|reason| refused(text, &reason))
    }

    fn before_fragment(text: &str, is_request: bool) -> Result<Self, String> {
        if text.bytes().any(|byte| byte.is_ascii_control()) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        if text.is_empty() && is_request {
            return Err("empty url".to_owned());
        }
        let mut url = Self::default();
        if text == "*" {
            url.path = b"*".to_vec();
            return Ok(url);
        }
        let (scheme, rest) = scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        url.force_query = rest.ends_with('?') && rest.matches('?').count() == 1;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        url.raw_query = query.to_owned();
        if !rest.starts_with('/') {
            if !url.scheme.is_empty() {
                url.opaque = rest.to_owned();
                return Ok(url);
            }
            check_relative(rest, is_request)?;
        }
        // Without a scheme, the path of a request may begin with two slashes.
        let may_have_host = !url.scheme.is_empty() || (!is_request && !rest.starts_with("///"));
        let path = match rest.strip_prefix("//").filter(|_| may_have_host) {
            Some(authority) => {
                let end = authority.find('/').unwrap_or(authority.len());
                let (authority, path) = authority.split_at_checked(end).unwrap_or((authority, ""));
                (url.user, url.host) = user_and_host(&url.scheme, authority)?;
                path
            }
            None => {
                url.omit_host = !url.scheme.is_empty();
                rest
            }
        };
        url.set_path(path)?;
        Ok(url)
    }

    fn set_path(&mut self, path: &str) -> Result<(), String> {
        self.path = unescaped(path, Part::Path)?;
        self.raw_path = (escaped(&self.path, Part::Path) != path).then(|| path.to_owned());
        Ok(())
    }

    /// Resolves as `URL.ResolveReference` does: returns the absolute form of a reference that stands in the document
    /// of this URL.
    #[must_use]
    pub fn resolve_reference(&self, reference: &Self) -> Self {
        let mut url = reference.clone();
        if reference.scheme.is_empty() {
            url.scheme.clone_from(&self.scheme);
        }
        if !reference.scheme.is_empty() || !reference.host.is_empty() || reference.user.is_some() {
            return url.with_path(&resolved_path(&reference.escaped_path(), ""));
        }
        if !reference.opaque.is_empty() {
            return url.without_place();
        }
        if reference.path.is_empty() && !reference.force_query && reference.raw_query.is_empty() {
            url.raw_query.clone_from(&self.raw_query);
            if reference.fragment.is_empty() {
                url.fragment.clone_from(&self.fragment);
                url.raw_fragment.clone_from(&self.raw_fragment);
            }
        }
        if reference.path.is_empty() && !self.opaque.is_empty() {
            url.opaque.clone_from(&self.opaque);
            return url.without_place();
        }
        url.host.clone_from(&self.host);
        url.user.clone_from(&self.user);
        url.with_path(&resolved_path(&self.escaped_path(), &reference.escaped_path()))
    }

    /// The path of a URL that was parsed has no escapes that cannot be read.
    fn with_path(mut self, path: &str) -> Self {
        let is_set = self.set_path(path);
        debug_assert!(is_set.is_ok(), "{path}");
        self
    }

    fn without_place(mut self) -> Self {
        (self.user, self.host, self.path) = (None, Vec::new(), Vec::new());
        self
    }

    /// Returns the URL without its fragment.
    #[must_use]
    pub fn without_fragment(&self) -> Self {
        Self { fragment: Vec::new(), raw_fragment: None, ..self.clone() }
    }

    /// Returns the result of `URL.Query`: the names and values in their order, without the pairs that are malformed.
    #[must_use]
    pub fn query(&self) -> Vec<(String, String)> {
        parse_query(&self.raw_query).filter_map(Result::ok).collect()
    }

    /// Returns the results of `URL.Hostname` and `URL.Port`: the host without its port and brackets, and the port.
    #[must_use]
    pub fn hostname_and_port(&self) -> (&[u8], &[u8]) {
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

    /// Returns the result of `URL.EscapedPath`: the path as it goes over the wire.
    #[must_use]
    pub fn escaped_path(&self) -> String {
        match &self.raw_path {
            Some(raw) if is_encoded(raw, Part::Path) => raw.clone(),
            _ if self.path == b"*" => "*".to_owned(),
            _ => escaped(&self.path, Part::Path),
        }
    }

    /// Returns the result of `URL.EscapedFragment`: the fragment with its escapes.
    #[must_use]
    pub fn escaped_fragment(&self) -> String {
        match &self.raw_fragment {
            Some(raw) if is_encoded(raw, Part::Fragment) => raw.clone(),
            _ => escaped(&self.fragment, Part::Fragment),
        }
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
}

impl std::fmt::Display for Url {
    /// `URL.String`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
        f.write_str(&out)
    }
}

/// Parses as `url.ParseQuery` does, pair by pair: names and values in their order, or the reason why a pair is
/// malformed, in Go's words. Go goes on behind a malformed pair, and returns the first reason beside the other pairs.
pub fn parse_query(query: &str) -> impl Iterator<Item = Result<(String, String), GoError>> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        if pair.contains(';') {
            return Err(GoError("invalid semicolon separator in query".to_owned()));
        }
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Ok((query_unescape(name)?, query_unescape(value)?))
    })
}

fn refused(text: &str, reason: &str) -> GoError {
    GoError(format!("parse {}: {reason}", quote(text)))
}

/// Checks a reference that neither begins with a slash nor has a scheme.
fn check_relative(rest: &str, is_request: bool) -> Result<(), String> {
    if is_request {
        return Err("invalid URI for request".to_owned());
    }
    match rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
        true => Err("first path segment in URL cannot contain colon".to_owned()),
        false => Ok(()),
    }
}

/// The scheme, empty if there is none, and what follows its colon.
fn scheme(text: &str) -> Result<(&str, &str), String> {
    let length =
        text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)).count();
    let Some((scheme, rest)) = text.split_at_checked(length) else { return Ok(("", text)) };
    match rest.strip_prefix(':') {
        Some(_) if scheme.is_empty() => Err("missing protocol scheme".to_owned()),
        Some(rest) if scheme.starts_with(|first: char| first.is_ascii_alphabetic()) => Ok((scheme, rest)),
        _ => Ok(("", text)),
    }
}

/// `url.Userinfo`: a name, and a password if there is one.
pub type Userinfo = (Vec<u8>, Option<Vec<u8>>);

/// The user of an authority, if it has one, and its host and port.
fn user_and_host(scheme: &str, authority: &str) -> Result<(Option<Userinfo>, Vec<u8>), String> {
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

fn parsed_host(scheme: &str, host: &str) -> Result<Vec<u8>, String> {
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
fn literal(host: &str) -> Result<Vec<u8>, String> {
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
    let name = lossy(name);
    let (address, zone) = name.split_once('%').unwrap_or((&name, "zone"));
    !zone.is_empty() && matches!(address.parse(), Ok(IpAddr::V6(_)))
}

fn check_port(port: &str) -> Result<(), String> {
    let digits = port.strip_prefix(':').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    if port.is_empty() || digits.is_some() {
        return Ok(());
    }
    Err(format!("invalid port {} after host", quote(port)))
}

/// A path beside another, without its dots. Source: `resolvePath`.
///
/// ```text
/// resolved_path("/a/b.json", "../c/./d/..") == "/c/"
/// ```
fn resolved_path(base: &str, reference: &str) -> String {
    let full = match base.rfind('/') {
        _ if reference.is_empty() => base.to_owned(),
        _ if reference.starts_with('/') => reference.to_owned(),
        Some(slash) => format!("{}/{reference}", base.get(..slash).unwrap_or_default()),
        None => reference.to_owned(),
    };
    if full.is_empty() {
        return full;
    }
    let mut kept: Vec<&str> = Vec::new();
    let mut last = "";
    for segment in full.split('/') {
        last = segment;
        match segment {
            "." => {}
            ".." => drop(kept.pop()),
            other => kept.push(other),
        }
    }
    if matches!(last, "." | "..") {
        kept.push("");
    }
    let path = kept.join("/");
    if path.starts_with('/') { path } else { format!("/{path}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(base: &str, reference: &str) -> String {
        Url::parse(base).unwrap().resolve_reference(&Url::parse(reference).unwrap()).to_string()
    }

    #[test]
    fn references_are_resolved_as_in_go() {
        assert_eq!(resolved("", "#/definitions/a b"), "#/definitions/a%20b");
        assert_eq!(resolved("", "#"), "");
        assert_eq!(resolved("http://x/a/b.json", "c.json#d"), "http://x/a/c.json#d");
        assert_eq!(resolved("http://x/a/b.json", "/c"), "http://x/c");
        assert_eq!(resolved("http://x/a/b.json", "../../c/./d/.."), "http://x/c/");
        assert_eq!(resolved("http://x", "#a"), "http://x#a");
        assert_eq!(resolved("http://x#b", "?"), "http://x?");
        assert_eq!(resolved("http://x#b", ""), "http://x#b");
        assert_eq!(resolved("http://x/a", "//y/b"), "http://y/b");
        assert_eq!(resolved("", "other.json"), "/other.json");
        assert_eq!(resolved("urn:a:b", "#c"), "urn:a:b#c");
    }

    #[test]
    fn what_go_refuses_is_refused_in_its_words() {
        for (text, reason) in [
            ("%zz", r#"parse "%zz": invalid URL escape "%zz""#),
            (":a", r#"parse ":a": missing protocol scheme"#),
            ("1a:b", r#"parse "1a:b": first path segment in URL cannot contain colon"#),
            ("http://x:y/", r#"parse "http://x:y/": invalid port ":y" after host"#),
            ("http://a b/", r#"parse "http://a b/": invalid character " " in host name"#),
            ("#%2", r##"parse "#%2": invalid URL escape "%2""##),
        ] {
            assert_eq!(Url::parse(text).unwrap_err().to_string(), reason);
        }
        assert_eq!(Url::parse_request_uri("").unwrap_err().to_string(), r#"parse "": empty url"#);
        assert_eq!(
            Url::parse_request_uri("a").unwrap_err().to_string(),
            r#"parse "a": invalid URI for request"#
        );
    }

    #[test]
    fn queries_are_escaped_and_read() {
        assert_eq!(query_escape("a b&é"), "a+b%26%C3%A9");
        assert_eq!(query_unescape("a+b%26%C3%A9").unwrap(), "a b&é");
        let url = Url::parse("http://x/?a=1&b;c=2&a=%zz&d").unwrap();
        assert_eq!(
            parse_query("a=%zz&b;c").next(),
            Some(Err(GoError(r#"invalid URL escape "%zz""#.to_owned())))
        );
        assert_eq!(url.query(), [("a".to_owned(), "1".to_owned()), ("d".to_owned(), String::new())]);
    }
}
