//! The way from a name to a value: `self`, `spec`, `@items`.

use std::cell::RefCell;
use std::rc::Rc;

/// The steps to a value. No steps for a value that an expression makes.
///
/// Paths that begin alike share their steps, as Go's slices do: adding a step to a path writes it into the shared
/// memory when there is room, and so changes every longer path that was made before. cel-go's estimator does that,
/// and the API server refuses or accepts rules by what comes out:
///
/// ```text
/// self.a.b        memory [self, a, b, -]     room for four
/// x is bound to it
/// x.c             memory [self, a, b, c]     the path of x.c
/// x.d             memory [self, a, b, d]     the path of x.d, and now of x.c too
/// ```
#[derive(Clone, Debug)]
pub(super) struct Path {
    memory: Option<Rc<RefCell<Memory>>>,
    length: usize,
}

#[derive(Debug)]
struct Memory {
    steps: Vec<Rc<str>>,
    /// The number of steps that fit before Go takes more memory.
    room: usize,
}

impl Default for Path {
    fn default() -> Self {
        Self::none()
    }
}

impl Path {
    pub(super) const fn none() -> Self {
        Self { memory: None, length: 0 }
    }

    /// The path of a variable.
    pub(super) fn of(name: &str) -> Self {
        Self::none().with(name)
    }

    /// The path one step further.
    pub(super) fn with(&self, step: &str) -> Self {
        let length = self.length.saturating_add(1);
        let mut kept = Vec::new();
        if let Some(memory) = &self.memory {
            let mut shared = memory.borrow_mut();
            if self.length < shared.room {
                shared.steps.truncate(self.length);
                shared.steps.push(step.into());
                return Self { memory: Some(Rc::clone(memory)), length };
            }
            kept.extend(shared.steps.iter().take(self.length).cloned());
        }
        kept.push(step.into());
        // Go doubles the room of a slice that is full.
        let room = self.length.saturating_mul(2).max(1);
        Self { memory: Some(Rc::new(RefCell::new(Memory { steps: kept, room }))), length }
    }

    /// The steps as they are now; `None` for a path without any.
    pub(super) fn steps(&self) -> Option<Vec<Rc<str>>> {
        let memory = self.memory.as_ref()?.borrow();
        Some(memory.steps.iter().take(self.length).cloned().collect())
    }

    pub(super) const fn is_none(&self) -> bool {
        self.memory.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(path: &Path) -> String {
        path.steps().unwrap_or_default().join(".")
    }

    #[test]
    fn a_step_overwrites_the_one_that_another_path_has_there() {
        let x = Path::of("self").with("a").with("b");
        let c = x.with("c");
        assert_eq!(shown(&c), "self.a.b.c");
        let d = x.with("d");
        assert_eq!((shown(&c), shown(&d)), ("self.a.b.d".to_owned(), "self.a.b.d".to_owned()));
    }

    #[test]
    fn a_full_path_is_copied() {
        let own = Path::of("self");
        let (a, b) = (own.with("a"), own.with("b"));
        assert_eq!((shown(&a), shown(&b)), ("self.a".to_owned(), "self.b".to_owned()));
    }
}
