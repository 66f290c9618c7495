//! Rules the host cannot do without.

use crate::diagnostic::{Diagnostic, DiagnosticCode};
use crate::module::Module;
use crate::restrictions::Restrictions;

pub(super) fn check(module: &Module, restrictions: &Restrictions, diagnostics: &mut Vec<Diagnostic>) {
    for name in restrictions.required_rules() {
        if !module.rule_names().any(|rule| rule == name) {
            let message = format!("missing required rule: {name}");
            let help = format!("add a rule named {name} to package {}", module.package().join("."));
            diagnostics.push(module.source.diagnostic(
                module.tree.package_at,
                DiagnosticCode::Refused,
                message,
                &help,
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Module, RegoVersion, Restrictions};

    #[test]
    fn each_missing_rule_is_a_diagnostic() {
        let module = Module::parse("t.rego", "package t\nviolation[x] { x = 1 }", RegoVersion::V0).unwrap();
        assert!(module.check(&Restrictions::default().with_required_rules(["violation"])).is_ok());
        let diagnostics =
            module.check(&Restrictions::default().with_required_rules(["violation", "a", "b"])).unwrap_err();
        assert_eq!(diagnostics.len(), 2);
        assert!(diagnostics.to_string().contains("missing required rule: a"));
    }
}
