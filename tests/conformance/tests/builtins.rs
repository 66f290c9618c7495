//! Every deterministic builtin function on random arguments, compared with OPA's.
//!
//! `divergent.txt` lists the functions that may still differ, with a reason each; like `unclaimed.txt` it may
//! only shrink.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test says no by panicking"
)]

use std::collections::BTreeMap;

use conformance::argument::{realistic, settled};
use conformance::ours::{Sources, evaluate};
use conformance::random::Random;
use conformance::{Judge, Verdict, operand, scale, tagged};
use rego_compat::Value;
use rego_compat::{Budget, Program, Rules};
use serde_json::{Value as Json, json};

const DIVERGENT: &str = include_str!("divergent.txt");

/// What has no value to compare: operators, relations, the network, and the engine's own.
const NOT_ASKED: &[&str] = &[
    "internal.",
    "rego.",
    "opa.runtime",
    "http.send",
    "net.lookup_ip_addr",
    "print",
    "trace",
    "walk",
    "io.jwt.encode",
];

struct Function {
    name: String,
    types: Vec<String>,
}

fn functions(judge: &mut Judge) -> Vec<Function> {
    let answer = judge.ask(&json!({"op": "builtins"})).expect("the builtins");
    let list = answer["builtins"].as_array().expect("a list");
    let read = |one: &Json| Function {
        name: one["name"].as_str().unwrap().to_owned(),
        types: one["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap().to_owned()).collect(),
    };
    let operators = ["assign", "eq"];
    let asked = |one: &&Json| {
        let name = one["name"].as_str().unwrap();
        // A schema may refer to the network; those that are asked do not.
        let is_settled = !one["nondeterministic"].as_bool().unwrap() || name.ends_with("_schema");
        is_settled && !operators.contains(&name) && !NOT_ASKED.iter().any(|prefix| name.starts_with(prefix))
    };
    list.iter().filter(asked).map(read).collect()
}

/// Strings that mean something to a family of functions.
#[rustfmt::skip]
fn strings(name: &str) -> &'static [&'static str] {
    const PLAIN: &[&str] = &[
        "", "a", "b", "ab", "aAbB", "a/b/c", "x.y", " é ß ", "\u{1F600}x", "a\nb\t", "<&>\u{2028}",
        "\u{130}I", "ab,cd,", "aaa",
    ];
    const PATTERNS: &[&str] = &[
        "a", "^a+$", "[a-c]*", "(a)(b)?", "\\d+", "\\w\\b", "\\s", "[[:alpha:]]", "a**", "a{2}", "a{,2}",
        "[a&&b]", "\\<", "(?i)AB", "(?P<n>b)", "\\Qa.b\\E", "\\pL+", "[^\\w]", "é", "a|", "(", "[", "\\z",
        "x*", "$", "\\x41", "[a-\\d]", "(?x)a", "b*?", "aaa", "a1 é_٣", "٣", "ab12", "$1", "${n}-$0",
        "a{1001}", ".*", "\\B", "[\\]a]", "[-a]", "\\-", "\\_",
    ];
    const GLOBS: &[&str] = &[
        "*", "**", "a*", "*.b.*", "a.b.c", "a/b/c", "[a-c]", "[!a]", "{a,b}*", "a?c", "\\*", "abc", "a.*",
        "a:b", ".", "/", "[", "{a", "",
    ];
    const NETWORKS: &[&str] = &[
        "10.0.0.0/8", "10.1.2.3", "10.1.2.0/30", "10.0.0.5/32", "192.168.1.0/24", "192.168.0.0/16", "::1",
        "::1/128", "2001:db8::/32", "2001:db8::1", "0.0.0.0/0", "::/0", "300.1.1.1", "10.0.0.0/33",
        "10.0.0.0", "010.0.0.1", "fe80::1%eth0", "::ffff:10.0.0.1", "10.0.0.4/31", "10.0.0.6/31", "a",
    ];
    const VERSIONS: &[&str] = &[
        "1.2.3", "v1.2.3", "1.2", "1.2.3-alpha.1", "1.2.3-alpha.beta", "1.2.3+build", "2.0.0", "10.0.0",
        "01.2.3", "a", "1.2.3-0", "1.2.3-00",
    ];
    const TIMES: &[&str] = &[
        "2020-02-29T12:34:56Z", "2020-02-29T12:34:56.789+02:00", "2006-01-02T15:04:05Z07:00", "2006-01-02",
        "2020-02-29", "UTC", "Europe/Berlin", "America/New_York", "1h", "1.5h", "-2m3s", "1d", "2w",
        "1y2d3h", "10us", "5", "", "1h x", "RFC3339", "Mon, 02 Jan 2006 15:04:05 MST",
        "02 Jan 06 15:04 MST", "2262-04-12T00:00:00Z", "1677-09-20T00:00:00Z", "9999-12-31T23:59:59Z",
        "3ms4ns", "+1h", "0", "1.d",
    ];
    const UNITS: &[&str] = &[
        "1", "1.5", "100m", "0.5", "1K", "1k", "1Ki", "1KiB", "1.5Gi", "2G", "2GB", "10 MB", "\"3M\"",
        "1e3", "1E3", "1e", "1e3Ki", "1Ei", "1e-2", "-1Ki", "+1", "m", "", "1x", ".5", "5.", "1.2.3",
        "1_000", "0x10", "1Mi", "123456789012345678901234567890", "1mi", "0.1m",
    ];
    const ENCODED: &[&str] = &[
        "{}", "{\"a\": [1, 2.50, null]}", "[1,", "\"a\"", "1e3", "a: 1\nb: [x, y]", "a: b: c", "- 1\n- 2",
        "YQ==", "YQ", "Y-_Q", "6162", "616", "zz", "a=1&b=2&a=3", "a%20b+c", "%zz", "&=&a", "x y/z?&",
        "{\"a\":1,\"a\":2}", "\"\\ud83d\\ude00\"", "\"\\ud800\"", "null", " 1 ", "01", "true", "---\na: 1",
        "yes", "0x1f", "~", "1.0", "12345678901234567890",
    ];
    const TOKENS: &[&str] = &[
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJhIjoxfQ.c2ln", "a.b.c", "a.b", "",
        "eyJhbGciOiJub25lIn0.e30.", "eyJhbGciOiJub25lIn0.W10.", "e30.e30.AA", "e30=.e30=.AA==", "secret",
    ];
    const NUMBERS: &[&str] = &[
        "0", "1", "-1", "1.5", "1e3", "+5", "0x10", " 1", "inf", "NaN", "1_0", "--1", "", "a", ".5", "5.",
        "1e400", "12345678901234567890",
    ];
    const URIS: &[&str] = &[
        "https://a.b:80/c/d?e=f#g", "a", "/x y", "http://[::1]:8/p", "mailto:a@b", "http://a b", "%zz",
        "//h/p", "?q", "#f", "", "http://u:p@h/%41",
    ];
    const UUIDS: &[&str] = &[
        "00000000-0000-0000-0000-000000000000", "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        "urn:uuid:6ba7b814-9dad-11d1-80b4-00c04fd430c8", "{6ba7b810-9dad-41d1-80b4-00c04fd430c8}",
        "6ba7b8109dad11d180b400c04fd430c8", "x", "6ba7b810-9dad-21d1-80b4-00c04fd430c8",
        "6BA7B810-9DAD-71D1-80B4-00C04FD430C8",
    ];
    const SUBNETS: &[&str] = &[
        "10.1.2.0/30", "10.0.0.5/32", "2001:db8::/126", "::ffff:1.2.3.0/120", "10.0.0.1", "a/8", "",
    ];
    match name.split('.').next().unwrap_or(name) {
        "net" if name == "net.cidr_expand" => SUBNETS,
        "regex" | "re_match" => PATTERNS,
        "glob" => GLOBS,
        "net" => NETWORKS,
        "semver" => VERSIONS,
        "time" => TIMES,
        "units" => UNITS,
        "json" | "yaml" | "base64" | "base64url" | "hex" | "urlquery" => ENCODED,
        "io" => TOKENS,
        "to_number" | "format_int" => NUMBERS,
        "uri" => URIS,
        "uuid" => UUIDS,
        _ => PLAIN,
    }
}

const SMALL: &[&str] = &["0", "1", "2", "3", "-1", "-2", "7", "10", "16", "64", "1.5", "-0.5", "2.25", "100"];
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "-1",
    "-2",
    "7",
    "10",
    "16",
    "64",
    "1.5",
    "-0.5",
    "2.25",
    "100",
    "1582977600000000000",
    "9007199254740993",
    "18446744073709551616",
];

struct Arguments<'a> {
    random: &'a mut Random,
    strings: &'static [&'static str],
    small: bool,
}

impl Arguments<'_> {
    /// A value of a type as OPA writes it, or now and then of any.
    fn of(&mut self, name: &str, index: usize, declared: &str) -> Json {
        if let Some(argument) = operand::fitting(name, index, self.random)
            && !self.random.once_in(5)
        {
            return argument;
        }
        if self.random.once_in(12) {
            return self.any(2);
        }
        let kinds = ["string", "number", "boolean", "array", "set", "object", "null"];
        let accepted: Vec<&str> = kinds.into_iter().filter(|kind| declared.contains(kind)).collect();
        let first = kinds.into_iter().find(|kind| declared.starts_with(kind));
        match first {
            Some(kind) => self.kind(kind, 2),
            None if accepted.is_empty() => self.any(2),
            None => {
                let kind = self.random.pick(&accepted);
                self.kind(kind, 2)
            }
        }
    }

    fn kind(&mut self, kind: &str, depth: usize) -> Json {
        let inner = depth.saturating_sub(1);
        let count = self.random.below(4);
        match kind {
            "string" => json!(self.random.pick(self.strings)),
            "number" => {
                // A range between two of the large ones would be endless.
                let texts = if self.small { SMALL } else { NUMBERS };
                json!({ "n": self.random.pick(texts) })
            }
            "boolean" => json!(self.random.once_in(2)),
            "null" => Json::Null,
            "array" => Json::Array((0..count).map(|_| self.any(inner)).collect()),
            "set" => json!({ "s": (0..count).map(|_| self.any(inner)).collect::<Vec<_>>() }),
            _ => {
                let pairs: Vec<Json> = (0..count)
                    .map(|_| {
                        let key = if self.random.once_in(8) { self.any(0) } else { self.kind("string", 0) };
                        json!([key, self.any(inner)])
                    })
                    .collect();
                json!({ "o": pairs })
            }
        }
    }

    fn any(&mut self, depth: usize) -> Json {
        let kinds = ["string", "string", "number", "number", "boolean", "null", "array", "set", "object"];
        let limit = if depth == 0 { 6 } else { kinds.len() };
        let kind = kinds.get(self.random.below(limit)).copied().unwrap_or("null");
        self.kind(kind, depth)
    }
}

/// Our side of one function: a module that calls it.
fn called(function: &Function) -> Result<Program, Verdict> {
    let operands: Vec<String> = (0..function.types.len()).map(|index| format!("input[{index}]")).collect();
    let text = match OPERATORS.iter().find(|(name, _)| *name == function.name) {
        Some((_, sign)) => format!("package b\n\np = input[0] {sign} input[1]\n"),
        None => format!("package b\n\np = {}({})\n", function.name, operands.join(", ")),
    };
    let sources = Sources { modules: vec![("b.rego".to_owned(), text)], v0: true };
    sources.compile("data.b.p", &Rules::default())
}

const OPERATORS: &[(&str, &str)] = &[
    ("gt", ">"),
    ("gte", ">="),
    ("lt", "<"),
    ("lte", "<="),
    ("equal", "=="),
    ("neq", "!="),
    ("plus", "+"),
    ("minus", "-"),
    ("mul", "*"),
    ("div", "/"),
    ("rem", "%"),
    ("and", "&"),
    ("or", "|"),
];

fn asked_of_us(program: &Program, args: &[Value]) -> Verdict {
    let input = Value::from(args.to_vec());
    let call = || evaluate(program, &input, &Value::new_object(), &Budget::default());
    let panicked = |_| Verdict::Failed("panicked".to_owned());
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).unwrap_or_else(panicked) {
        // What would take more memory than there is is an answer to neither side.
        Verdict::Failed(reason) if reason.contains("budget") => Verdict::Undefined,
        verdict => verdict,
    }
}

#[test]
fn builtins_answer_as_in_opa() {
    let calls = scale::from_env("CONFORMANCE_CALLS", 300);
    let only = std::env::var("CONFORMANCE_BUILTIN").unwrap_or_default();
    let mut judge = Judge::opa().expect("a judge");
    let divergent: BTreeMap<&str, &str> = DIVERGENT
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_once(" -- ").unwrap_or_else(|| panic!("no reason in divergent.txt: {line}")))
        .collect();
    let (mut complaints, mut agreeing) = (Vec::new(), 0);
    for function in functions(&mut judge).iter().filter(|function| function.name.starts_with(&only)) {
        let differences = differences(&mut judge, function, calls);
        match (differences.first(), divergent.contains_key(function.name.as_str())) {
            (None, false) => agreeing += 1,
            (Some(_), true) => {}
            (None, true) if !only.is_empty() || calls < 300 => {}
            (None, true) => {
                complaints.push(format!("{} agrees: remove it from divergent.txt", function.name))
            }
            (Some(_), false) => {
                let shown: Vec<String> = differences.iter().take(6).cloned().collect();
                complaints.push(format!(
                    "{}: {} of {calls} differ\n{}",
                    function.name,
                    differences.len(),
                    shown.join("\n")
                ));
            }
        }
    }
    println!("{agreeing} functions agree, {} may differ", divergent.len());
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}

fn differences(judge: &mut Judge, function: &Function, calls: usize) -> Vec<String> {
    let mut random =
        Random::new(function.name.bytes().fold(1, |seed, byte| seed * 31 % 1_000_003 + u64::from(byte)));
    let mut arguments = Arguments {
        random: &mut random,
        strings: strings(&function.name),
        small: function.name.starts_with("numbers."),
    };
    let normal = |json: Json| tagged::read(&json).map_or(Json::Null, |value| tagged::write(&value));
    let asked: Vec<Vec<Json>> = (0..if function.types.is_empty() { 1 } else { calls })
        .map(|_| {
            let realistic =
                if arguments.random.once_in(3) { None } else { realistic(&function.name, arguments.random) };
            let plain = |arguments: &mut Arguments<'_>| {
                let types = function.types.iter().enumerate();
                types.map(|(index, declared)| arguments.of(&function.name, index, declared)).collect()
            };
            let args: Vec<Json> = realistic.unwrap_or_else(|| plain(&mut arguments));
            args.into_iter().map(normal).collect()
        })
        .collect();
    let questions =
        asked.iter().map(|args| json!({"op": "call", "name": function.name, "args": args}).to_string());
    let program = called(function);
    let mut differences = Vec::new();
    judge
        .ask_all(questions, |position, answer| {
            // An error of a builtin function is undefined to a policy that is not evaluated strictly.
            let opa = match Verdict::of_judge(&answer) {
                Verdict::Failed(_) | Verdict::Refused(_) => Verdict::Undefined,
                other => other,
            };
            let args: Vec<Value> = asked[position].iter().map(|arg| tagged::read(arg).unwrap()).collect();
            let ours = program.as_ref().map_or_else(Clone::clone, |program| asked_of_us(program, &args));
            let opa = settled(&function.name, opa);
            if !settled(&function.name, ours.clone()).agrees(&opa) {
                let said = answer["error"]["message"].as_str().unwrap_or("");
                let args: Vec<String> = args.iter().map(ToString::to_string).collect();
                differences
                    .push(format!("  ({})\n    OPA  {opa:?} {said}\n    ours {ours:?}", args.join(", ")));
            }
        })
        .expect("answers");
    differences
}
