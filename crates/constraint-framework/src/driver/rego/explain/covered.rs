//! A run of a policy that notes which rules held.
//!
//! The policy is called by a test of a further module, because runs of tests are what `rego-compat` takes notes of:
//!
//! ```text
//! test_case if count(data["k8srequiredlabels"].violation) >= 0 with input as data.webtroller__input
//! ```

use std::collections::BTreeMap;

use rego_compat::{
    Coverage, Diagnostics, FileCoverage, Module, NoExternals, Range, RegoVersion, Restrictions, Suite,
};

use super::{Question, VIOLATION};

/// The package of the test.
const NAME: &str = "webtroller__case";
/// The place of its input.
const INPUT: &str = "webtroller__input";

/// The places that the run passed, and those that it did not, by module.
pub(super) struct Run(BTreeMap<String, FileCoverage>);

impl Run {
    pub(super) fn of(question: &Question<'_>) -> Result<Self, Diagnostics> {
        let test = question.modules.first().map(test_of).transpose()?;
        let modules: Vec<_> = question.modules.iter().cloned().chain(test).collect();
        let suite = Suite::compile_covered(&modules, &Restrictions::default())?;
        let mut coverage = Coverage::default();
        if let Some(test) = suite.tests().iter().find(|test| test.file == NAME) {
            let data = question.data_with(INPUT, question.input.clone());
            // A policy that ends with an error has passed what came before it.
            let _ = suite.run_covered(test, &data, question.budget, &NoExternals, &mut coverage);
        }
        Ok(Self(suite.report(&coverage)))
    }

    /// Returns true if the rule that begins where `rule` does held.
    pub(super) fn held(&self, module: &Module, rule: Range) -> bool {
        let covered = self.0.get(module.name()).map_or(&[][..], |file| &file.covered);
        covered.iter().any(|range| range.start == rule.start)
    }
}

fn test_of(entry: &Module) -> Result<Module, Diagnostics> {
    let package: String = entry.package().iter().map(|name| format!("[{name:?}]")).collect();
    let text = format!(
        "package {NAME}\ntest_case if count(data{package}.{VIOLATION}) >= 0 with input as data.{INPUT}"
    );
    Module::parse(NAME, &text, RegoVersion::V1)
}
