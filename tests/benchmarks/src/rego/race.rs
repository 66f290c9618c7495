//! One template: who answers as OPA does, and how long each contender takes for each sample and for compiling.

use anyhow::{Context, Result, bail};
use conformance::Judge;
use conformance::library::{Case, Subject};
use serde_json::Value as Json;

use super::answer::unordered;
use super::{opa, ours, regorus_engine};
use crate::timing::{Pace, Turn, interleaved, repeat};

/// Nanoseconds of each contender; `None` for one that does not answer as OPA does, or not at all.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// `rego-compat`.
    pub ours: f64,
    /// OPA's prepared query.
    pub opa: f64,
    /// Plain regorus' interpreter.
    pub interpreter: Option<f64>,
    /// Plain regorus' virtual machine.
    pub machine: Option<f64>,
}

/// The measurements of one template.
#[derive(Clone, Debug)]
pub struct Row {
    /// The template's name.
    pub name: String,
    /// One evaluation, per sample.
    pub samples: Vec<Times>,
    /// From text to something that can be evaluated.
    pub compile: Times,
    /// The reasons why plain regorus is not a contender on some sample.
    pub remarks: Vec<String>,
}

/// Measures one template on the given cases.
///
/// # Errors
/// OPA and `rego-compat` answer differently, or one of them fails.
pub fn template(judge: &mut Judge, subject: &Subject, cases: &[Case], pace: Pace) -> Result<Row> {
    let mut row = Row {
        name: subject.name.clone(),
        samples: Vec::new(),
        compile: compile(judge, subject, pace)?,
        remarks: Vec::new(),
    };
    let program = ours::compiled(subject)?;
    for (position, case) in cases.iter().enumerate() {
        opa::load(judge, &subject.name, subject, &case.data, &[&case.input])?;
        let expected = opa::run(judge, &subject.name, 0, 1)?.1.map(unordered);
        let loaded = ours::Loaded::new(&program, case)?;
        let answer = loaded.answer()?.map(unordered);
        if answer != expected {
            bail!("{}, sample {}: OPA says {expected:?}, rego-compat {answer:?}", subject.name, case.name);
        }
        let mut interpreter = regorus_engine::Interpreter::new(subject, case)
            .and_then(|engine| agreeing(engine.answer()?, &expected).map(|()| engine))
            .map_err(|error| row.remark(position, "interpreter", &error));
        let mut machine = machine(subject, case)
            .and_then(|mut engine| agreeing(engine.answer()?, &expected).map(|()| engine))
            .map_err(|error| row.remark(position, "virtual machine", &error));
        let (interpreter, machine) = (interpreter.as_mut().ok(), machine.as_mut().ok());
        row.samples.push(sample(judge, &subject.name, &loaded, interpreter, machine, pace)?);
    }
    Ok(row)
}

impl Row {
    fn remark(&mut self, position: usize, engine: &str, error: &anyhow::Error) {
        let text = format!("{error:#}");
        let first = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
        let short: String = first.chars().take(120).collect();
        self.remarks.push(format!("{}, sample {position}: {engine}: {short}", self.name));
    }
}

fn machine(subject: &Subject, case: &Case) -> Result<regorus_engine::Machine> {
    let policy = regorus_engine::compiled(subject, None)?;
    let program = regorus_engine::assembled(&policy, subject)?;
    regorus_engine::Machine::new(&policy, &program, case)
}

fn agreeing(answer: Option<Json>, expected: &Option<Json>) -> Result<()> {
    let answer = answer.map(unordered);
    if answer == *expected { Ok(()) } else { bail!("answers {answer:?} where OPA answers {expected:?}") }
}

fn sample(
    judge: &mut Judge,
    key: &str,
    loaded: &ours::Loaded,
    interpreter: Option<&mut regorus_engine::Interpreter>,
    machine: Option<&mut regorus_engine::Machine>,
    pace: Pace,
) -> Result<Times> {
    let mut ours = |count| loaded.run(count);
    let mut opa = |count| Ok(opa::run(judge, key, 0, count)?.0);
    let mut interpreter = interpreter.map(|engine| move |count| engine.run(count));
    let mut machine = machine.map(|engine| move |count| engine.run(count));
    let mut turns: Vec<Turn<'_>> = vec![&mut ours, &mut opa];
    if let Some(turn) = &mut interpreter {
        turns.push(turn);
    }
    if let Some(turn) = &mut machine {
        turns.push(turn);
    }
    let figures = interleaved(pace, &mut turns)?;
    times(&figures, interpreter.is_some(), machine.is_some())
}

fn compile(judge: &mut Judge, subject: &Subject, pace: Pace) -> Result<Times> {
    let interprets = regorus_engine::compiled(subject, None);
    let assembles =
        interprets.as_ref().is_ok_and(|policy| regorus_engine::assembled(policy, subject).is_ok());
    let mut ours = |count| repeat(count, || ours::compiled(subject));
    let mut opa = |count| opa::compile(judge, subject, count);
    let mut interpreter = |count| repeat(count, || regorus_engine::compiled(subject, None));
    let mut machine = |count| {
        repeat(count, || regorus_engine::assembled(&regorus_engine::compiled(subject, None)?, subject))
    };
    let mut turns: Vec<Turn<'_>> = vec![&mut ours, &mut opa];
    if interprets.is_ok() {
        turns.push(&mut interpreter);
    }
    if assembles {
        turns.push(&mut machine);
    }
    let figures = interleaved(pace, &mut turns)?;
    times(&figures, interprets.is_ok(), assembles)
}

fn times(figures: &[f64], interprets: bool, assembles: bool) -> Result<Times> {
    let mut figures = figures.iter().copied();
    let mut next = || figures.next();
    let (ours, opa) = next().zip(next()).context("a contender has no figure")?;
    let interpreter = if interprets { next() } else { None };
    let machine = if assembles { next() } else { None };
    Ok(Times { ours, opa, interpreter, machine })
}
