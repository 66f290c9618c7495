//! The object that an edit asks for: the observed sub-tree with the changes of the typed view written into it.
//!
//! The typed view says nothing about fields it does not know, and its JSON form need not have the order of the
//! observed list. So the change from `before` to `after`, two JSON forms of the view, is transferred to the
//! observed JSON only where both provably correspond:
//!
//! ```text
//! observed  [{"n": 2, "unknown": "x"}, {"n": 1}]     a set of structs, so the view is sorted:
//! before    [{"n": 1}, {"n": 2}]                     each element covers exactly one observed element
//! after     [{"n": 2}, {"n": 3}]
//! target    [{"n": 2, "unknown": "x"}, {"n": 3}]
//! ```
//!
//! The caller reads the target back and compares, so a type that breaks the assumptions here (an alias, a lossy
//! conversion) leads to a more careful attempt or to an error, never to a wrong patch.

mod lists;

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::ListMap;
use lists::{at, correspondence, gone, is_view_of, partners, same};

/// The three attempts, from the one that keeps most unknown fields to the one that assumes least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Care {
    /// A member of the view that was not observed is a default.
    Defaults,
    /// Such a member may also be observed under another name (`#[serde(alias)]`), which has to go.
    Aliases,
    /// As `Aliases`, and every list that changes is replaced.
    WholeLists,
}

pub(crate) const ATTEMPTS: [Care; 3] = [Care::Defaults, Care::Aliases, Care::WholeLists];

/// The longest list whose elements are traced by reading the duck without each of them.
const TRACED: usize = 64;

/// Transfers a change of the view to what was observed.
pub(crate) struct Transfer<'a> {
    pub(crate) care: Care,
    pub(crate) list_maps: &'a [ListMap],
    /// Returns true if the view reads another value without the observed member at these steps.
    pub(crate) is_read: &'a dyn Fn(&[String]) -> bool,
    /// The JSON form of the view without the observed element at these steps, if it can be read.
    pub(crate) view_without: &'a dyn Fn(&[String]) -> Option<Value>,
}

/// The position in the observed sub-tree and in the view, and its pattern for [`ListMap`], with `*` for list elements.
#[derive(Default)]
struct Trail {
    steps: Vec<String>,
    in_view: Vec<String>,
    pattern: Vec<String>,
}

impl Trail {
    fn field<R>(&mut self, name: &str, visit: impl FnOnce(&mut Self) -> R) -> R {
        self.at([name.to_owned(), name.to_owned(), name.to_owned()], visit)
    }

    fn element<R>(&mut self, place: usize, in_view: usize, visit: impl FnOnce(&mut Self) -> R) -> R {
        self.at([place.to_string(), in_view.to_string(), "*".to_owned()], visit)
    }

    fn at<R>(&mut self, steps: [String; 3], visit: impl FnOnce(&mut Self) -> R) -> R {
        let [step, in_view, pattern] = steps;
        self.steps.push(step);
        self.in_view.push(in_view);
        self.pattern.push(pattern);
        let result = visit(self);
        self.steps.pop();
        self.in_view.pop();
        self.pattern.pop();
        result
    }
}

type Members = Map<String, Value>;

impl Transfer<'_> {
    pub(crate) fn target(&self, before: &Value, after: &Value, seen: &Value) -> Value {
        self.value(before, after, seen, &mut Trail::default())
    }

    fn value(&self, before: &Value, after: &Value, seen: &Value, trail: &mut Trail) -> Value {
        match (before, after, seen) {
            _ if before == after => seen.clone(),
            (Value::Object(old), Value::Object(new), Value::Object(seen)) => {
                Value::Object(self.members(old, new, seen, trail))
            }
            (Value::Array(old), Value::Array(new), Value::Array(seen)) => {
                Value::Array(self.elements(old, new, seen, trail))
            }
            _ => after.clone(),
        }
    }

    fn members(&self, old: &Members, new: &Members, seen: &Members, trail: &mut Trail) -> Members {
        let mut out = Members::new();
        let mut alias_dropped = false;
        for (name, observed) in seen {
            let kept = match (old.get(name), new.get(name)) {
                (Some(old), Some(new)) => {
                    Some(trail.field(name, |trail| self.value(old, new, observed, trail)))
                }
                (Some(_), None) => None,
                (None, Some(new)) => {
                    let nothing = if new.is_object() { Value::Object(Map::new()) } else { Value::Null };
                    Some(trail.field(name, |trail| self.value(&nothing, new, observed, trail)))
                }
                (None, None) => {
                    let alias =
                        self.care > Care::Defaults && trail.field(name, |trail| (self.is_read)(&trail.steps));
                    alias_dropped |= alias;
                    (!alias).then(|| observed.clone())
                }
            };
            out.extend(kept.map(|value| (name.clone(), value)));
        }
        for (name, value) in new.iter().filter(|(name, _)| !seen.contains_key(*name)) {
            // A default that the type fills in is not a change of the object.
            if alias_dropped || old.get(name) != Some(value) {
                out.insert(name.clone(), value.clone());
            }
        }
        out
    }

    fn elements(&self, old: &[Value], new: &[Value], seen: &[Value], trail: &mut Trail) -> Vec<Value> {
        if self.care == Care::WholeLists {
            return new.to_vec();
        }
        let keys = self.list_maps.iter().find(|list| list.matches(&trail.pattern)).map(|list| list.keys);
        if let Some(list) = keys.and_then(|keys| self.by_key(keys, old, new, seen, trail)) {
            return list;
        }
        let Some(places) = self.places(old, seen, trail) else { return new.to_vec() };
        let element = |(new, partner): (&Value, Option<usize>), trail: &mut Trail| {
            let known = partner.and_then(|index| {
                let place = *places.get(index)?;
                Some((index, old.get(index)?, seen.get(place)?, place))
            });
            let Some((index, old, seen, place)) = known else { return new.clone() };
            trail.element(place, index, |trail| self.value(old, new, seen, trail))
        };
        new.iter().zip(partners(old, new)).map(|pair| element(pair, trail)).collect()
    }

    /// For each element of the view the position of the observed element it was read from, if that is certain: the
    /// values say so, or the type does when it reads the list without one element after the other.
    fn places(&self, old: &[Value], seen: &[Value], trail: &mut Trail) -> Option<Vec<usize>> {
        if old.len() != seen.len() {
            return None;
        }
        if old.iter().zip(seen).all(|(old, seen)| is_view_of(old, seen)) {
            return Some((0..old.len()).collect());
        }
        match self.traced(old, trail) {
            Trace::Found(places) => Some(places),
            Trace::Refuted => None,
            Trace::Unreadable if self.care == Care::Defaults => correspondence(old, seen),
            Trace::Unreadable => None,
        }
    }

    fn traced(&self, old: &[Value], trail: &mut Trail) -> Trace {
        if old.len() > TRACED {
            return Trace::Unreadable;
        }
        let mut places = vec![None; old.len()];
        for place in 0..old.len() {
            trail.steps.push(place.to_string());
            let view = (self.view_without)(&trail.steps);
            trail.steps.pop();
            let Some(view) = view else { return Trace::Unreadable };
            let rest = at(&view, &trail.in_view).and_then(Value::as_array);
            let Some(gone) = rest.and_then(|rest| gone(old, rest)) else { return Trace::Refuted };
            // Equal elements are interchangeable: the one at the same position first.
            let equal = |index: &usize| old.get(*index).is_some_and(|one| same(one, gone));
            let free = |index: &usize| places.get(*index) == Some(&None) && equal(index);
            let index = std::iter::once(place).chain(0..old.len()).find(free);
            let Some(slot) = index.and_then(|index| places.get_mut(index)) else { return Trace::Refuted };
            *slot = Some(place);
        }
        places.into_iter().collect::<Option<Vec<_>>>().map_or(Trace::Refuted, Trace::Found)
    }

    /// Merges a list by the keys of its elements; nothing if keys are missing or not unique.
    ///
    /// A view that keeps the order of the observed list decides about the order of the target. Any other view (a
    /// map) leaves elements where they are and appends new ones.
    fn by_key(
        &self,
        keys: &[&str],
        old: &[Value],
        new: &[Value],
        seen: &[Value],
        trail: &mut Trail,
    ) -> Option<Vec<Value>> {
        let (old_keys, new_keys) = (unique_keys(keys, old)?, unique_keys(keys, new)?);
        let seen_keys = unique_keys(keys, seen)?;
        let (old_at, seen_at) = (positions(&old_keys), positions(&seen_keys));
        if old_at.len() != seen_at.len() || old_at.keys().any(|key| !seen_at.contains_key(key)) {
            return None;
        }
        let mut merged = Vec::with_capacity(new.len());
        for (new, key) in new.iter().zip(&new_keys) {
            let index = old_at.get(key).copied().unwrap_or(usize::MAX);
            let at = seen_at.get(key).copied().unwrap_or(usize::MAX);
            let value = match (old.get(index), seen.get(at)) {
                (Some(old), Some(seen)) => {
                    trail.element(at, index, |trail| self.value(old, new, seen, trail))
                }
                _ => new.clone(),
            };
            merged.push((at, value));
        }
        if old_keys != seen_keys {
            merged.sort_by_key(|(at, _)| *at);
        }
        Some(merged.into_iter().map(|(_, value)| value).collect())
    }
}

impl ListMap {
    fn matches(&self, pattern: &[String]) -> bool {
        let steps = self.path.split('/').skip(1).map(crate::path::unescape);
        steps.eq(pattern.iter().map(String::as_str))
    }
}

type Key<'a> = Vec<&'a Value>;

fn unique_keys<'a>(keys: &[&str], list: &'a [Value]) -> Option<Vec<Key<'a>>> {
    let key = |element: &'a Value| keys.iter().map(|key| element.get(*key)).collect::<Option<Key<'a>>>();
    let found = list.iter().map(key).collect::<Option<Vec<_>>>()?;
    (positions(&found).len() == found.len()).then_some(found)
}

fn positions<'k, 'a>(keys: &'k [Key<'a>]) -> HashMap<&'k Key<'a>, usize> {
    keys.iter().enumerate().map(|(index, key)| (key, index)).collect()
}

/// The result of reading a list without each of its elements in turn.
enum Trace {
    Found(Vec<usize>),
    /// Elements depend on each other, or several are read into one.
    Refuted,
    /// The type does not read a shorter list, or the list is too long for as many reads.
    Unreadable,
}

#[cfg(test)]
mod tests;
