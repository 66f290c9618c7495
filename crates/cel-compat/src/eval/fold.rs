//! The macros over lists and maps. One loop per macro, so that building a list takes time linear in its length.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::value::{Key, Value};

use super::super::compare::sort_by;
use super::super::error::EvalError;
use super::super::node::{Fold, Node, Shape};
use super::{Evaluation, as_bool};

/// The bindings of a macro in one round.
type Round = (Value, Option<Value>);

impl Evaluation<'_> {
    pub(super) fn fold(&mut self, fold: &Fold) -> Result<Value, EvalError> {
        let range = self.node(&fold.range)?;
        let rounds = rounds(&range, fold.is_pair)?;
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
        self.locals.truncate(fold.slot);
        value
    }

    /// The body with the names of this round bound.
    fn round(&mut self, fold: &Fold, round: &Round, body: &Node) -> Result<Value, EvalError> {
        self.locals.truncate(fold.slot);
        self.locals.push(round.0.clone());
        self.locals.extend(round.1.clone());
        self.node(body)
    }

    fn keeps(&mut self, fold: &Fold, round: &Round, filter: Option<&Node>) -> Result<bool, EvalError> {
        filter.map_or(Ok(true), |filter| self.round(fold, round, filter).and_then(|value| as_bool(&value)))
    }

    /// `all` and `exists`: a deciding element wins over the errors of the others.
    fn quantify(
        &mut self,
        fold: &Fold,
        rounds: Vec<Round>,
        body: &Node,
        deciding: bool,
    ) -> Result<Value, EvalError> {
        let mut error = None;
        for round in rounds {
            match self.round(fold, &round, body).and_then(|value| as_bool(&value)) {
                Ok(truth) if truth == deciding => return Ok(Value::Bool(deciding)),
                Ok(_) => {}
                Err(EvalError::Failed(message)) => {
                    error.get_or_insert(message);
                }
                Err(limit) => return Err(limit),
            }
        }
        error.map_or(Ok(Value::Bool(!deciding)), |message| Err(EvalError::Failed(message)))
    }

    fn exactly_one(&mut self, fold: &Fold, rounds: Vec<Round>, body: &Node) -> Result<Value, EvalError> {
        let mut count = 0_usize;
        for round in rounds {
            if as_bool(&self.round(fold, &round, body)?)? {
                count = count.saturating_add(1);
            }
        }
        Ok(Value::Bool(count == 1))
    }

    fn filter(&mut self, fold: &Fold, rounds: Vec<Round>, body: &Node) -> Result<Value, EvalError> {
        let mut kept = Vec::new();
        for round in rounds {
            if as_bool(&self.round(fold, &round, body)?)? {
                kept.push(round.0);
            }
        }
        Ok(Value::List(Arc::new(kept)))
    }

    fn collect(
        &mut self,
        fold: &Fold,
        rounds: Vec<Round>,
        filter: Option<&Node>,
        body: &Node,
    ) -> Result<Value, EvalError> {
        let mut list = Vec::new();
        for round in rounds {
            if self.keeps(fold, &round, filter)? {
                list.push(self.round(fold, &round, body)?);
            }
        }
        Ok(Value::List(Arc::new(list)))
    }

    fn transform(
        &mut self,
        fold: &Fold,
        rounds: Vec<Round>,
        filter: Option<&Node>,
        body: &Node,
    ) -> Result<Value, EvalError> {
        let mut map = BTreeMap::new();
        for round in rounds {
            if self.keeps(fold, &round, filter)? {
                let value = self.round(fold, &round, body)?;
                insert(&mut map, Key::try_from(round.0)?, value)?;
            }
        }
        Ok(Value::Map(map.into_iter().collect()))
    }

    fn merge(
        &mut self,
        fold: &Fold,
        rounds: Vec<Round>,
        filter: Option<&Node>,
        body: &Node,
    ) -> Result<Value, EvalError> {
        let mut map = BTreeMap::new();
        for round in rounds {
            if !self.keeps(fold, &round, filter)? {
                continue;
            }
            let Value::Map(entries) = self.round(fold, &round, body)? else {
                return Err(EvalError::no_overload());
            };
            self.meter.elements(entries.len())?;
            for (name, value) in entries.iter() {
                insert(&mut map, name.clone(), value.clone())?;
            }
        }
        Ok(Value::Map(map.into_iter().collect()))
    }

    fn sort(
        &mut self,
        fold: &Fold,
        rounds: Vec<Round>,
        body: &Node,
        range: &Value,
    ) -> Result<Value, EvalError> {
        if !matches!(range, Value::List(_)) {
            return Err(EvalError::no_overload());
        }
        let mut sorted = Vec::new();
        for round in rounds {
            let by = self.round(fold, &round, body)?;
            sorted.push((by, round.0));
        }
        sort_by(&mut self.meter, &mut sorted, |(by, _)| by, "sort keys must have the same type")?;
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

/// Lists what a macro binds, round by round. The keys of a map come in their order, so that a message made of them is
/// the same in every process; in cel-go they come in any order.
fn rounds(range: &Value, is_pair: bool) -> Result<Vec<Round>, EvalError> {
    match range {
        Value::List(list) if is_pair => Ok((0_i64..)
            .zip(list.iter())
            .map(|(index, element)| (Value::Int(index), Some(element.clone())))
            .collect()),
        Value::List(list) => Ok(list.iter().map(|element| (element.clone(), None)).collect()),
        Value::Map(map) => {
            let round = |(key, value): (&Key, &Value)| (Value::from(key), is_pair.then(|| value.clone()));
            Ok(map.iter().map(round).collect())
        }
        other => Err(EvalError::Failed(format!("got '{}', expected iterable type", other.type_name()))),
    }
}
