//! Compiled programs: immutable, shared, evaluated under a budget.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::value::Value;

use crate::analysis::Analysis;
use crate::ast::Name;
use crate::check;
use crate::desugar::{desugar, rule_on};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Diagnostics};
use crate::error::EvalError;
use crate::eval;
use crate::externals::{Externals, NoExternals};
use crate::ir::{GroupId, Kind, Rulebook};
use crate::meter::Meter;
use crate::module::Module;
use crate::plan::{self, Plan};
use crate::restrictions::Restrictions;
use eval_budget::Budget;

/// A compiled query. Immutable, cheap to clone, `Send + Sync`.
#[derive(Clone, Debug)]
pub struct Program {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    plan: Plan,
    analysis: Analysis,
}

/// Compiles modules into a program that answers `query`, a reference to a document such as `data.k8sfoo.violation`.
///
/// # Errors
/// Returns all errors of the modules together: those of OPA's compiler, and violations of `restrictions`.
pub fn compile(modules: &[Module], query: &str, restrictions: &Restrictions) -> Result<Program, Diagnostics> {
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    for module in modules {
        if let Err(found) = module.check(restrictions) {
            diagnostics.extend(found.into_vec());
        }
    }
    let path = query_path(query, &mut diagnostics);
    let book = desugar(modules, restrictions, &mut diagnostics);
    let dependencies = check::program(&book, &mut diagnostics);
    check::verdict(diagnostics)?;
    let (start, whole) = queried(&book, &path);
    let analysis = Analysis::of(&book, &dependencies, start, whole);
    let shared = Shared { plan: plan::plan(&book, &path), analysis };
    Ok(Program { shared: Arc::new(shared) })
}

/// Returns the rules that a query names, and true if it reads plain data too.
fn queried(book: &Rulebook, path: &[Name]) -> (Vec<GroupId>, bool) {
    if let Some((group, _)) = rule_on(&book.tree, path.iter().map(|name| &**name)) {
        return (vec![group], false);
    }
    let mut groups = Vec::new();
    if let Some(node) = book.tree.find(path.iter().map(|name| &**name)) {
        node.groups(&mut groups);
    }
    (groups, true)
}

/// Returns the names of `data.a.b`, without `data`.
fn query_path(query: &str, diagnostics: &mut Vec<Diagnostic>) -> Vec<Name> {
    let mut names = query.split('.').map(Name::from);
    if names.next().as_deref() == Some("data") {
        return names.collect();
    }
    diagnostics.push(Diagnostic {
        file: "query".to_owned(),
        line: 1,
        column: 1,
        code: DiagnosticCode::Parse,
        message: format!("{query} is not a reference into data"),
        help: "write data.package.rule".to_owned(),
    });
    Vec::new()
}

impl Program {
    /// Evaluates the query; `None` means undefined.
    ///
    /// # Errors
    /// Returns an [`EvalError`] where the budget is exceeded, or where OPA reports an evaluation error.
    pub fn evaluate(&self, input: &Value, data: &Value, budget: &Budget) -> Result<Option<Value>, EvalError> {
        self.evaluate_with(input, data, budget, &NoExternals)
    }

    /// Evaluates like [`Self::evaluate`], with the host's functions.
    ///
    /// # Errors
    /// Returns the errors of [`Self::evaluate`] and those of the host's functions.
    pub fn evaluate_with(
        &self,
        input: &Value,
        data: &Value,
        budget: &Budget,
        externals: &dyn Externals,
    ) -> Result<Option<Value>, EvalError> {
        eval::run(&self.shared.plan, input, data, &Meter::new(budget), externals)
    }

    /// Evaluates like [`Self::evaluate_with`], with a meter of the caller.
    pub(crate) fn metered(
        &self,
        input: &Value,
        data: &Value,
        meter: &Meter,
        externals: &dyn Externals,
    ) -> Result<Option<Value>, EvalError> {
        eval::run(&self.shared.plan, input, data, meter, externals)
    }

    /// Returns the documents that the program reads.
    #[must_use]
    pub fn analysis(&self) -> &Analysis {
        &self.shared.analysis
    }

    /// Returns the function that [`JoinTerm::function`](crate::JoinTerm::function) names; `None` where the program has none of that name
    /// and one argument.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<Function> {
        let is_named = |group: &plan::Group| format!("data.{}", group.path.join(".")) == name;
        let groups = &self.shared.plan.groups;
        let group =
            groups.iter().position(|group| group.kind == Kind::Function { arity: 1 } && is_named(group))?;
        Some(Function { shared: self.shared.clone(), group })
    }
}

/// A function of a program, of one argument. Cheap to clone; equal to itself only.
#[derive(Clone, Debug)]
pub struct Function {
    shared: Arc<Shared>,
    group: GroupId,
}

impl Function {
    /// Evaluates the function for an argument; `None` means undefined. There is neither `input` nor `data`.
    ///
    /// # Errors
    /// Returns the errors of [`Program::evaluate`].
    pub fn value(&self, argument: &Value, budget: &Budget) -> Result<Option<Value>, EvalError> {
        eval::function(&self.shared.plan, self.group, argument, &Meter::new(budget))
    }

    fn identity(&self) -> (*const Shared, GroupId) {
        (Arc::as_ptr(&self.shared), self.group)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Function {}

impl PartialOrd for Function {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Function {
    fn cmp(&self, other: &Self) -> Ordering {
        self.identity().cmp(&other.identity())
    }
}
