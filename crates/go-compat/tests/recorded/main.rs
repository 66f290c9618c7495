//! The answers of Go 1.26 in `calls.jsonl`: calls of each function that this crate follows, and the same calls with a
//! damaged argument.
//!
//! An answer is `null` where Go returns an error. Rows are written by
//! `UPDATE_RECORDINGS=1 cargo test -p conformance --test recordings`, which needs Go; this test does not.

#![allow(clippy::expect_used, clippy::panic, reason = "a test says no by panicking")]

use std::collections::BTreeSet;

use go_compat::fmt::{Arg, sprintf};
use go_compat::json::{self, FromJson, decode};
use go_compat::net::{Cidr, ip_string, parse_ip};
use go_compat::netip::Prefix;
use go_compat::time::Time;
use go_compat::url::{Url, query_escape, query_unescape};
use go_compat::{base64, duration, filepath, mail, regexp, sigs_yaml, strconv, utf8};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct Row {
    call: String,
    args: Vec<String>,
    answer: Option<String>,
}

/// Differs on purpose: libyaml-safer refuses two tags on one node, where Go's port takes the first.
const DIVERGENT: &str = "!\n!str 1\n";

/// A document of which only the form counts.
struct Form;

impl FromJson for Form {
    type Key = ();
    fn null() -> Self {
        Self
    }
    fn bool(_: bool) -> Self {
        Self
    }
    fn number(text: &str) -> Option<Self> {
        text.parse::<f64>().ok().filter(|number| number.is_finite()).map(|_| Self)
    }
    fn string(_: &str) -> Self {
        Self
    }
    fn key(_: &str) -> Self::Key {}
    fn array(_: Vec<Self>) -> Self {
        Self
    }
    fn object(_: Vec<(Self::Key, Self)>) -> Self {
        Self
    }
}

fn valid(is_valid: bool) -> Option<String> {
    is_valid.then(|| "valid".to_owned())
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = hex.chars().map(|c| c.to_digit(16)?.try_into().ok()).collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty()
        .then(|| pairs.iter().map(|[high, low]| high.wrapping_mul(16).wrapping_add(*low)).collect())
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn format_float(number: &str, format: &str, precision: &str) -> Option<String> {
    let number: f64 = number.parse().ok()?;
    let format = format.parse().ok().filter(|format| "beEfgGxX".contains(*format))?;
    let precision: i64 = precision.parse().ok()?;
    Some(strconv::format_float(number, format, usize::try_from(precision).ok()))
}

fn formatted(format: &str, whole: &str, text: &str, number: &str) -> Option<String> {
    let args =
        [Arg::Int(whole.parse().ok()?), Arg::String(text.to_owned()), Arg::Float(number.parse().ok()?)];
    sprintf(format, &args, usize::MAX)
}

fn split(pattern: &str, text: &str) -> Option<String> {
    let compiled = regexp::compile(pattern).ok()?;
    Some(regexp::split(text, pattern, &compiled.regex).collect::<Vec<_>>().join("\n"))
}

fn parts(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    let (host, port) = url.hostname_and_port();
    let (host, port) = (utf8::lossy(host), utf8::lossy(port));
    let parts = [&url.scheme, &url.opaque, &host, &port, &url.escaped_path(), &url.raw_query];
    Some(format!("{}\n{}", parts.map(String::as_str).join("\n"), url.escaped_fragment()))
}

/// One document, and what it is in JSON; nothing where there is none.
fn json_of(text: &str) -> Option<String> {
    let documents = sigs_yaml::documents(text).ok()?;
    Some(documents.first().map_or_else(|| "null".to_owned(), |document| json::marshal(&document.value)))
}

fn ours(call: &str, args: &[&str]) -> Option<String> {
    match (call, args) {
        ("strconv.Quote", [text]) => Some(strconv::quote(text)),
        ("strconv.QuoteToASCII", [text]) => Some(strconv::quote_to_ascii(text)),
        ("strconv.CanBackquote", [text]) => Some(strconv::can_backquote(text).to_string()),
        ("strconv.FormatFloat", [number, format, precision]) => format_float(number, format, precision),
        ("fmt.Sprintf", [format, whole, text, number]) => formatted(format, whole, text, number),
        ("regexp.Compile", [pattern]) => valid(regexp::is_valid(pattern)),
        ("Regexp.Split", [pattern, text]) => split(pattern, text),
        ("regexp.QuoteMeta", [text]) => Some(regexp::quote_meta(text)),
        ("time.ParseDuration", [text]) => duration::parse(text).map(duration::format),
        ("time.Parse", [layout, text]) => {
            let time = Time::parse(layout, text).ok()?;
            Some(format!("{} {} {}", time.seconds, time.nanos, time.offset))
        }
        ("Time.Format", [seconds, layout]) => {
            Some(Time { seconds: seconds.parse().ok()?, nanos: 0, offset: 0 }.format(layout, "UTC"))
        }
        ("net.ParseIP", [text]) => parse_ip(text).map(ip_string),
        ("net.ParseCIDR", [text]) => Cidr::parse(text).ok().map(|network| network.to_string()),
        ("filepath.Match", [pattern, name]) => {
            filepath::matches(pattern.as_bytes(), name.as_bytes()).ok().map(|matches| matches.to_string())
        }
        ("netip.ParsePrefix", [text]) => {
            Prefix::parse(text).map(|prefix| format!("{prefix} {}", prefix.masked()))
        }
        ("url.Parse", [text]) => parts(text),
        ("url.QueryEscape", [text]) => Some(query_escape(text)),
        ("url.QueryUnescape", [text]) => query_unescape(text).ok(),
        ("mail.ParseAddress", [text]) => valid(mail::is_address(text)),
        ("json.Unmarshal", [text]) => valid(decode::<Form>(text).is_ok()),
        ("base64.StdEncoding", [digits]) => base64::decode(digits.as_bytes()).map(|bytes| hex_of(&bytes)),
        ("range", [hex]) => bytes_of(hex).map(|bytes| utf8::lossy(&bytes)),
        ("yaml.YAMLToJSON", [text]) => json_of(text),
        _ => panic!("{call} of {args:?}"),
    }
}

#[test]
fn calls_answer_as_in_go() {
    let recorded = include_str!("calls.jsonl");
    let rows: Vec<Row> = recorded.lines().map(|line| serde_json::from_str(line).expect("a row")).collect();
    let difference = |row: &Row| {
        if row.args == [DIVERGENT] {
            return None;
        }
        let ours = ours(&row.call, &row.args.iter().map(String::as_str).collect::<Vec<_>>());
        (ours != row.answer).then(|| format!("{row:?}\n    ours: {ours:?}"))
    };
    let differences: Vec<String> = rows.iter().filter_map(difference).collect();
    assert!(
        differences.is_empty(),
        "{} of {} differ:\n{}",
        differences.len(),
        rows.len(),
        differences.join("\n")
    );
    let functions: BTreeSet<&str> = rows.iter().map(|row| row.call.as_str()).collect();
    let answered = rows.iter().filter(|row| row.answer.is_some()).count();
    assert!(functions.len() >= 20 && answered > rows.len() / 2, "{answered} of {} are answered", rows.len());
}
