//! Plain regorus, given the modules as their author wrote them: its interpreter and its virtual machine.
//!
//! It differs from OPA on some templates; where it does, it is not a contender, and the caller says so.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use conformance::library::{Case, Subject};
use regorus::languages::rego::compiler::Compiler;
use regorus::rvm::program::Program;
use regorus::rvm::vm::RegoVM;
use regorus::{CompiledPolicy, Engine, Value};
use serde_json::Value as Json;

use crate::timing::repeat;

/// More instructions than any sample takes; the default is too few for an inventory.
const INSTRUCTIONS: usize = 50_000_000;

/// From the text of the modules to what the interpreter runs.
///
/// # Errors
/// The modules are refused.
pub fn compiled(subject: &Subject, data: Option<&Json>) -> Result<CompiledPolicy> {
    let mut engine = Engine::new();
    engine.set_rego_v0(subject.sources.v0);
    engine.set_strict_builtin_errors(false);
    for (name, text) in &subject.sources.modules {
        engine.add_policy(name.clone(), text.clone())?;
    }
    if let Some(data) = data {
        engine.add_data(parsed(data)?)?;
    }
    engine.compile_with_entrypoint(&subject.query.as_str().into())
}

/// From what the interpreter runs to what the virtual machine runs.
///
/// # Errors
/// The virtual machine lacks something.
pub fn assembled(policy: &CompiledPolicy, subject: &Subject) -> Result<Arc<Program>> {
    Compiler::compile_from_policy(policy, &[&subject.query]).map_err(|error| anyhow!("{error}"))
}

fn parsed(json: &Json) -> Result<Value> {
    Value::from_json_str(&json.to_string())
}

fn json(value: &Value) -> Result<Option<Json>> {
    let text = (*value != Value::Undefined).then(|| value.to_json_str()).transpose()?;
    Ok(text.map(|text| serde_json::from_str(&text)).transpose()?)
}

/// The interpreter with the parsed documents of one sample.
#[derive(Debug)]
pub struct Interpreter {
    policy: CompiledPolicy,
    input: Value,
}

impl Interpreter {
    /// Compiles the template with the sample's data, which is how the interpreter wants it.
    ///
    /// # Errors
    /// The modules are refused.
    pub fn new(subject: &Subject, case: &Case) -> Result<Self> {
        Ok(Self { policy: compiled(subject, Some(&case.data))?, input: parsed(&case.input)? })
    }

    /// Nanoseconds of `count` evaluations.
    ///
    /// # Errors
    /// The evaluation failed.
    pub fn run(&self, count: u32) -> Result<u64> {
        repeat(count, || self.policy.eval_with_input(self.input.clone()))
    }

    /// Returns what an evaluation answers; `None` for undefined.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn answer(&self) -> Result<Option<Json>> {
        json(&self.policy.eval_with_input(self.input.clone())?)
    }
}

/// The virtual machine with the parsed documents of one sample.
#[derive(Debug)]
pub struct Machine {
    vm: RegoVM,
    input: Value,
}

impl Machine {
    /// Loads a program and the sample's data into a machine that is used again and again.
    ///
    /// # Errors
    /// The data is in the way of a rule.
    pub fn new(policy: &CompiledPolicy, program: &Arc<Program>, case: &Case) -> Result<Self> {
        let mut vm = RegoVM::new_with_policy(policy.clone());
        vm.load_program(Arc::clone(program));
        vm.set_data(parsed(&case.data)?).map_err(|error| anyhow!("{error}"))?;
        vm.set_max_instructions(INSTRUCTIONS);
        Ok(Self { vm, input: parsed(&case.input)? })
    }

    fn once(&mut self) -> Result<Value> {
        self.vm.set_input(self.input.clone());
        self.vm.execute().map_err(|error| anyhow!("{error}"))
    }

    /// Nanoseconds of `count` evaluations.
    ///
    /// # Errors
    /// The evaluation failed.
    pub fn run(&mut self, count: u32) -> Result<u64> {
        repeat(count, || self.once())
    }

    /// Returns what an evaluation answers; `None` for undefined.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn answer(&mut self) -> Result<Option<Json>> {
        json(&self.once()?)
    }
}
