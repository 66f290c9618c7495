//! Hooks of the plan: marks that were passed, cases of tests that were met, lines that are printed.

use crate::error::EvalError;
use crate::ir::Hook;
use crate::plan::missing;
use crate::value::{Value, literal};

use super::EvalContext;

impl EvalContext<'_> {
    pub(super) fn pass(&self, mark: usize) -> Result<(), EvalError> {
        let Some(witness) = self.witness else { return Ok(()) };
        let Some(place) = witness.passed.get(mark) else { return Err(missing("mark", mark)) };
        place.set(true);
        Ok(())
    }

    pub(super) fn run_hook(&self, hook: Hook, args: &[Value]) -> Result<(), EvalError> {
        let Some(Value::Array(items)) = args.first() else {
            return Err(EvalError::Internal("a hook without a list of arguments".to_owned()));
        };
        match hook {
            Hook::Print => {
                let arguments: Vec<Value> = items.iter().cloned().collect();
                self.print(&arguments, &mut String::new())?;
            }
            Hook::Case => {
                self.meter.charge_tree(&Value::Array(items.clone()))?;
                if let Some(witness) = self.witness {
                    witness.cases.borrow_mut().push(items.iter().cloned().collect());
                }
            }
        }
        Ok(())
    }

    /// Prints a line for each combination of the values the arguments have.
    fn print(&self, arguments: &[Value], line: &mut String) -> Result<(), EvalError> {
        self.meter.check_stack()?;
        self.meter.spend(1)?;
        let Some((first, rest)) = arguments.split_first() else {
            self.meter.charge(line.len())?;
            self.externals.print(line.strip_suffix(' ').unwrap_or(line));
            return Ok(());
        };
        let values: Vec<String> = match first {
            Value::Set(values) if values.is_empty() => vec!["<undefined>".to_owned()],
            Value::Set(values) => values.iter().map(shown).collect(),
            other => vec![shown(other)],
        };
        let length = line.len();
        for value in values {
            line.push_str(&value);
            line.push(' ');
            self.print(rest, line)?;
            line.truncate(length);
        }
        Ok(())
    }
}

/// Returns text as it is, everything else as a term.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        other => literal::of(other),
    }
}
