//! Tests of `roster`: the changes, carried out in order, always lead to what is wished.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::fixture::gvk;

/// Carries changes out, and refuses those that make no sense in their place.
#[derive(Default)]
struct Stage {
    running: HashSet<Gvk>,
    joined: HashMap<RegistrarId, HashMap<Gvk, Epoch>>,
}

impl Stage {
    fn carry_out(&mut self, change: Change) {
        match change {
            Change::Start(gvk) => assert!(self.running.insert(gvk), "started twice"),
            Change::Stop(gvk) => {
                assert!(self.running.remove(&gvk), "stopped what does not run");
                assert!(
                    self.joined.values().all(|kinds| !kinds.contains_key(&gvk)),
                    "stopped under a reader"
                );
            }
            Change::Join(id, gvk, epoch) => {
                assert!(self.running.contains(&gvk), "joined before the start");
                let before = self.joined.entry(id).or_default().insert(gvk, epoch);
                assert_eq!(before, None, "joined twice");
            }
            Change::Leave(id, gvk) => {
                let before = self.joined.entry(id).or_default().remove(&gvk);
                assert!(before.is_some(), "left without having joined");
            }
        }
    }
}

fn any_wish() -> impl Strategy<Value = HashMap<Gvk, Epoch>> {
    prop::collection::hash_map(0..4usize, 0..3u64, 0..4).prop_map(|kinds| {
        kinds.into_iter().map(|(kind, epoch)| (gvk(["A", "B", "C", "D"][kind]), Epoch(epoch))).collect()
    })
}

proptest! {
    #[test]
    fn changes_carried_out_in_order_give_the_wishes(
        wishes in prop::collection::vec((0..3u64, any_wish()), 1..30),
    ) {
        let mut roster = Roster::default();
        let mut stage = Stage::default();
        let mut latest: HashMap<RegistrarId, HashMap<Gvk, Epoch>> = HashMap::new();
        for (id, wish) in wishes {
            let id = RegistrarId(id);
            let others = stage.joined.clone();
            let changes = roster.assign(id, wish.clone());
            prop_assert!(roster.assign(id, wish.clone()).is_empty(), "the same wish again changed something");
            for change in changes {
                stage.carry_out(change);
            }
            latest.insert(id, wish);

            let union: HashSet<Gvk> = latest.values().flat_map(|kinds| kinds.keys().cloned()).collect();
            prop_assert_eq!(&stage.running, &union);
            for (registrar, kinds) in &latest {
                prop_assert_eq!(stage.joined.get(registrar).cloned().unwrap_or_default(), kinds.clone());
            }
            for (registrar, kinds) in others.into_iter().filter(|(registrar, _)| *registrar != id) {
                prop_assert_eq!(&stage.joined[&registrar], &kinds, "another registrar noticed");
            }
        }
    }
}

#[test]
fn a_kind_that_is_kept_notices_nothing() {
    let (a, b, c) = (gvk("A"), gvk("B"), gvk("C"));
    let id = RegistrarId(1);
    let mut roster = Roster::default();
    roster.assign(id, HashMap::from([(a.clone(), Epoch(1)), (b.clone(), Epoch(2))]));
    let changes = roster.assign(id, HashMap::from([(b, Epoch(2)), (c.clone(), Epoch(3))]));
    assert_eq!(
        changes,
        [
            Change::Leave(id, a.clone()),
            Change::Start(c.clone()),
            Change::Join(id, c, Epoch(3)),
            Change::Stop(a)
        ]
    );
}

#[test]
fn removing_and_adding_again_joins_anew_without_a_restart() {
    let a = gvk("A");
    let id = RegistrarId(1);
    let mut roster = Roster::default();
    roster.assign(id, HashMap::from([(a.clone(), Epoch(1))]));
    let changes = roster.assign(id, HashMap::from([(a.clone(), Epoch(2))]));
    assert_eq!(changes, [Change::Leave(id, a.clone()), Change::Join(id, a, Epoch(2))]);
}
