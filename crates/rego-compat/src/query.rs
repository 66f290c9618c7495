//! Ad-hoc queries: several expressions with variables, answered with every solution.
//!
//! `crate::program` evaluates one fixed document many times; this is for queries at a prompt.

use std::sync::Arc;

use crate::value::Value;

use crate::check;
use crate::desugar::{Asked, add_query, desugar};
use crate::diagnostic::{Diagnostic, Diagnostics, Source};
use crate::error::EvalError;
use crate::eval;
use crate::externals::Externals;
use crate::meter::Meter;
use crate::module::Module;
use crate::parser;
use crate::parser::RegoVersion;
use crate::plan::{self, Plan, Queried};
use crate::restrictions::Restrictions;
use eval_budget::Budget;

/// The names that a query sees: its package, imports and version.
#[derive(Clone, Debug, Default)]
pub struct QueryScope {
    /// The package whose rules the query sees by their bare names, as `a.b`.
    pub package: Option<String>,
    /// The imports of the query, as written behind `import`: `data.lib`, `input.user as u`, `rego.v1`.
    pub imports: Vec<String>,
    /// The version of the query's language.
    pub version: RegoVersion,
}

/// A compiled query. Immutable, cheap to clone, `Send + Sync`.
///
/// ```
/// use rego_compat::{Budget, Module, Query, RegoVersion, Restrictions, QueryScope, NoExternals, Value};
///
/// let module = Module::parse("m.rego", "package m\nsizes := [1, 5, 9]", RegoVersion::V1)?;
/// let restrictions = Restrictions::default();
/// let query = Query::compile(&[module], "size := data.m.sizes[_]; size > 3", &QueryScope::default(), &restrictions)?;
/// let found = query.solve(&Value::Undefined, &Value::new_object(), &Budget::default(), &NoExternals)?;
/// let sizes: Vec<Value> = found.iter().map(|solution| solution.bindings["size"].clone()).collect();
/// assert_eq!(sizes, [Value::from(5u64), Value::from(9u64)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Query {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    plan: Plan,
    asked: Asked,
    expressions: Vec<QueryExpression>,
}

/// An expression of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryExpression {
    /// The text of the expression.
    pub text: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The column in characters, counted from 1.
    pub column: u32,
}

/// One way in which all of a query's expressions hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// The values of [`Query::expressions`], in their order. An expression that only compares or binds is `true`.
    pub values: Vec<Value>,
    /// The values of the query's variables.
    pub bindings: std::collections::BTreeMap<String, Value>,
}

impl Query {
    /// Compiles a query over modules. Restrictions on what modules may read do not apply to the query itself.
    ///
    /// # Errors
    /// Returns the errors in the modules; if there are none, those in the query, whose file name is empty.
    pub fn compile(
        modules: &[Module],
        text: &str,
        scope: &QueryScope,
        restrictions: &Restrictions,
    ) -> Result<Self, Diagnostics> {
        let (module, body) = read(text, scope, restrictions)?;
        let mut diagnostics: Vec<Diagnostic> = Vec::new();
        for module in modules {
            if let Err(found) = module.check(restrictions) {
                diagnostics.extend(found.into_vec());
            }
        }
        let mut book = desugar(modules, restrictions, &mut diagnostics);
        check::verdict(std::mem::take(&mut diagnostics))?;
        let asked = add_query(&mut book, &module, &body, modules, restrictions, &mut diagnostics);
        check::program(&book, &mut diagnostics);
        if diagnostics.iter().any(|diagnostic| !diagnostic.file.is_empty()) {
            diagnostics.retain(|diagnostic| !diagnostic.file.is_empty());
        }
        check::verdict(diagnostics)?;
        let queried = Queried { query: Some(asked.group), ..Queried::default() };
        let expressions = asked.expressions.iter().map(|at| expression(&module.source, *at)).collect();
        Ok(Self { shared: Arc::new(Shared { plan: plan::plan_rules(&book, &queried), asked, expressions }) })
    }

    /// Returns the query's expressions, in their order. `some x` alone is not one.
    #[must_use]
    pub fn expressions(&self) -> &[QueryExpression] {
        &self.shared.expressions
    }

    /// Returns every solution, in the order OPA finds them; none where the query is undefined. [`Value::Undefined`] as `input`
    /// means no input. Printed lines go to `externals`.
    ///
    /// # Errors
    /// Returns an [`EvalError`] where the budget is exceeded, or where OPA reports an evaluation error.
    pub fn solve(
        &self,
        input: &Value,
        data: &Value,
        budget: &Budget,
        externals: &dyn Externals,
    ) -> Result<Vec<Solution>, EvalError> {
        let Shared { plan, asked, .. } = &*self.shared;
        let documents = [input.clone(), data.clone()];
        let rows = eval::solutions(plan, asked.group, documents, &Meter::new(budget), externals)?;
        rows.iter().map(|row| self.solution(row)).collect()
    }

    fn solution(&self, row: &Value) -> Result<Solution, EvalError> {
        let Shared { asked, expressions, .. } = &*self.shared;
        let count = expressions.len().saturating_add(asked.variables.len());
        let elements = row.as_array().ok().filter(|elements| elements.len() == count);
        let elements = elements.ok_or_else(|| {
            EvalError::Internal(format!("a solution of the query does not have {count} values"))
        })?;
        let mut values = elements.iter().cloned();
        let expressions = values.by_ref().take(expressions.len()).collect();
        let names = asked.variables.iter().map(|name| name.to_string());
        Ok(Solution { values: expressions, bindings: names.zip(values).collect() })
    }
}

fn read(
    text: &str,
    scope: &QueryScope,
    restrictions: &Restrictions,
) -> Result<(Module, crate::ast::Body), Diagnostics> {
    let mut header = format!("package {}", scope.package.as_deref().unwrap_or("query"));
    for import in &scope.imports {
        header.push_str("\nimport ");
        header.push_str(import);
    }
    let header = Source::new("", &header);
    let source = Source::new("", text);
    let (mut tree, body) = parser::parse_query(&source, &header, scope.version, restrictions.bounds())?;
    if scope.package.is_none() {
        tree.package.clear();
    }
    // OPA refuses functions that v1 lacks in modules only.
    tree.strict = false;
    Ok((Module::of(source, tree), body))
}

fn expression(source: &Source, at: crate::diagnostic::Pos) -> QueryExpression {
    let (line, column) = source.locate(at);
    let offset = |at: u32| usize::try_from(at).unwrap_or(usize::MAX);
    let text = source.text.get(offset(at.0)..offset(at.1)).unwrap_or_default().to_owned();
    QueryExpression { text, line, column }
}

#[cfg(test)]
mod tests;
