//! `sprintf` prints what OPA prints: random formats on random values, compared text by text.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test says no by panicking"
)]

use conformance::random::Random;
use conformance::{Judge, scale, tagged};
use rego_compat::{Budget, Module, Program, RegoVersion, Restrictions, Value, compile};
use serde_json::{Value as Json, json};

const VERBS: &[char] = &[
    'v', 'v', 'v', 'd', 'd', 's', 's', 'q', 't', 'x', 'X', 'o', 'O', 'b', 'c', 'e', 'E', 'f', 'F', 'g', 'G',
    'U', 'T', 'z', 'w', '!', '%', 'é', '.', '[',
];

fn format(random: &mut Random) -> String {
    let mut format = String::new();
    for _ in 0..=random.below(4) {
        format.push_str(random.pick(&["", "a", "é ", "100%%", "%", "\n"]));
        format.push('%');
        for _ in 0..random.below(3) {
            format.push_str(random.pick(&["+", "-", "#", " ", "0", ""]));
        }
        if random.once_in(8) {
            format.push_str(random.pick(&[
                "[1]",
                "[2]",
                "[9]",
                "[]",
                "[x]",
                "[",
                "[1]*",
                "[-1]",
                "[12345678]",
            ]));
        }
        format.push_str(random.pick(&["", "", "", "1", "7", "20", "*", "99999999"]));
        format.push_str(random.pick(&["", "", "", ".", ".0", ".1", ".3", ".20", ".*", ".[1]*"]));
        if !random.once_in(30) {
            format.push(random.pick(VERBS));
        }
    }
    format
}

/// Arguments of a call. Tiny numbers stay outside collections, where their text would show: `0.0000001` and
/// `1e-7` are one number to us. `%w` is asked about only where it does not print the memory of a big integer.
fn arguments(random: &mut Random, format: &str) -> Vec<Json> {
    let mut values: Vec<Json> = (0..random.below(5)).map(|_| normal(&value(random, 2))).collect();
    if random.once_in(3) {
        values.push(json!({ "n": random.pick(&["0.000000001234", "-1e-7", "1.5e-10", "2.5e-300"]) }));
    }
    let big =
        |value: &Json| value["n"].as_str().is_some_and(|text| text.len() > 18 && !text.contains(['.', 'e']));
    values.retain(|value| !format.contains('w') || !big(value));
    values
}

fn value(random: &mut Random, depth: usize) -> Json {
    let number = |text: &str| json!({ "n": text });
    match random.below(if depth == 0 { 6 } else { 9 }) {
        0 => json!(random.pick(&[
            "",
            "a",
            "héllo",
            "a\"b\\",
            "\u{7}\u{200b}\u{feff}\n",
            "`",
            "\u{1F600}",
            "x y"
        ])),
        1 => number(random.pick(&[
            "0",
            "1",
            "-1",
            "42",
            "-123456789",
            "65",
            "55296",
            "1114112",
            "9223372036854775807",
            "-9223372036854775808",
        ])),
        2 => number(random.pick(&[
            "9223372036854775808",
            "123456789012345678901234567890",
            "-98765432109876543210",
        ])),
        3 => number(random.pick(&[
            "1.5",
            "-0.25",
            "0.1",
            "123456.789",
            "0.000001234",
            "1234567.5",
            "3.0000001",
            "100000.5",
            "-0.00001",
            "0.30000000000000004",
        ])),
        4 => json!(random.once_in(2)),
        5 => Json::Null,
        6 => json!((0..random.below(3)).map(|_| value(random, depth - 1)).collect::<Vec<_>>()),
        7 => json!({ "s": (0..random.below(3)).map(|_| value(random, depth - 1)).collect::<Vec<_>>() }),
        _ => {
            let pairs: Vec<Json> =
                (0..random.below(3)).map(|_| json!([value(random, 0), value(random, depth - 1)])).collect();
            json!({ "o": pairs })
        }
    }
}

/// A duplicate key or element is a value that the judge does not make.
fn normal(json: &Json) -> Json {
    tagged::read(json).map_or(Json::Null, |value| tagged::write(&value))
}

/// A program that formats its input.
fn program() -> Program {
    let text = "package t\np := sprintf(input[0], input[1])";
    let module = Module::parse("t.rego", text, RegoVersion::V1).unwrap();
    compile(&[module], "data.t.p", &Restrictions::default()).unwrap()
}

fn ours(program: &Program, arguments: &[Value]) -> String {
    match program.evaluate(&arguments.to_vec().into(), &Value::new_object(), &Budget::default()) {
        Ok(Some(Value::String(text))) => text.to_string(),
        other => format!("{other:?}"),
    }
}

#[test]
fn sprintf_prints_what_opa_prints() {
    let mut random = Random::new(20_250);
    let calls: Vec<[Json; 2]> = (0..scale::from_env("CONFORMANCE_SPRINTF", 20_000))
        .map(|_| {
            let format = format(&mut random);
            let values = arguments(&mut random, &format);
            [Json::String(format), Json::Array(values)]
        })
        .collect();
    let questions =
        calls.iter().map(|args| json!({"op": "call", "name": "sprintf", "args": args}).to_string());
    let (program, mut differences) = (program(), Vec::new());
    let mut judge = Judge::opa().expect("a judge");
    judge
        .ask_all(questions, |position, answer| {
            let arguments: Vec<Value> =
                calls[position].iter().map(|arg| tagged::read(arg).unwrap()).collect();
            let (expected, got) =
                (answer["result"].as_str().unwrap_or("?").to_owned(), ours(&program, &arguments));
            if expected != got {
                differences.push(format!("{}\n  OPA  {expected:?}\n  ours {got:?}", json!(calls[position])));
            }
        })
        .expect("answers");
    let shown: Vec<&String> = differences.iter().take(20).collect();
    assert!(differences.is_empty(), "{} differences, such as\n{shown:#?}", differences.len());
}

#[test]
fn quoting_agrees_on_every_character() {
    let characters: Vec<char> = (0..=0x10ffff).filter_map(char::from_u32).collect();
    let chunks: Vec<String> = characters.chunks(500).map(|chunk| chunk.iter().collect()).collect();
    let program = program();
    let call = |text: &String| json!({"op": "call", "name": "sprintf", "args": ["%q", [text]]}).to_string();
    let mut judge = Judge::opa().expect("a judge");
    judge
        .ask_all(chunks.iter().map(call), |position, answer| {
            let arguments = [Value::from("%q"), Value::from(vec![Value::from(chunks[position].as_str())])];
            assert_eq!(answer["result"].as_str(), Some(ours(&program, &arguments).as_str()));
        })
        .expect("answers");
}
