//! The keywords that Rego v1 requires in front of bodies and elements. The rules of OPA's `CheckRegoV1`.

use crate::ast::{HeadValue, Written};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Pos};
use crate::module::Module;

pub(super) fn check(module: &Module, diagnostics: &mut Vec<Diagnostic>) {
    if !module.tree.strict {
        return;
    }
    let mut report = |at: Pos, message: String, help: &str| {
        diagnostics.push(module.source.diagnostic(at, DiagnosticCode::Parse, message, help));
    };
    for rule in module.tree.rules.iter().filter(|rule| !rule.default) {
        let what = if rule.head.args.is_some() { "function" } else { "rule" };
        let lacks_if = |has_body: bool, written: Written| has_body && !written.conditional;
        let missing_if = format!("`if` keyword is required before {what} body");
        match &rule.head.value {
            HeadValue::True if rule.body.is_empty() && rule.head.args.is_none() => {
                let message = format!("{what} must have value assignment and/or body declaration");
                report(rule.at, message, "write := and a value, or if and a body");
            }
            HeadValue::Element(_) if !rule.written.contains => {
                let message = "`contains` keyword is required for partial set rules".to_owned();
                report(rule.at, message, "write p contains x");
            }
            _ => {}
        }
        if lacks_if(!rule.body.is_empty(), rule.written) {
            report(rule.at, missing_if.clone(), "write if in front of the body");
        }
        for branch in &rule.otherwise {
            if lacks_if(!branch.body.is_empty(), branch.written) {
                report(branch.at, missing_if.clone(), "write if in front of the body");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::RegoVersion;
    use crate::check::tests::refusals as wrong;

    #[test]
    fn v0_wants_neither() {
        for rule in ["p { true }", "p[1]", "p = 1 { true } else = 2 { true }"] {
            assert!(wrong(rule, RegoVersion::V0).is_empty(), "{rule}");
        }
    }

    #[test]
    fn v1_wants_if_and_contains() {
        let body = "`if` keyword is required before rule body";
        let cases = [
            ("p { true }", vec![body]),
            ("p := 1 { true }", vec![body]),
            ("f(x) { x }", vec!["`if` keyword is required before function body"]),
            ("p[1]", vec!["`contains` keyword is required for partial set rules"]),
            ("p if { true } else { true }", vec![body]),
            ("f(1)", vec![]),
            ("p.q.r", vec!["rule must have value assignment and/or body declaration"]),
            ("p contains 1", vec![]),
            ("p contains x if x := 1", vec![]),
            ("p := 1", vec![]),
            ("p if true else := 2", vec![]),
            ("default p := 1", vec![]),
            ("p[x] := 1 if x := 2", vec![]),
        ];
        for (rule, expected) in cases {
            assert_eq!(wrong(rule, RegoVersion::V1), expected, "{rule}");
        }
    }
}
