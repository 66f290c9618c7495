//! Arguments that a function was made for. Random values of the right type seldom are: layouts, documents, addresses.
//!
//! What a function takes is in OPA's declarations; this only adds what they cannot say.

mod certificate;

use serde_json::{Value as Json, json};

use crate::random::Random;

/// An argument for the place `index` of a function, if there is a better one than any value of its type.
pub fn fitting(name: &str, index: usize, random: &mut Random) -> Option<Json> {
    match (name, index) {
        ("time.parse_ns", 0) => Some(Json::String(layout(random))),
        ("time.parse_ns" | "time.parse_rfc3339_ns", _) => Some(Json::String(dated(random))),
        ("time.add_date", 1..) => {
            Some(number(random.pick(&["0", "1", "-1", "13", "-14", "31", "-400", "1000"])))
        }
        ("time.format" | "time.add_date" | "time.clock" | "time.date" | "time.diff" | "time.weekday", _) => {
            Some(moment(random))
        }
        ("uri.parse" | "uri.is_valid", 0) => Some(Json::String(address(random))),
        ("yaml.unmarshal" | "yaml.is_valid", 0) => Some(Json::String(document(random))),
        ("yaml.marshal", 0) => Some(plain(random, 3)),
        ("json.patch", 0) => Some(plain(random, 3)),
        ("json.patch", 1) => Some(patch(random)),
        ("providers.aws.sign_req", 0) => Some(request(random)),
        ("providers.aws.sign_req", 1) => Some(account(random)),
        ("providers.aws.sign_req", 2) => Some(instant(random)),
        _ if name.starts_with("crypto.") => certificate::fitting(name, index, random),
        _ => None,
    }
}

fn number(text: &str) -> Json {
    json!({ "n": text })
}

fn instant(random: &mut Random) -> Json {
    const WELL_KNOWN: &[&str] = &[
        "0",
        "1",
        "-1",
        "1582977600000000000",
        "9223372036854775807",
        "-9223372036854775808",
        "1.5",
        "1e18",
        "1585443600000000000",
        "1603584000123456789",
        "-3000000000000000000",
        "7000000000000000000",
        "9223372036854775808",
        "100",
        "1700000000120000000",
    ];
    if random.once_in(3) {
        return number(random.pick(WELL_KNOWN));
    }
    let sign = if random.once_in(4) { "-" } else { "" };
    let parts: String = (0..6).map(|_| format!("{:03}", random.below(1000))).collect();
    let text = parts.trim_start_matches('0');
    number(&format!("{sign}{}", if text.is_empty() { "1" } else { text }))
}

fn moment(random: &mut Random) -> Json {
    #[rustfmt::skip]
    const ZONES: &[&str] = &[
        "UTC", "", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe",
        "America/Sao_Paulo", "Africa/Casablanca", "Etc/GMT+7", "Nowhere/City", "Asia/Kathmandu",
        "Africa/Monrovia",
    ];
    let nanos = instant(random);
    match random.below(4) {
        0 => nanos,
        1 => json!([nanos, random.pick(ZONES)]),
        _ => json!([nanos, random.pick(ZONES), layout(random)]),
    }
}

fn some_of(random: &mut Random, parts: &[&str], most: usize) -> String {
    let count = random.below(most);
    (0..=count).map(|_| random.pick(parts)).collect()
}

fn layout(random: &mut Random) -> String {
    #[rustfmt::skip]
    const NAMED: &[&str] = &[
        "ANSIC", "UnixDate", "RubyDate", "RFC822", "RFC822Z", "RFC850", "RFC1123", "RFC1123Z", "RFC3339",
        "RFC3339Nano", "2006-01-02", "2006-01-02 15:04:05", "02 Jan 06 15:04 MST",
    ];
    #[rustfmt::skip]
    const PARTS: &[&str] = &[
        "2006", "06", "01", "1", "Jan", "January", "02", "2", "_2", "002", "__2", "15", "03", "3", "04", "4",
        "05", "5", "PM", "pm", "MST", "-0700", "-07:00", "-07", "-070000", "-07:00:00", "Z0700", "Z07:00",
        "Z07", "Z070000", "Z07:00:00", ".000", ",000", ".999", ",9", ".000000000", ".00000000000", "Mon",
        "Monday", " ", "-", ":", "T", "_2006", "Month", "é", ".", "0",
    ];
    if random.once_in(2) { random.pick(NAMED).to_owned() } else { some_of(random, PARTS, 6) }
}

fn dated(random: &mut Random) -> String {
    #[rustfmt::skip]
    const WHOLE: &[&str] = &[
        "Mon Jan  2 15:04:05 2006", "Sat Feb 29 12:00:00 CET 2020", "Sat Feb 29 12:00:00 +0100 2020",
        "29 Feb 20 12:34 MST", "29 Feb 69 12:34 -0700", "Saturday, 29-Feb-20 12:34:56 GMT",
        "Sat, 29 Feb 2020 12:34:56 GMT+3", "Sat, 29 Feb 2020 12:34:56 -0130", "2020-02-29T12:34:56Z",
        "2020-02-29T12:34:56.123456789123Z", "2020-02-29T12:34:56,5+02:00", "2020-02-30T12:34:56Z",
        "2019-02-29T12:34:56Z", "2020-02-29T24:00:00Z", "2020-02-29t12:34:56z", "2020-02-29T12:34:56+24:60",
        "2020-02-29T12:34:60Z", "2020-02-29", "2020-02-29 12:34:56", "2020-02-29 12:34:56.75", "2020-2-29",
        "1677-09-21T00:12:44Z", "2262-04-11T23:47:17Z", "0000-01-01T00:00:00Z", "29 Feb 20 12:34 WITA",
        "29 Feb 20 12:34 ChST", "29 Feb 20 12:34 +03", "29 Feb 20 12:34 UTC", "29 feb 20 12:34 ABCDE",
    ];
    #[rustfmt::skip]
    const PARTS: &[&str] = &[
        "2020", "20", "70", "02", "2", "12", "29", "Feb", "february", "060", " 60", "15", "03", "59", "PM",
        "am", "UTC", "CEST", "+0200", "-02:30", "Z", "+020304", ".125", ",5", " ", "-", ":", "T", "Sat",
        "Saturday", "é", "0",
    ];
    if random.once_in(4) { some_of(random, PARTS, 6) } else { random.pick(WHOLE).to_owned() }
}

fn address(random: &mut Random) -> String {
    #[rustfmt::skip]
    const PARTS: &[&str] = &[
        "https:", "http:", "HTTP:", "mailto:", "1a:", ":", "//", "/", "///", "a.b", "[::1]",
        "[fe80::1%25en0]", "[::1", "[1.2.3.4]", "[::ffff:1.2.3.4]", ":80", ":", ":8a", "u@", "u:p@",
        "u%41:p%zz@", "<@", "a b", "%41", "%2F", "%zz", "%", "é", "%C3%A9", "?", "a=b&c", "#", "frag%20x",
        "..", "*", "x!y'(z)", "\"", "\u{1}", "+", "a,b;c", "[x]", "host:1:2", "%E2%82", "~_-.",
    ];
    some_of(random, PARTS, 7)
}

fn document(random: &mut Random) -> String {
    #[rustfmt::skip]
    const SCALARS: &[&str] = &[
        "1", "01", "0o17", "0b101", "0x1F", "1_000", "1.50", ".5", "5.", "1e3", "-1", "+1", ".inf", ".nan",
        "yes", "on", "y", "true", "True", "null", "~", "2020-01-02", "2020-01-02T03:04:05Z", "12:30",
        "\"q\\tx\\u00e9\"", "'it''s'", "plain text", "!!str 1", "!!int \"3\"", "!!float 1", "!!binary YWI=",
        "!x y", "&a 1", "*a", "é", "- ", "18446744073709551615", "18446744073709551616",
        "-9223372036854775808", "1e400", "<<", "!!bool yes", "0.1", "1e21", "1e-7", "123456789.125", "# c",
        "@x", "`", "%a", "!!timestamp 2020-01-02", "! 1", "\"\\ud83d\\ude00\"", "-0", "0", "-0.0", "1e2",
        "0x", "08", "019", "0o8", "1__0", "_1", "!!null x", "!!map {}", "1:2", "a:b",
    ];
    #[rustfmt::skip]
    const FRAMES: &[&str] = &[
        "A", "a: A\n", "a: A\nb: A\n", "- A\n- A\n", "[A, A]", "{a: A, A: A}", "A: A\n",
        "a:\n  b: A\n  c: A\n", "a:\n- A\n- b: A\n", "--- A\n", "---\nA\n---\nA\n",
        "a: &x {b: A}\nc: {<<: *x, d: A}\n", "a: |\n  A\n  A\n", "a: >-\n  A\n  A\n", "  a:\nA: 1",
        "a: A\na: A\n", "? A\n: A\n", "A\n...\n", "a: [A\n]", "\ta: A", "a: 'A'", "a: \"A\"", "a: A # c\n",
        "&x [A, *x]", "<<: [{a: A}, {b: A}]\n", "<<: {a: A}\n<<: {a: 2}\n", "<<: {A: 1}\n", "c: &x {A: 1}\nd: {<<: *x, A: A}\n",
        "a: |\n  A\n    ", "a: |\n  A\n ", "a: |+\n  A\n\n  ", "a: >\n  A\n  A\n   ", "a: |\n  A\r", "<<: A\n", "", "# only\n",
        "a: A\r\nb: A\r\n", "\u{feff}a: A", "- - A\n  - A\n", "{\"a\": A}", "{a: A,}", "[A,, A]",
        "a: A\n b: A\n", "a:\n  A\n  A\n", "%YAML 1.1\n---\nA\n", "a: {b: A}\nA", "1: A\n\"1\": A\n",
        "1.5: A\nnull: A\n", "[A]: A\n",
    ];
    let frame = random.pick(FRAMES);
    let mut parts = frame.split('A');
    let first = parts.next().unwrap_or("").to_owned();
    parts.fold(first, |text, part| format!("{text}{}{part}", random.pick(SCALARS)))
}

/// A value of JSON with what needs quotes in YAML.
fn plain(random: &mut Random, depth: usize) -> Json {
    #[rustfmt::skip]
    const TEXTS: &[&str] = &[
        "", "a", "yes", "no", "y", "On", "true", "null", "~", "1", "01", "0x1f", "1_000", "1.5", ".5", "1e3",
        "-1", ".inf", "2020-01-02", "2020-01-02T03:04:05Z", "12:30", "12:30:45.5", "a b", " a", "a ", "a: b",
        "a:b", "a #b", "a#b", "#a", "- a", "-a", "-", "? a", "?a", "*a", "&a", "!a", "|", ">", "%a", "@a",
        "`a", "'a'", "\"a\"", "{a}", "[a]", "a,b", "a\nb", "a\nb\n", "a\n\n", "\n", "\na", " a\nb", "a \nb",
        "a\n b", "a\tb", "\ta", "a\r\nb", "é", "\u{1F600}", "\u{85}", "\u{a0}", "\u{2028}x", "\u{feff}a",
        "\u{0}", "\u{1b}", "\u{7f}", "---", "--- a", "...", "<<", "=", "a\\b", "it's", "a\n\tb", "a\n\u{1}b",
        "1:2", "+1", "0o17", "0b1", ":", ":a", "a:", "é: b", "a\n\nb\n", "<b>&",
    ];
    #[rustfmt::skip]
    const NUMBERS: &[&str] = &[
        "0", "-1", "1.0", "1.50", "1e3", "1e21", "1e-7", "0.1", "12345678901234567890",
        "123456789012345678901234567890", "9007199254740993", "-0", "1E2", "100000000000000000000", "3.0e-10",
        "123456789.123", "1e400",
    ];
    let kind = if depth == 0 { random.below(3) } else { random.below(6) };
    match kind {
        0 => json!(random.pick(TEXTS)),
        1 => number(random.pick(NUMBERS)),
        2 if random.once_in(3) => Json::Null,
        2 => Json::Bool(random.once_in(2)),
        3 => Json::Array((0..random.below(4)).map(|_| plain(random, depth.saturating_sub(1))).collect()),
        4 => {
            let pairs = (0..random.below(4))
                .map(|_| json!([random.pick(TEXTS), plain(random, depth.saturating_sub(1))]));
            json!({ "o": pairs.collect::<Vec<_>>() })
        }
        _ if random.once_in(2) => {
            json!({ "s": (0..random.below(4)).map(|_| plain(random, 0)).collect::<Vec<_>>() })
        }
        _ => {
            let names = ["a", "b", "c", "a1", "a10", "a2", "A", "a-b", "_"];
            let pairs = (0..random.below(5))
                .map(|_| json!([random.pick(&names), plain(random, depth.saturating_sub(1))]));
            json!({ "o": pairs.collect::<Vec<_>>() })
        }
    }
}

fn patch(random: &mut Random) -> Json {
    const OPERATIONS: &[&str] = &["add", "remove", "replace", "move", "copy", "test"];
    let count = random.below(4);
    let operations = (0..count).map(|_| {
        let mut fields = vec![json!(["op", random.pick(OPERATIONS)]), json!(["path", pointer(random)])];
        if !random.once_in(6) {
            fields.push(json!(["value", plain(random, 1)]));
        }
        if !random.once_in(6) {
            fields.push(json!(["from", pointer(random)]));
        }
        json!({ "o": fields })
    });
    Json::Array(operations.collect())
}

fn pointer(random: &mut Random) -> Json {
    const TEXTS: &[&str] =
        &["", "/", "/a", "/b", "/a/b", "/0", "/1", "/-", "/a/0", "/a/-", "/0/a", "a", "/yes", "/c", "/01"];
    const STEPS: &[&str] = &["a", "b", "c", "0", "-", "yes", ""];
    if random.once_in(3) {
        let steps = (0..random.below(3)).map(|_| {
            if random.once_in(3) {
                number(random.pick(&["0", "1", "2", "-1", "1.0"]))
            } else {
                json!(random.pick(STEPS))
            }
        });
        return Json::Array(steps.collect());
    }
    json!(random.pick(TEXTS))
}

fn request(random: &mut Random) -> Json {
    let mut pairs = vec![json!(["method", "get"])];
    let url = if random.once_in(3) { address(random) } else { "https://a.b:8/c d/%2F?x=y&z".to_owned() };
    pairs.push(json!(["url", url]));
    if random.once_in(3) {
        pairs.push(json!(["body", plain(random, 2)]));
    }
    if random.once_in(3) {
        pairs.push(json!(["raw_body", "text"]));
    }
    if random.once_in(2) {
        let names = ["User-Agent", "X-Amz-Date", "Accept", "authorization", "Host", "X-Amz-Content-Sha256"];
        let name = random.pick(&names);
        pairs.push(json!(["headers", {"o": [[name, "v"], ["B", plain(random, 0)]]}]));
    }
    if random.once_in(12) {
        pairs.push(json!(["other", 1.to_string()]));
    }
    json!({ "o": pairs })
}

fn account(random: &mut Random) -> Json {
    let service = random.pick(&["s3", "ec2", "glacier"]);
    let mut pairs = vec![
        json!(["aws_service", service]),
        json!(["aws_access_key", "key"]),
        json!(["aws_secret_access_key", "secret"]),
    ];
    if !random.once_in(12) {
        pairs.push(json!(["aws_region", "east"]));
    }
    if random.once_in(3) {
        pairs.push(json!(["aws_session_token", "token"]));
    }
    if random.once_in(3) {
        pairs.push(json!(["disable_payload_signing", random.once_in(2)]));
    }
    json!({ "o": pairs })
}
