//! Annotations: comments that begin with `# METADATA` and describe the rule or package behind them in YAML, for
//! `rego.metadata.rule` and `rego.metadata.chain`. Source: OPA `ast/annotations.go` and `ast/parser.go`.
//!
//! They are only read where a module asks for them. `schemas` and `compile` mean something to OPA's compiler alone, and
//! are not shown.

use std::collections::BTreeMap;

use go_compat::url::Url;

use crate::ast::{Head, Node, Term};
use crate::builtin::yaml;
use crate::module::Module;
use crate::value::{Object, Value};

/// The annotations of a program, with the places of its rules and packages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Annotations {
    /// By the places of module and rule, the nearest first.
    rules: BTreeMap<(usize, usize), Vec<Value>>,
    documents: BTreeMap<Vec<Value>, Value>,
    packages: BTreeMap<Vec<Value>, Value>,
    /// Of packages, for all below them.
    trees: BTreeMap<Vec<Value>, Value>,
}

/// The rule that asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) module: usize,
    pub(crate) rule: usize,
    /// From an `else` branch.
    pub(crate) otherwise: bool,
}

/// A block of comments, and the line it begins at.
struct Block {
    line: u32,
    fields: Value,
}

/// The statement that a block stands in front of.
#[derive(Clone, Copy)]
enum Statement {
    Package,
    Import,
    Rule(usize),
}

impl Annotations {
    /// Returns the annotations of all modules; none where no module asks for them.
    pub(crate) fn of(modules: &[Module]) -> Self {
        let mut all = Self::default();
        if modules.iter().any(|module| module.source.text.contains("rego.metadata.")) {
            for (place, module) in modules.iter().enumerate() {
                for block in blocks(&module.source.text) {
                    all.add(place, module, &block);
                }
            }
        }
        all
    }

    fn add(&mut self, place: usize, module: &Module, block: &Block) {
        let Some(statement) = following(module, block.line) else { return };
        let field = |name: &str| block.fields.as_object().ok()?.get(&Value::from(name));
        let entrypoint = field("entrypoint") == Some(&Value::Bool(true));
        let scope = match (field("scope").map(text), statement) {
            (Some(scope), _) if !scope.is_empty() => scope,
            (_, Statement::Package) => "package".to_owned(),
            (_, Statement::Rule(_)) if entrypoint => "document".to_owned(),
            (_, Statement::Rule(_)) => "rule".to_owned(),
            (_, Statement::Import) => return,
        };
        let shown = shown(&block.fields, &scope, entrypoint);
        let package = package_path(module);
        match (scope.as_str(), statement) {
            ("rule", Statement::Rule(rule)) => self.rules.entry((place, rule)).or_default().insert(0, shown),
            ("document", Statement::Rule(rule)) => {
                if let Some(rule) = module.tree.rules.get(rule) {
                    self.documents.insert(rule_path(module, &rule.head), shown);
                }
            }
            ("package", Statement::Package) => drop(self.packages.insert(package, shown)),
            ("subpackages", Statement::Package) => drop(self.trees.insert(package, shown)),
            _ => {}
        }
    }

    /// Returns the annotations of a rule itself, which its `else` branches have no part in.
    fn own(&self, place: Place) -> Option<&Vec<Value>> {
        self.rules.get(&(place.module, place.rule)).filter(|_| !place.otherwise)
    }

    /// Returns the value of `rego.metadata.rule()` in a rule.
    pub(crate) fn rule(&self, place: Place) -> Value {
        let nearest = self.own(place).and_then(|found| found.first());
        nearest.cloned().unwrap_or_else(Value::new_object)
    }

    /// Returns the value of `rego.metadata.chain()` in a rule: from the rule out to the outermost package.
    pub(crate) fn chain(&self, written: &Module, place: Place) -> Value {
        let Some(head) = written.tree.rules.get(place.rule).map(|rule| &rule.head) else {
            return Value::new_array();
        };
        let (path, package) = (rule_path(written, head), package_path(written));
        let mut links = Vec::new();
        match self.own(place) {
            Some(found) => links.extend(found.iter().map(|shown| link(&path, Some(shown)))),
            None => links.push(link(&path, None)),
        }
        links.extend(self.documents.get(&path).map(|shown| link(&path, Some(shown))));
        links.extend(self.packages.get(&package).map(|shown| link(&package, Some(shown))));
        for length in (0..=package.len()).rev() {
            let above = package.get(..length).unwrap_or_default();
            links.extend(self.trees.get(above).map(|shown| link(above, Some(shown))));
        }
        Value::from(links)
    }
}

fn link(path: &[Value], shown: Option<&Value>) -> Value {
    let mut fields = Object::new();
    fields.insert(Value::from("path"), Value::from(path.to_vec()));
    if let Some(shown) = shown {
        fields.insert(Value::from("annotations"), shown.clone());
    }
    fields.into_value()
}

fn package_path(module: &Module) -> Vec<Value> {
    module.tree.package.iter().map(|name| Value::from(&**name)).collect()
}

/// Returns the path of a rule as far as it is known beforehand.
fn rule_path(module: &Module, head: &Head) -> Vec<Value> {
    let constant = |term: &Term| match &term.node {
        Node::Scalar(value) => Some(value.clone()),
        _ => None,
    };
    let name = head.name().map(|name| Value::from(&**name));
    let rest = head.path.iter().skip(1).map_while(constant);
    package_path(module).into_iter().chain(name).chain(rest).collect()
}

/// Returns the statement behind a line.
fn following(module: &Module, line: u32) -> Option<Statement> {
    let tree = &module.tree;
    let package = [(tree.package_at, Statement::Package)];
    let imports = tree.imports.iter().map(|import| (import.at, Statement::Import));
    let rules = tree.rules.iter().enumerate().map(|(place, rule)| (rule.at, Statement::Rule(place)));
    let placed = package.into_iter().chain(imports).chain(rules);
    let behind = placed.map(|(at, statement)| (module.source.locate(at), statement));
    behind.filter(|((row, _), _)| *row > line).min_by_key(|(place, _)| *place).map(|(_, statement)| statement)
}

/// Returns the blocks of a text whose YAML can be read.
fn blocks(source: &str) -> Vec<Block> {
    let comment = |line: &str| line.strip_prefix('#').map(|text| text.trim_end_matches('\r').to_owned());
    let begins = |text: &str| text.trim().starts_with("METADATA");
    let (mut found, mut open) = (Vec::new(), None::<(u32, String)>);
    let mut close = |open: Option<(u32, String)>| {
        let block = open.and_then(|(line, text)| Some(Block { line, fields: yaml::document(&text)? }));
        found.extend(block.filter(|block| block.fields.as_object().is_ok()));
    };
    for (line, text) in (1u32..).zip(source.split('\n')) {
        match comment(text) {
            Some(text) if begins(&text) => close(open.replace((line, String::new()))),
            Some(text) => {
                if let Some((_, document)) = &mut open {
                    document.push_str(text.strip_prefix(' ').unwrap_or(&text));
                    document.push('\n');
                }
            }
            None => close(open.take()),
        }
    }
    close(open);
    found
}

/// Returns a word of YAML as text.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        Value::Null | Value::Undefined => String::new(),
        other => other.to_json_str(),
    }
}

/// Returns the fields of a block that are shown, empty fields left out.
fn shown(fields: &Value, scope: &str, entrypoint: bool) -> Value {
    let mut out = Object::new();
    let mut put = |name: &str, value: Value| drop(out.insert(Value::from(name), value));
    let field = |name: &str| fields.as_object().ok()?.get(&Value::from(name));
    put("scope", Value::from(scope));
    for name in ["title", "description"] {
        let text = field(name).map(text).unwrap_or_default();
        if !text.is_empty() {
            put(name, Value::from(text));
        }
    }
    if entrypoint {
        put("entrypoint", Value::Bool(true));
    }
    let mut put_list = |name: &str, show: fn(&Value) -> Value| {
        if let Some(Value::Array(items)) = field(name)
            && !items.is_empty()
        {
            put(name, Value::from(items.iter().map(show).collect::<Vec<_>>()));
        }
    };
    put_list("organizations", |item| Value::from(text(item)));
    put_list("related_resources", resource);
    put_list("authors", author);
    for name in ["custom", "labels"] {
        if let Some(Value::Object(pairs)) = field(name)
            && !pairs.is_empty()
        {
            put(name, Value::Object(pairs.clone()));
        }
    }
    out.into_value()
}

/// Returns the fields that are not empty.
fn filled(fields: [(&str, String); 2]) -> Value {
    let filled = fields.into_iter().filter(|(_, text)| !text.is_empty());
    filled.map(|(name, text)| (Value::from(name), Value::from(text))).collect::<Object>().into_value()
}

fn part(value: &Value, name: &str) -> String {
    let field = value.as_object().ok().and_then(|fields| fields.get(&Value::from(name)));
    field.and_then(|field| field.as_string().ok()).map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// Returns an address, or an object with one and a description.
fn resource(value: &Value) -> Value {
    let (address, description) = match value {
        Value::String(text) => (text.to_string(), String::new()),
        value => (part(value, "ref"), part(value, "description")),
    };
    filled([
        ("ref", Url::parse(&address).map_or(address, |url| url.to_string())),
        ("description", description),
    ])
}

/// Reads `name <mailbox>`, or an object with both.
fn author(value: &Value) -> Value {
    let Value::String(text) = value else {
        return filled([("name", part(value, "name")), ("email", part(value, "email"))]);
    };
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let bracketed = words.last().and_then(|last| last.strip_prefix('<')?.strip_suffix('>'));
    let email = bracketed.unwrap_or_default().to_owned();
    if bracketed.is_some() {
        words.pop();
    }
    filled([("name", words.join(" ")), ("email", email)])
}
