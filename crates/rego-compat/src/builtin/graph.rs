//! `graph.*`. Source: OPA `topdown/reachable.go`.

use std::collections::VecDeque;

use crate::error::EvalError;
use crate::meter::Meter;
use crate::value::{Object, Set, Value};

use super::{Answer, answer};

/// Returns the nodes an array or a set lists; anything else lists none.
fn nodes(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Set(items) => items.iter().collect(),
        _ => Vec::new(),
    }
}

fn is_list(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Set(_))
}

/// Returns the nodes of the graph to which a way leads from one of the first.
pub(super) fn reachable(args: &[&Value], meter: &Meter) -> Answer {
    let [Value::Object(graph), initial] = args else { return Ok(None) };
    if !is_list(initial) {
        return Ok(None);
    }
    let mut queue: VecDeque<&Value> = nodes(initial).into();
    let mut reached = Set::new();
    while let Some(node) = queue.pop_front() {
        meter.spend(1)?;
        let Some(edges) = graph.get(node) else { continue };
        if reached.insert(node.clone()) {
            meter.charge(48)?;
            let neighbours = nodes(edges);
            meter.spend(u64::try_from(neighbours.len()).unwrap_or(u64::MAX))?;
            meter.afford_bytes(queue.len().saturating_add(neighbours.len()).saturating_mul(8))?;
            queue.extend(neighbours.into_iter().filter(|neighbour| !reached.contains(neighbour)));
        }
    }
    answer(reached.into_value())
}

/// Returns the ways from the first nodes to where they end, leave the graph or would close a circle.
pub(super) fn reachable_paths(args: &[&Value], meter: &Meter) -> Answer {
    let [Value::Object(graph), initial] = args else { return Ok(None) };
    if !is_list(initial) {
        return Ok(None);
    }
    let mut found = Found { graph, meter, paths: Set::new() };
    for node in nodes(initial) {
        let Some(edges) = graph.get(node) else { continue };
        let mut path = vec![node.clone()];
        if nodes(edges).is_empty() {
            found.add(&path)?;
        }
        for neighbour in nodes(edges) {
            found.follow(neighbour, &mut path)?;
        }
    }
    answer(found.paths.into_value())
}

struct Found<'g> {
    graph: &'g Object,
    meter: &'g Meter,
    paths: Set,
}

impl Found<'_> {
    fn add(&mut self, path: &[Value]) -> Result<(), EvalError> {
        self.meter.charge(path.len().saturating_mul(24))?;
        self.paths.insert(path.to_vec().into());
        Ok(())
    }

    fn follow(&mut self, node: &Value, path: &mut Vec<Value>) -> Result<(), EvalError> {
        self.meter.spend(1)?;
        self.meter.check_stack()?;
        let Some(edges) = self.graph.get(node) else {
            return self.add(path);
        };
        path.push(node.clone());
        if nodes(edges).is_empty() {
            self.add(path)?;
        }
        for neighbour in nodes(edges) {
            self.meter.spend(u64::try_from(path.len()).unwrap_or(u64::MAX))?;
            if path.contains(neighbour) {
                self.add(path)?;
            } else {
                self.follow(neighbour, path)?;
            }
        }
        path.pop();
        Ok(())
    }
}
