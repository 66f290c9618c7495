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

use serde_json::{Map, Value};

use crate::ListMap;

/// The three attempts, from the one that keeps most unknown fields to the one that assumes least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Care {
    /// A member of the view that was not observed is a default.
    Defaults,
    /// Such a member may also be observed under another name (`#[serde(alias)]`), which has to go.
    Aliases,
    /// As `Aliases`, also when elements of lists are compared.
    AliasesInLists,
}

pub(crate) const ATTEMPTS: [Care; 3] = [Care::Defaults, Care::Aliases, Care::AliasesInLists];

/// Transfers a change of the view to what was observed.
pub(crate) struct Transfer<'a> {
    pub(crate) care: Care,
    pub(crate) list_maps: &'a [ListMap],
    /// Returns true if the view reads another value without the observed member at these steps.
    pub(crate) is_read: &'a dyn Fn(&[String]) -> bool,
}

/// The position in the observed sub-tree, and its pattern for [`ListMap`], with `*` for list elements.
#[derive(Default)]
struct Trail {
    steps: Vec<String>,
    pattern: Vec<String>,
}

impl Trail {
    fn field<R>(&mut self, name: &str, visit: impl FnOnce(&mut Self) -> R) -> R {
        self.at(name.to_owned(), name, visit)
    }

    fn element<R>(&mut self, index: usize, visit: impl FnOnce(&mut Self) -> R) -> R {
        self.at(index.to_string(), "*", visit)
    }

    fn at<R>(&mut self, step: String, pattern: &str, visit: impl FnOnce(&mut Self) -> R) -> R {
        self.steps.push(step);
        self.pattern.push(pattern.to_owned());
        let result = visit(self);
        self.steps.pop();
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
        let keys = self.list_maps.iter().find(|list| list.matches(&trail.pattern)).map(|list| list.keys);
        if let Some(list) = keys.and_then(|keys| self.by_key(keys, old, new, seen, trail)) {
            return list;
        }
        let strict = self.care == Care::AliasesInLists;
        let Some(places) = correspondence(old, seen, strict) else { return new.to_vec() };
        let in_order = places.iter().enumerate().all(|(index, place)| index == *place);
        let partners = partners(old, new, in_order);
        let element = |(new, partner): (&Value, Option<usize>), trail: &mut Trail| {
            let known = partner.and_then(|index| {
                let place = *places.get(index)?;
                Some((old.get(index)?, seen.get(place)?, place))
            });
            let Some((old, seen, place)) = known else { return new.clone() };
            trail.element(place, |trail| self.value(old, new, seen, trail))
        };
        new.iter().zip(partners).map(|pair| element(pair, trail)).collect()
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
        let place = |keys: &[Vec<&Value>], key: &[&Value]| keys.iter().position(|other| other == key);
        if old_keys.len() != seen_keys.len() || old_keys.iter().any(|key| place(&seen_keys, key).is_none()) {
            return None;
        }
        let mut merged = Vec::with_capacity(new.len());
        for (new, key) in new.iter().zip(&new_keys) {
            let observed = place(&old_keys, key).and_then(|index| old.get(index));
            let at = place(&seen_keys, key).unwrap_or(usize::MAX);
            let value = match (observed, seen.get(at)) {
                (Some(old), Some(seen)) => trail.element(at, |trail| self.value(old, new, seen, trail)),
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

fn unique_keys<'a>(keys: &[&str], list: &'a [Value]) -> Option<Vec<Vec<&'a Value>>> {
    let mut found: Vec<Vec<&Value>> = Vec::with_capacity(list.len());
    for element in list {
        let key = keys.iter().map(|key| element.get(*key)).collect::<Option<Vec<_>>>()?;
        if found.contains(&key) {
            return None;
        }
        found.push(key);
    }
    Some(found)
}

/// For each element of the view the position of the observed element it was read from, if that is certain: the
/// same order, or each element covers exactly one observed element.
fn correspondence(old: &[Value], seen: &[Value], strict: bool) -> Option<Vec<usize>> {
    if old.len() != seen.len() {
        return None;
    }
    if old.iter().zip(seen).all(|(old, seen)| covers(seen, old, strict)) {
        return Some((0..old.len()).collect());
    }
    let mut taken = vec![false; seen.len()];
    let mut places = Vec::with_capacity(old.len());
    for old in old {
        let mut fits = seen.iter().enumerate().filter(|(_, seen)| covers(seen, old, strict));
        let (place, _) = fits.next()?;
        if fits.next().is_some() || std::mem::replace(taken.get_mut(place)?, true) {
            return None;
        }
        places.push(place);
    }
    Some(places)
}

/// Returns true if `old` may be the view of `seen`: every member that both have is equal. With `strict`, every
/// member of the view was also observed.
fn covers(seen: &Value, old: &Value, strict: bool) -> bool {
    match (seen, old) {
        (Value::Object(seen), Value::Object(old)) => old.iter().all(|(name, old)| match seen.get(name) {
            Some(seen) => covers(seen, old, strict),
            None => !strict,
        }),
        (Value::Array(seen), Value::Array(old)) => correspondence(old, seen, strict).is_some(),
        (Value::Number(seen), Value::Number(old)) => seen == old || seen.as_f64() == old.as_f64(),
        _ => seen == old,
    }
}

/// For each new element the old element it continues, if there is one: an equal element, or the only candidate
/// for a change in place.
fn partners(old: &[Value], new: &[Value], in_order: bool) -> Vec<Option<usize>> {
    let front = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let rest = |list: &[Value]| list.len().saturating_sub(front);
    let longest = rest(old).min(rest(new));
    let back =
        old.iter().rev().zip(new.iter().rev()).take(longest).take_while(|(old, new)| old == new).count();
    let shift = |index: usize| index.saturating_add(old.len()).checked_sub(new.len());
    let (old_end, new_end) = (old.len().saturating_sub(back), new.len().saturating_sub(back));
    let mut free: Vec<usize> = (front..old_end).collect();
    let mut found = Vec::with_capacity(new.len());
    for (index, element) in new.iter().enumerate() {
        found.push(match index {
            index if index < front => Some(index),
            index if index >= new_end => shift(index),
            _ => {
                let equal = free.iter().position(|candidate| old.get(*candidate) == Some(element));
                equal.map(|equal| free.remove(equal))
            }
        });
    }
    let open: Vec<usize> = (front..new_end).filter(|index| found.get(*index) == Some(&None)).collect();
    if open.len() == free.len() && (open.len() == 1 || (in_order && open == free)) {
        for (index, partner) in open.into_iter().zip(free) {
            if let Some(slot) = found.get_mut(index) {
                *slot = Some(partner);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
