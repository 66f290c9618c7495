//! Runs a plan: one evaluation of one query over one input and one `data`.
//!
//! Bodies are run with a continuation, which is called once for each way they hold; `step` runs them, `expr`
//! computes values, `place` looks up those that need no computing, `rule` answers rules and functions, `memo` remembers those, `document` joins rules with data, `context` holds what
//! `with` may replace, `coverage` records what runs. Nothing here parses or checks.

mod candidate;
mod children;
mod collect;
mod conflict;
mod context;
mod coverage;
mod document;
mod expr;
mod hook;
mod memo;
mod place;
mod rule;
mod solutions;
mod step;
#[cfg(test)]
mod tests;
mod with;

use crate::value::Value;

use crate::error::EvalError;
use crate::externals::{Externals, NoExternals};
use crate::meter::Meter;
use crate::plan::{Plan, missing};

pub(crate) use context::EvalContext;
pub(crate) use coverage::Witness;

/// The answer of a continuation: search for more solutions of a body, or stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Continue,
    Stop,
}

/// The variables of one definition.
pub(crate) type Frame = [Value];

/// The continuation called for each solution of a body.
pub(crate) type Next<'k> = &'k mut dyn FnMut(&mut Frame) -> Result<Flow, EvalError>;

/// Evaluates the plan's query.
pub(crate) fn run(
    plan: &Plan,
    input: &Value,
    data: &Value,
    meter: &Meter,
    externals: &dyn Externals,
) -> Result<Option<Value>, EvalError> {
    let Some(query) = &plan.query else {
        return Err(EvalError::Internal("the plan has no query".to_owned()));
    };
    let context = EvalContext::new(plan, input.clone(), data.clone(), meter, externals);
    let answer = context.value(query, &[])?.map(std::borrow::Cow::into_owned);
    if let Some(value) = &answer {
        meter.check_output(value)?;
    }
    Ok(answer)
}

/// Returns the value of a rule's element for each solution of its bodies.
pub(crate) fn solutions(
    plan: &Plan,
    group: usize,
    documents: [Value; 2],
    meter: &Meter,
    externals: &dyn Externals,
) -> Result<Vec<Value>, EvalError> {
    let [input, data] = documents;
    let context = EvalContext::new(plan, input, data, meter, externals);
    let mut found = Vec::new();
    let Some(group) = plan.groups.get(group) else { return Err(missing("rule", group)) };
    context.each_result(group, &mut |branch, frame| {
        if let Some(value) = context.value(&branch.value, frame)? {
            meter.check_output(&value)?;
            meter.charge_value(&value)?;
            found.push(value.into_owned());
        }
        Ok(())
    })?;
    Ok(found)
}

/// Returns the value of a function that looks at neither document, for its one argument.
pub(crate) fn function(
    plan: &Plan,
    group: usize,
    argument: &Value,
    meter: &Meter,
) -> Result<Option<Value>, EvalError> {
    let context = EvalContext::new(plan, Value::Undefined, Value::new_object(), meter, &NoExternals);
    context.function_value(group, vec![argument.clone()])
}

/// Returns the value of a rule; `witness` records the run.
pub(crate) fn rule(
    plan: &Plan,
    group: usize,
    documents: [Value; 2],
    meter: &Meter,
    externals: &dyn Externals,
    witness: &Witness,
) -> Result<Option<Value>, EvalError> {
    let [input, data] = documents;
    let context = EvalContext::new(plan, input, data, meter, externals).with_witness(witness);
    Ok(context.rule_value(group)?.cloned())
}
