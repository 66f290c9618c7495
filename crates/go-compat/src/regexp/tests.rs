//! The recorded verdicts of Go, and that translations match what Go matches.

use super::*;

/// One line a pattern: its text as JSON, and `ok` or Go's error as JSON.
const RECORDED: &str = include_str!("../../tests/recorded/regexp.jsonl");

#[test]
fn go_accepts_and_refuses_the_same_expressions_in_the_same_words() {
    let mut seen = (0, 0);
    for line in RECORDED.lines() {
        let (pattern, error): (String, Option<String>) = serde_json::from_str(line).unwrap();
        let ours = check(&pattern).err().map(|error| error.to_string());
        assert_eq!(ours, error, "{pattern}");
        if error.is_some() { seen.1 += 1 } else { seen.0 += 1 }
    }
    assert!(seen.0 > 100 && seen.1 > 100, "a good mix of both: {seen:?}");
}

#[test]
fn what_go_accepts_can_be_run() {
    for line in RECORDED.lines() {
        let (pattern, error): (String, Option<String>) = serde_json::from_str(line).unwrap();
        if error.is_none() {
            assert!(compile(&pattern).is_ok(), "{pattern} as {}", translate(&pattern).unwrap());
        }
    }
}

#[test]
fn differences_between_the_two_syntaxes_are_translated() {
    #[track_caller]
    fn check(pattern: &str, text: &str, matches: bool) {
        assert_eq!(compile(pattern).unwrap().regex.is_match(text), matches, "{pattern} on {text}");
    }
    check(r"^\d$", "٣", false);
    check(r"^\w+$", "é", false);
    check(r"^[\w-]+$", "a-b", true);
    check(r"^[a&&b]+$", "&", true);
    check(r"^\Qa.b\E$", "a.b", true);
    check(r"^\Qa.b\E$", "axb", false);
    check(r"^a{,2}$", "a{,2}", true);
    check(r"^[[a]$", "[", true);
    check(r"^[]a]$", "]", true);
    check(r"^a#b$", "a#b", true);
    check(r"^\x{41}\101$", "AA", true);
    check("^a$", "a\n", false);
    check(r"(?i)^ab$", "AB", true);
    check(r"^[^a]$", "\n", true);
    check(r"^[[:^alpha:]]$", "1", true);
    check(r"^\p{Greek}$", "α", true);
    check(r"^\P{Greek}$", "α", false);
    check(r"^\B$", "é", false);
}

#[test]
fn a_repetition_behind_flags_repeats_what_is_in_front_of_them() {
    #[track_caller]
    fn check(pattern: &str, found: &str) {
        assert_eq!(compile(pattern).unwrap().regex.find("aaab").unwrap().as_str(), found, "{pattern}");
    }
    check("a(?i)*", "aaa");
    check("a*(?i)?", "aaa");
    check("(?:a*(?s)?)+(?i)?B", "aaab");
    check("(?U)a+", "a");
    check("(?U)a+?", "aaa");
    check("(?U:a+)b", "aaab");
    check("(?U:a+)a*", "aaa");
}
