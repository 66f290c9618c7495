//! Modules and documents from a seed: grown from a grammar, damaged, or made of any bytes at all.

use rego_compat::{BuiltinFunction, builtin_functions};

use crate::language;

/// Deterministic choices (SplitMix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        if limit == 0 { 0 } else { (self.bits() % limit as u64) as usize }
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }
}

const VARS: [&str; 6] = ["x", "y", "z", "i", "k", "_"];
const RULES: [&str; 6] = ["p", "q", "r", "violation", "s", "t0"];
const FUNCTIONS: [&str; 3] = ["f", "g", "h"];
const KEYS: [&str; 8] = ["a", "b", "name", "review", "object", "spec", "containers", "x y"];
const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "-1",
    "2",
    "1.5",
    "-0.5",
    "1e3",
    "1e308",
    "1e-9",
    "9223372036854775807",
    "18446744073709551616",
    "100000",
    "65536",
    "1000000",
];
const TEXTS: [&str; 22] = [
    "",
    "a",
    "abc",
    "a.b",
    "%d %v %s",
    "%[3]*.[2]*[1]f",
    "%999999d",
    "%.70000f",
    "(a*)*b",
    "[a-z]+",
    "{a,b}*",
    "10.0.0.0/8",
    "::/0",
    "1.5Gi",
    "1h",
    "é\\u0000",
    "{\\\"a\\\": [1]}",
    "a: [1",
    "2006-01-02",
    "YWJj",
    "/a/0",
    "*",
];

/// A module grown from the grammar of Rego, most of it likely to compile.
pub struct Grower<'r> {
    random: &'r mut Random,
    out: String,
    depth: usize,
    /// Names that are likely to be safe to read.
    bound: Vec<String>,
    /// Rules and functions that are there already: those that come later may refer to them.
    rules: Vec<String>,
    functions: Vec<String>,
    v1: bool,
}

/// The text of a module, and whether it is Rego v1.
pub fn module(random: &mut Random) -> (String, bool) {
    let v1 = random.chance(50);
    let mut grower = Grower {
        random,
        out: "package t\n".to_owned(),
        depth: 0,
        bound: Vec::new(),
        rules: Vec::new(),
        functions: Vec::new(),
        v1,
    };
    if !v1 && grower.random.chance(40) {
        grower.out.push_str("import future.keywords\n");
        grower.v1 = true;
    }
    if grower.random.chance(20) {
        grower.out.push_str("import data.lib.x\nimport input.review as rev\n");
    }
    // What comes out of it may be anything to the checks, so that functions meet what they do not expect.
    grower.put(if grower.v1 { "id(x) = y if { y := x }\n" } else { "id(x) = y { y := x }\n" });
    for number in 0..=grower.random.below(5) {
        grower.rule(number);
    }
    (grower.out, v1)
}

impl Grower<'_> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn rule(&mut self, number: usize) {
        self.bound.clear();
        let function = self.random.chance(30);
        let keyword = if self.v1 { " if" } else { "" };
        let name =
            if self.random.chance(5) { (*self.random.pick(&RULES)).to_owned() } else { format!("r{number}") };
        let mut valued = false;
        let mut single = true;
        if function {
            self.bound.extend(["x".to_owned(), "y".to_owned()]);
            self.put(&format!("{name}(x, y) = v{keyword} {{\n"));
        } else {
            match self.random.below(4) {
                0 if self.random.chance(30) => {
                    self.put(&format!("default {name} = "));
                    self.scalar();
                    self.put(&format!("\n{name} = v{keyword} {{\n"));
                }
                0 => self.put(&format!("{name} = v{keyword} {{\n")),
                1 if self.v1 => (single, _) = (false, self.put(&format!("{name} contains v if {{\n"))),
                1 => (single, _) = (false, self.put(&format!("{name}[v] {{\n"))),
                2 => (single, _) = (false, self.put(&format!("{name}[k0] = v{keyword} {{\nk0 := \"a\"\n"))),
                _ => (valued, _) = (true, self.put(&format!("{name}{keyword} {{\n"))),
            }
        }
        for _ in 0..self.random.below(5) {
            self.statement();
        }
        self.put(if valued { "w9 := " } else { "v := " });
        self.term();
        self.put("\n}");
        if single && self.random.chance(20) {
            self.put(&format!(" else = 1{keyword} {{ true }}"));
        }
        self.put("\n");
        if function { self.functions.push(name) } else { self.rules.push(name) }
    }

    fn statement(&mut self) {
        match self.random.below(12) {
            0..=3 => {
                let name = format!("v{}", self.bound.len());
                self.put(&format!("{name} := "));
                self.term();
                self.bound.push(name);
            }
            4 => {
                self.put("not ");
                self.term();
            }
            5 => {
                self.term();
                let operator = *self.random.pick(&[" == ", " != ", " < ", " >= ", " = "]);
                self.put(operator);
                self.term();
            }
            6 => {
                let name = *self.random.pick(&["a0", "a1", "a2"]);
                self.put(&format!("{name} = "));
                self.term();
                self.bound.push(name.to_owned());
            }
            7 if self.v1 => {
                let (key, value) = (format!("e{}", self.bound.len()), format!("f{}", self.bound.len()));
                self.put(&format!("some {key}, {value} in "));
                self.term();
                self.put(&format!("\n{key} != {value}"));
                self.bound.extend([key, value]);
            }
            8 if self.v1 => {
                self.put("every w in ");
                self.term();
                self.put(" { w != ");
                self.term();
                self.put(" }");
            }
            9 => {
                self.put("walk(");
                self.term();
                self.put(", [w0, w1])");
                self.bound.extend(["w0".to_owned(), "w1".to_owned()]);
            }
            10 => {
                self.term();
                let target = *self.random.pick(&["input", "input.a", "data.x", "data.lib.x", "count", "abs"]);
                self.put(&format!(" with {target} as "));
                self.term();
            }
            _ => self.term(),
        }
        self.put("\n");
    }

    fn term(&mut self) {
        self.depth += 1;
        let choice = if self.depth > 5 { self.random.below(5) } else { self.random.below(16) };
        match choice {
            0 | 1 => self.anything(),
            2 | 3 => self.variable(),
            4 | 5 => self.reference(),
            6 | 7 => self.call(),
            8 => self.list("[", "]"),
            9 => self.list("{", "}"),
            10 => self.object(),
            11 | 12 => self.comprehension(),
            13 => self.infix(),
            14 => self.doubling(),
            _ => self.call(),
        }
        self.depth -= 1;
    }

    fn anything(&mut self) {
        self.put("id(");
        self.scalar();
        self.put(")");
    }

    fn scalar(&mut self) {
        match self.random.below(6) {
            0 => self.put(["true", "false", "null"][self.random.0 as usize % 3]),
            1 | 2 => {
                let number = *self.random.pick(&NUMBERS);
                self.put(number);
            }
            3 => {
                let text = *self.random.pick(&KEYS);
                self.put(&format!("\"{text}\""));
            }
            4 => self.put("`a\\b\nc`"),
            _ => {
                let text = *self.random.pick(&TEXTS);
                self.put(&format!("\"{text}\""));
            }
        }
    }

    fn variable(&mut self) {
        if self.random.chance(1) {
            let name = *self.random.pick(&VARS);
            return self.put(name);
        }
        if self.bound.is_empty() {
            return self.anything();
        }
        let name = self.bound[self.random.below(self.bound.len())].clone();
        self.put(&name);
    }

    fn reference(&mut self) {
        let root = match self.random.below(20) {
            0 if self.random.chance(5) => (*self.random.pick(&["data.t", "data", "data.lib"])).to_owned(),
            1..=6 if !self.rules.is_empty() => self.rules[self.random.below(self.rules.len())].clone(),
            7 | 8 => "data.x".to_owned(),
            _ => "input".to_owned(),
        };
        self.put(&root);
        for _ in 0..self.random.below(4) {
            match self.random.below(5) {
                0 => self.put("[_]"),
                1 => {
                    self.put("[");
                    self.variable();
                    self.put("]");
                }
                2 => self.put("[0]"),
                _ => {
                    let key = *self.random.pick(&KEYS);
                    self.put(&format!("[\"{key}\"]"));
                }
            }
        }
    }

    fn call_language(&mut self) {
        let (name, mut arguments) = language::call(self.random);
        if name == "strings.render_template" {
            arguments.push("{\"a\": [1, \"b\"], \"b\": input}".to_owned());
        }
        for argument in &mut arguments {
            *argument = format!("id({argument})");
        }
        self.put(&format!("{name}({})", arguments.join(", ")));
    }

    fn call(&mut self) {
        if self.random.chance(8) {
            return self.call_language();
        }
        let all: Vec<BuiltinFunction> = builtin_functions().collect();
        let (name, arity) = match self.random.below(10) {
            0 | 1 if !self.functions.is_empty() => {
                (self.functions[self.random.below(self.functions.len())].clone(), 2)
            }
            0 if self.random.chance(10) => ((*self.random.pick(&FUNCTIONS)).to_owned(), 2),
            _ => {
                let mut builtin = self.random.pick(&all);
                while builtin.v0_only && self.v1 {
                    builtin = self.random.pick(&all);
                }
                (builtin.name.to_owned(), builtin.arity)
            }
        };
        self.put(&name);
        self.put("(");
        for n in 0..arity {
            if n > 0 {
                self.put(", ");
            }
            let hidden = self.random.chance(92);
            self.put(if hidden { "id(" } else { "" });
            self.term();
            self.put(if hidden { ")" } else { "" });
        }
        self.put(")");
    }

    fn list(&mut self, open: &str, close: &str) {
        self.put(open);
        for _ in 0..=self.random.below(3) {
            self.term();
            self.put(", ");
        }
        self.put("1");
        self.put(close);
    }

    fn object(&mut self) {
        self.put("{\"k\": ");
        self.term();
        self.put(", ");
        self.scalar();
        self.put(": ");
        self.term();
        self.put("}");
    }

    fn comprehension(&mut self) {
        let before = self.bound.len();
        let name = format!("c{}", self.depth);
        let (open, close) = *self.random.pick(&[("[", "]"), ("{", "}"), ("{\"k\": ", "}"), ("{@: ", "}")]);
        self.put(&open.replace('@', &name));
        self.put(&format!("{name} | "));
        if self.random.chance(30) {
            self.put(&format!("{name} := numbers.range(1, 1000)[_]; "));
        } else {
            self.put(&format!("{name} := "));
            self.term();
            self.put("; ");
        }
        self.bound.push(name);
        self.term();
        self.bound.truncate(before);
        self.put(close);
    }

    fn infix(&mut self) {
        self.put("(");
        self.anything();
        let operator = *self.random.pick(&[" + ", " - ", " * ", " / ", " % ", " | ", " & ", " == ", " < "]);
        self.put(operator);
        self.variable();
        self.put(")");
    }

    /// A value that grows with each step of a chain.
    fn doubling(&mut self) {
        let step = *self.random.pick(&[
            "concat(\"\", [@, @])",
            "[@, @]",
            "{\"a\": @, \"b\": @}",
            "array.concat(@, @)",
            "@ * @",
            "sprintf(\"%v%v\", [@, @])",
            "{@, [@]}",
            "object.union(@, {\"x\": @})",
            "[@]",
            "@ | {@}",
            "replace(@, \"a\", @)",
            "regex.replace(@, \"a*\", @)",
        ]);
        let first = *self.random.pick(&["\"aa\"", "[1]", "{\"a\": 1}", "99999999999", "{1}", "input"]);
        self.put("[d0 | d0 := ");
        let mut inner = format!("id({first})");
        for _ in 0..self.random.below(7) {
            inner = format!("id({})", step.replace('@', &inner));
            if inner.len() > 2_000 {
                break;
            }
        }
        self.put(&inner);
        self.put("]");
    }
}

/// Pieces that change the shape of what they are put into.
const PIECES: [&str; 44] = [
    "[",
    "{",
    "(",
    "]",
    "}",
    ")",
    "not ",
    "with input as ",
    "with data.x as ",
    "[_]",
    " := ",
    " = ",
    " == ",
    "input",
    "data",
    "else ",
    "{x | x = ",
    "[x | ",
    "every x in y {",
    "some x in ",
    "|",
    "&",
    "+",
    "*",
    "-",
    "\n",
    ";",
    ".",
    "f(",
    "1e999",
    "\"",
    "`",
    "default ",
    "$\"{x}\"",
    "_",
    "numbers.range(1, 1000000)",
    "count(",
    "sprintf(\"%999999d\", [1])",
    "walk(input, [p, v])",
    "json.unmarshal(",
    "regex.match(\"(a*)*b\", ",
    "import rego.v1\n",
    "\u{0}",
    "é",
];

/// A text with some places damaged.
pub fn damaged(random: &mut Random, text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len());
        match random.below(4) {
            0 | 1 => {
                let piece = random.pick(&PIECES).as_bytes();
                let tail = bytes.split_off(at);
                bytes.extend_from_slice(piece);
                bytes.extend(tail);
            }
            2 => {
                let end = (at + random.below(12)).min(bytes.len());
                bytes.drain(at..end);
            }
            _ => {
                let begin = random.below(bytes.len());
                let end = (begin + random.below(80)).min(bytes.len());
                let piece = bytes[begin..end].to_vec();
                let tail = bytes.split_off(at);
                for _ in 0..=random.below(3) {
                    bytes.extend_from_slice(&piece);
                }
                bytes.extend(tail);
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Any bytes, those of Rego more often than others.
pub fn noise(random: &mut Random) -> String {
    let mut bytes = if random.chance(50) { b"package t\n".to_vec() } else { Vec::new() };
    for _ in 0..random.below(200) {
        match random.below(4) {
            0 => bytes.push(random.bits() as u8),
            1 => bytes.extend_from_slice(random.pick(&PIECES).as_bytes()),
            2 => bytes.extend_from_slice(random.pick(&TEXTS).as_bytes()),
            _ => bytes.push(*random.pick(b" \n\t{}[]()=:;,.|&+-*/%<>!\"`#$abp_01")),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A JSON document of any shape.
pub fn json(random: &mut Random, depth: usize) -> String {
    match random.below(if depth == 0 { 4 } else { 8 }) {
        0 => (*random.pick(&["null", "true", "false"])).to_owned(),
        1 => (*random.pick(&NUMBERS)).to_owned(),
        2 | 3 => format!("\"{}\"", random.pick(&TEXTS)),
        4 | 5 => {
            let items: Vec<String> = (0..random.below(4)).map(|_| json(random, depth - 1)).collect();
            format!("[{}]", items.join(","))
        }
        _ => {
            let pairs: Vec<String> = (0..random.below(5))
                .map(|_| format!("\"{}\": {}", random.pick(&KEYS), json(random, depth - 1)))
                .collect();
            format!("{{{}}}", pairs.join(","))
        }
    }
}
