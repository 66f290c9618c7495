//! Compiled programs: immutable, shared, evaluated under a budget.

use std::sync::{Arc, Mutex, PoisonError};

use regorus::{Engine, Value};

use crate::analysis::Analysis;
use crate::budget::{Budget, Limit};
use crate::error::EvalError;
use crate::finding::{Code, Finding, Findings};
use crate::module::Module;
use crate::rules::Rules;

/// What evaluates a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// The interpreter: the meaning everything else is measured by.
    Interpreter,
}

/// A compiled query. Immutable, cheap to clone, `Send + Sync`.
#[derive(Clone, Debug)]
pub struct Program {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    query: String,
    template: Engine,
    pool: Mutex<Vec<Engine>>,
    analysis: Analysis,
}

/// Compiles modules into a program that answers `query`, a reference to a rule such as `data.k8sfoo.violation`.
///
/// # Errors
/// Everything that keeps the modules from being evaluated as OPA would.
pub fn compile(modules: &[Module], query: &str, rules: &Rules) -> Result<Program, Findings> {
    let mut findings: Vec<Finding> = Vec::new();
    for module in modules {
        if let Err(found) = module.check(rules) {
            findings.extend(found.into_vec());
        }
    }
    let mut template = Engine::new();
    template.set_strict_builtin_errors(false);
    for module in modules {
        template.set_rego_v0(!module.tree.strict);
        if let Err(error) = template.add_policy(module.name().to_owned(), module.source().to_owned()) {
            let at = module.tree.package_at;
            findings.push(module.source.finding(at, Code::Compile, error.to_string(), ""));
        }
    }
    crate::check::verdict(findings)?;
    let shared = Shared { query: query.to_owned(), template, pool: Mutex::new(Vec::new()), analysis: Analysis::default() };
    Ok(Program { shared: Arc::new(shared) })
}

impl Program {
    /// The query's value; `None` when it is undefined.
    ///
    /// # Errors
    /// The budget ran out, or OPA would have reported an evaluation error.
    pub fn evaluate(&self, input: &Value, data: &Value, budget: &Budget) -> Result<Option<Value>, EvalError> {
        let pooled = self.shared.pool.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut engine = pooled.unwrap_or_else(|| self.shared.template.clone());
        engine.clear_data();
        engine.add_data(data.clone()).map_err(|error| EvalError::Type(error.to_string()))?;
        engine.set_input(input.clone());
        let answer = engine.eval_rule(self.shared.query.clone());
        self.shared.pool.lock().unwrap_or_else(PoisonError::into_inner).push(engine);
        match answer {
            Ok(Value::Undefined) => Ok(None),
            Ok(value) if value.to_string().len() as u64 > budget.output => Err(EvalError::Budget(Limit::Output)),
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(EvalError::Internal(error.to_string())),
        }
    }

    /// What the program reads.
    #[must_use]
    pub fn analysis(&self) -> &Analysis {
        &self.shared.analysis
    }

    /// What evaluates the program.
    #[must_use]
    pub fn backend(&self) -> Backend {
        Backend::Interpreter
    }
}
