//! The engine `Rego` answered by regorus, a second engine's opinion for authors of policies.
//!
//! The source is compiled by [`RegoDriver`] first, so that what a template may contain is the same, and because regorus
//! recurses without bound where rules do. What is evaluated is the text of the modules, by regorus's own parser and
//! interpreter. Where it differs from OPA is listed in `tests/regorus.rs`.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use rego_compat::Value as RegoValue;
use regorus::Engine;
use regorus::utils::limits::ExecutionTimerConfig;
use serde_json::Value;

use crate::api::RegoSource;
use crate::inventory::Reads;
use crate::review::RawViolation;

use super::rego::{distinct, input};
use super::{Budget, Case, CompileError, CompileErrors, CompiledPolicy, Driver, EvalError, RegoDriver};

/// The number of steps of regorus between two checks of the time.
const CHECK_INTERVAL: NonZeroU32 = NonZeroU32::new(1024).unwrap();

/// The driver of the engine `Rego` that evaluates by regorus's interpreter, for a second opinion. Of a budget it keeps the
/// time alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct RegorusDriver;

struct RegorusProgram {
    /// The same source compiled for the engine that decides, which has the paths that the policy reads in the inventory.
    own: Arc<dyn CompiledPolicy>,
    /// The modules, read once. Each evaluation has a copy of its own, which shares the syntax trees.
    engine: Mutex<Engine>,
    query: String,
}

impl std::fmt::Debug for RegorusProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RegorusProgram").field("query", &self.query).finish_non_exhaustive()
    }
}

impl Driver for RegorusDriver {
    fn engine(&self) -> &str {
        RegoDriver.engine()
    }

    fn compile(&self, source: &Value) -> Result<Arc<dyn CompiledPolicy>, CompileErrors> {
        let own = RegoDriver.compile(source)?;
        let (engine, query) = loaded(source).map_err(|error| vec![refused(&error)])?;
        Ok(Arc::new(RegorusProgram { own, engine: Mutex::new(engine), query }))
    }
}

fn refused(error: &impl ToString) -> CompileError {
    CompileError {
        code: "regorus_error".to_owned(),
        message: format!("regorus does not read the template: {}", error.to_string().trim()),
        location: "template".to_owned(),
    }
}

/// Returns the modules of a template, and the rule that is evaluated.
fn loaded(source: &Value) -> Result<(Engine, String), String> {
    let source = RegoSource::from_value(source).map_err(|errors| errors.to_string())?;
    let mut engine = Engine::new();
    engine.set_rego_v0(source.version != "v1");
    engine.set_strict_builtin_errors(false);
    let package = engine.add_policy("template".to_owned(), source.rego).map_err(|error| error.to_string())?;
    for (position, text) in source.libs.into_iter().enumerate() {
        engine.add_policy(format!("libs[{position}]"), text).map_err(|error| error.to_string())?;
    }
    Ok((engine, format!("{package}.violation")))
}

impl CompiledPolicy for RegorusProgram {
    fn evaluate(&self, case: &Case<'_>, budget: &Budget) -> Result<Vec<RawViolation>, EvalError> {
        let input = input(case)?;
        // A poisoned lock holds modules that no evaluation has changed.
        let mut engine = self.engine.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let inventory = self.reads().map(|reads| case.inventory.read_by(reads)).transpose()?;
        let answer = self.answer(&mut engine, inventory, &input, budget);
        let answer = answer.map_err(|error| EvalError::Regorus(error.trim().to_owned()))?;
        let Some(answer) = answer else { return Ok(Vec::new()) };
        let answer =
            RegoValue::from_json_str(&answer).map_err(|error| EvalError::Regorus(error.to_string()))?;
        match &answer {
            RegoValue::Array(entries) => distinct(entries.iter()),
            other => Err(EvalError::Shape(other.to_json_str())),
        }
    }

    fn reads(&self) -> Option<&Reads> {
        self.own.reads()
    }
}

impl RegorusProgram {
    /// Returns the answer as JSON, in which sets are arrays; `None` where it is undefined.
    fn answer(
        &self,
        engine: &mut Engine,
        inventory: Option<RegoValue>,
        input: &RegoValue,
        budget: &Budget,
    ) -> Result<Option<String>, String> {
        let words = |error: &dyn std::fmt::Display| error.to_string();
        engine.set_execution_timer_config(ExecutionTimerConfig {
            limit: budget.time,
            check_interval: CHECK_INTERVAL,
        });
        if let Some(inventory) = inventory {
            let data = BTreeMap::from([(RegoValue::from("inventory"), inventory)]);
            engine.add_data_json(&RegoValue::from(data).to_json_str()).map_err(|error| words(&error))?;
        }
        engine.set_input_json(&input.to_json_str()).map_err(|error| words(&error))?;
        let answer = engine.eval_rule(self.query.clone()).map_err(|error| words(&error))?;
        match answer {
            regorus::Value::Undefined => Ok(None),
            answer => answer.to_json_str().map(Some).map_err(|error| words(&error)),
        }
    }
}
