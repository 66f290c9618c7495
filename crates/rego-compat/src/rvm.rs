//! The second back end: the same plan on regorus' virtual machine, for an independent verdict.
//!
//! `emit` writes the plan as Rego in the small part of the language that regorus reads as OPA does: rules and
//! functions with one body, comprehensions, loops over arrays, assignments. `host` answers what is left, OPA's
//! builtin functions and the constructs that can conflict. `subset` says why a program cannot be written so. The
//! parsing, scheduling, control flow and value construction are regorus' own.

mod emit;
mod host;
mod subset;

use std::num::NonZeroU32;
use std::sync::Arc;

use regorus::rvm::program::Program;
use regorus::rvm::vm::{ExecutionMode, ExecutionState, RegoVM, SuspendReason, VmError};
use regorus::utils::limits::ExecutionTimerConfig;
use regorus::{CompiledPolicy, Engine, Value as Carried};

use crate::error::EvalError;
use crate::externals::Externals;
use crate::meter::Meter;
use crate::plan::Plan;
use crate::value::{Value, from_engine, to_machine};
use eval_budget::{Budget, Limit};

use host::{Call, Host};
pub use subset::{OutsideSubset, Reason};

/// Instructions of the machine for one step of a budget: the finer of the two counts.
const INSTRUCTIONS_PER_STEP: u64 = 8;

/// Instructions between two looks at the clock.
const CLOCK_INTERVAL: NonZeroU32 = NonZeroU32::MIN.saturating_add(1023);

/// A plan as a program of the virtual machine.
#[derive(Debug)]
pub(crate) struct Machine {
    policy: CompiledPolicy,
    program: Arc<Program>,
    /// Values that the program's text names by their place.
    constants: Carried,
    /// What the machine asks its host for, by the number in the call's name.
    calls: Vec<Call>,
    can_conflict: bool,
}

impl Machine {
    /// Whether the program can meet a conflict. The machine orders statements its own way and may come to one that
    /// OPA does not come to, or pass one by: that verdict is the interpreter's.
    pub(crate) const fn can_conflict(&self) -> bool {
        self.can_conflict
    }
}

/// Writes and compiles a plan.
pub(crate) fn assemble(plan: &Plan) -> Result<Machine, OutsideSubset> {
    let emitted = emit::emit(plan)?;
    let refused = |error: &dyn std::fmt::Display| OutsideSubset::from(Reason::Refused(error.to_string()));
    let mut engine = Engine::new();
    engine.clear_policy_length_config();
    engine.set_strict_builtin_errors(false);
    engine.add_policy("plan.rego".to_owned(), emitted.text).map_err(|error| refused(&error))?;
    let policy = engine.compile_with_entrypoint(&emit::QUERY.into()).map_err(|error| refused(&error))?;
    let names: Vec<(&str, usize)> =
        emitted.calls.iter().map(|(name, call)| (name.as_str(), call.arity)).collect();
    let compiler = regorus::languages::rego::compiler::Compiler::compile_from_policy_with_host_await;
    let program = compiler(&policy, &[emit::QUERY], &names).map_err(|error| refused(&error))?;
    let constants = to_machine(&Value::from(emitted.constants));
    let calls = emitted.calls.into_iter().map(|(_, call)| call).collect();
    let can_conflict = emitted.can_conflict;
    Ok(Machine { policy, program, constants, calls, can_conflict })
}

/// Answers the plan's query.
pub(crate) fn run(
    machine: &Machine,
    plan: &Plan,
    input: &Value,
    data: &Value,
    budget: &Budget,
    externals: &dyn Externals,
) -> Result<Option<Value>, EvalError> {
    let meter = Meter::new(budget);
    let host = Host::new(plan, &machine.calls, data, &meter, externals);
    let mut vm = loaded(machine, input, data, budget);
    let mut answer = vm.execute().map_err(failed)?;
    loop {
        let value = match vm.execution_state() {
            ExecutionState::Suspended {
                reason: SuspendReason::HostAwait { argument, identifier, .. },
                ..
            } => host.answer(&from_engine(identifier), &from_engine(argument))?,
            ExecutionState::Suspended { reason: SuspendReason::InstructionLimit, .. } => {
                return Err(EvalError::Budget(Limit::Instructions));
            }
            _ => break,
        };
        let value = value.unwrap_or(Value::Undefined);
        answer = vm.resume(Some(to_machine(&value))).map_err(failed)?;
    }
    let answer = from_engine(&answer);
    if answer == Value::Undefined {
        return Ok(None);
    }
    meter.check_output(&answer)?;
    Ok(Some(answer))
}

fn loaded(machine: &Machine, input: &Value, data: &Value, budget: &Budget) -> RegoVM {
    let mut vm = RegoVM::new_with_policy(machine.policy.clone());
    vm.load_program(Arc::clone(&machine.program));
    vm.set_execution_mode(ExecutionMode::Suspendable);
    let instructions = budget.instructions.saturating_mul(INSTRUCTIONS_PER_STEP);
    vm.set_max_instructions(usize::try_from(instructions).unwrap_or(usize::MAX));
    let clock = ExecutionTimerConfig { limit: budget.time, check_interval: CLOCK_INTERVAL };
    vm.set_execution_timer_config(Some(clock));
    let mut documents = regorus::value::Object::new();
    let documents_of = [("i", to_machine(input)), ("d", to_machine(data)), ("c", machine.constants.clone())];
    for (name, document) in documents_of {
        if !matches!(document, Carried::Undefined) {
            documents.insert(name.into(), document);
        }
    }
    vm.set_input(documents.into_value());
    vm
}

fn failed(error: VmError) -> EvalError {
    match error {
        VmError::TimeLimitExceeded { .. } => EvalError::Budget(Limit::Time),
        VmError::InstructionLimitExceeded { .. } => EvalError::Budget(Limit::Instructions),
        VmError::MemoryLimitExceeded { .. } => EvalError::Budget(Limit::Memory),
        other => EvalError::Internal(format!("regorus: {other}")),
    }
}

#[cfg(test)]
mod tests;
