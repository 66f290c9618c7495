//! Merges states that no step and no promise distinguishes, so that larger configurations can be explored completely.
//!
//! Every rule treats all pods alike, and all aggregators: states that differ in their order only are one state. So are states
//! that differ in what nothing looks at any more. Example: two pods serve, and one of them dies. Whichever it was and whatever
//! it had ingested, what can happen next is the same; without this they are dozens of states. The pods are sorted in each
//! state, so "pod 0" of one step of a trace may be "pod 1" of the next.

use pod_status::Activation;

use super::{Aggregator, PODS, Phase, Plan, Pod, State, Variant};

impl Plan {
    fn members(&mut self) -> &mut [bool; PODS] {
        match self {
            Self::Activate { members, .. } | Self::Enforced { members, .. } => members,
        }
    }
}

impl State {
    /// The state that stands for all that are like this one.
    pub fn reduced(mut self, variant: Variant) -> Self {
        self.pods.iter_mut().for_each(forget);
        let is_over = self.pods.map(|pod| matches!(pod.phase, Phase::Gone | Phase::Fenced));
        for plan in self.aggregators.iter_mut().filter_map(|aggregator| aggregator.plan.as_mut()) {
            forget_members(plan.members(), is_over);
        }
        // A first list that may be stale may show any version.
        if !variant.stale_list {
            self.forget_versions();
        }
        self.sort();
        self
    }

    /// Drops the versions that all watches have passed.
    fn forget_versions(&mut self) {
        let watches =
            |pod: &&Pod| pod.listed.is_some() && matches!(pod.phase, Phase::Starting | Phase::Ready);
        let of_pods = self.pods.iter().filter(watches).map(|pod| pod.version);
        let planned = |aggregator: &Aggregator| match aggregator.plan {
            Some(Plan::Activate { version, .. }) => version.min(aggregator.version),
            _ => aggregator.version,
        };
        let Some(oldest) = of_pods.chain(self.aggregators.iter().map(planned)).min() else { return };
        self.history.drain(..oldest);
        for pod in &mut self.pods {
            pod.version = pod.version.saturating_sub(oldest);
        }
        for aggregator in &mut self.aggregators {
            aggregator.version -= oldest;
            if let Some(Plan::Activate { version, .. }) = &mut aggregator.plan {
                *version -= oldest;
            }
        }
    }

    fn sort(&mut self) {
        let mut order: [usize; PODS] = std::array::from_fn(|index| index);
        let planned = |index: usize| {
            self.aggregators.iter().map(move |known| known.plan.map(|mut plan| plan.members()[index]))
        };
        order.sort_by_cached_key(|index| {
            (key(&self.pods[*index]), self.cache[*index], planned(*index).collect::<Vec<_>>())
        });
        self.pods = order.map(|index| self.pods[index]);
        self.cache = order.map(|index| self.cache[index]);
        for plan in self.aggregators.iter_mut().filter_map(|aggregator| aggregator.plan.as_mut()) {
            let members = *plan.members();
            *plan.members() = order.map(|index| members[index]);
        }
        self.aggregators.sort_by_key(|aggregator| (aggregator.version, aggregator.plan));
    }
}

/// Forgets what nothing will look at any more.
fn forget(pod: &mut Pod) {
    let nothing = Pod { registered: pod.registered, ..Pod::new(pod.phase) };
    match pod.phase {
        Phase::Gone => *pod = Pod { registered: false, ..nothing },
        Phase::Fenced | Phase::Stuck => *pod = nothing,
        // It neither watches nor reports, and serves as before.
        Phase::Partitioned => {
            (pod.listed, pod.version) = (None, 0);
            pod.slots = without_first_list(pod.slots);
        }
        // Its first list matters until it is ready, and the activation in it until that is in force.
        Phase::Ready => {
            pod.listed = Some((0, 0));
            pod.slots = without_first_list(pod.slots);
        }
        Phase::Absent | Phase::Starting => {}
    }
}

/// The slots of a pod that may serve. The model notes an activation only when it switches to it, so the last one noted is the
/// generation in force.
fn without_first_list(slots: Activation) -> Activation {
    if !slots.may_serve() {
        return slots;
    }
    let mut rebuilt = Activation::default();
    if let Some(active) = slots.enforcing() {
        rebuilt.staged(active);
        rebuilt.activated(active);
    }
    if let Some(staged) = slots.ingested() {
        rebuilt.staged(staged);
    }
    rebuilt
}

/// A pod that is gone or fenced agrees to everything. It matters only where no other pod was counted, and then not which it is.
fn forget_members(members: &mut [bool; PODS], is_over: [bool; PODS]) {
    let others: [bool; PODS] = std::array::from_fn(|index| members[index] && !is_over[index]);
    if others.contains(&true) {
        *members = others;
    } else if members.contains(&true) {
        *members = is_over;
    }
}

/// An order of pods. Two that differ and have the same key would be two states where one would do.
fn key(pod: &Pod) -> impl Ord + use<> {
    let slots = (pod.slots.ingested(), pod.slots.enforcing(), pod.slots.may_serve());
    (pod.phase, pod.registered, pod.listed, pod.version, slots, pod.forced, pod.reported)
}
