//! Gatekeeper's treatment of a template's answer, as a rule beside it: compiled and never evaluated, so that a `violation` of
//! a wrong type is refused with the template, and not at the first review.

use rego_compat::{Diagnostic, Diagnostics, Module, RegoVersion};

use crate::driver::CompileError;

const NAME: &str = "hook";

/// Returns the hook for the rule `violation` of a package.
pub(super) fn module(package: &[String]) -> Result<Module, Diagnostics> {
    let (root, below) = package.split_first().map_or(("", package), |(root, below)| (root.as_str(), below));
    let below: String = below.iter().map(|segment| format!("[{segment:?}]")).collect();
    let source = format!(
        "package {root}{below}\ngatekeeper_hook {{ violation[r]; object.get(r, \"details\", {{}}); r.msg }}"
    );
    Module::parse(NAME, &source, RegoVersion::V0)
}

/// Returns true if a diagnostic is about the hook.
pub(super) fn is_of(diagnostic: &Diagnostic) -> bool {
    diagnostic.file == NAME
}

/// Returns the diagnostics about the hook as one error of the template, if there are any.
pub(super) fn error(diagnostics: &Diagnostics) -> Option<CompileError> {
    let found = diagnostics.iter().find(|diagnostic| is_of(diagnostic))?;
    Some(CompileError {
        code: found.code.to_string(),
        message: format!(
            "`violation` must be a set of objects with a `msg`, such as violation[{{\"msg\": msg}}] {{ … }}: {}",
            found.message
        ),
        location: "template".to_owned(),
    })
}
