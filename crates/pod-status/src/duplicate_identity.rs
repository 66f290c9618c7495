//! Two processes with one identity: each overwrites the registration of the other, and the aggregator counts the last only.
//!
//! A predecessor that has died can overwrite the registration too, by a request that arrives late: once, or twice if that was
//! sent again. What overwrites it more often lives. Of the two the one with the smaller incarnation ends, which both know.

use crate::report::PodReport;

/// A dead process cannot overwrite the registration so often.
const LIVING: u32 = 3;

/// Another process with the identity of this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duplicate {
    /// None is known to live.
    None,
    /// There is one, and it ends.
    Weaker,
    /// There is one, and this process has to end.
    Stronger,
}

/// The registrations by which this run finds out that another process has its identity.
#[derive(Debug)]
pub(crate) struct DuplicateIdentity {
    incarnation: String,
    /// The last one, and how often it has overwritten the registration.
    last: Option<(String, u32)>,
}

impl DuplicateIdentity {
    pub(crate) fn new(incarnation: String) -> Self {
        Self { incarnation, last: None }
    }

    /// Notes the registration as it is stored, after this run has stored its own. One that may not answer any more ends.
    pub(crate) fn note(&mut self, found: Option<&Option<PodReport>>, may_answer: bool) -> Duplicate {
        let Some(Some(report)) = found else { return Duplicate::None };
        let other = &report.pod.incarnation;
        if *other == self.incarnation {
            return Duplicate::None;
        }
        let before = self.last.take().filter(|(known, _)| known == other).map_or(0, |(_, times)| times);
        let times = before.saturating_add(1);
        self.last = Some((other.clone(), times));
        match (times >= LIVING, *other > self.incarnation || !may_answer) {
            (false, _) => Duplicate::None,
            (true, true) => Duplicate::Stronger,
            (true, false) => {
                tracing::error!(other, "another process has the identity of this pod; it should end");
                Duplicate::Weaker
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Member;

    fn registration(incarnation: &str) -> Option<PodReport> {
        Some(PodReport { pod: Member::new("a", incarnation), ..PodReport::default() })
    }

    #[test]
    fn late_requests_of_dead_predecessors_are_no_duplicate() {
        let mut identity = DuplicateIdentity::new("5".to_owned());
        for _ in 0..3 {
            for predecessor in ["6", "7"] {
                assert_eq!(identity.note(Some(&registration(predecessor)), true), Duplicate::None);
                assert_eq!(identity.note(Some(&registration(predecessor)), true), Duplicate::None);
                assert_eq!(identity.note(Some(&registration("5")), true), Duplicate::None);
            }
        }
        assert_eq!(
            (identity.note(None, true), identity.note(Some(&None), true)),
            (Duplicate::None, Duplicate::None)
        );
    }

    #[test]
    fn of_two_that_live_one_ends() {
        let (mut small, mut great) =
            (DuplicateIdentity::new("5".to_owned()), DuplicateIdentity::new("6".to_owned()));
        let notes: Vec<_> = (0..3)
            .map(|_| (small.note(Some(&registration("6")), true), great.note(Some(&registration("5")), true)))
            .collect();
        assert_eq!(
            notes,
            [
                (Duplicate::None, Duplicate::None),
                (Duplicate::None, Duplicate::None),
                (Duplicate::Stronger, Duplicate::Weaker)
            ]
        );
    }

    /// It was frozen, and its successor has started.
    #[test]
    fn one_that_may_not_answer_ends_whatever_its_number() {
        let mut identity = DuplicateIdentity::new("6".to_owned());
        let notes: Vec<_> = (0..3).map(|_| identity.note(Some(&registration("5")), false)).collect();
        assert_eq!(notes, [Duplicate::None, Duplicate::None, Duplicate::Stronger]);
    }
}
