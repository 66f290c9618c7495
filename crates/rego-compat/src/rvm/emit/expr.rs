//! Expressions: each into a variable, a line for each part of it, so that what has no value ends the body.

use crate::value::Value;

use crate::ir::Kind;
use crate::plan::{BuiltinCall, Callee, Expr, Get};

use super::super::host::Request;
use super::super::subset::Reason;
use super::{Emitter, Lines, Scope};

impl Emitter<'_> {
    /// A variable or scalar with the expression's value.
    pub(super) fn expr(&mut self, expr: &Expr, scope: &Scope, lines: &mut Lines) -> String {
        match expr {
            Expr::Const(value) => self.constant(value, lines),
            Expr::Slot(slot) => match scope.slots.get(slot) {
                Some(name) => name.clone(),
                None => self.fail(lines),
            },
            Expr::Input => self.assign_defined("input.i", lines),
            Expr::Data => self.assign_defined("input.d", lines),
            Expr::Rule(group) => {
                let group = *group;
                if self.plan.groups.get(group).is_none_or(|group| matches!(group.kind, Kind::Function { .. }))
                {
                    return self.fail(lines);
                }
                let name = self.named(group);
                self.assign_defined(&name, lines)
            }
            Expr::Package(node) => self.package(*node, lines),
            Expr::Get(get) => self.get(get, scope, lines),
            Expr::Array(items) => {
                let items = self.all(items, scope, lines).join(", ");
                self.assign(&format!("[{items}]"), lines)
            }
            Expr::Set(items) if items.is_empty() => self.assign("set()", lines),
            Expr::Set(items) => {
                let items = self.all(items, scope, lines).join(", ");
                self.assign(&format!("{{{items}}}"), lines)
            }
            Expr::Object(pairs) => self.object(pairs, scope, lines),
            Expr::Builtin(call) => self.builtin(call, scope, lines),
            Expr::Call(call) => {
                let args = self.all(&call.args, scope, lines);
                self.call(call.callee, &args, lines)
            }
            Expr::Invariant(invariant) => self.expr(&invariant.expr, scope, lines),
            Expr::Undefined => self.fail(lines),
        }
    }

    pub(super) fn all(&mut self, exprs: &[Expr], scope: &Scope, lines: &mut Lines) -> Vec<String> {
        exprs.iter().map(|expr| self.expr(expr, scope, lines)).collect()
    }

    /// Scalars that read alike everywhere are written; all else is looked up.
    fn constant(&mut self, value: &Value, lines: &mut Lines) -> String {
        if let Some(text) = written(value) {
            return text;
        }
        if matches!(value, Value::Undefined) {
            return self.fail(lines);
        }
        let known = self.constants.iter().position(|known| known == value);
        let place = known.unwrap_or_else(|| {
            self.constants.push(value.clone());
            self.constants.len().saturating_sub(1)
        });
        self.assign(&format!("input.c[{place}]"), lines)
    }

    /// A variable for everything under a path that has rules below it: the rules' values by name, which the host
    /// joins with the data there.
    fn package(&mut self, node: usize, lines: &mut Lines) -> String {
        let plan = self.plan;
        let mut pairs = Vec::new();
        for (name, child) in plan.nodes.get(node).into_iter().flat_map(|node| &node.children) {
            let mut inner = Lines::new();
            let value = match plan.nodes.get(*child).and_then(|child| child.group) {
                Some(group) => self.expr(&Expr::Rule(group), &Scope::default(), &mut inner),
                None => self.package(*child, &mut inner),
            };
            let name = self.constant(name, &mut inner);
            let pair = self.assign(&format!("[{name}, {value}]"), &mut inner);
            pairs.push(self.gather(&pair, &inner, lines));
        }
        let pairs = self.assign(&format!("[{}]", pairs.join(", ")), lines);
        self.ask(Request::Document(node), &[pairs], lines)
    }

    fn get(&mut self, get: &Get, scope: &Scope, lines: &mut Lines) -> String {
        let mut place = match get.base {
            Expr::Package(_) => return self.refuse(Reason::Package, lines),
            Expr::Input => "input.i".to_owned(),
            Expr::Data => "input.d".to_owned(),
            ref base => self.expr(base, scope, lines),
        };
        let mut read = true;
        for part in &get.path {
            match written_key(part) {
                Some(key) => {
                    place = format!("{place}[{key}]");
                    read = false;
                }
                None => {
                    if !read || place.starts_with("input.") {
                        place = self.assign_defined(&place, lines);
                    }
                    place = self.inside(&place, part, scope, lines);
                    read = true;
                }
            }
        }
        if read { place } else { self.assign_defined(&place, lines) }
    }

    /// A variable for what is under a key. Where the key is not written, the host looks it up: regorus would take a
    /// variable in brackets for one that may get its value there, and order the body accordingly.
    pub(super) fn inside(&mut self, place: &str, part: &Expr, scope: &Scope, lines: &mut Lines) -> String {
        if let Some(key) = written_key(part) {
            return self.assign_defined(&format!("{place}[{key}]"), lines);
        }
        let key = self.expr(part, scope, lines);
        self.ask(Request::Under, &[place.to_owned(), key], lines)
    }

    fn object(&mut self, pairs: &[(Expr, Expr)], scope: &Scope, lines: &mut Lines) -> String {
        let mut written = Vec::with_capacity(pairs.len());
        for (key, value) in pairs {
            let key = self.expr(key, scope, lines);
            let value = self.expr(value, scope, lines);
            written.push(format!("{key}: {value}"));
        }
        let written = written.join(", ");
        self.assign(&format!("{{{written}}}"), lines)
    }

    fn builtin(&mut self, call: &BuiltinCall, scope: &Scope, lines: &mut Lines) -> String {
        let mut args = self.all(&call.args, scope, lines);
        if !call.pure {
            return self.refuse(Reason::Nondeterministic(builtin_name(call.id)), lines);
        }
        if args.len() > MAX_ARGUMENTS {
            return self.refuse(Reason::Arguments(builtin_name(call.id)), lines);
        }
        let request = Request::Builtin { id: call.id, takes: args.len() };
        if args.is_empty() {
            args.push("null".to_owned());
        }
        self.ask(request, &args, lines)
    }

    fn call(&mut self, callee: Callee, args: &[String], lines: &mut Lines) -> String {
        match callee {
            Callee::Function(group) => {
                if args.len() > MAX_ARGUMENTS {
                    let name = self.plan.groups.get(group).map(|group| group.name());
                    return self.refuse(Reason::Arguments(name.unwrap_or_default()), lines);
                }
                let name = self.named(group);
                self.assign_defined(&format!("{name}({})", args.join(", ")), lines)
            }
            Callee::External(index) => self.ask(Request::External(index), args, lines),
            // What is printed is the interpreter's to print.
            Callee::Hook(_) => "true".to_owned(),
            Callee::Builtin(id) => self.refuse(Reason::Nondeterministic(builtin_name(id)), lines),
        }
    }
}

const MAX_ARGUMENTS: usize = 8;

fn builtin_name(id: usize) -> String {
    crate::signature::all().nth(id).map_or_else(String::new, |signature| signature.name.to_owned())
}

fn written(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Bool(_) => Some(value.to_string()),
        Value::String(text) if is_plain(text) => Some(format!("\"{text}\"")),
        _ => None,
    }
}

/// A key that is a name, as it is written in brackets.
fn written_key(part: &Expr) -> Option<String> {
    match part {
        Expr::Const(key @ Value::String(_)) => written(key),
        _ => None,
    }
}

/// Text that needs no escapes in any reading.
fn is_plain(text: &str) -> bool {
    text.len() < 200 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" _.:/-".contains(&byte))
}
