//! Refusals: what OPA's compiler or the host's restrictions do not accept. One file per rule family.

mod bare_call;
mod data_access;
mod default;
mod dependencies;
mod import;
mod keyword;
mod recursion;
mod required;
mod root_document;
#[cfg(test)]
mod tests;
mod types;
mod typing;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::ir::Rulebook;
use crate::module::Module;
use crate::restrictions::Restrictions;

pub(crate) use default::default_errors;
pub(crate) use dependencies::Dependencies;

impl Module {
    /// Checks this module alone: imports, `data` access, required rules, refused builtins.
    /// What depends on other modules (recursion, unknown functions, …) is found by [`crate::compile`].
    ///
    /// # Errors
    /// Everything that is refused.
    pub fn check(&self, restrictions: &Restrictions) -> Result<(), Diagnostics> {
        let mut diagnostics = Vec::new();
        bare_call::check(self, &mut diagnostics);
        import::check(self, restrictions, &mut diagnostics);
        keyword::check(self, &mut diagnostics);
        root_document::check(self, &mut diagnostics);
        required::check(self, restrictions, &mut diagnostics);
        data_access::check(self, restrictions, &mut diagnostics);
        verdict(diagnostics)
    }
}

/// Returns true if the module is written as its version of Rego asks: what OPA's parser looks at once it has read
/// everything.
pub(crate) fn is_well_written(module: &Module) -> bool {
    let mut diagnostics = Vec::new();
    bare_call::check(module, &mut diagnostics);
    keyword::check(module, &mut diagnostics);
    let mut defaults = module.tree.rules.iter().filter(|rule| rule.default);
    diagnostics.is_empty() && defaults.all(|rule| default_errors(rule).is_empty())
}

/// Checks what only all modules together show.
pub(crate) fn program(book: &Rulebook, diagnostics: &mut Vec<Diagnostic>) -> Dependencies {
    let dependencies = Dependencies::of(book, diagnostics);
    let order = recursion::check(book, &dependencies, diagnostics);
    // As in OPA, types are looked at once everything else is in order.
    if diagnostics.is_empty() {
        typing::check(book, &order, diagnostics);
    }
    dependencies
}

/// Returns the diagnostics as an error, if there are any.
pub(crate) fn verdict(diagnostics: Vec<Diagnostic>) -> Result<(), Diagnostics> {
    if diagnostics.is_empty() { Ok(()) } else { Err(Diagnostics::new(diagnostics)) }
}
