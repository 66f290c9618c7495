//! Coordinated rollout: no pod enforces a generation before all have ingested it.
//!
//! 1. A pod registers, then lists the parents by a consistent read.
//! 2. It compiles a generation into a *staged* slot beside the *active* one and reports it as ingested.
//! 3. When every registered pod has ingested generation `g`, the aggregator writes
//!    `status.activation: {uid, generation: g}`, on the condition that the parent is as it was read.
//! 4. A pod that sees its staged generation activated swaps the slots and reports that it enforces `g`.
//! 5. When every registered pod enforces `g`, `Enforced` becomes true.
//! 6. A pod that joins is not ready before its active generation is at least the one that was activated when
//!    it listed. It may have to wait for the next activation: the older generation cannot be read any more.
//!
//! No protocol on watches makes all pods switch at the same instant. The window is the spread of one small
//! watch event; nothing is compiled within it. An exhaustive check of these rules, and of the variants that
//! break them, is in `tests/activation`.

/// The slots of one parent in one pod: a pure state machine, fed by the host.
///
/// ```
/// use pod_status::Activation;
///
/// let mut slots = Activation::default();
/// slots.listed(Some(1)); // generation 1 was activated when this pod listed the parent
/// assert_eq!(slots.staged(2), None, "compiled, but not activated");
/// assert!(!slots.may_serve());
/// assert_eq!(slots.activated(2), Some(2), "enforce generation 2 from now on, then report it");
/// assert!(slots.may_serve());
/// assert_eq!(slots.staged_at_once(3), Some(3), "generation 3 loosens the policy: no pod waits for another");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Activation {
    bootstrap: i64,
    staged: i64,
    active: i64,
    activated: i64,
}

impl Activation {
    /// Notes the activation in the first list of the parents; nothing if there was none.
    pub fn listed(&mut self, activated: Option<i64>) {
        self.bootstrap = activated.unwrap_or_default();
        self.activated = self.activated.max(self.bootstrap);
    }

    /// Notes that a generation has been compiled. Returns the generation to enforce, if that changes.
    pub fn staged(&mut self, generation: i64) -> Option<i64> {
        self.staged = self.staged.max(generation);
        self.switch()
    }

    /// Notes `status.activation.generation` of this very object (compare the uid). Returns the generation to
    /// enforce, if that changes.
    pub fn activated(&mut self, generation: i64) -> Option<i64> {
        self.activated = self.activated.max(generation);
        self.switch()
    }

    /// Notes that a generation has been compiled that need not wait for other pods, see [`crate::Shape::at_once`].
    /// Returns the generation to enforce, if that changes.
    pub fn staged_at_once(&mut self, generation: i64) -> Option<i64> {
        self.activated = self.activated.max(generation);
        self.staged(generation)
    }

    /// Returns the generation that is compiled.
    pub fn ingested(&self) -> Option<i64> {
        Some(self.staged).filter(|generation| *generation > 0)
    }

    /// Returns the generation that is in force.
    pub fn enforcing(&self) -> Option<i64> {
        Some(self.active).filter(|generation| *generation > 0)
    }

    /// Returns true if the pod may serve, as far as this parent is concerned.
    pub fn may_serve(&self) -> bool {
        self.active >= self.bootstrap
    }

    /// An activation of a generation that was superseded before it arrived has no staged slot to swap.
    fn switch(&mut self) -> Option<i64> {
        if self.activated != self.staged || self.active >= self.staged {
            return None;
        }
        self.active = self.staged;
        Some(self.active)
    }
}
