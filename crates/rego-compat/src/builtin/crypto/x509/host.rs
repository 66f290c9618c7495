//! Names and addresses of hosts: which are well formed, and which stand for one another.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns an address of version 4 or 6; one of version 4 is one however it is held.
pub(super) fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).map(|four| IpAddr::V4(Ipv4Addr::from(four))).ok();
    four.or_else(|| <[u8; 16]>::try_from(bytes).map(|six| Ipv6Addr::from(six).to_canonical()).ok())
}

/// Returns true if a certificate's name, which may begin with an asterisk, stands for a host.
pub(super) fn matches(pattern: &str, host: &str) -> bool {
    if !is_host(host.strip_suffix('.').unwrap_or(host), false) || !is_host(pattern, true) {
        return !matches!(pattern, "" | ".") && pattern.eq_ignore_ascii_case(host);
    }
    let host = host.strip_suffix('.').unwrap_or(host);
    let (pattern, host): (Vec<&str>, Vec<&str>) = (pattern.split('.').collect(), host.split('.').collect());
    let same = |(place, (pattern, host)): (usize, (&&str, &&str))| {
        (place == 0 && *pattern == "*") || pattern.eq_ignore_ascii_case(host)
    };
    pattern.len() == host.len() && pattern.iter().zip(&host).enumerate().all(same)
}

fn is_host(text: &str, is_pattern: bool) -> bool {
    let label = |(place, label): (usize, &str)| {
        let star = is_pattern && place == 0 && label == "*";
        let letters = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        star || (!label.is_empty() && !label.starts_with('-') && label.bytes().all(letters))
    };
    text != "*" && text.split('.').enumerate().all(label)
}

/// Returns true if bytes are the name of a host or, with a point in front, of a domain.
pub(super) fn is_domain(name: &[u8], constraint: bool) -> bool {
    if name.is_empty() {
        return true;
    }
    let bare = name.strip_prefix(b".").filter(|_| constraint).unwrap_or(name);
    name.last() != Some(&b'.')
        && bare.iter().all(u8::is_ascii_graphic)
        && bare.split(|byte| *byte == b'.').all(|label| !label.is_empty())
}
