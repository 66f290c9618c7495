//! Modules written at random by a grammar, in the manner of constraint templates.
//!
//! A module has helper functions, helper rules and `violation` rules over `input.review` and
//! `input.parameters`. What it does with types is what OPA's type checker accepts (most of the time), so that
//! the questions are about evaluation: undefined values inside `not`, calls and comprehensions; partial
//! rules; `else`; iteration; formatting. Expressions are in `expression`, bodies in `statement`, the
//! inputs in `document`.

mod document;
mod expression;
mod statement;

use serde_json::Value as Json;

use crate::ours::Sources;
use crate::random::Random;

/// One question: a module and some inputs.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The module.
    pub sources: Sources,
    /// The query to evaluate.
    pub query: &'static str,
    /// The inputs to evaluate it on.
    pub inputs: Vec<Json>,
}

/// Writes the module of a seed, with `inputs` inputs.
#[must_use]
pub fn generate(seed: u64, inputs: usize) -> Generated {
    let mut random = Random::new(seed);
    let inputs = (0..inputs).map(|_| document::input(&mut random)).collect();
    let v0 = !random.once_in(3);
    let mut text = Author { random, v0, names: 0, functions: Vec::new(), rules: Vec::new() }.module();
    text.push_str(&odd_rules(seed, v0));
    Generated {
        sources: Sources { modules: vec![("generated.rego".to_owned(), text)], v0 },
        query: "data.generated",
        inputs,
    }
}

/// Heads that OPA refuses, or nearly: one module in forty has some of these. `IF` stands for the keyword of the language version.
const ODD_RULES: &[&str] = &[
    "odd(1 + 1) = 2",
    "odd(count([1])) = 2",
    "odd([count([1])]) = 2",
    "odd({\"k\": count([])}) = 2",
    "odd([x, {\"k\": y}]) = 2",
    "odd[x] = 1 IF { x = \"a\" }\nodd[y] = 2 IF { y = \"b\" }",
    "odd[x] = 1 IF { x = \"a\" }\nodd.b = 2",
    "odd.a = 1\nodd.b = 2",
    "odd.a = 1\nodd.a[x] = 2 IF { x = \"b\" }",
    "odd = 1\nodd[x] = 2 IF { x = \"b\" }",
    "odd[1] = 1\nodd[1][x] = 2 IF { x = \"b\" }",
    "odd.f(x) = 1\nodd.f(x, y) = 1",
    "odd.f(x) = 1\nodd.g = 1",
    "trace(\"x\")",
    "net.cidr_is_valid(\"x\")",
    "count(x) = 5",
    "odd(x)",
];

/// The same for v1, where sets are told from objects by a keyword.
const ODD_SETS: &[&str] = &[
    "odd[x] contains 1 if { x = \"a\" }\nodd[y] = 2 if { y = \"b\" }",
    "odd[x] contains 1 if { x = \"a\" }\nodd[y].z = 2 if { y = \"b\" }",
    "odd.q[x] contains 1 if { x = \"a\" }\nodd.q[y] = 2 if { y = \"b\" }",
    "odd[x] contains 1 if { x = \"a\" }\nodd.b = 2",
    "odd[x] = 1 if { x = \"c\" }\nodd.a contains 1\nodd.a = 2",
    "odd.a contains 1\nodd.b = 2",
    "odd[1] contains 1\nodd[1] = 2",
];

fn odd_rules(seed: u64, v0: bool) -> String {
    if seed % 40 != 39 {
        return String::new();
    }
    let number = usize::try_from(seed / 40).unwrap_or_default();
    let all: Vec<&str> = ODD_RULES.iter().chain(ODD_SETS.iter().filter(|_| !v0)).copied().collect();
    let rules = number.checked_rem(all.len()).and_then(|number| all.get(number)).unwrap_or(&"");
    format!("\n{}\n", rules.replace("IF", if v0 { "" } else { "if" }))
}

/// The kind of value that an expression is known to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Any,
    Text,
    Number,
    Bool,
    Array,
    Set,
    Object,
}

const KINDS: [Kind; 7] =
    [Kind::Any, Kind::Text, Kind::Number, Kind::Bool, Kind::Array, Kind::Set, Kind::Object];

#[derive(Clone, Debug)]
struct Function {
    name: String,
    arity: usize,
    kind: Kind,
}

/// The variables that are bound at a place.
type Scope = Vec<(String, Kind)>;

struct Author {
    random: Random,
    v0: bool,
    names: usize,
    functions: Vec<Function>,
    rules: Vec<(String, Kind)>,
}

impl Author {
    fn module(mut self) -> String {
        let mut text = String::from("package generated\n");
        if self.v0 && self.random.once_in(3) {
            text.push_str("\nimport future.keywords.in\n");
        }
        for _ in 0..self.random.below(3) {
            text.push_str(&self.function());
        }
        for _ in 0..self.random.below(3) {
            text.push_str(&self.helper_rule());
        }
        for _ in 0..=self.random.below(2) {
            text.push_str(&self.violation());
        }
        text
    }

    /// A name that nothing else has.
    fn fresh(&mut self, prefix: &str) -> String {
        self.names = self.names.saturating_add(1);
        format!("{prefix}{}", self.names)
    }

    /// The braces of a body, with the keyword of the language version.
    fn body(&mut self, statements: &[String]) -> String {
        let keyword = if self.v0 { "" } else { "if " };
        format!("{keyword}{{\n  {}\n}}", statements.join("\n  "))
    }

    fn function(&mut self) -> String {
        let name = self.fresh("f");
        let arity = self.random.below(2).saturating_add(1);
        let parameters: Vec<String> = (0..arity).map(|_| self.fresh("p")).collect();
        let kind = if self.random.once_in(2) { Kind::Bool } else { self.random.pick(&KINDS) };
        let head = format!("{name}({})", parameters.join(", "));
        let mut text = String::new();
        if self.random.once_in(8) {
            let blanks = vec!["_"; arity].join(", ");
            text.push_str(&format!("\ndefault {name}({blanks}) = {}\n", self.literal(kind)));
        }
        // Several definitions of a function that returns a value conflict on inputs that satisfy both: a
        // question too, but one that must not hide the others.
        let definitions = if kind == Kind::Bool { self.random.below(2).saturating_add(1) } else { 1 };
        for _ in 0..definitions {
            text.push_str(&self.definition(&head, &parameters, kind));
        }
        self.functions.push(Function { name, arity, kind });
        text
    }

    /// One definition, with an `else` now and then.
    fn definition(&mut self, head: &str, parameters: &[String], kind: Kind) -> String {
        let mut text = String::new();
        let mut opening = format!("\n{head}");
        for branch in 0..=self.random.below(2) {
            let mut scope: Scope = parameters.iter().map(|name| (name.clone(), Kind::Any)).collect();
            let statements = self.statements(&mut scope, 2);
            let value = if kind == Kind::Bool && self.random.once_in(2) {
                String::new()
            } else {
                format!("{} {}", self.equals(), self.expression(kind, &scope, 1))
            };
            let body = self.body(&statements);
            text.push_str(&format!("{opening} {value} {body}\n"));
            if branch == 0 && !self.random.once_in(3) {
                break;
            }
            opening = " else".to_owned();
            text.pop();
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text
    }

    /// The sign between a head and its value.
    fn equals(&mut self) -> &'static str {
        if self.random.once_in(2) { "=" } else { ":=" }
    }

    fn helper_rule(&mut self) -> String {
        let name = self.fresh("r");
        let mut scope = Scope::new();
        let statements = self.statements(&mut scope, 3);
        let element = self.expression(Kind::Any, &scope, 1);
        let kind = match self.random.below(4) {
            0 => Kind::Set,
            1 => Kind::Object,
            2 => Kind::Bool,
            _ => self.random.pick(&KINDS),
        };
        let head = match kind {
            Kind::Set if self.v0 => format!("{name}[{element}]"),
            Kind::Set => format!("{name} contains {element}"),
            Kind::Object => {
                let key = self.expression(Kind::Text, &scope, 0);
                // OPA's tree of rules has a node for a scalar key, also where nothing holds.
                match self.random.below(8) {
                    0 => format!("{name}[1].a = {element}"),
                    1 => format!("{name}.a[true] = {element}"),
                    2 => format!("{name}[1][{key}] = {element}"),
                    _ => format!("{name}[{key}] = {element}"),
                }
            }
            Kind::Bool => name.clone(),
            other => format!("{name} = {}", self.expression(other, &scope, 1)),
        };
        let default = if matches!(kind, Kind::Set | Kind::Object) || !self.random.once_in(3) {
            String::new()
        } else {
            format!("\ndefault {name} = {}\n", self.literal(kind))
        };
        let body = self.body(&statements);
        self.rules.push((name, kind));
        format!("{default}\n{head} {body}\n")
    }

    fn violation(&mut self) -> String {
        let mut scope = Scope::new();
        let mut statements = self.statements(&mut scope, 5);
        let message = self.fresh("msg");
        let formatted = self.expression(Kind::Text, &scope, 2);
        statements.push(format!("{message} := {formatted}"));
        let details = if self.random.once_in(2) {
            format!(", \"details\": {}", self.expression(Kind::Object, &scope, 1))
        } else {
            String::new()
        };
        let element = format!("{{\"msg\": {message}{details}}}");
        let head =
            if self.v0 { format!("violation[{element}]") } else { format!("violation contains {element}") };
        let body = self.body(&statements);
        format!("\n{head} {body}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::generate;

    #[test]
    fn a_seed_always_writes_the_same_module() {
        let modules = |seed| generate(seed, 1).sources.modules;
        assert_eq!(modules(3), modules(3));
        assert_ne!(modules(3), modules(4));
    }
}
