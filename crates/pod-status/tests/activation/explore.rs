//! Visits every state that a variant can reach, those that fewer steps lead to first.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::rc::Rc;

/// One state of a protocol and its environment.
pub trait World: Clone + Eq + Hash {
    /// The rules that a variant changes.
    type Rules;
    /// A promise.
    type Property: Copy + PartialEq;
    /// Every next state, with the name of the step.
    fn steps(&self, rules: &Self::Rules) -> Vec<(String, Self)>;
    /// A promise that is broken.
    fn violation(&self, rules: &Self::Rules) -> Option<Self::Property>;
    /// Everything is done.
    fn is_goal(&self) -> bool;
    /// Returns true if a pod serves that can still follow.
    fn is_alive(&self) -> bool;
}

/// The result of the search.
pub struct Outcome<P> {
    pub states: usize,
    pub violations: Vec<P>,
    /// States from which the goal cannot be reached although a pod serves that could follow.
    pub blocked: usize,
    /// The steps to the first violation, or to a blocked state.
    pub trace: Vec<String>,
}

/// More than any variant here has.
const LIMIT: usize = 12_000_000;

/// Multiplies and rotates each number, as the compiler's own hash maps do (`rustc-hash`). The default hash is made against
/// attackers, and takes most of the time in a build without optimization.
#[derive(Default)]
struct FastHasher(u64);

impl Hasher for FastHasher {
    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }

    fn write_i64(&mut self, number: i64) {
        self.write_u64(number as u64);
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

struct Search<W> {
    index: HashMap<Rc<W>, u32, BuildHasherDefault<FastHasher>>,
    states: Vec<Rc<W>>,
    /// The state from which each state was reached first.
    parents: Vec<u32>,
    /// Every step, from one state to another.
    edges: Vec<(u32, u32)>,
}

impl<W: World> Search<W> {
    fn note(&mut self, from: u32, state: W) {
        let next = u32::try_from(self.states.len()).unwrap();
        let number = match self.index.get(&state) {
            Some(number) => *number,
            None => {
                assert!(self.states.len() < LIMIT, "too many states");
                let state = Rc::new(state);
                self.index.insert(state.clone(), next);
                self.states.push(state);
                self.parents.push(from);
                next
            }
        };
        self.edges.push((from, number));
    }

    /// The names of the steps to a state.
    fn trace(&self, mut number: usize, rules: &W::Rules) -> Vec<String> {
        let mut steps = Vec::new();
        while number != 0 {
            let from = self.parents[number] as usize;
            let taken =
                self.states[from].steps(rules).into_iter().find(|(_, to)| *to == *self.states[number]);
            steps.push(taken.unwrap().0);
            number = from;
        }
        steps.reverse();
        steps
    }
}

/// Ends early when every property in `wanted`, which is not empty then, has been violated.
pub fn explore<W: World>(first: W, rules: &W::Rules, wanted: &[W::Property]) -> Outcome<W::Property> {
    let first = Rc::new(first);
    let mut search = Search {
        index: [(first.clone(), 0)].into_iter().collect(),
        states: vec![first],
        parents: vec![0],
        edges: Vec::new(),
    };
    let (mut violations, mut trace) = (Vec::new(), Vec::new());
    let mut next = 0;
    while next < search.states.len() {
        let state = search.states[next].clone();
        // What follows a broken promise does not matter.
        if let Some(property) = state.violation(rules) {
            if !violations.contains(&property) {
                if violations.is_empty() {
                    trace = search.trace(next, rules);
                }
                violations.push(property);
            }
            if !wanted.is_empty() && wanted.iter().all(|property| violations.contains(property)) {
                return Outcome { states: search.states.len(), violations, blocked: 0, trace };
            }
        } else {
            for (_, state) in state.steps(rules) {
                search.note(u32::try_from(next).unwrap(), state);
            }
        }
        next += 1;
    }
    let blocked = blocked(&mut search, rules);
    if let (Some(first), true) = (blocked.first(), trace.is_empty()) {
        trace = search.trace(*first, rules);
    }
    Outcome { states: search.states.len(), violations, blocked: blocked.len(), trace }
}

/// The states from which no path leads to the goal.
fn blocked<W: World>(search: &mut Search<W>, rules: &W::Rules) -> Vec<usize> {
    search.edges.sort_unstable_by_key(|(_, to)| *to);
    let edges = &search.edges;
    let mut reaches: Vec<bool> = search.states.iter().map(|state| state.is_goal()).collect();
    let mut queue: Vec<usize> = (0..reaches.len()).filter(|number| reaches[*number]).collect();
    while let Some(number) = queue.pop() {
        let begin = edges.partition_point(|(_, to)| (*to as usize) < number);
        for (from, _) in edges[begin..].iter().take_while(|(_, to)| *to as usize == number) {
            if !std::mem::replace(&mut reaches[*from as usize], true) {
                queue.push(*from as usize);
            }
        }
    }
    let matters = |state: &W| state.is_alive() && state.violation(rules).is_none();
    (0..reaches.len()).filter(|number| !reaches[*number] && matters(&search.states[*number])).collect()
}
