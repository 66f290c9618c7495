//! `format`: what strings of each format look like to the library, which asks Go's packages. Unknown formats fit all.

use go_compat::net::parse_ip;
use go_compat::time::{RFC3339, Time};
use go_compat::url::Url;
use go_compat::{mail, regexp, utf8};

const HOSTNAME: &str = r"^([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9\-]{0,61}[a-zA-Z0-9])(\.([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9\-]{0,61}[a-zA-Z0-9]))*$";
const UUID: &str = "^(?i)[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}$";
const POINTER: &str = "^(?:/(?:[^~/]|~0|~1)*)*$";
const RELATIVE_POINTER: &str = "^(?:0|[1-9][0-9]*)(?:#|(?:/(?:[^~/]|~0|~1)*)*)$";
const TEMPLATE: &str = "^([^{]*({[^}]*})?)*$";

const DATES: [&str; 1] = ["2006-01-02"];
const TIMES: [&str; 2] = ["15:04:05", "15:04:05Z07:00"];

/// The longest name of a host.
const LONGEST_HOSTNAME: usize = 255;

/// Returns true if a string has a format.
pub(super) fn fits(format: &str, text: &str) -> bool {
    match format {
        "date" => has_layout(&DATES, text),
        "time" => has_layout(&TIMES, text),
        "date-time" => [&DATES[..], &TIMES, &[RFC3339]].iter().any(|layouts| has_layout(layouts, text)),
        "hostname" => text.len() <= LONGEST_HOSTNAME && matches(HOSTNAME, text),
        "email" | "idn-email" => mail::is_address(text),
        "ipv4" => text.contains('.') && parse_ip(text).is_some(),
        "ipv6" => text.contains(':') && parse_ip(text).is_some(),
        "uri" | "iri" => url(text).is_some_and(|url| !url.scheme.is_empty()),
        "uri-reference" | "iri-reference" => url(text).is_some(),
        "uri-template" => url(text).is_some_and(|url| matches(TEMPLATE, &utf8::lossy(&url.path))),
        "uuid" => matches(UUID, text),
        "regex" => text.is_empty() || regexp::is_valid(text),
        "json-pointer" => matches(POINTER, text),
        "relative-json-pointer" => matches(RELATIVE_POINTER, text),
        _ => true,
    }
}

fn has_layout(layouts: &[&str], text: &str) -> bool {
    layouts.iter().any(|layout| Time::parse(layout, text).is_ok())
}

/// The patterns are constants, and a test compiles all of them.
fn matches(expression: &str, text: &str) -> bool {
    regexp::compile(expression).is_ok_and(|pattern| pattern.regex.is_match(text))
}

fn url(text: &str) -> Option<Url> {
    if text.contains('\\') { None } else { Url::parse(text).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_patterns_compile() {
        for pattern in [HOSTNAME, TEMPLATE, UUID, POINTER, RELATIVE_POINTER] {
            assert!(regexp::is_valid(pattern), "{pattern}");
        }
    }
}
