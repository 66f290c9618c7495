//! Random texts that parsers have to cope with: regular expressions, CEL, and what formats describe.
//!
//! Most of them are nearly right. This file asserts nothing.

use super::Random;

const REGEXP: [&str; 46] = [
    "a",
    "b",
    "é",
    "0",
    "-",
    ",",
    ".",
    "^",
    "$",
    "|",
    "(",
    ")",
    "(",
    ")",
    "[",
    "]",
    "[^",
    "{",
    "}",
    "*",
    "+",
    "?",
    "{2}",
    "{1,}",
    "{3,2}",
    "{0,1001}",
    "\\",
    "\\d",
    "\\pL",
    "\\p{Greek}",
    "\\P{^Lu}",
    "\\Q",
    "\\E",
    "\\x{10FFFF}",
    "\\x{110000}",
    "\\x4",
    "\\777",
    "\\z",
    "\\b",
    "[:alpha:]",
    "[[:^space:]]",
    "(?i)",
    "(?P<n>",
    "(?-s:",
    "(?=",
    "a-z",
];

/// A regular expression in Go's syntax, or nearly.
pub(crate) fn pattern(r: &mut Random) -> String {
    (0..1 + r.below(8)).map(|_| *r.pick(&REGEXP)).collect()
}

const LEAVES: [&str; 28] = [
    "self",
    "oldSelf",
    "self.a",
    "self.b.c",
    "self.metadata.name",
    "self.x__dash__y",
    "self.?a",
    "a",
    "true",
    "null",
    "1",
    "-3",
    "2u",
    "1.5e3",
    "0x1F",
    "''",
    "'a'",
    "\"b\\n\"",
    "r'\\d'",
    "b'x'",
    "'''t'''",
    "[]",
    "[1, 'a']",
    "{}",
    "{'k': 1}",
    "optional.none()",
    "99999999999999999999",
    "'\\u12'",
];
const OPERATORS: [&str; 16] =
    ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "in", ".", "?"];
const METHODS: [&str; 20] = [
    "size",
    "startsWith",
    "matches",
    "contains",
    "lowerAscii",
    "indexOf",
    "split",
    "isSorted",
    "sum",
    "hasValue",
    "orValue",
    "find",
    "getHours",
    "all",
    "exists",
    "exists_one",
    "map",
    "filter",
    "reverse",
    "nonsense",
];
const SCRAPS: [&str; 24] = [
    "(", ")", "[", "]", "{", "}", ".", ",", ":", "?", "'", "\"", "'''", "//", "\\", "&", "&&", "=", "==",
    "!", "`", "é", "\n", "self",
];

/// A CEL expression, or nearly.
pub(crate) fn expression(r: &mut Random, depth: usize) -> String {
    if r.chance(4) {
        return (0..r.below(10)).map(|_| *r.pick(&SCRAPS)).collect();
    }
    if depth == 0 || r.chance(20) {
        return (*r.pick(&LEAVES)).to_owned();
    }
    let below = depth - 1;
    let mut inner = || expression(r, below);
    let (one, two, three) = (inner(), inner(), inner());
    match r.below(10) {
        0..=3 => format!("{one} {} {two}", r.pick(&OPERATORS)),
        4 => format!("({one})"),
        5 => format!("{one} ? {two} : {three}"),
        6 => format!("{one}.{}({two})", r.pick(&METHODS)),
        7 => format!("{one}.{}(x, {two})", r.pick(&METHODS)),
        8 => format!(
            "{}({one})",
            r.pick(&["has", "size", "int", "duration", "quantity", "url", "!", "-", "dyn"])
        ),
        _ => format!("{one}[{two}]"),
    }
}

const PIECES: [&str; 40] = [
    "0",
    "1",
    "9",
    "12",
    "255",
    "256",
    "2020",
    "-",
    "-",
    ":",
    ":",
    ".",
    ".",
    "/",
    "/",
    "T",
    "Z",
    "z",
    "+01:00",
    "@",
    "a",
    "b",
    "é",
    " ",
    "\u{0}",
    "%",
    "%41",
    "[",
    "]",
    "h",
    "m",
    "ms",
    "::",
    "ffff",
    "e",
    "E",
    "=",
    "_",
    "http://",
    "\u{1F600}",
];
const WHOLE: [&str; 14] = [
    "2020-02-30T23:59:60Z",
    "2020-02-29",
    "1h3m",
    "3 days",
    "192.168.0.1/33",
    "fe80::1%eth0",
    "a@b.example",
    "http://[::1]:99999/x?y#z",
    "YWJj",
    "00:1B:44:11:3A:B7",
    "123e4567-e89b-12d3-a456-426614174000",
    "rgb(255, 0, 300)",
    "#12fg34",
    "4111 1111 1111 1111",
];

/// A text that some format describes, or nearly.
pub(crate) fn formatted(r: &mut Random) -> String {
    let mut text: String = if r.chance(30) {
        (*r.pick(&WHOLE)).to_owned()
    } else {
        (0..r.below(9)).map(|_| *r.pick(&PIECES)).collect()
    };
    if r.chance(30) {
        let at = text.char_indices().map(|(at, _)| at).nth(r.below(8)).unwrap_or(0);
        let piece: &str = r.pick::<&str>(&PIECES);
        text.insert_str(at, piece);
    }
    text
}
