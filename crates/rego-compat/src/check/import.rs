//! Imports: only what the host lets in, and no name twice.

use std::collections::BTreeMap;

use crate::diagnostic::{Diagnostic, DiagnosticCode};
use crate::module::Module;
use crate::restrictions::Restrictions;

pub(super) fn check(module: &Module, restrictions: &Restrictions, diagnostics: &mut Vec<Diagnostic>) {
    let mut names = BTreeMap::new();
    for import in &module.tree.imports {
        if !restrictions.allows_import(&import.path) {
            let allowed: Vec<String> = restrictions.import_roots().collect();
            let help = format!("only these may be imported: {}", allowed.join(", "));
            let message = format!("bad import: {}", import.path.join("."));
            diagnostics.push(module.source.diagnostic(import.at, DiagnosticCode::Refused, message, &help));
        }
        let Some(name) = import.name().filter(|_| import.is_document()) else {
            continue;
        };
        if names.insert(name.clone(), import.at).is_some() && module.tree.strict {
            let message = format!("import must not shadow import {}", import.path.join("."));
            diagnostics.push(module.source.diagnostic(
                import.at,
                DiagnosticCode::Compile,
                message,
                "import it under an alias",
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Module, RegoVersion, Restrictions};

    fn diagnostics(text: &str, restrictions: &Restrictions, version: RegoVersion) -> Vec<String> {
        let module = Module::parse("t.rego", text, version).unwrap();
        module
            .check(restrictions)
            .err()
            .map_or_else(Vec::new, |all| all.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn imports_outside_the_roots_are_refused() {
        let restrictions = Restrictions::default().with_import_roots(["data.lib", "future"]);
        let text =
            "package t\nimport data.lib.x\nimport data.inventory\nimport input.a\nimport future.keywords.in";
        assert_eq!(
            diagnostics(text, &restrictions, RegoVersion::V0),
            [
                "t.rego:3:8: rego_refused_error: bad import: data.inventory (only these may be imported: data.lib, future)",
                "t.rego:4:8: rego_refused_error: bad import: input.a (only these may be imported: data.lib, future)",
            ]
        );
        assert!(diagnostics(text, &Restrictions::default(), RegoVersion::V0).is_empty());
    }

    #[test]
    fn an_import_may_not_hide_another_in_v1() {
        let text = "package t\nimport data.a.x\nimport data.b.x";
        assert_eq!(diagnostics(text, &Restrictions::default(), RegoVersion::V1).len(), 1);
        assert!(diagnostics(text, &Restrictions::default(), RegoVersion::V0).is_empty());
    }
}
