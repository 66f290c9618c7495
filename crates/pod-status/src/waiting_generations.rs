//! Generations that wait for pods until their time is over, by parent and by time. No I/O.
//!
//! With 10,000 parents that wait, the next time must not be looked for among all of them after every event.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

use crate::decision::Held;
use crate::parent::ParentRef;

#[derive(Debug, Default)]
pub(crate) struct Holds {
    held: BTreeMap<ParentRef, Held>,
    /// The times at which parents are to be decided about again, without those that are being decided about.
    wakes: BTreeSet<(Instant, ParentRef)>,
}

impl Holds {
    /// The last decision about `parent` holds a generation, or none.
    pub(crate) fn set(&mut self, parent: &ParentRef, held: Option<Held>) {
        self.engage(parent);
        match held {
            Some(held) => {
                self.wakes.extend(held.due().map(|due| (due, parent.clone())));
                self.held.insert(parent.clone(), held);
            }
            None => {
                self.held.remove(parent);
            }
        }
    }

    /// The parent is going to be decided about: its time does not matter before that.
    pub(crate) fn engage(&mut self, parent: &ParentRef) {
        if let Some(due) = self.held.get(parent).and_then(Held::due) {
            self.wakes.remove(&(due, parent.clone()));
        }
    }

    pub(crate) fn get(&self, parent: &ParentRef) -> Option<&Held> {
        self.held.get(parent)
    }

    /// The next time at which a parent is to be decided about.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.wakes.first().map(|(due, _)| *due)
    }

    /// The parents whose time has come, each once.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<ParentRef> {
        let mut due = Vec::new();
        while self.next().is_some_and(|next| next <= now) {
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

    fn held(name: &str, seconds: u64) -> (ParentRef, Held) {
        let reference = ParentRef::new("g", "K", name);
        let parent = Parent::new(ParentKey::new(reference.clone(), "u"), 1);
        (reference, Held::new(&parent, 1, false, Duration::ZERO, Duration::from_secs(seconds)))
    }

    #[tokio::test(start_paused = true)]
    async fn each_parent_is_woken_once_and_not_while_it_is_decided_about() {
        let (mut holds, start) = (Holds::default(), Instant::now());
        for (parent, held) in [held("a", 10), held("b", 20), held("c", 30)] {
            holds.set(&parent, Some(held));
        }
        let (a, b, c) = (held("a", 10).0, held("b", 20).0, held("c", 40));
        assert_eq!(holds.next(), start.checked_add(Duration::from_secs(10)));
        holds.engage(&a);
        assert_eq!(holds.next(), start.checked_add(Duration::from_secs(20)));
        holds.set(&c.0, Some(c.1));
        let now = start.checked_add(Duration::from_secs(30)).unwrap();
        assert_eq!(holds.take_due(now), [b]);
        assert!(holds.take_due(now).is_empty() && holds.get(&a).is_some());
        holds.set(&c.0, None);
        assert_eq!((holds.next(), holds.get(&c.0)), (None, None));
    }
}
