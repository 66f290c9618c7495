//! Visits every state that a variant can reach, those that fewer steps lead to first.

use std::collections::HashMap;

use crate::model::{Property, State, Variant};

/// What was found.
pub struct Outcome {
    pub states: usize,
    pub violations: Vec<Property>,
    /// States from which the goal cannot be reached although a pod serves that could follow.
    pub blocked: usize,
    /// The steps to the first violation, or to a blocked state.
    pub trace: Vec<String>,
}

/// More than any variant here has.
const LIMIT: usize = 12_000_000;

struct Search {
    index: HashMap<State, u32>,
    states: Vec<State>,
    /// The state and the step by which each state was reached first.
    parents: Vec<(u32, String)>,
    /// The predecessors of each state.
    reverse: Vec<Vec<u32>>,
}

impl Search {
    fn note(&mut self, from: u32, step: String, state: State) {
        let next = u32::try_from(self.states.len()).unwrap();
        let number = *self.index.entry(state.clone()).or_insert(next);
        if number == next {
            assert!(self.states.len() < LIMIT, "too many states");
            self.states.push(state);
            self.parents.push((from, step));
            self.reverse.push(Vec::new());
        }
        self.reverse[number as usize].push(from);
    }

    fn trace(&self, mut number: usize) -> Vec<String> {
        let mut steps = Vec::new();
        while number != 0 {
            let (from, step) = &self.parents[number];
            steps.push(step.clone());
            number = *from as usize;
        }
        steps.reverse();
        steps
    }
}

/// Ends early when every property in `wanted`, which is not empty then, has been violated.
pub fn explore(variant: Variant, wanted: &[Property]) -> Outcome {
    let first = State::first(variant);
    let mut search = Search {
        index: HashMap::from([(first.clone(), 0)]),
        states: vec![first],
        parents: vec![(0, String::new())],
        reverse: vec![Vec::new()],
    };
    let (mut violations, mut trace) = (Vec::new(), Vec::new());
    let mut next = 0;
    while next < search.states.len() {
        let state = search.states[next].clone();
        // What follows a broken promise does not matter.
        if let Some(property) = state.violation() {
            if !violations.contains(&property) {
                if violations.is_empty() {
                    trace = search.trace(next);
                }
                violations.push(property);
            }
            if !wanted.is_empty() && wanted.iter().all(|property| violations.contains(property)) {
                return Outcome { states: search.states.len(), violations, blocked: 0, trace };
            }
        } else {
            for (step, state) in state.steps(variant) {
                search.note(u32::try_from(next).unwrap(), step, state);
            }
        }
        next += 1;
    }
    let blocked = blocked(&search);
    if let (Some(first), true) = (blocked.first(), trace.is_empty()) {
        trace = search.trace(*first);
    }
    Outcome { states: search.states.len(), violations, blocked: blocked.len(), trace }
}

/// The states from which no path leads to the goal.
fn blocked(search: &Search) -> Vec<usize> {
    let mut reaches: Vec<bool> = search.states.iter().map(State::is_goal).collect();
    let mut queue: Vec<usize> = (0..reaches.len()).filter(|number| reaches[*number]).collect();
    while let Some(number) = queue.pop() {
        for from in &search.reverse[number] {
            if !std::mem::replace(&mut reaches[*from as usize], true) {
                queue.push(*from as usize);
            }
        }
    }
    let matters = |state: &State| state.is_alive() && state.violation().is_none();
    (0..reaches.len()).filter(|number| !reaches[*number] && matters(&search.states[*number])).collect()
}
