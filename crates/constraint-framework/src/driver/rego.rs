//! The driver of the engine `Rego`: the rules of what a template may contain, over `rego-compat`.
//!
//! Gatekeeper decides what is allowed and refused; the evaluation of Rego is OPA's and lives in `rego-compat`.

mod explain;
mod hook;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use rego_compat::{
    Diagnostics, Module, Object, Program as Compiled, QueryScope, RegoVersion, Restrictions,
    Value as RegoValue,
};
use serde_json::Value;

use crate::api::RegoSource;
use crate::inventory::{DependencyKey, Reads};
use crate::review::{RawViolation, UnreadableError};

use super::print::{PrintExternals, PrintListener};
use super::{BodyTrace, Budget, Case, CompileError, CompileErrors, CompiledPolicy, Driver, EvalError};

/// The driver of the engine `Rego`: compiles templates written in Rego.
#[derive(Clone, Copy, Debug, Default)]
pub struct RegoDriver;

/// The driver of the engine `Rego` with a listener for what policies print, for authors: evaluation is slower than by
/// [`RegoDriver`].
#[derive(Clone, Debug)]
pub struct PrintingRegoDriver(Arc<dyn PrintListener>);

#[derive(Debug)]
struct RegoProgram {
    compiled: Compiled,
    reads: Option<Reads>,
    listener: Option<Arc<dyn PrintListener>>,
}

impl PrintingRegoDriver {
    /// Creates a driver whose policies print to `listener`.
    pub fn new(listener: Arc<dyn PrintListener>) -> Self {
        Self(listener)
    }
}

impl Driver for RegoDriver {
    fn engine(&self) -> &str {
        "Rego"
    }

    fn compile(&self, source: &Value) -> Result<Arc<dyn CompiledPolicy>, CompileErrors> {
        compile(source, &restrictions(), None)
    }

    fn with_print_listener(&self, listener: &Arc<dyn PrintListener>) -> Option<Arc<dyn Driver>> {
        Some(Arc::new(PrintingRegoDriver::new(listener.clone())))
    }

    fn explain(
        &self,
        source: &Value,
        case: &Case<'_>,
        budget: &Budget,
    ) -> Result<Vec<BodyTrace>, CompileErrors> {
        explain(source, case, budget)
    }
}

impl Driver for PrintingRegoDriver {
    fn engine(&self) -> &str {
        RegoDriver.engine()
    }

    fn compile(&self, source: &Value) -> Result<Arc<dyn CompiledPolicy>, CompileErrors> {
        compile(source, &restrictions().with_print(), Some(self.0.clone()))
    }

    fn with_print_listener(&self, listener: &Arc<dyn PrintListener>) -> Option<Arc<dyn Driver>> {
        Some(Arc::new(Self::new(listener.clone())))
    }

    fn explain(
        &self,
        source: &Value,
        case: &Case<'_>,
        budget: &Budget,
    ) -> Result<Vec<BodyTrace>, CompileErrors> {
        explain(source, case, budget)
    }
}

fn explain(source: &Value, case: &Case<'_>, budget: &Budget) -> Result<Vec<BodyTrace>, CompileErrors> {
    let inventory = explained_inventory(source, case)?;
    let source =
        RegoSource::from_value(source).map_err(|errors| errors.iter().map(from_field).collect::<Vec<_>>())?;
    let version = if source.version == "v1" { RegoVersion::V1 } else { RegoVersion::V0 };
    let modules = parse(&source, version)?;
    let package = modules.first().map(|entry| entry.package().join("."));
    let imports = source.rego.lines().filter_map(|line| line.trim().strip_prefix("import "));
    let imports = imports.map(|import| import.split('#').next().unwrap_or_default().trim().to_owned());
    let input = input(case).map_err(|error| vec![unreadable("input", &error)])?;
    explain::bodies(&explain::Question {
        modules: &modules,
        scope: QueryScope { package, imports: imports.collect(), version },
        input,
        data: RegoValue::from(BTreeMap::from([(RegoValue::from("inventory"), inventory)])),
        budget,
    })
}

/// Returns the inventory that an explanation is given: all of it, because each expression is evaluated alone, and an index
/// would leave out what another expression compares. Where some of it cannot be read, what the policy reads.
fn explained_inventory(source: &Value, case: &Case<'_>) -> Result<RegoValue, CompileErrors> {
    if let Ok(all) = case.inventory.whole() {
        return Ok(all);
    }
    let program = compile(source, &restrictions(), None)?;
    let read = program.reads().map(|reads| case.inventory.read_by(reads));
    Ok(read
        .unwrap_or_else(|| Ok(RegoValue::new_object()))
        .map_err(|error| vec![unreadable("inventory", &error)])?)
}

fn unreadable(part: &str, error: &dyn std::error::Error) -> CompileError {
    CompileError { code: format!("unreadable_{part}"), message: error.to_string(), location: part.to_owned() }
}

/// Returns the `input` of a policy.
pub(super) fn input(case: &Case<'_>) -> Result<RegoValue, UnreadableError> {
    let fields = vec![
        (NAMES.parameters.clone(), parameters(case)?),
        (NAMES.review.clone(), case.review.rego()?.clone()),
    ];
    Ok(Object::of(fields).into_value())
}

/// The names that are looked up or set for every constraint.
struct Names {
    review: RegoValue,
    parameters: RegoValue,
    inventory: RegoValue,
    message: RegoValue,
    details: RegoValue,
}

static NAMES: LazyLock<Names> = LazyLock::new(|| Names {
    review: "review".into(),
    parameters: "parameters".into(),
    inventory: "inventory".into(),
    message: "msg".into(),
    details: "details".into(),
});

fn compile(
    source: &Value,
    restrictions: &Restrictions,
    listener: Option<Arc<dyn PrintListener>>,
) -> Result<Arc<dyn CompiledPolicy>, CompileErrors> {
    let source =
        RegoSource::from_value(source).map_err(|errors| errors.iter().map(from_field).collect::<Vec<_>>())?;
    let version = if source.version == "v1" { RegoVersion::V1 } else { RegoVersion::V0 };
    let mut modules = parse(&source, version)?;
    let package = modules.first().map(|entry| entry.package().to_vec()).unwrap_or_default();
    let query = format!("data.{}.violation", package.join("."));
    modules.extend(hook::module(&package));
    let compiled = rego_compat::compile(&modules, &query, restrictions)
        .map_err(|diagnostics| compile_errors(&diagnostics))?;
    let reads = Reads::of(&compiled);
    Ok(Arc::new(RegoProgram { compiled, reads, listener }))
}

/// Returns the roots that Gatekeeper lets a template refer to: libraries, and the inventory.
fn restrictions() -> Restrictions {
    Restrictions::default().with_data_roots(["inventory", "lib"]).with_import_roots(["data.lib", "future"])
}

/// Parses the entry module, which comes first, and the libraries.
fn parse(source: &RegoSource, version: RegoVersion) -> Result<Vec<Module>, CompileErrors> {
    let mut modules = Vec::new();
    let mut errors = Vec::new();
    match Module::parse("template", &source.rego, version) {
        Ok(module) => {
            errors.extend(check_entry(&module));
            modules.push(module);
        }
        Err(diagnostics) => errors.extend(compile_errors(&diagnostics)),
    }
    for (position, text) in source.libs.iter().enumerate() {
        let name = format!("libs[{position}]");
        match Module::parse(&name, text, version) {
            Ok(module) => {
                errors.extend(check_library(&module, name));
                modules.push(module);
            }
            Err(diagnostics) => errors.extend(compile_errors(&diagnostics)),
        }
    }
    if errors.is_empty() { Ok(modules) } else { Err(errors.into()) }
}

fn check_entry(module: &Module) -> Option<CompileError> {
    let found = module.rule_names().any(|name| name == "violation");
    (!found).then(|| CompileError {
        code: "invalid_module".to_owned(),
        message: "the entry module must have a rule named `violation`".to_owned(),
        location: "template".to_owned(),
    })
}

fn check_library(module: &Module, name: String) -> Option<CompileError> {
    let package = module.package();
    let below_lib = package.first().is_some_and(|root| root == "lib") && package.len() > 1;
    (!below_lib).then(|| CompileError {
        code: "invalid_module".to_owned(),
        message: format!(
            "a library's package must lie below `lib`, such as `lib.labels`, not {:?}",
            package.join(".")
        ),
        location: name,
    })
}

fn from_field(error: &crate::api::FieldError) -> CompileError {
    CompileError {
        code: "invalid_source".to_owned(),
        message: error.message.clone(),
        location: format!("source{}", error.pointer),
    }
}

fn compile_errors(diagnostics: &Diagnostics) -> Vec<CompileError> {
    let own = diagnostics.iter().filter(|diagnostic| !hook::is_of(diagnostic));
    own.map(|diagnostic| CompileError {
        code: diagnostic.code.to_string(),
        message: match diagnostic.help.as_str() {
            "" => diagnostic.message.clone(),
            help => format!("{} ({help})", diagnostic.message),
        },
        location: format!("{}:{}:{}", diagnostic.file, diagnostic.line, diagnostic.column),
    })
    .chain(hook::error(diagnostics))
    .collect()
}

impl CompiledPolicy for RegoProgram {
    fn evaluate(&self, case: &Case<'_>, budget: &Budget) -> Result<Vec<RawViolation>, EvalError> {
        let input = input(case)?;
        let data = match &self.reads {
            None => RegoValue::new_object(),
            Some(reads) => {
                let inventory = case.inventory.select(reads, &input)?;
                Object::of(vec![(NAMES.inventory.clone(), inventory)]).into_value()
            }
        };
        let answer = match &self.listener {
            None => self.compiled.evaluate(&input, &data, budget),
            Some(listener) => {
                self.compiled.evaluate_with(&input, &data, budget, &PrintExternals(listener.as_ref()))
            }
        };
        match answer? {
            None => Ok(Vec::new()),
            Some(answer) => violations(&answer),
        }
    }

    fn reads(&self) -> Option<&Reads> {
        self.reads.as_ref()
    }

    fn dependency_keys(&self, case: &Case<'_>) -> Vec<DependencyKey> {
        // What the policy cannot read depends on nothing: it is violated whatever the inventory holds.
        let reads = self.reads.as_ref().zip(input(case).ok());
        reads.map(|(reads, input)| reads.keys(&input)).unwrap_or_default()
    }
}

/// Returns the parameters as Rego sees them: an empty object where a constraint has none.
fn parameters(case: &Case<'_>) -> Result<RegoValue, UnreadableError> {
    Ok(match case.parameters.rego()? {
        RegoValue::Null => RegoValue::new_object(),
        parameters => parameters.clone(),
    })
}

/// Returns the violations in a policy's answer. Objects that differ only in keys other than `msg` and `details` are one.
fn violations(answer: &RegoValue) -> Result<Vec<RawViolation>, EvalError> {
    let set = answer.as_set().map_err(|_| EvalError::Shape(shape(answer)))?;
    distinct(set.iter())
}

/// Returns the violations in the elements of an answer, without duplicates.
pub(super) fn distinct<'v>(
    entries: impl Iterator<Item = &'v RegoValue>,
) -> Result<Vec<RawViolation>, EvalError> {
    let mut violations: Vec<RawViolation> = Vec::new();
    for entry in entries {
        let violation = violation(entry)?;
        if !violations.contains(&violation) {
            violations.push(violation);
        }
    }
    Ok(violations)
}

fn violation(entry: &RegoValue) -> Result<RawViolation, EvalError> {
    let fields = entry.as_object().map_err(|_| EvalError::Shape(shape(entry)))?;
    let message = fields.get(&NAMES.message).ok_or_else(|| EvalError::Shape(shape(entry)))?;
    let message = message.as_string().map_err(|_| EvalError::Shape(shape(entry)))?;
    let details = match fields.get(&NAMES.details) {
        None => Value::Object(serde_json::Map::new()),
        Some(details) => serde_json::to_value(details).map_err(|_| EvalError::Shape(shape(entry)))?,
    };
    Ok(RawViolation { message: message.to_string(), details: Some(details) })
}

/// Returns the start of a value, for an error message that must stay readable.
fn shape(value: &RegoValue) -> String {
    value.to_string().chars().take(200).collect()
}
