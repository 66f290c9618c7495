//! Calls outside of rules.

use crate::ast::{HeadValue, Rule, Term};
use crate::builtin;
use crate::diagnostic::{Diagnostic, DiagnosticCode};
use crate::module::Module;

/// Reports `count(x)` as a statement of its own: a rule without value and body that has the name of a builtin function.
/// Source: OPA `ast/parser_ext.go`, `ParseRuleFromExpr`.
pub(super) fn check(module: &Module, diagnostics: &mut Vec<Diagnostic>) {
    for rule in module.tree.rules.iter().filter(|rule| is_bare_call(rule) && names_builtin(rule)) {
        let message = "rule name conflicts with built-in function".to_owned();
        let help = "put the call into the body of a rule";
        diagnostics.push(module.source.diagnostic(rule.at, DiagnosticCode::Parse, message, help));
    }
}

fn is_bare_call(rule: &Rule) -> bool {
    let has_value = rule.default || !matches!(rule.head.value, HeadValue::True);
    rule.head.args.is_some() && !has_value && !rule.written.body && !rule.written.conditional
}

fn names_builtin(rule: &Rule) -> bool {
    let first = rule.head.name().map(|name| &**name);
    let rest = rule.head.path.iter().skip(1).map(Term::as_str);
    let name: Option<Vec<&str>> = std::iter::once(first).chain(rest).collect();
    name.is_some_and(|name| builtin::find(&name.join(".")).is_some())
}
