//! Several solutions of one step, some of which wait for an answer of the host.
//!
//! One that waits does not keep the others from being tried, so that all they ask comes in one batch. Nothing is
//! concluded from them before all have their answers.

use crate::error::EvalError;

use super::Flow;

/// The solutions of one choice so far.
#[derive(Default)]
pub(super) struct Solutions {
    waiting: bool,
}

impl Solutions {
    /// Takes the outcome of one solution; returns whether to try the next. Once one waits, what others fail with may not be
    /// what the evaluation fails with; but the budget is used up for all of them.
    #[inline]
    pub(super) fn tried(&mut self, outcome: Result<Flow, EvalError>) -> Result<Flow, EvalError> {
        match outcome {
            Err(EvalError::Pending) => {
                self.waiting = true;
                Ok(Flow::Continue)
            }
            Err(error) if self.waiting && !matches!(error, EvalError::Budget(_)) => Ok(Flow::Stop),
            other => other,
        }
    }

    /// Returns `outcome`, or the error that ended the search.
    pub(super) fn end<T>(self, outcome: T) -> Result<T, EvalError> {
        if self.waiting { Err(EvalError::Pending) } else { Ok(outcome) }
    }
}

#[cfg(test)]
mod tests {
    use eval_budget::Limit;

    use super::*;

    #[test]
    fn one_that_waits_lets_others_go_on_and_decides_in_the_end() {
        let mut solutions = Solutions::default();
        assert_eq!(solutions.tried(Ok(Flow::Continue)), Ok(Flow::Continue));
        assert_eq!(solutions.tried(Err(EvalError::Pending)), Ok(Flow::Continue));
        assert_eq!(solutions.tried(Err(EvalError::Type(String::new()))), Ok(Flow::Stop));
        let spent = EvalError::Budget(Limit::Time);
        assert_eq!(solutions.tried(Err(spent.clone())), Err(spent));
        assert_eq!(solutions.end(Flow::Continue), Err(EvalError::Pending));
    }

    #[test]
    fn without_one_that_waits_nothing_changes() {
        let mut solutions = Solutions::default();
        let error = EvalError::Type(String::new());
        assert_eq!(solutions.tried(Err(error.clone())), Err(error));
        assert_eq!(solutions.tried(Ok(Flow::Stop)), Ok(Flow::Stop));
        assert_eq!(solutions.end(Flow::Stop), Ok(Flow::Stop));
    }
}
