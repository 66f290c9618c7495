//! `data` only through the roots the host names: no bare `data`, no `data[variable]`.

use crate::ast::{Node, Term};
use crate::diagnostic::{Diagnostic, DiagnosticCode};
use crate::module::Module;
use crate::restrictions::Restrictions;
use crate::walk::{Visit, walk_rule};

pub(super) fn check(module: &Module, restrictions: &Restrictions, diagnostics: &mut Vec<Diagnostic>) {
    if !restrictions.restricts_data() {
        return;
    }
    let mut access = Access { module, restrictions, diagnostics };
    for rule in &module.tree.rules {
        walk_rule(rule, &mut access);
    }
    for import in &module.tree.imports {
        if import.path.first().is_some_and(|root| &**root == "data") {
            access.judge(import.path.get(1).map(|root| &**root), import.at);
        }
    }
}

struct Access<'a> {
    module: &'a Module,
    restrictions: &'a Restrictions,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl Access<'_> {
    fn judge(&mut self, root: Option<&str>, at: crate::diagnostic::Pos) {
        if root.is_some_and(|root| self.restrictions.allows_data_root(root)) {
            return;
        }
        let allowed: Vec<String> =
            self.restrictions.data_roots().map(|root| format!("data.{root}")).collect();
        let message = match root {
            Some(root) => format!("data.{root} may not be accessed"),
            None => "data may only be accessed through a named root".to_owned(),
        };
        let help = format!("allowed: {}", allowed.join(", "));
        self.diagnostics.push(self.module.source.diagnostic(at, DiagnosticCode::Refused, message, &help));
    }
}

impl Visit for Access<'_> {
    fn term(&mut self, term: &Term) {
        match &term.node {
            Node::Ref(components) => {
                if matches!(components.first().map(|head| &head.node), Some(Node::Var(name)) if &**name == "data")
                {
                    let root = components.get(1).and_then(Term::as_str).map(str::to_owned);
                    self.judge(root.as_deref(), term.at);
                }
            }
            Node::Call(call) if call.operator.first().is_some_and(|name| &**name == "data") => {
                self.judge(call.operator.get(1).map(|root| &**root), term.at);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Module, RegoVersion, Restrictions};

    fn lines(body: &str) -> Vec<u32> {
        let text = format!("package t\n{body}");
        let module = Module::parse("t.rego", &text, RegoVersion::V0).unwrap();
        let restrictions = Restrictions::default().with_data_roots(["inventory", "lib"]);
        module
            .check(&restrictions)
            .err()
            .map_or_else(Vec::new, |all| all.iter().map(|diagnostic| diagnostic.line).collect())
    }

    #[test]
    fn named_roots_are_allowed() {
        assert!(lines("p { data.inventory.x[_] == 1; data.lib.f(1); data[\"lib\"].y }").is_empty());
    }

    #[test]
    fn everything_else_is_refused_wherever_it_hides() {
        assert_eq!(
            lines("p { data.constraints }\nq { x = data }\nr { data[k] == 1; k = \"lib\" }"),
            [2, 3, 4]
        );
        assert_eq!(lines("p = [y | y = data.secrets] { true }\nq { true } else = data.x { true }"), [2, 3]);
        assert_eq!(lines("p { count(data.x) > 0\n every_not := {data.y: 1} }"), [2, 3]);
        assert_eq!(lines("p { input.x with data.z as 1 }"), [2]);
        assert_eq!(lines("p { data.secret.f(1) }"), [2]);
    }
}
