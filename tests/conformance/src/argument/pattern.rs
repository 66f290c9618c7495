//! Regular expressions in Go's syntax and next to it.
//!
//! Patterns come from users (a constraint's `allowedRegex`): one that Rust's engine read differently would let through
//! what Gatekeeper stops, or the other way round.

use serde_json::{Value as Json, json};

use crate::random::Random;

#[rustfmt::skip]
const ATOMS: &[&str] = &[
    "a", "b", "A", "é", ".", "\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "\\b", "\\B", "^", "$", "\\A", "\\z",
    "\\Z", "\\.", "\\-", "\\_", "\\/", "\\<", "\\>", "\\n", "\\t", "\\x41", "\\x{e9}", "\\x{110000}",
    "\\101", "\\1", "\\07", "\\pL", "\\PL", "\\p{Greek}", "\\p{^Greek}", "\\p{Lu}", "\\p{greek}",
    "\\p{Alphabetic}", "\\Qa+\\E", "\\Qa", "\\E", "\\C", "\\K", "\\R", "\\h", "\\u0041", "\\é", "-", "_",
    "/", "#", " ", "&&", "~~", "--", "]", "}", "{", "{,3}", "x{2}", "(?i)", "(?s)", "(?m)", "(?U)", "(?x)",
    "(?u)", "(?R)", "(?-i)", "(?i-s)", "(?)", "(?ii)", "(?i-)", "(?=a)", "(?!a)", "(?<=a)", "(?#c)",
    "(?>a)", "(?P=n)", "[[:alpha:]]", "[[:^digit:]]", "[[:foo:]]", "[:alpha:]", "ſ", "K", "٣", "\u{2028}",
    "\\x{10FFFF}", "a{1000}", "(?:a{500})", "(a?)(b)",
];
#[rustfmt::skip]
const CLASS_ITEMS: &[&str] = &[
    "a", "b", "a-c", "A-Z", "0-9", "z-a", "\\d", "\\W", "\\s", "\\D", "\\b", "\\]", "\\-", "-", "^", "&&",
    "--", "~~", "[", "]", "é", "à-ü", "[:alpha:]", "[:word:]", "[:^space:]", "\\pN", "\\x41-\\x43", ".",
    "$", "|", "(", "*", "\\n", "a-", "-a", "\\d-z", "a-\\d", " ", "#", "\\Q", "\\p{Latin}", "\\P{L}",
];
#[rustfmt::skip]
const REPEATS: &[&str] = &[
    "", "", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,}", "{2,1}", "{1001}", "{90}",
    "{,2}", "{a}", "{2}{3}", "**", "*+", "{1,2}?", "{00}", "{01}", "{1}*",
];
#[rustfmt::skip]
const TEXTS: &[&str] = &[
    "", "a", "ab", "aab", "A b", "é", "Éé a_b", "a.b-c/d", "123 ٣ x", "a\nb", "a+", "{,3}", "&&~~--", "[a]",
    "ſK", "αβ", "\u{2028}", "xx", "{2}", "}]", "a{a}", "registry.io/team/app:v1.2", "<a>", " \t",
    "\u{10FFFF}", "_", "AAA",
];
#[rustfmt::skip]
const REPLACEMENTS: &[&str] = &[
    "", "x", "$0", "$1", "${1}", "$1x", "${1}x", "$$", "$", "${", "${n}", "$n-", "$m$n", "$01", "${0}", "$é", "\\1", "$10",
];

fn class(random: &mut Random) -> String {
    let items: String = (0..=random.below(4)).map(|_| random.pick(CLASS_ITEMS)).collect();
    format!("[{}{items}]", random.pick(&["", "", "^"]))
}

fn pattern(random: &mut Random, depth: usize) -> String {
    let mut written = String::new();
    for _ in 0..=random.below(4) {
        let atom = match random.below(8) {
            0 | 1 => class(random),
            2 if depth > 0 => {
                let open = random
                    .pick(&["(", "(?:", "(?i:", "(?P<n>", "(?P<m>", "(?P<0>", "(?<n>", "(?-s:", "(?is-m:"]);
                format!("{open}{})", pattern(random, depth.saturating_sub(1)))
            }
            3 if depth > 0 => format!(
                "{}|{}",
                pattern(random, depth.saturating_sub(1)),
                pattern(random, depth.saturating_sub(1))
            ),
            _ => random.pick(ATOMS).to_owned(),
        };
        written.push_str(&atom);
        written.push_str(random.pick(REPEATS));
    }
    written
}

/// A pattern and a text for a function that searches.
pub(super) fn searched(name: &str, random: &mut Random) -> Option<Vec<Json>> {
    let (pattern, text) = (json!(pattern(random, 2)), json!(random.pick(TEXTS)));
    let limit = |random: &mut Random| json!({ "n": random.pick(&["-1", "1", "2", "0"]) });
    Some(match name {
        "regex.is_valid" => vec![pattern],
        "regex.match" | "regex.split" | "re_match" => vec![pattern, text],
        "regex.find_n" | "regex.find_all_string_submatch_n" => vec![pattern, text, limit(random)],
        "regex.replace" => vec![text, pattern, json!(random.pick(REPLACEMENTS))],
        _ => return None,
    })
}
