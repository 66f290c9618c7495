//! The arithmetic of a rollout, without a cluster: how many Machines each MachineSet should have next.
//!
//! With 3 replicas and `maxUnavailable: 1`, from set A to set B (wanted/ready):
//!
//! ```text
//! A 3/3  B 0/0    all run: one of A may go
//! A 2/2  B 1/0    its place is B's
//! A 2/2  B 1/1    all run again: the next one
//! ```

/// A MachineSet: how many Machines it wants, and how many of them run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Share {
    pub(crate) wanted: u32,
    pub(crate) ready: u32,
}

// === impl Share ===

impl Share {
    /// A set that was just made smaller may not have noticed: what it is going to delete does not count.
    fn available(self) -> u32 {
        self.ready.min(self.wanted)
    }
}

/// The next number of Machines of the new set, and of each old one.
///
/// Old sets lose what does not run first, because that costs nothing, and then only what `max_unavailable` allows. The
/// new set gets the places that are free; there are never more Machines wanted than `replicas`, unless there were. The schema
/// refuses a `max_unavailable` of 0, with which nothing would ever move.
pub(crate) fn next(replicas: u32, max_unavailable: u32, new: Share, old: &[Share]) -> (u32, Vec<u32>) {
    let available = old.iter().chain([&new]).map(|share| share.available()).sum::<u32>();
    let mut spare = available.saturating_sub(replicas.saturating_sub(max_unavailable));
    let shrink = |share: &Share| {
        let go = share.available().min(spare);
        spare = spare.saturating_sub(go);
        share.available().saturating_sub(go)
    };
    let old: Vec<u32> = old.iter().map(shrink).collect();
    let taken = old.iter().sum::<u32>();
    let room = replicas.saturating_sub(taken);
    // A Fleet that is made smaller takes it from the new set once the old ones are empty.
    (if taken == 0 { replicas } else { room.max(new.wanted.min(replicas)) }, old)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    type State = (Share, Vec<Share>);

    /// Whatever the sets do: they start or stop any number of Machines towards what is wanted.
    fn successors((new, old): &State) -> Vec<State> {
        let steps = |share: Share| {
            let up = (share.ready < share.wanted).then(|| Share { ready: share.ready + 1, ..share });
            let down = (share.ready > share.wanted).then(|| Share { ready: share.ready - 1, ..share });
            up.into_iter().chain(down)
        };
        let of_new = steps(*new).map(|new| (new, old.clone()));
        let of_old = old.iter().enumerate().flat_map(|(index, share)| {
            steps(*share).map(move |share| {
                let mut next = old.clone();
                next[index] = share;
                (*new, next)
            })
        });
        of_new.chain(of_old).collect()
    }

    fn act(replicas: u32, max_unavailable: u32, (new, old): &State) -> State {
        let (wanted, olds) = next(replicas, max_unavailable, *new, old);
        let old = old.iter().zip(olds).map(|(share, wanted)| Share { wanted, ..*share }).collect();
        (Share { wanted, ..*new }, old)
    }

    /// Walks every interleaving of the Fleet's decisions and the sets' progress.
    #[test]
    fn in_every_interleaving_enough_machines_run_and_the_rollout_ends() {
        let mut states = 0;
        for replicas in 1..=4_u32 {
            for max_unavailable in 1..=replicas.max(1) {
                for split in 0..=replicas {
                    let full = |wanted| Share { wanted, ready: wanted };
                    let start = (full(0), vec![full(split), full(replicas - split)]);
                    let (mut seen, mut open) = (HashSet::from([start.clone()]), vec![start]);
                    while let Some(state) = open.pop() {
                        let (new, old) = &state;
                        let ready = old.iter().chain([new]).map(|share| share.ready).sum::<u32>();
                        assert!(ready + max_unavailable >= replicas, "{state:?}");
                        let acted = act(replicas, max_unavailable, &state);
                        let mut following = successors(&state);
                        if following.is_empty() && acted == state {
                            assert_eq!(*new, full(replicas), "it ends before its end");
                        }
                        following.push(acted);
                        open.extend(following.into_iter().filter(|state| seen.insert(state.clone())));
                    }
                    states += seen.len();
                }
            }
        }
        println!("{states} states");
    }

    #[test]
    fn what_does_not_run_goes_first_and_for_free() {
        let share = |wanted, ready| Share { wanted, ready };
        // Two of the broken revision do not run; the next one replaces them, and touches no running Machine but one.
        assert_eq!(next(3, 1, share(0, 0), &[share(1, 0), share(2, 2)]), (1, vec![0, 2]));
    }
}
