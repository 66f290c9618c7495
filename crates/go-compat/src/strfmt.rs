//! `k8s.io/kube-openapi/pkg/validation/strfmt`: the formats of strings that Kubernetes validates.
//!
//! It is Go's library of that name with Kubernetes' additions. The API server checks the keyword `format` of a schema with
//! it, and CEL's named formats `byte`, `date`, `datetime`, `uri` and `uuid` are its own.

use std::sync::LazyLock;

use regex::Regex;

use crate::time::Time;
use crate::url::Url;
use crate::{duration, mail, net};

/// Returns the result of `Registry.Validates`: true if the string has the format; `None` for a format that the
/// registry does not contain. Dashes in the name of a format make no difference.
#[must_use]
pub fn validates(format: &str, text: &str) -> Option<bool> {
    Some(match format.replace('-', "").as_str() {
        "bsonobjectid" => text.len() == 24 && text.chars().all(|c| c.is_ascii_hexdigit()),
        "byte" => is_base64(text),
        "cidr" => net::parse_cidr_sloppy(text).is_some(),
        "creditcard" => is_credit_card(text),
        "date" => is_date(text),
        "datetime" => is_date_time(text),
        "duration" => is_duration(text),
        "email" => mail::is_address(text),
        "hexcolor" => is_hex_color(text),
        "hostname" => is_hostname(text),
        "ipv4" => text.contains('.') && net::parse_ip_sloppy(text).is_some(),
        "ipv6" => text.contains(':') && net::parse_ip(text).is_some(),
        "isbn" => is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10(text),
        "isbn13" => is_isbn13(text),
        "mac" => is_mac(text),
        "password" => true,
        "rgbcolor" => run(&RGB, text),
        "ssn" => text.len() == 11 && run(&SSN, text),
        "uri" => Url::parse_request_uri(text).is_ok(),
        "uuid" => is_uuid(text, None),
        "uuid3" => is_uuid(text, Some('3')),
        "uuid4" => is_uuid(text, Some('4')),
        "uuid5" => is_uuid(text, Some('5')),
        "k8sshortname" => text.len() <= 63 && run(&SHORT_NAME, text),
        "k8slongname" => text.len() <= 253 && text.split('.').all(|part| run(&SHORT_NAME, part)),
        _ => return None,
    })
}

type Pattern = LazyLock<Option<Regex>>;

static RGB: Pattern = LazyLock::new(|| {
    let channel = "[\\t\\n\\f\\r ]*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\\t\\n\\f\\r ]*";
    Regex::new(&format!(r"^rgb\({channel},{channel},{channel}\)$")).ok()
});
static SSN: Pattern = LazyLock::new(|| Regex::new("^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$").ok());
static SHORT_NAME: Pattern = LazyLock::new(|| Regex::new("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$").ok());
static CARD: Pattern = LazyLock::new(|| {
    Regex::new(
        "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}\
         |(?:2131|1800|35[0-9]{3})[0-9]{11})$",
    )
    .ok()
});
static DURATION: Pattern = LazyLock::new(|| Regex::new(r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)").ok());
static TIME: Pattern = LazyLock::new(|| {
    Regex::new("^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$").ok()
});
static HOSTNAME: Pattern = LazyLock::new(|| {
    let inner = r"[a-zA-Z0-9\p{S}\p{L}]";
    Regex::new(&format!(
        r"^({inner}((-?{inner}{{0,62}})?)|({inner}(([a-zA-Z0-9\-\p{{S}}\p{{L}}]{{0,61}}{inner})?)(\.)){{1,}}([a-zA-Z\p{{L}}]){{2,63}})$"
    ))
    .ok()
});

/// The patterns are constants, and a test compiles all of them.
fn run(pattern: &Pattern, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let padding = text.len().saturating_sub(body.len());
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && padding <= 2
        && body.chars().all(|c| c.is_ascii_alphanumeric() || c == '+' || c == '/')
}

fn is_credit_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let plain: String = text.chars().filter(char::is_ascii_digit).collect();
    let weighted = |(place, digit): (usize, &u32)| match (place.is_multiple_of(2), digit) {
        (true, digit) => *digit,
        (false, digit @ 0..=4) => digit.saturating_mul(2),
        (false, digit) => digit.saturating_mul(2).saturating_sub(9),
    };
    run(&CARD, &plain) && digits.iter().rev().enumerate().map(weighted).sum::<u32>().is_multiple_of(10)
}

fn is_date(text: &str) -> bool {
    Time::parse("2006-01-02", text).is_ok()
}

fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    let field = |from: usize, to: usize| time.get(from..to).unwrap_or_default();
    text.len() >= 4
        && is_date(date)
        && run(&TIME, time)
        && field(0, 2) <= "23"
        && field(3, 5) <= "59"
        && field(6, 8) <= "59"
}

/// Returns true for what `time.ParseDuration` reads, and for at least one number with a unit in the manner of Scala
/// (`3 days`), among anything.
fn is_duration(text: &str) -> bool {
    const LONG: [&str; 8] = ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"];
    const SHORT: [&str; 11] = ["ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"];
    if duration::parse(text).is_some() {
        return true;
    }
    let Some(pattern) = DURATION.as_ref() else { return false };
    let known = |unit: &str| SHORT.contains(&unit) || LONG.iter().any(|long| unit.starts_with(long));
    let mut found = false;
    for capture in pattern.captures_iter(text) {
        let group = |number: usize| capture.get(number).map_or("", |group| group.as_str());
        if group(1).parse::<i64>().is_err() {
            return false;
        }
        found |= known(&group(2).to_lowercase());
    }
    found
}

fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.chars().all(|c| c.is_ascii_hexdigit())
}

/// RFC 1034 names, with letters and symbols of any script; a single label may not end with a dash either.
fn is_hostname(text: &str) -> bool {
    run(&HOSTNAME, text) && text.len() <= 255 && text.split('.').all(|part| part.len() <= 63)
}

fn is_isbn10(text: &str) -> bool {
    let digits: Vec<char> = text.chars().filter(|c| !c.is_ascii_whitespace() && *c != '-').collect();
    let value = |(place, c): (usize, &char)| match c {
        'X' if place == 9 => Some(10),
        c => c.to_digit(10),
    };
    let values: Option<Vec<u32>> = digits.iter().enumerate().map(value).collect();
    let Some(values) = values.filter(|values| values.len() == 10) else {
        return false;
    };
    (1_u32..)
        .zip(&values)
        .map(|(weight, value)| weight.saturating_mul(*value))
        .sum::<u32>()
        .is_multiple_of(11)
}

fn is_isbn13(text: &str) -> bool {
    let digits = text.chars().filter(|c| !c.is_ascii_whitespace() && *c != '-').map(|c| c.to_digit(10));
    let Some(values) = digits.collect::<Option<Vec<u32>>>().filter(|values| values.len() == 13) else {
        return false;
    };
    let weighted = |(weight, value): (u32, &u32)| weight.saturating_mul(*value);
    [1, 3].into_iter().cycle().zip(&values).map(weighted).sum::<u32>().is_multiple_of(10)
}

/// Six, eight or twenty bytes, by colons or dashes in pairs or by dots in fours.
fn is_mac(text: &str) -> bool {
    let separator = text.chars().find(|c| !c.is_ascii_hexdigit());
    let (Some(separator @ (':' | '-' | '.')), width) =
        (separator, if separator == Some('.') { 4 } else { 2 })
    else {
        return false;
    };
    let parts: Vec<&str> = text.split(separator).collect();
    let bytes = parts.len().saturating_mul(width).checked_div(2).unwrap_or_default();
    matches!(bytes, 6 | 8 | 20)
        && parts.iter().all(|part| part.len() == width && part.chars().all(|c| c.is_ascii_hexdigit()))
}

/// Hexadecimal digits in groups, with or without dashes; the version is the first digit of the third group.
fn is_uuid(text: &str, version: Option<char>) -> bool {
    let mut digits = Vec::new();
    for (place, c) in text.char_indices() {
        match c {
            '-' if matches!(digits.len(), 8 | 12 | 16 | 20)
                && !text.get(..place).is_some_and(|text| text.ends_with('-')) => {}
            c if c.is_ascii_hexdigit() => digits.push(c.to_ascii_lowercase()),
            _ => return false,
        }
    }
    let at = |place: usize| digits.get(place).copied();
    let variant = !matches!(version, Some('4' | '5')) || matches!(at(16), Some('8' | '9' | 'a' | 'b'));
    digits.len() == 32 && variant && version.is_none_or(|version| at(12) == Some(version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(format: &str, good: &[&str], bad: &[&str]) {
        for text in good {
            assert_eq!(validates(format, text), Some(true), "{format}: {text:?} should pass");
        }
        for text in bad {
            assert_eq!(validates(format, text), Some(false), "{format}: {text:?} should fail");
        }
    }

    #[test]
    fn all_patterns_compile() {
        for pattern in [&RGB, &SSN, &SHORT_NAME, &CARD, &DURATION, &TIME, &HOSTNAME] {
            assert!(pattern.is_some());
        }
    }

    #[test]
    fn addresses() {
        check("ipv4", &["1.2.3.4", "010.0.0.1"], &["1.2.3", "1.2.3.256", "::1", "zzz", ""]);
        check("ipv6", &["::1", "fe80::1"], &["1.2.3.4", "fe80::1%eth0", "x:"]);
        check("cidr", &["10.0.0.0/8", "::/0"], &["10.0.0.0", "10.0.0.0/33", "x/1", "10.0.0.0/"]);
        check(
            "mac",
            &["01:23:45:67:89:ab", "0123.4567.89ab", "01-23-45-67-89-ab-cd-ef"],
            &["01:23", "0123:4567:89ab", ""],
        );
        check(
            "hostname",
            &["a", "example.com", "a-b.example.com"],
            &["", "-a", "a..b", "exa_mple.com", "example.c1"],
        );
        check(
            "uri",
            &["http://a/b?c", "/x", "mailto:x", "*"],
            &["", "a", "http://a b/", "/%zz", "http://a:b/"],
        );
        check("ipv4", &["::ffff:010.0.0.1"], &[]);
        check("email", &["Name <a@b>", "\"x y\"@b", "a@[1.2.3.4]"], &["\"\"@b", "a@[x]", "<a@b", "a@b>"]);
        check("email", &["a@b", "A <a.b@c.de>"], &["a", "@b", "a@", "a b@c"]);
    }

    #[test]
    fn times() {
        check(
            "date",
            &["2024-02-29", "2000-02-29"],
            &["2023-02-29", "1900-02-29", "2024-1-01", "2024-13-01"],
        );
        check(
            "date-time",
            &["2014-12-15T19:30:20.000Z", "2014-12-15t19:30:20+01:00"],
            &["2014-12-15", "2014-12-15T24:00:00Z"],
        );
        check("duration", &["9999999h", "1d and 2 weeks"], &["99999999999999999999h", "1 .m", "-1"]);
        check("duration", &["1h30m", "22 ns", "3 days", "0", "1.5s"], &["", "x", "3 apples", "1"]);
    }

    #[test]
    fn numbers_of_things() {
        check("isbn", &["0321751043", "978-0321751041"], &["0321751044", "x"]);
        check("creditcard", &["4111 1111 1111 1111"], &["4111111111111112", ""]);
        check(
            "uuid",
            &["A8098C1A-F86E-11DA-BD1A-00112444BE1E", "a8098c1af86e11dabd1a00112444be1e"],
            &["a8098c1a", "a8098c1a--f86e-11da-bd1a-00112444be1e"],
        );
        check(
            "uuid4",
            &["025b0d74-00a2-4048-bf57-227c5111bb34"],
            &["025b0d74-00a2-5048-bf57-227c5111bb34", "025b0d74-00a2-4048-0f57-227c5111bb34"],
        );
        check("ssn", &["111-11-1111"], &["1111111111", "x"]);
        check("byte", &["YQ==", "YWJj"], &["", "YQ=", "Y Q="]);
        check("hexcolor", &["#FFF", "a1b2c3"], &["#FFFF", "#ggg"]);
        check("rgbcolor", &["rgb(255,0,12)"], &["rgb(256,0,0)", "rgb(1,2)"]);
        check("k8s-short-name", &["a-b"], &["a.b", "-a", "A"]);
    }

    #[test]
    fn an_unknown_format_is_not_validated() {
        assert_eq!(validates("uint32", "x"), None);
    }
}
