//! `rego-compat`: modules to program, program over one parsed sample.

use anyhow::{Result, anyhow};
use conformance::library::{Case, Subject};
use rego_compat::{Budget, Module, Program, RegoVersion, Restrictions, Value, compile};
use serde_json::Value as Json;

use crate::timing::repeat;

/// From the text of the modules to a program, checks included.
///
/// # Errors
/// The modules are refused.
pub fn compiled(subject: &Subject) -> Result<Program> {
    let version = if subject.sources.v0 { RegoVersion::V0 } else { RegoVersion::V1 };
    let parsed: Result<Vec<Module>, _> =
        subject.sources.modules.iter().map(|(name, text)| Module::parse(name, text, version)).collect();
    Ok(compile(&parsed?, &subject.query, &Restrictions::default())?)
}

/// A program with the parsed documents of one sample.
#[derive(Debug)]
pub struct Loaded {
    program: Program,
    input: Value,
    data: Value,
}

impl Loaded {
    /// Parses the documents.
    ///
    /// # Errors
    /// They are no documents.
    pub fn new(program: &Program, case: &Case) -> Result<Self> {
        let parse = |json: &Json| Value::from_json_str(&json.to_string()).map_err(|error| anyhow!("{error}"));
        Ok(Self { program: program.clone(), input: parse(&case.input)?, data: parse(&case.data)? })
    }

    /// Nanoseconds of `count` evaluations.
    ///
    /// # Errors
    /// The evaluation failed.
    pub fn run(&self, count: u32) -> Result<u64> {
        let budget = Budget::default();
        repeat(count, || Ok(self.program.evaluate(&self.input, &self.data, &budget)?))
    }

    /// Returns what an evaluation answers; `None` for undefined.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn answer(&self) -> Result<Option<Json>> {
        let answer = self.program.evaluate(&self.input, &self.data, &Budget::default())?;
        Ok(answer.map(|value| serde_json::from_str(&value.to_string())).transpose()?)
    }
}
