//! The reduced inventory of one review: what a program's answer can depend on.
//!
//! It may hold more than that, never less. The indexes make it cheap; without one, the tree is walked.

use std::sync::Arc;

use rego_compat::{Segment, Value as RegoValue, values_at};

use super::part::Parts;
use super::reads::{JoinedRead, Reads};
use super::resource_tree::{Reach, ResourceTree, covers};
use super::{Inventory, Path, view};

/// So many objects found by one look-up are kept parsed: they will be found again.
const MANY: usize = 32;

pub(super) fn select(inventory: &Inventory, reads: &Reads, input: &RegoValue) -> RegoValue {
    let mut parts = Parts::default();
    for path in &reads.narrowed {
        walk(&inventory.root, path, input, &mut parts);
    }
    for read in &reads.joined {
        match best(inventory, read, input) {
            Some(places) => look_up(inventory, read, input, places, &mut parts),
            None => walk(&inventory.root, &read.path, input, &mut parts),
        }
    }
    parts.over(whole(inventory, reads).as_ref())
}

/// Returns true if the object at a place is one of those that a reader's answer on this input can depend on.
pub(super) fn reaches(reads: &Reads, input: &RegoValue, place: &Path) -> bool {
    let narrowed = reads.narrowed.iter().map(Vec::as_slice);
    let joined = reads.joined.iter().map(|read| read.path.as_slice());
    let mut narrow = narrowed.chain(joined);
    reads.whole().iter().any(|path| covers(path, place))
        || narrow.any(|path| within(&reach(path, input), place))
}

fn whole(inventory: &Inventory, reads: &Reads) -> Option<RegoValue> {
    if reads.whole().is_empty() {
        return None;
    }
    Some(match inventory.views.iter().find(|view| view.serves(reads)) {
        Some(view) => view.tree(&inventory.root),
        None => view::build(reads.whole(), &inventory.root),
    })
}

fn walk(root: &ResourceTree, path: &[Segment], input: &RegoValue, parts: &mut Parts) {
    let mut visit = |at: &[Arc<str>], tree: &ResourceTree| parts.put(at, tree.value());
    root.reach(&reach(path, input), &mut Vec::new(), &mut visit);
}

/// The shortest of the lists that the equations give; each holds everything that satisfies all of them.
fn best<'i>(inventory: &'i Inventory, read: &JoinedRead, input: &RegoValue) -> Option<Vec<&'i Path>> {
    let lists = read.joins.iter().filter_map(|(key, sought)| {
        let index = inventory.joins.get(key)?;
        Some(index.places(&sought.values(input, input)?))
    });
    lists.min_by_key(Vec::len)
}

fn look_up(
    inventory: &Inventory,
    read: &JoinedRead,
    input: &RegoValue,
    mut places: Vec<&Path>,
    parts: &mut Parts,
) {
    let reach = reach(&read.path, input);
    places.sort();
    places.dedup();
    let many = places.len() > MANY;
    for place in places.into_iter().filter(|place| within(&reach, place)) {
        if let Some(object) = inventory.root.object(place.iter().map(|segment| &**segment)) {
            let value = if many { object.kept().clone() } else { object.fresh() };
            parts.put(place, value);
        }
    }
}

fn within(reach: &[Reach], place: &[Arc<str>]) -> bool {
    reach.iter().zip(place).all(|(step, at)| match step {
        Reach::Any => true,
        Reach::Keys(keys) => keys.iter().any(|key| **key == **at),
    })
}

fn reach(path: &[Segment], input: &RegoValue) -> Vec<Reach> {
    let step = |segment: &Segment| match segment {
        Segment::Input(at) => {
            let keys = values_at(at, input, input).into_iter().filter_map(|key| key.as_string().ok());
            let mut keys: Vec<_> = keys.map(ToString::to_string).collect();
            keys.sort();
            keys.dedup();
            Reach::Keys(keys)
        }
        known => Reach::widest(known),
    };
    path.iter().map(step).collect()
}

impl Reach {
    /// Returns what a segment can take, whatever the input is.
    pub(super) fn widest(segment: &Segment) -> Self {
        match segment {
            Segment::Key(name) => Self::Keys(vec![name.clone()]),
            Segment::Any | Segment::Input(_) => Self::Any,
        }
    }
}
