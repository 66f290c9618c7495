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
        let (left, right) =
            (self.random.pick(&["{{", "{{", "{{ ", "{{- "]), self.random.pick(&["}}", "}}", " }}", " -}}"]));
        let pipe = self.pipe(1);
        let inner = depth.saturating_sub(1);
        let end = format!("{left}end{right}");
        match self.random.below(if depth == 0 { 8 } else { 20 }) {
            0..=4 => format!("{left}{pipe}{right}"),
            5 => format!("{left}$x := {pipe}{right}"),
            6 => format!("{left}$x = {pipe}{right}"),
            7 => self
                .random
                .pick(&[
                    "{{break}}",
                    "{{continue}}",
                    "{{/* c */}}",
                    "{{- /* */ -}}",
                    "{{template \"t\"}}",
                    "{{template \"t\" .a}}",
                    "{{",
                    "{{else}}",
                    "{{end}}",
                ])
                .to_owned(),
            8 | 9 => format!("{left}if {pipe}{right}{}{end}", self.body(inner)),
            10 => format!(
                "{left}if {pipe}{right}{}{left}else{right}{}{end}",
                self.body(inner),
                self.body(inner)
            ),
            11 => format!(
                "{left}if {pipe}{right}{}{left}else if .a{right}{}{end}",
                self.body(inner),
                self.body(inner)
            ),
            12 => format!(
                "{left}with {pipe}{right}{}{left}else{right}{}{end}",
                self.body(inner),
                self.body(inner)
            ),
            13 => format!("{left}with $y := {pipe}{right}{}{end}", self.body(inner)),
            14 => format!(
                "{left}range {pipe}{right}{}{left}else{right}{}{end}",
                self.body(inner),
                self.body(inner)
            ),
            15 => format!(
                "{left}range $x, $y := {}{right}{}{end}",
                self.random.pick(&[".c", ".d", ".a", "."]),
                self.body(inner)
            ),
            16 => format!(
                "{left}range $y := {}{right}{}{end}",
                self.random.pick(&[".c", ".d", "3", "."]),
                self.body(inner)
            ),
            17 => format!(
                "{left}range {}{right}{}{end}",
                self.random.pick(&[".c", ".d", "2", ".", "$x, $y = .c", "$x = .c"]),
                self.body(inner)
            ),
            18 => format!("{left}block \"t\" {pipe}{right}{}{end}", self.body(inner)),
            _ => format!("{left}define \"t\"{right}{}{end}", self.body(inner)),
        }
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
