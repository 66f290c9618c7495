//! `format`: what strings of each format look like to the library, which asks Go's packages. Unknown formats fit all.

mod mail;
mod time;

use std::net::IpAddr;

use crate::builtins::pattern;

use super::url::Url;

const HOSTNAME: &str = r"^([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9\-]{0,61}[a-zA-Z0-9])(\.([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9\-]{0,61}[a-zA-Z0-9]))*$";
const UUID: &str = "^(?i)[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}$";
const POINTER: &str = "^(?:/(?:[^~/]|~0|~1)*)*$";
const RELATIVE_POINTER: &str = "^(?:0|[1-9][0-9]*)(?:#|(?:/(?:[^~/]|~0|~1)*)*)$";
const TEMPLATE: &str = "^([^{]*({[^}]*})?)*$";

/// The longest name of a host.
const LONGEST_HOSTNAME: usize = 255;

/// Whether a string has a format.
pub(super) fn fits(format: &str, text: &str) -> bool {
    match format {
        "date" => time::is_date(text),
        "time" => time::is_time(text),
        "date-time" => time::is_date(text) || time::is_time(text) || time::is_date_time(text),
        "hostname" => text.len() <= LONGEST_HOSTNAME && matches(HOSTNAME, text),
        "email" | "idn-email" => mail::is_address(text),
        "ipv4" => text.contains('.') && text.parse::<IpAddr>().is_ok(),
        "ipv6" => text.contains(':') && text.parse::<IpAddr>().is_ok(),
        "uri" | "iri" => url(text).is_some_and(|url| !url.scheme.is_empty()),
        "uri-reference" | "iri-reference" => url(text).is_some(),
        "uri-template" => url(text).is_some_and(|url| matches(TEMPLATE, &url.decoded_path())),
        "uuid" => matches(UUID, text),
        "regex" => text.is_empty() || pattern::is_valid(text),
        "json-pointer" => matches(POINTER, text),
        "relative-json-pointer" => matches(RELATIVE_POINTER, text),
        _ => true,
    }
}

fn matches(expression: &str, text: &str) -> bool {
    pattern::weighed(expression).is_ok_and(|pattern| pattern.regex.is_match(text))
}

fn url(text: &str) -> Option<Url> {
    if text.contains('\\') { None } else { Url::parse(text).ok() }
}
