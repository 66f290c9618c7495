//! Calls of Go's functions that `go-compat` follows: arguments by hand, and the same arguments damaged. Nothing here knows
//! what the answers should be.

use crate::random::Random;

/// A function, and arguments of calls.
type Calls = (&'static str, &'static [&'static [&'static str]]);

const CALLS: [Calls; 23] = [
    (
        "strconv.Quote",
        &[
            &["plain"],
            &["a\"b\\c\n\t\r\u{7}\0"],
            &["é\u{200b}\u{feff}\u{1f600}\u{e000}"],
            &["\u{7f}\u{85}\u{a0}\u{ad}"],
        ],
    ),
    ("strconv.QuoteToASCII", &[&["é\u{1f600}"], &["a\u{2028}b\u{fffd}"], &["\u{10ffff}"]]),
    ("strconv.CanBackquote", &[&["a`b"], &["a\tb"], &["a\nb"], &["\u{feff}"]]),
    (
        "strconv.FormatFloat",
        &[
            &["1", "g", "-1"],
            &["0.1", "f", "3"],
            &["1e21", "g", "-1"],
            &["-123456789", "e", "4"],
            &["5e-324", "g", "17"],
            &["2.5", "f", "0"],
            &["1e100", "G", "5"],
            &["0.000001234", "E", "-1"],
            &["1.5", "b", "-1"],
            &["3.14", "x", "2"],
            &["100000", "g", "3"],
            &["0", "g", "0"],
            &["1.7976931348623157e308", "f", "1"],
        ],
    ),
    (
        "fmt.Sprintf",
        &[
            &["%d|%s|%v", "42", "text", "0.1"],
            &["%5d|%-8s|%8.3f|", "-7", "é", "2.5"],
            &["%+d %q %e", "7", "a\"b", "1e21"],
            &["%x %X %g", "255", "hi", "100000"],
            &["%[2]s %[1]d %[3]v", "1", "b", "1.5"],
            &["%!|%z|%", "1", "b", "1"],
            &["%08.2f", "1", "b", "3"],
            &["%#x % d %+q", "31", "\u{1f600}", "0.5"],
            &["%*d|%.2s", "4", "abc", "1"],
            &["%t %c %U", "65", "é", "1e6"],
        ],
    ),
    (
        "regexp.Compile",
        &[
            &["^a+$"],
            &["(?=x)"],
            &["a**"],
            &["[z-a]"],
            &["\\d{1,3}"],
            &["(?P<n>a)(?P<n>b)"],
            &["\\pL+\\PN"],
            &["[[:alpha:]]"],
            &["a{1001}"],
            &["(?i)x(?-i:y)"],
            &["\\Qa.b\\E"],
            &["(?<n>a)"],
            &["\\C"],
            &["[^]a]"],
            &["x{2,1}"],
            &["(((a{100}){100}){100})"],
            &["\\z\\A\\b\\B"],
            &["é|\u{1f600}"],
        ],
    ),
    (
        "Regexp.Split",
        &[
            &["a*", "baaac"],
            &[",", "a,b,,c,"],
            &["", "abc"],
            &["\\s+", " a  b "],
            &["(x)|y", "axbyc"],
            &["^", "ab"],
            &["z", ""],
        ],
    ),
    ("regexp.QuoteMeta", &[&["a.b*c"], &["[x]{1}(y)|^$\\"], &["é-#"]]),
    (
        "time.ParseDuration",
        &[
            &["1h30m"],
            &["-1.5h"],
            &["1us2µs3μs"],
            &["0"],
            &["+5s"],
            &[".5m"],
            &["1.m"],
            &["9223372036854775807ns"],
            &["-9223372036854775808ns"],
            &["3000000h"],
            &["1d"],
            &["1h1h"],
            &["0.000000001s"],
            &["1.0000000001s"],
            &["2540400h10m10.000000000s"],
        ],
    ),
    (
        "time.Parse",
        &[
            &["2006-01-02T15:04:05Z07:00", "2024-02-29T12:30:45.123+05:30"],
            &["2006-01-02", "2023-02-29"],
            &["Mon, 02 Jan 2006 15:04:05 MST", "Tue, 10 Nov 2009 23:00:00 UTC"],
            &["Jan _2 2006 3:04PM", "Feb  7 2020 11:59PM"],
            &["2006-002", "2024-366"],
            &["15:04:05.000", "01:02:03.456"],
            &["02/01/06 -0700", "31/12/99 +0130"],
            &["2006-01-02T15:04:05.999999999Z07:00", "2006-01-02T15:04:05Z"],
        ],
    ),
    (
        "Time.Format",
        &[
            &["0", "2006-01-02T15:04:05Z07:00"],
            &["1234567890", "Mon Jan _2 15:04:05 2006"],
            &["-1", "Monday, 02-Jan-06 15:04:05 MST"],
            &["1709210096", "3:04PM 002 __2 .000 -0700 Z0700"],
            &["253402300800", "2006 06 1 01 5 05 PM pm"],
            &["-62135596801", "2006-01-02"],
        ],
    ),
    (
        "net.ParseIP",
        &[
            &["10.0.0.1"],
            &["::1"],
            &["::ffff:1.2.3.4"],
            &["1.2.3"],
            &["01.2.3.4"],
            &["2001:db8::8:800:200c:417a"],
            &["fe80::1%eth0"],
            &["1:2:3:4:5:6:7:8"],
            &["1::2::3"],
        ],
    ),
    (
        "net.ParseCIDR",
        &[
            &["10.1.2.3/8"],
            &["::1/128"],
            &["::ffff:1.2.3.4/120"],
            &["1.2.3.4/33"],
            &["1.2.3.4/08"],
            &["2001:db8::/32"],
            &["1.2.3.4"],
            &["0.0.0.0/0"],
        ],
    ),
    (
        "netip.ParsePrefix",
        &[
            &["10.1.2.3/8"],
            &["::1/64"],
            &["1.2.3.4/08"],
            &["1.2.3.4/+8"],
            &["::ffff:1.2.3.4/120"],
            &["fe80::1%a/64"],
            &["2001:db8::ffff/31"],
        ],
    ),
    (
        "url.Parse",
        &[
            &["http://user:pass@host:8080/a/b%2Fc?q=1&r#frag"],
            &["mailto:a@b"],
            &["//host/path"],
            &["/only/path"],
            &["http://[::1]:80/"],
            &["http://h/%zz"],
            &["a:b:c"],
            &["HTTPS://H.example/%41%2f?x=%"],
            &["http://a b/"],
            &["http://h:port/"],
            &["?q"],
            &["#"],
            &["http://[fe80::1%25en0]/"],
            &["x://h/é?ü#ö"],
            &["1http://x"],
        ],
    ),
    ("url.QueryEscape", &[&["a b&c=d/é"], &["~-_.!*'()"], &["100%"]]),
    ("url.QueryUnescape", &[&["a+b%20c"], &["%zz"], &["%E9"], &["%c3%a9"], &["%"]]),
    (
        "mail.ParseAddress",
        &[
            &["a@b"],
            &["Ann <ann@example.com>"],
            &["\"quoted name\" <a.b@c>"],
            &["a@b, c@d"],
            &["(comment) a@b"],
            &["a@[127.0.0.1]"],
            &["g: a@b;"],
            &["a..b@c"],
            &["=?utf-8?q?A?= <a@b>"],
        ],
    ),
    (
        "json.Unmarshal",
        &[
            &["{\"a\": [1, 2.5e3, null, true]}"],
            &["\"\\ud800\\u0041\""],
            &["01"],
            &["1e999"],
            &["[1,]"],
            &["{\"a\":1,\"a\":2}"],
            &["\"\\x\""],
            &["-0.0E+1"],
            &[" nul"],
        ],
    ),
    (
        "base64.StdEncoding",
        &[&["aGVsbG8="], &["aGVs\nbG8="], &["aGVsbG8"], &["aGVsbG9="], &["a==="], &["_-8="], &["//8="]],
    ),
    ("range", &[&["61ff62"], &["e282ac"], &["e282"], &["eda080"], &["f09f9880c0"]]),
    (
        "yaml.YAMLToJSON",
        &[
            &["enabled: no\nmode: 0644\n"],
            &["a: &x [1, 2]\nb: *x\n"],
            &["- 1_000\n- 0x1F\n- 1.5e3\n- .inf\n"],
            &["<<: {a: 1}\nb: ~\n"],
            &["a: |\n  two\n  lines\nb: >-\n  folded\n  text\n"],
            &["1: a\ntrue: b\nnull: c\n"],
            &["when: 2024-01-02\n"],
            &["a: 'it''s'\nb: \"\\u00e9\\n\"\n"],
            &["a: {b: [c, d]}\n"],
            &["? k\n: v\n"],
            &["!!str 1\n"],
            &["a: b: c\n"],
            &["- - a\n  - b\n- {}\n"],
            &["x: 190:20:30\ny: 0b11\nz: 0o7\n"],
        ],
    ),
    (
        "filepath.Match",
        &[
            &["abc", "abc"],
            &["*.rego", "a.rego"],
            &["*.rego", "a/b.rego"],
            &["a\\*b", "a*b"],
            &["a\\*b", "axb"],
            &["[]", "a"],
            &["[a-", "a"],
            &["[a-z]?", "bé"],
            &["[^a-c]", "b"],
            &["a[", "a"],
            &["a[", "ab"],
            &["*", "a/b"],
            &["**", "ab"],
            &["*c*d", "abcxcd"],
            &["\\", ""],
            &["[-]", "-"],
            &["[\\-x]", "-"],
            &["é*", "éa"],
            &["", ""],
        ],
    ),
];

/// Every call by hand, and as often with one character of an argument dropped, doubled or replaced.
#[must_use]
pub fn calls(damaged: usize, random: &mut Random) -> Vec<(&'static str, Vec<String>)> {
    let mut calls = Vec::new();
    for (function, all) in CALLS {
        for arguments in all {
            let plain: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
            calls.push((function, plain.clone()));
            calls.extend((0..damaged).map(|_| (function, damage(plain.clone(), random))));
        }
    }
    calls.dedup();
    calls
}

fn damage(mut arguments: Vec<String>, random: &mut Random) -> Vec<String> {
    let which = random.below(arguments.len());
    if let Some(argument) = arguments.get_mut(which) {
        let mut characters: Vec<char> = argument.chars().collect();
        let others: Vec<char> = characters.iter().copied().chain("-+.:/%[(\"'0 9eZ\u{e9}".chars()).collect();
        let at = random.below(characters.len());
        match (random.below(3), characters.get_mut(at)) {
            (0, Some(_)) => drop(characters.remove(at)),
            (1, Some(character)) => *character = random.pick(&others),
            _ => characters.insert(at, random.pick(&others)),
        }
        *argument = characters.into_iter().collect();
    }
    arguments
}
