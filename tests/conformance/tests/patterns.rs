//! Regular expressions mean what they mean in Go: random patterns on random texts, compared with OPA.
//!
//! Patterns come from users (a constraint's `allowedRegex`), so that one which Rust's engine reads differently
//! would let through what Gatekeeper stops, or the other way round.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says no by panicking")]
#![allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "as above")]

use conformance::random::Random;
use conformance::{Judge, Verdict, scale, tagged};
use rego_compat::builtins::{Outcome, registry};
use regorus::Value;
use serde_json::{Value as Json, json};

#[rustfmt::skip]
const ATOMS: &[&str] = &[
    "a", "b", "A", "é", ".", "\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "\\b", "\\B", "^", "$", "\\A", "\\z",
    "\\Z", "\\.", "\\-", "\\_", "\\/", "\\<", "\\>", "\\n", "\\t", "\\x41", "\\x{e9}", "\\x{110000}",
    "\\101", "\\1", "\\07", "\\pL", "\\PL", "\\p{Greek}", "\\p{^Greek}", "\\p{Lu}", "\\p{greek}",
    "\\p{Alphabetic}", "\\Qa+\\E", "\\Qa", "\\E", "\\C", "\\K", "\\R", "\\h", "\\u0041", "\\é", "-", "_",
    "/", "#", " ", "&&", "~~", "--", "]", "}", "{", "{,3}", "x{2}", "(?i)", "(?s)", "(?m)", "(?U)", "(?x)",
    "(?u)", "(?R)", "(?-i)", "(?i-s)", "(?)", "(?ii)", "(?i-)", "(?=a)", "(?!a)", "(?<=a)", "(?#c)",
    "(?>a)", "(?P=n)", "[[:alpha:]]", "[[:^digit:]]", "[[:foo:]]", "[:alpha:]", "ſ", "K", "٣", "\u{2028}",
    "\\x{10FFFF}",
];
#[rustfmt::skip]
const CLASS_ITEMS: &[&str] = &[
    "a", "b", "a-c", "A-Z", "0-9", "z-a", "\\d", "\\W", "\\s", "\\D", "\\b", "\\]", "\\-", "-", "^", "&&",
    "--", "~~", "[", "]", "é", "à-ü", "[:alpha:]", "[:word:]", "[:^space:]", "\\pN", "\\x41-\\x43", ".",
    "$", "|", "(", "*", "\\n", "a-", "-a", "\\d-z", "a-\\d", " ", "#", "\\Q", "\\p{Latin}", "\\P{L}",
];
#[rustfmt::skip]
const REPEATS: &[&str] = &[
    "", "", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,}", "{2,1}", "{1001}", "{1000}",
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
    "", "x", "$0", "$1", "${1}", "$1x", "${1}x", "$$", "$", "${", "${n}", "$n-", "$é", "\\1", "$10",
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
                let open = random.pick(&["(", "(?:", "(?i:", "(?P<n>", "(?<n>", "(?-s:", "(?is-m:"]);
                format!("{open}{})", pattern(random, depth - 1))
            }
            3 if depth > 0 => format!("{}|{}", pattern(random, depth - 1), pattern(random, depth - 1)),
            _ => random.pick(ATOMS).to_owned(),
        };
        written.push_str(&atom);
        written.push_str(random.pick(REPEATS));
    }
    written
}

fn call(random: &mut Random) -> (&'static str, Vec<Json>) {
    let (pattern, text) = (json!(pattern(random, 2)), json!(random.pick(TEXTS)));
    match random.below(8) {
        0 => ("regex.is_valid", vec![pattern]),
        1 => ("regex.split", vec![pattern, text]),
        2 => ("regex.find_n", vec![pattern, text, json!({ "n": random.pick(&["-1", "1", "2", "0"]) })]),
        3 => ("regex.find_all_string_submatch_n", vec![pattern, text, json!({ "n": "-1" })]),
        4 => ("regex.replace", vec![text, pattern, json!(random.pick(REPLACEMENTS))]),
        _ => ("regex.match", vec![pattern, text]),
    }
}

fn ours(name: &str, args: &[Json]) -> Verdict {
    let args: Vec<Value> = args.iter().map(|arg| tagged::read(arg).unwrap()).collect();
    let builtin = registry().iter().find(|builtin| builtin.name == name).unwrap();
    match (builtin.run)(&args) {
        Outcome::Value(value) => Verdict::Value(value),
        _ => Verdict::Undefined,
    }
}

#[test]
fn patterns_match_as_in_go() {
    let mut random = Random::new(7);
    let calls: Vec<_> =
        (0..scale::from_env("CONFORMANCE_PATTERNS", 40_000)).map(|_| call(&mut random)).collect();
    let questions =
        calls.iter().map(|(name, args)| json!({"op": "call", "name": name, "args": args}).to_string());
    let (mut differences, mut refused) = (Vec::new(), 0_usize);
    let mut judge = Judge::opa().expect("a judge");
    judge
        .ask_all(questions, |position, answer| {
            let (name, args) = &calls[position];
            let opa = match Verdict::of_judge(&answer) {
                Verdict::Value(value) => Verdict::Value(value),
                _ => Verdict::Undefined,
            };
            refused += usize::from(matches!(opa, Verdict::Undefined));
            let ours = ours(name, args);
            if !ours.agrees(&opa) {
                let said = answer["error"]["message"].as_str().unwrap_or("");
                differences.push(format!("{name}{}\n  OPA  {opa:?} {said}\n  ours {ours:?}", json!(args)));
            }
        })
        .expect("answers");
    println!("{} calls, {refused} patterns refused, {} differences", calls.len(), differences.len());
    let shown = differences.iter().take(25).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{} differences:\n{shown}", differences.len());
}
