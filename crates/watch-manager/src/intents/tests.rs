//! Tests of `intents`: the differences, applied in order, always lead to the intents.

use proptest::prelude::*;

use super::*;
use crate::fixture::gvk;

/// Applies differences, and refuses those that make no sense in their place.
#[derive(Default)]
struct Joined(HashMap<RegistrarId, HashMap<Gvk, Stay>>);

impl Joined {
    fn apply(&mut self, id: RegistrarId, difference: Difference) {
        let kinds = self.0.entry(id).or_default();
        for store in difference.left {
            assert!(kinds.remove(&store.gvk).is_some(), "left without having joined");
        }
        for (gvk, stay) in difference.joined {
            assert_eq!(kinds.insert(gvk, stay), None, "joined twice");
        }
    }
}

fn intents(kinds: &[(usize, u64)]) -> HashMap<Gvk, Stay> {
    let stay = |epoch| Stay { epoch: Epoch(epoch), slot: 0, scope: Scope::default() };
    kinds.iter().map(|(kind, epoch)| (gvk(["A", "B", "C"][*kind]), stay(*epoch))).collect()
}

proptest! {
    #[test]
    fn differences_lead_to_the_intents(
        steps in proptest::collection::vec((0_u64..3, proptest::collection::vec((0_usize..3, 0_u64..3), 0..4)), 1..40)
    ) {
        let (mut state, mut joined) = (Intents::default(), Joined::default());
        for (id, kinds) in steps {
            let (id, desired) = (RegistrarId(id), intents(&kinds));
            joined.apply(id, state.assign(id, desired.clone()));
            prop_assert_eq!(&joined.0[&id], &desired);
            prop_assert_eq!(state.assign(id, desired), Difference::default(), "the same intents again changed something");
        }
    }
}

#[test]
fn a_kind_removed_and_added_again_leaves_and_joins() {
    let mut state = Intents::default();
    state.assign(RegistrarId(1), intents(&[(0, 1), (1, 2)]));
    let difference = state.assign(RegistrarId(1), intents(&[(0, 3), (1, 2)]));
    assert_eq!(difference.left, [StoreKey::new(&gvk("A"), &Scope::default())]);
    assert_eq!(
        difference.joined.iter().map(|(gvk, stay)| (gvk, stay.epoch)).collect::<Vec<_>>(),
        [(&gvk("A"), Epoch(3))]
    );
}
