//! Evaluations that wait for the host: calls of host functions are collected into batches and answered by the host.
//!
//! An evaluation is suspended by running it until it needs an answer to continue, and resumed by running it again with the
//! answers. What a policy sees is one evaluation, in which each call has one answer. There is
//! no runtime here: [`Program::start`] is a function, [`Program::evaluate_async`] awaits nothing but the host.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::time::Instant;

use crate::error::EvalError;
use crate::externals::Externals;
use crate::meter::{Meter, Now};
use crate::program::Program;
use crate::value::Value;
use eval_budget::{Budget, Limit};

/// A call of a host function that has no answer yet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct ExternalCall {
    /// The name of the function, as given to [`crate::Restrictions::with_external_functions`].
    pub function: String,
    /// The argument of the call.
    pub argument: Value,
}

/// The host's answer to a request: the function's value, `None` where it is undefined, or the reason why the call failed. A
/// failed call ends the evaluation with an [`EvalError::External`], if the evaluation needs it.
pub type ExternalAnswer = Result<Option<Value>, String>;

/// The progress of an evaluation.
#[derive(Clone, Debug)]
#[must_use]
pub enum EvalProgress {
    /// The evaluation ended; `None` means undefined.
    Done(Option<Value>),
    /// The evaluation needs answers.
    Waiting(Suspended),
}

/// An evaluation that waits for answers. Dropping it ends the evaluation.
#[derive(Clone, Debug)]
pub struct Suspended {
    program: Program,
    input: Value,
    data: Value,
    /// The rest of the budget.
    budget: Budget,
    /// The time of the evaluation, once something asked for it.
    now: Option<Now>,
    answers: BTreeMap<ExternalCall, ExternalAnswer>,
    requests: Vec<ExternalCall>,
}

/// A host that answers batches of calls without blocking a thread.
pub trait AsyncExternals: Sync {
    /// Returns the answers to the requests, in their order. A missing answer fails the call that it belongs to.
    ///
    /// The future may be dropped at any point where it waits; requests may be asked again by another evaluation.
    fn call_batch(&self, requests: &[ExternalCall]) -> impl Future<Output = Vec<ExternalAnswer>> + Send;
}

/// Answers from memory, and remembers what it could not answer.
struct Known<'a> {
    answers: &'a BTreeMap<ExternalCall, ExternalAnswer>,
    open: RefCell<Vec<ExternalCall>>,
    seen: RefCell<BTreeSet<ExternalCall>>,
}

impl Externals for Known<'_> {
    fn call(&self, function: &str, argument: &Value) -> Result<Option<Value>, EvalError> {
        let request = ExternalCall { function: function.to_owned(), argument: argument.clone() };
        if let Some(answer) = self.answers.get(&request) {
            let failed = |message| EvalError::External { function: function.to_owned(), message };
            return answer.clone().map_err(failed);
        }
        if self.seen.borrow_mut().insert(request.clone()) {
            self.open.borrow_mut().push(request);
        }
        Err(EvalError::Pending)
    }
}

impl Program {
    /// Starts an evaluation whose host functions are answered batch by batch.
    ///
    /// A batch has every call the evaluation comes to before it needs an answer, in that order and each once: one for
    /// each way a body can go on, so a loop over a hundred images makes one batch of a hundred calls. A call whose
    /// argument depends on another's answer is in a later batch. Where one way is enough (`not`, `every`), a batch may
    /// hold calls that an answer turns out to make needless.
    ///
    /// The budget is that of all runs together; time in which the host answers is not counted.
    ///
    /// # Errors
    /// Returns the errors of [`Program::evaluate`].
    pub fn start(&self, input: &Value, data: &Value, budget: &Budget) -> Result<EvalProgress, EvalError> {
        let suspended = Suspended {
            program: self.clone(),
            input: input.clone(),
            data: data.clone(),
            budget: *budget,
            now: None,
            answers: BTreeMap::new(),
            requests: Vec::new(),
        };
        suspended.run()
    }

    /// Starts like [`Program::start`], and awaits the host for each batch.
    ///
    /// The policy itself runs within `poll`, for as long as the budget lets it: a host that evaluates large policies on
    /// a runtime's threads takes [`Program::start`] and a thread for blocking work instead.
    ///
    /// # Guarantees
    /// Cancel safe: what was computed and answered is in the future, and is dropped with it.
    ///
    /// # Errors
    /// Returns the errors of [`Program::evaluate`] and those of the host's functions.
    pub async fn evaluate_async(
        &self,
        input: &Value,
        data: &Value,
        budget: &Budget,
        externals: &impl AsyncExternals,
    ) -> Result<Option<Value>, EvalError> {
        let mut progress = self.start(input, data, budget)?;
        loop {
            match progress {
                EvalProgress::Done(value) => return Ok(value),
                EvalProgress::Waiting(suspended) => {
                    let answers = externals.call_batch(suspended.requests()).await;
                    progress = suspended.resume(answers)?;
                }
            }
        }
    }
}

impl Suspended {
    /// Returns the calls to answer: at least one, and none that was answered before.
    #[must_use]
    pub fn requests(&self) -> &[ExternalCall] {
        &self.requests
    }

    /// Continues with answers, in the order of the requests. A missing answer fails the call that it belongs to.
    ///
    /// # Errors
    /// Returns the errors of [`Program::evaluate`] and the failures among the answers.
    pub fn resume(mut self, answers: Vec<ExternalAnswer>) -> Result<EvalProgress, EvalError> {
        let missing = || Err("the host gave no answer".to_owned());
        let answers = answers.into_iter().chain(std::iter::repeat_with(missing));
        let requests = std::mem::take(&mut self.requests);
        self.answers.extend(requests.into_iter().zip(answers));
        self.run()
    }

    fn run(mut self) -> Result<EvalProgress, EvalError> {
        let known = Known { answers: &self.answers, open: RefCell::default(), seen: RefCell::default() };
        let begun = Instant::now();
        let meter = Meter::at(&self.budget, self.now);
        match self.program.metered(&self.input, &self.data, &meter, &known) {
            Ok(value) => Ok(EvalProgress::Done(value)),
            Err(EvalError::Pending) => {
                self.requests = known.open.into_inner();
                self.now = meter.known_now();
                self.budget.instructions = self.budget.instructions.saturating_sub(meter.spent());
                self.budget.time = self.budget.time.saturating_sub(begun.elapsed());
                self.budget.batches =
                    self.budget.batches.checked_sub(1).ok_or(EvalError::Budget(Limit::Batches))?;
                Ok(EvalProgress::Waiting(self))
            }
            Err(error) => Err(error),
        }
    }
}
