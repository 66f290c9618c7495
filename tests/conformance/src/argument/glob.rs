//! Globs, and the patterns of `regex.globs_match`.

use serde_json::{Value as Json, json};

use crate::random::Random;

#[rustfmt::skip]
const ATOMS: &[&str] = &[
    "a", "b", "c", "ab", "é", ".", "/", ":", "*", "**", "***", "?", "[abc]", "[!a]", "[a-c]", "[!a-c]", "[b-a]",
    "[a-]", "[-a]", "[]a]", "[!!]", "[!]", "[\\]]", "[]-a]", "[\\-a]", "[^a]", "[ab-c]", "\\*", "\\a", "\\{", "-",
    "\\", "[", "]", "}", ",", "{}", "{,}", "{a", "!", "\n", "[[]", "[a", "{\\,,}", "[é-ü]",
];
const DELIMITERS: &[&str] = &["null", "[]", "[\".\"]", "[\"/\"]", "[\".\", \":\"]", "[\"é\"]", "[\"ab\"]"];
const TEXTS: &[&str] = &["a", "b", "c", "é", ".", "/", ":", "*", "-", "}", "!", "\n", "]", ","];

fn written(random: &mut Random, depth: usize) -> String {
    (0..=random.below(4))
        .map(|_| match random.below(5) {
            0 if depth > 0 => {
                let parts: Vec<String> =
                    (0..=random.below(3)).map(|_| written(random, depth.saturating_sub(1))).collect();
                let empty = if random.once_in(4) { "," } else { "" };
                format!("{{{empty}{}}}", parts.join(","))
            }
            1 | 2 => random.pick(TEXTS).to_owned(),
            _ => random.pick(ATOMS).to_owned(),
        })
        .collect()
}

pub(super) fn matched(random: &mut Random) -> Vec<Json> {
    let glob = written(random, 2);
    // A text that has something of the pattern.
    let text: String = match random.below(3) {
        0 => (0..random.below(4)).map(|_| random.pick(TEXTS)).collect(),
        _ => glob.chars().filter(|c| !"*?{}[]\\!,".contains(*c) || random.once_in(8)).collect(),
    };
    let delimiters = serde_json::from_str(random.pick(DELIMITERS)).unwrap_or(Json::Null);
    vec![json!(glob), delimiters, json!(text)]
}

#[rustfmt::skip]
const TOKENS: &[&str] = &[
    "a", "b", "c", "é", ".", "[ab]", "[a-c]", "[b-d]", "[a-]", "[-a]", "[a-c-e]", "[]", "[\\]a]", "\\*", "\\.",
    "[a-b", "]", "\\", "-", "[a-é]", "[.]", "[c-a]", "[ab-]",
];

pub(super) fn intersected(random: &mut Random) -> Vec<Json> {
    let mut pattern = || -> Json {
        let tokens = (0..random.below(6)).map(|_| {
            let kinds = if random.once_in(3) { TOKENS } else { TOKENS.get(..8).unwrap_or(TOKENS) };
            format!("{}{}", random.pick(kinds), random.pick(&["", "", "*", "+", "*"]))
        });
        json!(tokens.collect::<String>())
    };
    vec![pattern(), pattern()]
}
