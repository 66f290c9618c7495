//! Generations that wait for pods until their time is over, by parent and by time. No I/O.
//!
//! With 10,000 parents that wait, the next time must not be looked for among all of them after every event.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

use crate::decision::WaitingGeneration;
use crate::parent::ParentRef;

/// The generations that wait, of all parents.
#[derive(Debug, Default)]
pub(crate) struct WaitingGenerations {
    by_parent: BTreeMap<ParentRef, WaitingGeneration>,
    /// The times at which parents are to be decided about again, without those that are being decided about.
    wakes: BTreeSet<(Instant, ParentRef)>,
}

impl WaitingGenerations {
    /// Notes that the last decision about `parent` has left a generation waiting, or none.
    pub(crate) fn set(&mut self, parent: &ParentRef, waiting: Option<WaitingGeneration>) {
        // The old time goes first: `by_parent` is what it is found by.
        self.engage(parent);
        match waiting {
            Some(waiting) => {
                self.wakes.extend(waiting.due().map(|due| (due, parent.clone())));
                self.by_parent.insert(parent.clone(), waiting);
            }
            None => {
                self.by_parent.remove(parent);
            }
        }
    }

    /// Notes that the parent is going to be decided about: its time does not matter before that.
    pub(crate) fn engage(&mut self, parent: &ParentRef) {
        if let Some(due) = self.by_parent.get(parent).and_then(WaitingGeneration::due) {
            self.wakes.remove(&(due, parent.clone()));
        }
    }

    pub(crate) fn get(&self, parent: &ParentRef) -> Option<&WaitingGeneration> {
        self.by_parent.get(parent)
    }

    /// The next time at which a parent is to be decided about.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.wakes.first().map(|(due, _)| *due)
    }

    /// The parents whose time has come, each once.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<ParentRef> {
        let mut due = Vec::new();
        while self.next().is_some_and(|next| next <= now) {
            // Not put back: the decision that follows sets the next time.
            due.extend(self.wakes.pop_first().map(|(_, parent)| parent));
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::parent::ParentKey;
    use crate::vote::Parent;

    fn waiting(name: &str, seconds: u64) -> (ParentRef, WaitingGeneration) {
        let reference = ParentRef::new("g", "K", name);
        let parent = Parent::new(ParentKey::new(reference.clone(), "u"), 1);
        (reference, WaitingGeneration::new(&parent, 1, false, Duration::ZERO, Duration::from_secs(seconds)))
    }

    #[tokio::test(start_paused = true)]
    async fn each_parent_is_woken_once_and_not_while_it_is_decided_about() {
        let (mut waiting_generations, start) = (WaitingGenerations::default(), Instant::now());
        for (parent, generation) in [waiting("a", 10), waiting("b", 20), waiting("c", 30)] {
            waiting_generations.set(&parent, Some(generation));
        }
        let (a, b, c) = (waiting("a", 10).0, waiting("b", 20).0, waiting("c", 40));
        assert_eq!(waiting_generations.next(), start.checked_add(Duration::from_secs(10)));
        waiting_generations.engage(&a);
        assert_eq!(waiting_generations.next(), start.checked_add(Duration::from_secs(20)));
        waiting_generations.set(&c.0, Some(c.1));
        let now = start.checked_add(Duration::from_secs(30)).unwrap();
        assert_eq!(waiting_generations.take_due(now), [b]);
        assert!(waiting_generations.take_due(now).is_empty() && waiting_generations.get(&a).is_some());
        waiting_generations.set(&c.0, None);
        assert_eq!((waiting_generations.next(), waiting_generations.get(&c.0)), (None, None));
    }
}
