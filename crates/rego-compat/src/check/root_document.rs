//! Rules, arguments and variables called `input` or `data`, and references where only patterns may stand.
//!
//! The rules of OPA's `checkRootDocumentOverrides`, and what its compiler says of arguments in any version.

use std::collections::BTreeSet;

use crate::ast::{Equation, Import, Literal, Name, Node, Rule, Term};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Pos};
use crate::module::Module;
use crate::walk::{Visit, walk_rule};

pub(super) fn check(module: &Module, diagnostics: &mut Vec<Diagnostic>) {
    let mut shadows = Shadows { module, diagnostics };
    for rule in &module.tree.rules {
        shadows.arguments(rule);
        if !module.tree.strict {
            continue;
        }
        if let Some(name) = rule.head.name().filter(|name| is_root(name)) {
            shadows.report(rule.at, "rules", name, "use a different rule name");
        }
        walk_rule(rule, &mut shadows);
    }
}

fn is_root(name: &str) -> bool {
    matches!(name, "input" | "data")
}

/// Returns the document a term stands for, where it is no more than its name.
fn root(term: &Term) -> Option<&Name> {
    let name = match &term.node {
        Node::Var(name) => Some(name),
        Node::Ref(parts) => match parts.as_slice() {
            [Term { node: Node::Var(name), .. }] => Some(name),
            _ => None,
        },
        _ => None,
    };
    name.filter(|name| is_root(name))
}

struct Shadows<'a> {
    module: &'a Module,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl Shadows<'_> {
    fn report(&mut self, at: Pos, what: &str, name: &str, help: &str) {
        let message = format!("{what} must not shadow {name} ({help})");
        self.diagnostics.push(self.module.source.diagnostic(at, DiagnosticCode::Compile, message, ""));
    }

    /// Returns true if a name is that of a rule or an import of the module.
    fn is_own(&self, name: &str) -> bool {
        let mut imports = self.module.tree.imports.iter().filter_map(Import::name);
        self.module.rule_names().any(|rule| rule == name) || imports.any(|import| **import == *name)
    }

    fn arguments(&mut self, rule: &Rule) {
        let args = || rule.head.args.iter().flatten();
        let mut variables = BTreeSet::new();
        args().for_each(|arg| {
            each_part(arg, &mut |part| {
                if let Node::Var(name) = &part.node {
                    variables.insert(name.clone());
                }
            })
        });
        args().for_each(|arg| {
            each_part(arg, &mut |part| {
                if let Some(name) = root(part) {
                    self.report(rule.at, "args", name, "use a different variable name");
                } else if let Some(name) = foreign_head(part, &variables) {
                    let message = format!("var {name} is unsafe");
                    let help = "compare with it in the body";
                    self.diagnostics.push(self.module.source.diagnostic(
                        part.at,
                        DiagnosticCode::UnsafeVar,
                        message,
                        help,
                    ));
                }
            })
        });
    }
}

/// Returns the head of a reference that is none of a function's own variables: an argument is matched before the documents
/// are looked at.
fn foreign_head<'t>(part: &'t Term, variables: &BTreeSet<Name>) -> Option<&'t Name> {
    match &part.node {
        Node::Ref(parts) => match parts.first().map(|head| &head.node) {
            Some(Node::Var(name)) if !variables.contains(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// Calls `visit` for the parts of a pattern that can be matched: elements of arrays and values of objects.
fn each_part<'t>(pattern: &'t Term, visit: &mut dyn FnMut(&'t Term)) {
    match &pattern.node {
        Node::Array(items) => items.iter().for_each(|item| each_part(item, visit)),
        Node::Object(pairs) => pairs.iter().for_each(|(_, value)| each_part(value, visit)),
        _ => visit(pattern),
    }
}

impl Visit for Shadows<'_> {
    fn term(&mut self, _: &Term) {}

    fn literal(&mut self, literal: &Literal) {
        if let Some(Equation { left, assigned: true, function, .. }) = literal.equation()
            && function.is_none_or(|function| !self.is_own(function))
            && let Some(name) = root(left)
        {
            self.report(literal.at, "variables", name, "use a different variable name");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::RegoVersion;
    use crate::check::tests::refusals as wrong;

    #[test]
    fn v1_keeps_the_names_of_the_documents() {
        let rules = "rules must not shadow input (use a different rule name)";
        let variables = "variables must not shadow data (use a different variable name)";
        for (rule, expected) in [
            ("input := 1", rules),
            ("input.x := 1", rules),
            ("input contains 1", rules),
            ("p if { data := 1 }", variables),
            ("p := [x | data := 1; x := data]", variables),
        ] {
            assert_eq!(wrong(rule, RegoVersion::V1), [expected], "{rule}");
        }
        for rule in ["input = 1", "p { data := 1 }"] {
            assert!(wrong(rule, RegoVersion::V0).is_empty(), "{rule}");
        }
    }

    #[test]
    fn no_version_has_arguments_of_these_names() {
        for version in [RegoVersion::V0, RegoVersion::V1] {
            for rule in ["f(input) = 1", "f([input, x]) = x", "f({\"a\": input}) = 1"] {
                let expected = "args must not shadow input (use a different variable name)";
                assert_eq!(wrong(rule, version), [expected], "{rule}");
            }
            assert_eq!(wrong("f([input.x]) = 1", version), ["var input is unsafe"]);
            assert_eq!(wrong("q = 1\nf(q.x) = 1", version), ["var q is unsafe"]);
            assert!(wrong("f([x, {\"a\": y}], \"b\", _) = [x, y]", version).is_empty());
        }
    }
}
