//! YAML as `sigs.k8s.io/yaml` reads it: generated scalars, tags and documents.

use serde_json::{Value, json};

use super::program::{GATOR, gator};

const WORDS: &[&str] = &[
    "1",
    "0",
    "-1",
    "+1",
    "01",
    "010",
    "0o10",
    "0O10",
    "0x1F",
    "0X1f",
    "0b101",
    "-0x10",
    "+0b1",
    "1_000",
    "_1",
    "1_",
    "0_1",
    "1.0",
    "1.5",
    "1.",
    ".5",
    "-.5",
    "+.5",
    "1e3",
    "1E3",
    "1e+3",
    "1e-3",
    "1.0e3",
    "1e21",
    "1e20",
    "1e400",
    "-1e400",
    "0.1e1",
    "123456789012345678901234567890",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "-9223372036854775809",
    "0.000001",
    "0.0000001",
    "100000000000000000000.0",
    ".inf",
    "-.inf",
    "+.inf",
    ".Inf",
    ".INF",
    ".nan",
    ".NaN",
    ".NAN",
    "inf",
    "nan",
    "infinity",
    "NaN",
    "true",
    "True",
    "TRUE",
    "tRue",
    "yes",
    "Yes",
    "YES",
    "on",
    "off",
    "no",
    "y",
    "n",
    "Y",
    "N",
    "~",
    "null",
    "Null",
    "NULL",
    "nUll",
    "''",
    "\"\"",
    "'1'",
    "\"1\"",
    "\"true\"",
    "a",
    "a b",
    "1 2",
    "1:2",
    "12:30:45",
    "190:20:30.15",
    "2001-12-14",
    "2001-12-14T21:59:43.10-05:00",
    "2001-12-14 21:59:43.10 -5",
    "0.",
    "-",
    "--",
    "-a",
    "+",
    ".",
    "..",
    "e1",
    "1e",
    "1e+",
    "0x",
    "0b",
    "0o",
    "0b2",
    "0xg",
    "08",
    "09.5",
    "1__0",
    "=",
    "<<",
    "1,000",
    "0.10",
    "1.10",
    "00",
    "-0",
    "+0",
    "-0.0",
    "0e0",
    "0777",
    "0888",
    "1e1000000000",
];
const TAGS: &[&str] = &[
    "",
    "!!str ",
    "!!int ",
    "!!float ",
    "!!bool ",
    "!!null ",
    "!!binary ",
    "!!timestamp ",
    "! ",
    "!x ",
    "!!set ",
    "!!y ",
];
const EXTRA: &[&str] = &[
    "!!binary aGVsbG8=",
    "!!binary \"aGVs\\nbG8=\"",
    "!!binary gg",
    "!!binary '/w=='",
    "!!int '1'",
    "!!int \"0x10\"",
    "!!float '1.5'",
    "!!float 1",
    "!!str 1",
    "!!bool 'true'",
    "!!bool yes",
    "!!null ''",
    "!!int 1.0",
    "!!map {a: 1}",
    "!!seq [1]",
    "!!int [1]",
    "!!str {a: 1}",
    "{1: a}",
    "{1.5: a}",
    "{1.0: a}",
    "{true: a}",
    "{yes: a}",
    "{null: a}",
    "{~: a}",
    "{[1]: a}",
    "{{a: 1}: b}",
    "{1e3: a}",
    "{1e6: a}",
    "{1234567.0: a}",
    "{123456.0: a}",
    "{0.0001: a}",
    "{0.00001: a}",
    "{0x10: a}",
    "{!!str 1: a}",
    "{a: 1, a: 2}",
    "&x 1",
    "[&x a, *x]",
    "{a: &x {b: 1}, c: {<<: *x, d: 2}}",
    "{a: &x {b: 1}, c: {<<: [*x, {e: 1}], b: 2}}",
    "{<<: 1}",
    "{<<: [1]}",
    "|\n  a\n  b\n",
    ">\n  a\n  b\n",
    "|-\n  1\n",
    ">-\n  true\n",
    "[1, 2.0, 1e3, yes]",
    "- 1\n- 2.0\n",
    "a: 1\nb:\n  c: 1.0\n",
    "\"\\u00e9\\x41\\t\"",
    "'a''b'",
    "# only a comment\n",
    "",
    "...\n",
    "--- 1\n",
    "%YAML 1.1\n--- 1\n",
    "? a\n: b\n",
    "*x",
    "a: b: c",
    "[",
    "{a",
    "\ta: 1",
    "a:\n\t- 1",
    "@a",
    "`a",
    "%a",
    "a: !!int x",
    "{a: 1.0, b: {c: 1e3, d: [.5, 2.50]}}",
    "{a: 12345678901234567890.5}",
    "{a: 1e-7}",
    "{a: 123456789.123456789}",
];

/// Reads a text with our reader: its first document, or an error.
fn read(text: &str) -> Result<Value, String> {
    let documents = go_compat::sigs_yaml::documents(text).map_err(|error| error.to_string())?;
    Ok(documents.into_iter().next().map_or(Value::Null, |document| document.value))
}

/// Numbers by their text: 1 and 1.0 are different JSON.
fn same(ours: &Value, theirs: &Value) -> bool {
    let (ours, theirs) = (ours.to_string(), theirs.to_string());
    ours == theirs
}

#[test]
fn documents_are_read_as_kubernetes_tools_read_them() {
    let _built = &*GATOR;
    let mut texts: Vec<String> = EXTRA.iter().map(|text| (*text).to_owned()).collect();
    for word in WORDS {
        for tag in TAGS {
            texts.push(format!("a: {tag}{word}\n"));
        }
        texts.push(format!("{{{word}: 1}}"));
        // Of -0.0 this library makes -0.0, and an API server then 0.
        if *word != "-0.0" && serde_json::from_str::<Value>(word).is_ok() {
            // This is JSON, which has a reader of its own.
            texts.push(format!("{{\"a\": {word}, \"b\": [{{\"c\": {word}}}]}}"));
        }
        texts.push(format!("- [{word}]\n- {{b: {word}}}\n"));
    }
    let questions: String = texts.iter().map(|text| format!("{}\n", json!({ "text": text }))).collect();
    let answers = gator(&["yaml"], &questions);
    assert_eq!(answers.code, 0, "{}", answers.err);
    let answers: Vec<Value> = answers.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), texts.len());
    let mut differences = Vec::new();
    for (text, answer) in texts.iter().zip(&answers) {
        match (read(text), answer.get("json")) {
            (Ok(own), Some(theirs)) if same(&own, theirs) => {}
            (Err(_), None) => {}
            (own, _) => differences.push(format!("{text:?}: {answer} but {own:?}")),
        }
    }
    assert!(
        differences.is_empty(),
        "{} of {} differ:\n{}",
        differences.len(),
        texts.len(),
        differences.join("\n")
    );
}

/// The two keys are one in JSON. `sigs.k8s.io/yaml` walks a Go map, so that either value may win from run to run: there
/// is nothing to compare. Here the later one wins, always.
#[test]
fn of_two_keys_with_one_text_the_later_wins() {
    assert_eq!(read("{'1': a, 1: b}"), Ok(json!({ "1": "b" })));
    assert_eq!(read("{1: a, '1': b}"), Ok(json!({ "1": "b" })));
}
