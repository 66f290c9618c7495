//! Go templates, sound ones and others, and data for them.

use serde_json::{Value as Json, json};

use crate::random::Random;

#[rustfmt::skip]
const DATA: &[&str] = &[
    r#"{"a": "x", "b": 1, "c": [1, "two", null, 3.50], "d": {"e": "<f>", "g": null}, "h": true, "i": null}"#,
    r#"{"a": "", "b": 0, "c": [], "d": {}, "h": false}"#,
    r#"{"a": "é\"&'\n\u0001", "b": -1.5e3, "c": [[1, [2]], {"e": 1}], "d": {"e": {"a": 1}}, "h": "y"}"#,
    r#"{"a": "\u0007"}"#,
    r#"{"a": ["x", "y", "z"], "b": "12", "c": {"k": 1, "j": 2}, "d": {"e": [true]}}"#,
    "{}",
];
#[rustfmt::skip]
const TERMS: &[&str] = &[
    ".", ".a", ".b", ".c", ".d", ".d.e", ".d.g", ".h", ".i", ".x", ".x.y", ".i.y", ".a.y", "$", "$.a", "$.c", "$x", "$y",
    "$x.e", "1", "0", "2", "-1", "1.5", "1e3", "0x1F", "'a'", "'\\n'", "1_000", "017", "0b11", "0o7", "2i", "1+2i", "08", "1__0",
    "9223372036854775808", "\"a\"", "\"x\"", "\"\"", "\"e\"", "`r\\a`", "\"\\u00e9\\t\"", "\"%v\"", "true", "false", "nil", "+1",
    "(.d).e", "(index .c 0)", "0x1p4", ".5", "1.", "\"%d|%s\"",
];
#[rustfmt::skip]
const FUNCTIONS: &[(&str, usize)] = &[
    ("print", 2), ("println", 2), ("printf", 0), ("len", 1), ("index", 2), ("index", 3), ("slice", 2), ("slice", 3), ("slice", 1), ("slice", 4),
    ("html", 1), ("js", 1), ("urlquery", 1), ("and", 2), ("or", 2), ("not", 1), ("eq", 2), ("eq", 3), ("ne", 2), ("lt", 2), ("le", 2),
    ("gt", 2), ("ge", 2), ("call", 1), ("none", 1),
];
#[rustfmt::skip]
const FORMATS: &[&str] = &[
    "%v", "%d", "%s", "%q", "%5v|", "%-5v|", "%05v", "%x", "%X", "%t", "%T", "%#v", "%+v", "%.2f", "%c", "%U", "%e", "%g", "%%", "%!",
    "% x", "%.1v", "%o", "%w", "%#q", "%[2]v", "%*v", "%b", "%6.2v", "%+d", "%#x", "%08b",
];
const TEXTS: &[&str] = &["a", " ", "\n ", "é", "}", "{", "-", " x ", "<b>"];

#[rustfmt::skip]
const ACTIONS: &[&str] = &[
    "{{break}}", "{{continue}}", "{{/* c */}}", "{{- /* */ -}}", "{{template \"t\"}}", "{{template \"t\" .a}}", "{{", "{{else}}", "{{end}}",
];

struct Writer<'a> {
    random: &'a mut Random,
}

impl Writer<'_> {
    fn term(&mut self, depth: usize) -> String {
        if depth > 0 && self.random.once_in(5) {
            return format!("({})", self.pipe(depth.saturating_sub(1)));
        }
        self.random.pick(TERMS).to_owned()
    }

    fn command(&mut self, depth: usize) -> String {
        match self.random.below(5) {
            0 | 1 => {
                let (name, count) = self.random.pick(FUNCTIONS);
                if name == "printf" {
                    let formats: String =
                        (0..=self.random.below(2)).map(|_| self.random.pick(FORMATS)).collect();
                    let args: Vec<String> = (0..self.random.below(4)).map(|_| self.term(depth)).collect();
                    return format!("printf {formats:?} {}", args.join(" "));
                }
                let few = usize::from(self.random.once_in(6));
                let args: Vec<String> = (few..count).map(|_| self.term(depth)).collect();
                format!("{name} {}", args.join(" "))
            }
            2 if self.random.once_in(4) => format!("{} {}", self.term(depth), self.term(depth)),
            _ => self.term(depth),
        }
    }

    fn pipe(&mut self, depth: usize) -> String {
        let first = self.command(depth);
        match self.random.below(8) {
            0 | 1 => {
                let (name, _) = self.random.pick(FUNCTIONS);
                format!("{first} | {name}")
            }
            2 => format!("{first} | {}", self.command(depth)),
            _ => first,
        }
    }

    fn action(&mut self, depth: usize) -> String {
        let left = self.random.pick(&["{{", "{{", "{{ ", "{{- "]);
        let right = self.random.pick(&["}}", "}}", " }}", " -}}"]);
        let pipe = self.pipe(1);
        match self.random.below(if depth == 0 { 8 } else { 20 }) {
            0..=4 => format!("{left}{pipe}{right}"),
            5 => format!("{left}$x := {pipe}{right}"),
            6 => format!("{left}$x = {pipe}{right}"),
            7 => self.random.pick(ACTIONS).to_owned(),
            _ => self.control(left, right, depth.saturating_sub(1)),
        }
    }

    /// An action with an end, and another branch now and then.
    fn control(&mut self, left: &str, right: &str, depth: usize) -> String {
        let pipe = self.pipe(1);
        let head = match self.random.below(12) {
            0..=2 => format!("if {pipe}"),
            3 => format!("with {pipe}"),
            4 => format!("with $y := {pipe}"),
            5 => format!("range {pipe}"),
            6 => format!("range $x, $y := {}", self.random.pick(&[".c", ".d", ".a", "."])),
            7 => format!("range $y := {}", self.random.pick(&[".c", ".d", "3", "."])),
            8 | 9 => {
                format!("range {}", self.random.pick(&[".c", ".d", "2", ".", "$x, $y = .c", "$x = .c"]))
            }
            10 => format!("block \"t\" {pipe}"),
            _ => "define \"t\"".to_owned(),
        };
        let body = self.body(depth);
        let other = match self.random.below(4) {
            0 => format!("{left}else{right}{}", self.body(depth)),
            1 if self.random.once_in(2) => format!("{left}else if .a{right}{}", self.body(depth)),
            1 if self.random.once_in(2) => format!("{left}else with .d{right}{}", self.body(depth)),
            _ => String::new(),
        };
        format!("{left}{head}{right}{body}{other}{left}end{right}")
    }

    fn body(&mut self, depth: usize) -> String {
        let parts = (0..=self.random.below(3)).map(|_| {
            if self.random.once_in(3) { self.random.pick(TEXTS).to_owned() } else { self.action(depth) }
        });
        parts.collect()
    }
}

pub(super) fn rendered(random: &mut Random) -> Vec<Json> {
    let data = rego_compat::Value::from_json_str(random.pick(DATA))
        .unwrap_or_else(|_| rego_compat::Value::new_object());
    let begin = random.pick(&[
        "",
        "{{$x := .a}}{{$y := 1}}",
        "{{$x := .d}}{{$y := .c}}",
        "{{$x := 0}}{{$y := .b}}{{define \"t\"}}<{{.}}>{{end}}",
    ]);
    let body = Writer { random }.body(2);
    vec![json!(format!("{begin}{body}")), crate::tagged::write(&data)]
}
