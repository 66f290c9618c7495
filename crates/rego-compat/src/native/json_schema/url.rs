//! References between schemas, as Go's `net/url` reads, resolves and writes them.
//!
//! Only what a reference needs: users and hosts are kept as they stand.

/// A URL or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Url {
    pub(super) scheme: String,
    opaque: String,
    /// What follows `//`.
    authority: Option<String>,
    /// Not decoded.
    path: String,
    query: Option<String>,
    /// Decoded.
    pub(super) fragment: String,
}

impl Url {
    /// Reads a URL, or says in Go's words why it is none.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let fault = |reason: String| format!("parse {text:?}: {reason}");
        Self::read(text).map_err(fault)
    }

    fn read(text: &str) -> Result<Self, String> {
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = Self { fragment: decoded(fragment)?, ..Self::default() };
        if before == "*" {
            url.path = "*".to_owned();
            return Ok(url);
        }
        let (scheme, rest) = scheme(before)?;
        url.scheme = scheme.to_ascii_lowercase();
        let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
        url.query = query.map(str::to_owned);
        url.place(rest)?;
        Ok(url)
    }

    /// Reads what is between the scheme and the query.
    fn place(&mut self, rest: &str) -> Result<(), String> {
        if !rest.starts_with('/') {
            if !self.scheme.is_empty() {
                self.opaque = rest.to_owned();
                return Ok(());
            }
            if rest.split('/').next().is_some_and(|first| first.contains(':')) {
                return Err("first path segment in URL cannot contain colon".to_owned());
            }
        }
        let mut path = rest;
        if let Some(after) = rest.strip_prefix("//")
            && (!self.scheme.is_empty() || !rest.starts_with("///"))
        {
            let end = after.find('/').unwrap_or(after.len());
            let (authority, rest) = after.split_at_checked(end).unwrap_or((after, ""));
            check_authority(authority)?;
            self.authority = Some(authority.to_owned());
            path = rest;
        }
        decoded(path)?;
        self.path = path.to_owned();
        Ok(())
    }

    /// Whether it says which document is meant without another URL.
    pub(super) fn is_canonical(&self) -> bool {
        match self.scheme.as_str() {
            "file" => self.path.starts_with('/'),
            "" => false,
            _ => self.authority.as_ref().is_some_and(|authority| !authority.is_empty()),
        }
    }

    /// The path without escapes.
    pub(super) fn decoded_path(&self) -> String {
        decoded(&self.path).unwrap_or_default()
    }

    pub(super) fn without_fragment(&self) -> Self {
        Self { fragment: String::new(), ..self.clone() }
    }

    /// What a reference means beside this one, whose fragment does not count.
    pub(super) fn resolve(&self, reference: &Self) -> Self {
        let mut url = reference.clone();
        if reference.scheme.is_empty() {
            url.scheme.clone_from(&self.scheme);
        }
        let has_authority = reference.authority.as_ref().is_some_and(|authority| !authority.is_empty());
        if !reference.scheme.is_empty() || has_authority {
            url.path = resolved_path(&reference.path, "");
            return url;
        }
        if reference.path.is_empty() && reference.query.is_none() {
            url.query.clone_from(&self.query);
        }
        if reference.path.is_empty() && !self.opaque.is_empty() {
            url.opaque.clone_from(&self.opaque);
            (url.authority, url.path) = (None, String::new());
            return url;
        }
        // What is joined has a place for a host, even an empty one.
        url.authority = Some(self.authority.clone().unwrap_or_default());
        url.path = resolved_path(&self.path, &reference.path);
        url
    }
}

impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.scheme.is_empty() {
            write!(f, "{}:", self.scheme)?;
        }
        if self.opaque.is_empty() {
            match &self.authority {
                Some(authority)
                    if !authority.is_empty() || !(self.scheme.is_empty() || self.path.is_empty()) =>
                {
                    write!(f, "//{authority}")?
                }
                _ => {}
            }
            f.write_str(&encoded(&self.decoded_path(), "$&+,/:;=@"))?;
        } else {
            f.write_str(&self.opaque)?;
        }
        if let Some(query) = &self.query {
            write!(f, "?{query}")?;
        }
        if !self.fragment.is_empty() {
            write!(f, "#{}", encoded(&self.fragment, "$&+,/:;=@?!()*"))?;
        }
        Ok(())
    }
}

/// The scheme before the first colon, and what follows it.
fn scheme(text: &str) -> Result<(&str, &str), String> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok(text.split_once(':').unwrap_or(("", text))),
            _ => break,
        }
    }
    Ok(("", text))
}

fn check_authority(authority: &str) -> Result<(), String> {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let name = match host.strip_prefix('[') {
        Some(inside) => {
            let (_, after) = inside.split_once(']').ok_or("missing ']' in host")?;
            check_port(after)?;
            return Ok(());
        }
        None => match host.rfind(':').and_then(|at| host.split_at_checked(at)) {
            Some((name, port)) => {
                check_port(port)?;
                name
            }
            None => host,
        },
    };
    match name.chars().find(|character| " \\^`{|}".contains(*character)) {
        Some(bad) => Err(format!("invalid character {:?} in host name", bad.to_string())),
        None => decoded(name).map(drop),
    }
}

fn check_port(port: &str) -> Result<(), String> {
    let digits = port.strip_prefix(':').unwrap_or("");
    if (port.is_empty() || port.starts_with(':')) && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        Ok(())
    } else {
        Err(format!("invalid port {port:?} after host"))
    }
}

/// A text without its escapes.
fn decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digit = |at: usize| after.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        let (Some(high), Some(low)) = (digit(0), digit(1)) else {
            let escape: Vec<u8> = std::iter::once(b'%').chain(after.iter().copied().take(2)).collect();
            return Err(format!("invalid URL escape {:?}", String::from_utf8_lossy(&escape)));
        };
        bytes.push(u8::try_from(high.saturating_mul(16).saturating_add(low)).unwrap_or(b'%'));
        rest = after.get(2..).unwrap_or(&[]);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn encoded(text: &str, allowed: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        let plain =
            byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || allowed.as_bytes().contains(&byte);
        if plain {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// A path beside another, without its steps back.
fn resolved_path(base: &str, reference: &str) -> String {
    let full = match base.rsplit_once('/') {
        _ if reference.is_empty() => base.to_owned(),
        _ if reference.starts_with('/') => reference.to_owned(),
        Some((folder, _)) => format!("{folder}/{reference}"),
        None => reference.to_owned(),
    };
    if full.is_empty() {
        return full;
    }
    let mut steps: Vec<&str> = Vec::new();
    let mut last = "";
    for step in full.strip_prefix('/').unwrap_or(&full).split('/') {
        last = step;
        match step {
            "." => {}
            ".." => drop(steps.pop()),
            other => steps.push(other),
        }
    }
    if matches!(last, "." | "..") {
        steps.push("");
    }
    format!("/{}", steps.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(base: &str, reference: &str) -> String {
        Url::parse(base).unwrap().resolve(&Url::parse(reference).unwrap()).to_string()
    }

    #[test]
    fn references_are_resolved_as_in_go() {
        assert_eq!(resolved("", "#/definitions/a b"), "#/definitions/a%20b");
        assert_eq!(resolved("", "#"), "");
        assert_eq!(resolved("http://x/a/b.json", "c.json#d"), "http://x/a/c.json#d");
        assert_eq!(resolved("http://x/a/b.json", "/c"), "http://x/c");
        assert_eq!(resolved("http://x/a/b.json", "../../c/./d/.."), "http://x/c/");
        assert_eq!(resolved("http://x", "#a"), "http://x#a");
        assert_eq!(resolved("http://x/a", "//y/b"), "http://y/b");
        assert_eq!(resolved("", "other.json"), "/other.json");
        assert_eq!(resolved("urn:a:b", "#c"), "urn:a:b#c");
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for text in ["%zz", ":a", "a:b:c/d\n", "1a:b", "http://x:y/", "#%2"] {
            assert!(Url::parse(text).is_err(), "{text}");
        }
    }
}
