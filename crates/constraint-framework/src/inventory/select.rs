//! The reduced inventory of one review: everything in the inventory that a policy's answer can depend on.
//!
//! It may hold more than that, never less. The indexes make it cheap; without one, the tree is walked.
//!
//! Worked example:
//!
//! ```text
//! the inventory      namespace/a/networking.k8s.io/v1/Ingress/x    spec.rules[0].host: one
//!                    namespace/b/networking.k8s.io/v1/Ingress/y    spec.rules[0].host: two
//!                    namespace/b/v1/Service/y
//!
//! the policy         other := data.inventory.namespace[_][version]["Ingress"][_]
//!                    other.spec.rules[_].host == input.host
//!
//! its access         path  namespace[_][_].Ingress[_]               (`JoinedRead::path`)
//!                    join  .spec.rules[_].host == input.host        (`JoinedRead::joins`)
//!
//! the index          "one": namespace/a/networking.k8s.io/v1/Ingress/x
//!                    "two": namespace/b/networking.k8s.io/v1/Ingress/y
//!
//! on {"host": "two"} the policy is shown
//!                    {"namespace": {"b": {"networking.k8s.io/v1": {"Ingress": {"y": {…}}}}}}
//! ```
//!
//! Ingress `x` is left out because the body fails at the equation with it, and the Service because no path of the policy
//! leads to it. Only `y` is parsed.
//!
//! Then the host of `y` becomes `one`. The index moves `y` from `"two"` to `"one"`, and the next review on `{"host": "two"}`
//! is shown nothing. Verdicts on inputs with the hosts `one` and `two` are outdated, and no others: the change of one object
//! gives the keys of its old and of its new value, see [`Dependents::Keyed`](super::Dependents).
//!
//! A policy that reads `data.inventory.namespace[_][_]["Ingress"][_]` to count has a path without an equation: it is shown both
//! Ingresses, from a tree that is kept ([`View`](view::View)). The same change drops that tree, and outdates all verdicts of the
//! policy ([`Dependents::All`](super::Dependents)).

use std::sync::Arc;

use rego_compat::{Segment, Value as RegoValue, values_at};

use super::object::UnreadableObjectError;
use super::part::Parts;
use super::reads::{JoinedRead, Reads};
use super::resource_tree::Reach;
use super::{Inventory, Path, view};

/// The number of objects found by one look-up from which they are kept parsed: they will be found again.
const MANY: usize = 32;

pub(super) fn select(
    inventory: &Inventory,
    reads: &Reads,
    input: &RegoValue,
) -> Result<RegoValue, UnreadableObjectError> {
    let mut parts = Parts::default();
    for path in &reads.narrowed {
        inventory.root.gather(&reach(path, input), &mut parts)?;
    }
    for read in &reads.joined {
        match best(inventory, read, input) {
            Some(places) => look_up(inventory, read, input, places, &mut parts)?,
            // No index yet: this snapshot is older than the policy. Or nothing is known of what is sought.
            None => inventory.root.gather(&reach(&read.path, input), &mut parts)?,
        }
    }
    parts.over(whole(inventory, reads)?.as_ref())
}

fn whole(inventory: &Inventory, reads: &Reads) -> Result<Option<RegoValue>, UnreadableObjectError> {
    if reads.whole().is_empty() {
        return Ok(None);
    }
    let found = match inventory.views.iter().find(|view| view.serves(reads)) {
        Some(view) => view.tree(&inventory.root),
        None => view::build(reads.whole().iter().map(Vec::as_slice), &inventory.root),
    };
    found.map(Some)
}

/// Returns the shortest of the lists that the equations give; each holds everything that satisfies all of them.
fn best<'i>(inventory: &'i Inventory, read: &JoinedRead, input: &RegoValue) -> Option<Vec<&'i Path>> {
    let lists = read.joins.iter().filter_map(|(key, sought)| {
        let index = inventory.joins.get(key)?;
        Some(index.places(&sought.values(input, input)?))
    });
    // Any of them is enough, because all equations have to hold: the shortest has the fewest objects to read.
    lists.min_by_key(Vec::len)
}

fn look_up(
    inventory: &Inventory,
    read: &JoinedRead,
    input: &RegoValue,
    mut places: Vec<&Path>,
    parts: &mut Parts,
) -> Result<(), UnreadableObjectError> {
    let reach = reach(&read.path, input);
    // An object with two of the values is found twice.
    places.sort();
    places.dedup();
    // Objects that are found one by one are parsed again each time: kept values take several times the memory of the text.
    let many = places.len() > MANY;
    for place in places.into_iter().filter(|place| within(&reach, place)) {
        let object = inventory.root.visible(place.iter().map(|segment| &**segment));
        let object = object.ok_or_else(|| UnreadableObjectError::inconsistent(place))?;
        if let Some(object) = object {
            let value = if many { object.kept().cloned() } else { object.fresh() };
            parts.put(place, value.map_err(|_| UnreadableObjectError::new(place))?);
        }
    }
    Ok(())
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
            // A key that is not a string is the key of no object.
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
    /// Returns the keys that a segment can take, whatever the input is.
    pub(super) fn widest(segment: &Segment) -> Self {
        match segment {
            Segment::Key(name) => Self::Keys(vec![name.clone()]),
            Segment::Any | Segment::Input(_) => Self::Any,
        }
    }
}
