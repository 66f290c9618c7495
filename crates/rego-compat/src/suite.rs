//! Unit tests written in Rego: rules whose names begin with `test_`, found and run as `opa test` does.
//!
//! All modules are compiled once, with the tests in them; each test is one evaluation. What is printed of the
//! outcome, and how, is the host's decision. `coverage` reports which places of the modules the tests passed.

mod case;
mod coverage;
mod discover;

use std::sync::Arc;

use crate::value::Value;

use crate::check;
use crate::desugar::desugar;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::error::EvalError;
use crate::eval::{self, Witness};
use crate::externals::Externals;
use crate::ir::GroupId;
use crate::meter::Meter;
use crate::module::Module;
use crate::plan::{self, Plan, Queried};
use crate::restrictions::Restrictions;
use eval_budget::Budget;

pub use case::TestCase;
pub use coverage::{Coverage, FileCoverage, Range};

/// Modules with their tests, compiled. Immutable, cheap to clone, `Send + Sync`.
///
/// ```
/// use rego_compat::{Budget, Module, RegoVersion, Restrictions, NoExternals, Suite, Value};
///
/// let text = "package m\nallow if input.x == 1\ntest_allow if allow with input as {\"x\": 1}";
/// let module = Module::parse("m.rego", text, RegoVersion::V1)?;
/// let suite = Suite::compile(&[module], &Restrictions::default())?;
/// let test = &suite.tests()[0];
/// assert_eq!((test.package.as_str(), test.name.as_str()), ("data.m", "test_allow"));
/// assert!(suite.run(test, &Value::new_object(), &Budget::default(), &NoExternals)?.passed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Suite {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    plan: Plan,
    tests: Vec<Test>,
    modules: Vec<Module>,
}

/// A rule whose name begins with `test_` or `todo_test_`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The package of the rule, as `data.a.b`.
    pub package: String,
    /// The rule's name; the second and later rules of one name have a number behind it.
    pub name: String,
    /// The name of the module that the rule is in.
    pub file: String,
    /// The line of the rule, counted from 1.
    pub line: u32,
    /// The column of the rule in characters, counted from 1.
    pub column: u32,
    /// True if the name begins with `todo_`, so that the test is not to be run.
    pub skipped: bool,
    group: Option<GroupId>,
    keyed: bool,
}

/// The outcome of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// True if the rule is `true`, or if all its cases passed.
    pub passed: bool,
    /// The cases of a rule with cases (`test_x[name] if …`), by name.
    pub cases: Vec<TestCase>,
}

impl Suite {
    /// Compiles modules with their tests.
    ///
    /// # Errors
    /// Everything that keeps the modules from being evaluated as OPA would.
    pub fn compile(modules: &[Module], restrictions: &Restrictions) -> Result<Self, Diagnostics> {
        Self::build(modules, restrictions, false)
    }

    /// Compiles like [`Self::compile`], and records coverage for [`Self::run_covered`].
    ///
    /// # Errors
    /// Returns the errors of [`Self::compile`].
    pub fn compile_covered(modules: &[Module], restrictions: &Restrictions) -> Result<Self, Diagnostics> {
        Self::build(modules, restrictions, true)
    }

    fn build(modules: &[Module], restrictions: &Restrictions, traced: bool) -> Result<Self, Diagnostics> {
        let modules = discover::numbered(modules);
        let mut diagnostics: Vec<Diagnostic> = Vec::new();
        for module in &modules {
            if let Err(found) = module.check(restrictions) {
                diagnostics.extend(found.into_vec());
            }
        }
        let mut book = desugar(&modules, restrictions, &mut diagnostics);
        check::program(&book, &mut diagnostics);
        check::verdict(diagnostics)?;
        let tests = discover::tests(&modules, &book);
        for test in tests.iter().filter(|test| test.keyed) {
            if let Some(group) = test.group.and_then(|group| book.groups.get_mut(group)) {
                case::announce(group);
            }
        }
        let plan = plan::plan_rules(&book, &Queried { traced, query: None });
        Ok(Self { shared: Arc::new(Shared { plan, tests, modules }) })
    }

    /// Returns the tests, in the order of the modules and of the rules in them.
    #[must_use]
    pub fn tests(&self) -> &[Test] {
        &self.shared.tests
    }

    /// Runs a test of this suite, without `input` unless the test sets it. Printed lines go to `externals`.
    ///
    /// # Errors
    /// Returns an [`EvalError`] where the budget is exceeded, or where OPA reports an evaluation error.
    pub fn run(
        &self,
        test: &Test,
        data: &Value,
        budget: &Budget,
        externals: &dyn Externals,
    ) -> Result<Outcome, EvalError> {
        self.witnessed(test, data, budget, externals, &Witness::default())
    }

    /// Runs a test like [`Self::run`], and adds the covered places to `coverage`, also those before an error.
    ///
    /// # Errors
    /// Returns the errors of [`Self::run`].
    pub fn run_covered(
        &self,
        test: &Test,
        data: &Value,
        budget: &Budget,
        externals: &dyn Externals,
        coverage: &mut Coverage,
    ) -> Result<Outcome, EvalError> {
        let witness = Witness::new(self.shared.plan.marks.len());
        let outcome = self.witnessed(test, data, budget, externals, &witness);
        coverage.add(&self.shared.plan, &witness);
        outcome
    }

    /// Returns, for each module, the places that are covered and those that are not.
    #[must_use]
    pub fn report(&self, coverage: &Coverage) -> std::collections::BTreeMap<String, FileCoverage> {
        coverage.report(&self.shared.modules)
    }

    fn witnessed(
        &self,
        test: &Test,
        data: &Value,
        budget: &Budget,
        externals: &dyn Externals,
        witness: &Witness,
    ) -> Result<Outcome, EvalError> {
        let Some(group) = test.group else {
            return Ok(Outcome { passed: false, cases: Vec::new() });
        };
        let documents = [Value::Undefined, data.clone()];
        let meter = Meter::new(budget);
        let value = eval::rule(&self.shared.plan, group, documents, &meter, externals, witness)?;
        Ok(match value {
            Some(value) if test.keyed => case::outcome(&value, &witness.cases.borrow()),
            value => Outcome { passed: value == Some(Value::from(true)), cases: Vec::new() },
        })
    }
}

#[cfg(test)]
mod tests;
