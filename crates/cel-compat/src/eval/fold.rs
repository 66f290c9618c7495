//! The macros over lists and maps. One loop per macro, so that building a list takes time linear in its length.
//!
//! cel-go expands a macro to a fold over an accumulator: `[1, 2].map(x, x * 2)` is `[] + [2] + [4]`, where each `+` may copy
//! what is there. The loops here give the same values and errors.
//!
//! ```text
//! xs.all(i, x, p)        slots: i at `fold.slot`, x behind it; those of macros around are in front and stay
//! xs.map(x, p, f)        `f` of the elements for which `p` holds
//! ```

use std::collections::BTreeMap;
use std::iter::Enumerate;
use std::slice;
use std::sync::Arc;

use crate::value::{Key, Value};

use super::super::compare::sort_by;
use super::super::error::EvalError;
use super::super::node::{Fold, Node, Shape};
use super::{Evaluation, decide};

/// The bindings of a macro in one round.
type Round = (Value, Option<Value>);

impl Evaluation<'_> {
    pub(super) fn fold(&mut self, fold: &Fold) -> Result<Value, EvalError> {
        let range = self.node(&fold.range)?;
        let rounds = Rounds::over(&range, fold.is_pair)?;
        self.meter.elements(rounds.len())?;
        let value = match &fold.shape {
            Shape::All(body) => self.quantify(fold, rounds, body, false),
            Shape::Exists(body) => self.quantify(fold, rounds, body, true),
            Shape::ExistsOne(body) => self.exactly_one(fold, rounds, body),
            Shape::Filter(body) => self.filter(fold, rounds, body),
            Shape::List(filter, body) => self.collect(fold, rounds, filter.as_ref(), body),
            Shape::Map(filter, body) => self.transform(fold, rounds, filter.as_ref(), body),
            Shape::Entries(filter, body) => self.merge(fold, rounds, filter.as_ref(), body),
            Shape::SortBy(body) => self.sort(fold, rounds, body, &range),
        };
        // Also after an error, which `||` around the macro may absorb: what follows finds its own slots.
        self.locals.truncate(fold.slot);
        value
    }

    /// Binds the names for this round. They keep their values while its filter and its body are evaluated.
    fn bind(&mut self, fold: &Fold, (first, second): Round) {
        self.locals.truncate(fold.slot);
        self.locals.push(first);
        self.locals.extend(second);
    }

    /// The value of the first name in this round.
    fn bound(&self, fold: &Fold) -> Result<Value, EvalError> {
        let missing = || EvalError::Internal(format!("no value in slot {} of the macros", fold.slot));
        self.locals.get(fold.slot).cloned().ok_or_else(missing)
    }

    fn keeps(&mut self, filter: Option<&Node>) -> Result<bool, EvalError> {
        filter.map_or(Ok(true), |filter| self.holds(filter))
    }

    /// `all` and `exists`: a deciding element wins over the errors of the others.
    fn quantify(
        &mut self,
        fold: &Fold,
        rounds: Rounds<'_>,
        body: &Node,
        deciding: bool,
    ) -> Result<Value, EvalError> {
        let truths = rounds.map(|round| {
            self.bind(fold, round);
            self.holds(body)
        });
        decide(truths, deciding)
    }

    /// `exists_one` looks at all elements, and the error of any is its error: that element may be the second that fits.
    fn exactly_one(&mut self, fold: &Fold, rounds: Rounds<'_>, body: &Node) -> Result<Value, EvalError> {
        let mut count = 0_usize;
        for round in rounds {
            self.bind(fold, round);
            if self.holds(body)? {
                count = count.saturating_add(1);
            }
        }
        Ok(Value::Bool(count == 1))
    }

    fn filter(&mut self, fold: &Fold, rounds: Rounds<'_>, body: &Node) -> Result<Value, EvalError> {
        let mut kept = Vec::new();
        for round in rounds {
            self.bind(fold, round);
            if self.holds(body)? {
                kept.push(self.bound(fold)?);
            }
        }
        Ok(Value::List(Arc::new(kept)))
    }

    fn collect(
        &mut self,
        fold: &Fold,
        rounds: Rounds<'_>,
        filter: Option<&Node>,
        body: &Node,
    ) -> Result<Value, EvalError> {
        let mut list = Vec::new();
        for round in rounds {
            self.bind(fold, round);
            if self.keeps(filter)? {
                list.push(self.node(body)?);
            }
        }
        Ok(Value::List(Arc::new(list)))
    }

    fn transform(
        &mut self,
        fold: &Fold,
        rounds: Rounds<'_>,
        filter: Option<&Node>,
        body: &Node,
    ) -> Result<Value, EvalError> {
        let mut map = BTreeMap::new();
        for round in rounds {
            self.bind(fold, round);
            if self.keeps(filter)? {
                let value = self.node(body)?;
                insert(&mut map, Key::try_from(self.bound(fold)?)?, value)?;
            }
        }
        Ok(Value::Map(map.into_iter().collect()))
    }

    fn merge(
        &mut self,
        fold: &Fold,
        rounds: Rounds<'_>,
        filter: Option<&Node>,
        body: &Node,
    ) -> Result<Value, EvalError> {
        let mut map = BTreeMap::new();
        for round in rounds {
            self.bind(fold, round);
            if !self.keeps(filter)? {
                continue;
            }
            let Value::Map(entries) = self.node(body)? else {
                return Err(EvalError::no_overload());
            };
            self.meter.elements(entries.len())?;
            for (name, value) in entries.iter() {
                insert(&mut map, name.clone(), value.clone())?;
            }
        }
        Ok(Value::Map(map.into_iter().collect()))
    }

    /// `sortBy`: the keys are computed once for each element, before any two are compared.
    fn sort(
        &mut self,
        fold: &Fold,
        rounds: Rounds<'_>,
        body: &Node,
        range: &Value,
    ) -> Result<Value, EvalError> {
        if !matches!(range, Value::List(_)) {
            return Err(EvalError::no_overload());
        }
        let mut sorted = Vec::new();
        for round in rounds {
            self.bind(fold, round);
            let by = self.node(body)?;
            sorted.push((by, self.bound(fold)?));
        }
        sort_by(&self.meter, &mut sorted, |(by, _)| by, "sort keys must have the same type")?;
        let list = sorted.into_iter().map(|(_, element)| element).collect();
        Ok(Value::List(Arc::new(list)))
    }
}

fn insert(map: &mut BTreeMap<Key, Value>, name: Key, value: Value) -> Result<(), EvalError> {
    if map.contains_key(&name) {
        return Err(EvalError::Failed(format!("insert failed: key {name} already exists")));
    }
    map.insert(name, value);
    Ok(())
}

/// The rounds of a macro, each with what it binds. The keys of a map come in their order, so that a message made of
/// them is the same in every process; in cel-go they come in any order.
struct Rounds<'r> {
    range: Range<'r>,
    is_pair: bool,
}

enum Range<'r> {
    List(Enumerate<slice::Iter<'r, Value>>),
    Map(slice::Iter<'r, (Key, Value)>),
}

impl<'r> Rounds<'r> {
    fn over(range: &'r Value, is_pair: bool) -> Result<Self, EvalError> {
        let range = match range {
            Value::List(list) => Range::List(list.iter().enumerate()),
            Value::Map(map) => Range::Map(map.entries()),
            other => {
                let of = other.type_name();
                return Err(EvalError::Failed(format!("got '{of}', expected iterable type")));
            }
        };
        Ok(Self { range, is_pair })
    }

    fn len(&self) -> usize {
        match &self.range {
            Range::List(elements) => elements.len(),
            Range::Map(entries) => entries.len(),
        }
    }
}

impl Iterator for Rounds<'_> {
    type Item = Round;

    fn next(&mut self) -> Option<Round> {
        match &mut self.range {
            Range::List(elements) => {
                let (index, element) = elements.next()?;
                if !self.is_pair {
                    return Some((element.clone(), None));
                }
                Some((Value::Int(i64::try_from(index).unwrap_or(i64::MAX)), Some(element.clone())))
            }
            Range::Map(entries) => {
                let (key, value) = entries.next()?;
                Some((Value::from(key), self.is_pair.then(|| value.clone())))
            }
        }
    }
}
