//! Two processes with one identity: each overwrites the registration of the other, and the aggregator counts the last only.
//!
//! A predecessor that has died can overwrite the registration too, by a request that arrives late: once, or twice if that was
//! sent again. What overwrites it more often lives. Of the two the one with the smaller incarnation ends, which both know.

use crate::report::PodReport;

/// A dead process cannot overwrite the registration so often.
const LIVING: u32 = 3;

/// Another process with the identity of this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rival {
    /// None is known to live.
    None,
    /// It ends.
    Weaker,
    /// This process has to end.
    Stronger,
}

#[derive(Debug)]
pub(crate) struct Rivals {
    incarnation: String,
    /// The last one, and how often it has overwritten the registration.
    last: Option<(String, u32)>,
}

impl Rivals {
    pub(crate) fn new(incarnation: String) -> Self {
        Self { incarnation, last: None }
    }

    /// Notes the registration as it is stored, after this run has stored its own. One that may not answer any more ends.
    pub(crate) fn note(&mut self, found: Option<&Option<PodReport>>, may_answer: bool) -> Rival {
        let Some(Some(report)) = found else { return Rival::None };
        let other = &report.pod.incarnation;
        if *other == self.incarnation {
            return Rival::None;
        }
        let before = self.last.take().filter(|(known, _)| known == other).map_or(0, |(_, times)| times);
        let times = before.saturating_add(1);
        self.last = Some((other.clone(), times));
        match (times >= LIVING, *other > self.incarnation || !may_answer) {
            (false, _) => Rival::None,
            (true, true) => Rival::Stronger,
            (true, false) => {
                tracing::error!(other, "another process has the identity of this pod; it should end");
                Rival::Weaker
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
    fn late_requests_of_dead_predecessors_are_no_rival() {
        let mut rivals = Rivals::new("5".to_owned());
        for _ in 0..3 {
            for predecessor in ["6", "7"] {
                assert_eq!(rivals.note(Some(&registration(predecessor)), true), Rival::None);
                assert_eq!(rivals.note(Some(&registration(predecessor)), true), Rival::None);
                assert_eq!(rivals.note(Some(&registration("5")), true), Rival::None);
            }
        }
        assert_eq!((rivals.note(None, true), rivals.note(Some(&None), true)), (Rival::None, Rival::None));
    }

    #[test]
    fn of_two_that_live_one_ends() {
        let (mut small, mut great) = (Rivals::new("5".to_owned()), Rivals::new("6".to_owned()));
        let notes: Vec<_> = (0..3)
            .map(|_| (small.note(Some(&registration("6")), true), great.note(Some(&registration("5")), true)))
            .collect();
        assert_eq!(
            notes,
            [(Rival::None, Rival::None), (Rival::None, Rival::None), (Rival::Stronger, Rival::Weaker)]
        );
    }

    /// It was frozen, and its successor has started.
    #[test]
    fn one_that_may_not_answer_ends_whatever_its_number() {
        let mut rivals = Rivals::new("6".to_owned());
        let notes: Vec<_> = (0..3).map(|_| rivals.note(Some(&registration("5")), false)).collect();
        assert_eq!(notes, [Rival::None, Rival::None, Rival::Stronger]);
    }
}
