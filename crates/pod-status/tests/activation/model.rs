//! The states of the cluster and the steps between them.

use pod_status::{Activation, may_activate};

use crate::explore::World;

mod reduce;

/// Two generations after the first: enough for one that is superseded while it is activated.
pub const LAST: i64 = 2;
const PODS: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Members {
    /// Registered pods, where a pod registers before it lists.
    RegisteredFirst,
    /// Registered pods, where a pod registers after it has listed.
    RegisteredLast,
    AllPods,
    /// All pods as a cache knows them, which may lag behind.
    CachedPods,
    ReadyPods,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bootstrap {
    /// Ready when what was activated at the first list is enforced.
    Hold,
    /// As `Hold`, but a pod that starts may enforce what is not activated yet.
    Early,
    /// Ready when the parents are ingested.
    Loose,
}

/// The version of the parent over which an activation is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Precondition {
    /// The version that was decided on.
    Decided,
    /// The newest that the aggregator knows, which it may have read after the decision.
    Fresher,
    /// No precondition: any write succeeds.
    Nothing,
}

#[derive(Clone, Copy, Debug)]
pub struct Variant {
    pub members: Members,
    pub bootstrap: Bootstrap,
    /// The first list may show an older state.
    pub stale_list: bool,
    pub precondition: Precondition,
    pub aggregators: usize,
    pub partitions: u8,
    /// A partitioned pod stops serving, and then it is not waited for.
    pub fence: bool,
    /// A partitioned pod is not waited for although it serves.
    pub drops_partitioned: bool,
    /// A pod that starts may hang.
    pub stuck: bool,
    /// Pods that serve at the beginning.
    pub serving: usize,
    /// One of them is of a build that does not register.
    pub has_unregistered: bool,
    /// A pod that serves and has not registered is a member.
    pub counts_unregistered: bool,
    pub deaths: u8,
}

/// A promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// No pod enforces a generation that another serving pod has not ingested.
    A,
    /// When a generation is recorded as enforced, every serving pod enforces it.
    B,
    /// Activations never go back.
    C,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Phase {
    Absent,
    Starting,
    Ready,
    Partitioned,
    Fenced,
    Stuck,
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Pod {
    phase: Phase,
    registered: bool,
    /// The generation and the activation in the first list.
    listed: Option<(i64, i64)>,
    /// The version up to which its watch has come.
    version: usize,
    slots: Activation,
    /// An early pod enforces this, whatever the slots say.
    forced: i64,
    reported: (i64, i64),
}

impl Pod {
    fn new(phase: Phase) -> Self {
        let slots = Activation::default();
        Self { phase, registered: false, listed: None, version: 0, slots, forced: 0, reported: (0, 0) }
    }

    fn active(&self) -> i64 {
        self.slots.enforcing().unwrap_or_default().max(self.forced)
    }

    fn staged(&self) -> i64 {
        self.slots.ingested().unwrap_or_default()
    }

    fn serves(&self) -> bool {
        matches!(self.phase, Phase::Ready | Phase::Partitioned)
    }
}

/// The facts that an aggregator has read: the members at that time, and what it is about to record about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Plan {
    Activate { generation: i64, members: [bool; PODS], version: usize },
    Enforced { generation: i64, members: [bool; PODS] },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Aggregator {
    version: usize,
    plan: Option<Plan>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The versions of the parent that a watch may still show: its generation and its activation.
    history: Vec<(i64, i64)>,
    /// The generation recorded as enforced.
    enforced: i64,
    pods: [Pod; PODS],
    aggregators: Vec<Aggregator>,
    cache: [bool; PODS],
    deaths: u8,
    partitions: u8,
}

/// Receives a step's name and the change that it makes.
type Emit<'a> = &'a mut dyn FnMut(&str, &dyn Fn(&mut State));

impl World for State {
    type Rules = Variant;
    type Property = Property;

    fn is_goal(&self) -> bool {
        self.now() == (LAST, LAST) && self.enforced == LAST
    }

    fn is_alive(&self) -> bool {
        self.pods.iter().any(|pod| pod.phase == Phase::Ready)
    }

    fn violation(&self, _: &Variant) -> Option<Property> {
        let serving = || self.pods.iter().filter(|pod| pod.serves());
        let newest = serving().map(Pod::active).max().unwrap_or_default();
        if serving().any(|pod| pod.staged() < newest) {
            return Some(Property::A);
        }
        if serving().any(|pod| pod.active() < self.enforced) {
            return Some(Property::B);
        }
        let goes_back = self.history.windows(2).any(|pair| pair[1].1 < pair[0].1);
        goes_back.then_some(Property::C)
    }

    fn steps(&self, rules: &Variant) -> Vec<(String, Self)> {
        let steps = self.unreduced_steps(*rules).into_iter();
        steps.map(|(name, state)| (name, state.reduced(*rules))).collect()
    }
}

impl State {
    /// Every next state, as the step leaves it.
    pub fn unreduced_steps(&self, variant: Variant) -> Vec<(String, Self)> {
        let mut steps = Vec::new();
        let (generation, activated) = self.now();
        if generation < LAST {
            let change = |state: &mut Self| state.history.push((generation + 1, activated));
            steps.push(self.step(format!("update to {}", generation + 1), change));
        }
        for index in 0..PODS {
            self.pod_steps(index, variant, &mut steps);
        }
        let members = self.members(variant);
        if variant.members == Members::CachedPods && members != self.cache {
            steps.push(self.step("cache catches up".into(), |state| state.cache = members));
        }
        for index in 0..self.aggregators.len() {
            self.aggregator_steps(index, variant, &mut steps);
        }
        steps
    }

    pub fn first(variant: Variant) -> Self {
        let ready = Pod { registered: true, listed: Some((0, 0)), ..Pod::new(Phase::Ready) };
        let mut pods = [Pod::new(Phase::Gone); PODS];
        pods[..variant.serving].fill(ready);
        pods[0].registered = !variant.has_unregistered;
        pods[PODS - 1] = Pod::new(Phase::Absent);
        let mut state = Self {
            history: vec![(0, 0)],
            enforced: 0,
            pods,
            aggregators: vec![Aggregator { version: 0, plan: None }; variant.aggregators],
            cache: [false; PODS],
            deaths: variant.deaths,
            partitions: variant.partitions,
        };
        state.cache = state.members(variant);
        state
    }

    fn now(&self) -> (i64, i64) {
        self.history.last().copied().unwrap_or_default()
    }

    fn step(&self, name: String, change: impl FnOnce(&mut Self)) -> (String, Self) {
        let mut state = self.clone();
        change(&mut state);
        (name, state)
    }

    fn members(&self, variant: Variant) -> [bool; PODS] {
        self.pods.map(|pod| {
            let exists = !matches!(pod.phase, Phase::Absent | Phase::Gone);
            match variant.members {
                Members::ReadyPods => pod.serves(),
                Members::AllPods | Members::CachedPods => exists,
                Members::RegisteredFirst | Members::RegisteredLast => {
                    exists && (pod.registered || (variant.counts_unregistered && pod.serves()))
                }
            }
        })
    }

    fn pod_steps(&self, index: usize, variant: Variant, steps: &mut Vec<(String, Self)>) {
        let pod = self.pods[index];
        let mut step = |name: &str, change: &dyn Fn(&mut Self)| {
            steps.push(self.step(format!("pod {index} {name}"), change));
        };
        let become_ = |phase: Phase| move |state: &mut Self| state.pods[index].phase = phase;
        match pod.phase {
            Phase::Absent => step("starts", &become_(Phase::Starting)),
            Phase::Starting | Phase::Ready => {
                if pod.phase == Phase::Starting {
                    self.starting_steps(index, variant, &mut step);
                }
                if pod.registered && pod.listed.is_some() {
                    self.running_steps(index, variant, &mut step);
                }
                if pod.phase == Phase::Ready && self.partitions > 0 {
                    step("is cut off", &|state| {
                        state.partitions -= 1;
                        state.pods[index].phase = Phase::Partitioned;
                    });
                }
            }
            Phase::Partitioned if variant.fence => step("fences itself", &become_(Phase::Fenced)),
            _ => {}
        }
        if self.deaths > 0 && !matches!(pod.phase, Phase::Absent | Phase::Gone | Phase::Stuck) {
            step("dies", &|state| {
                state.deaths -= 1;
                state.pods[index].phase = Phase::Gone;
            });
        }
    }

    fn starting_steps(&self, index: usize, variant: Variant, step: Emit<'_>) {
        let pod = self.pods[index];
        let lists_first = variant.members == Members::RegisteredLast;
        if variant.stuck && !pod.registered && pod.listed.is_none() {
            step("hangs", &|state| state.pods[index].phase = Phase::Stuck);
        }
        if !pod.registered && pod.listed.is_some() == lists_first {
            step("registers", &|state| state.pods[index].registered = true);
        }
        if pod.listed.is_none() && (pod.registered || lists_first) {
            let newest = self.history.len() - 1;
            let oldest = if variant.stale_list { 0 } else { newest };
            for version in oldest..=newest {
                step(&format!("lists version {version}"), &|state| {
                    let (generation, activated) = state.history[version];
                    let pod = &mut state.pods[index];
                    (pod.listed, pod.version) = (Some((generation, activated)), version);
                    pod.slots.listed(Some(activated).filter(|activated| *activated > 0));
                });
            }
        }
    }

    fn running_steps(&self, index: usize, variant: Variant, step: Emit<'_>) {
        let pod = self.pods[index];
        if pod.version + 1 < self.history.len() {
            step("watches", &|state| {
                let version = state.pods[index].version + 1;
                state.pods[index].version = version;
            });
        }
        let (generation, activated) = self.history[pod.version];
        if pod.staged() != generation {
            step("ingests", &|state| {
                let pod = &mut state.pods[index];
                let bootstrap = pod.listed.map_or(0, |(_, activated)| activated);
                if pod.phase == Phase::Starting && variant.bootstrap == Bootstrap::Early && bootstrap > 0 {
                    pod.forced = generation;
                }
                pod.slots.staged(generation);
            });
        }
        let mut switched = pod.slots;
        if activated > 0 && switched.activated(activated).is_some() {
            step("switches", &|state| state.pods[index].slots = switched);
        }
        let facts = (pod.staged(), pod.active());
        if pod.reported != facts {
            step("reports", &|state| state.pods[index].reported = facts);
        }
        let (listed, _) = pod.listed.unwrap_or_default();
        let may_serve = variant.bootstrap == Bootstrap::Loose || pod.slots.may_serve() || pod.forced > 0;
        if pod.phase == Phase::Starting && pod.staged() >= listed && may_serve {
            step("is ready", &|state| state.pods[index].phase = Phase::Ready);
        }
    }

    fn aggregator_steps(&self, index: usize, variant: Variant, steps: &mut Vec<(String, Self)>) {
        let known = self.aggregators[index];
        let mut step = |name: &str, change: &dyn Fn(&mut Self)| {
            steps.push(self.step(format!("aggregator {index} {name}"), change));
        };
        if known.version + 1 < self.history.len() {
            step("watches", &|state| state.aggregators[index].version += 1);
        }
        let members = if variant.members == Members::CachedPods { self.cache } else { self.members(variant) };
        let (generation, activated) = self.history[known.version];
        let plan = |plan: Plan| move |state: &mut Self| state.aggregators[index].plan = Some(plan);
        let activate = Plan::Activate { generation, members, version: known.version };
        if generation > activated && known.plan != Some(activate) {
            step("counts, to activate", &plan(activate));
        }
        let enforced = Plan::Enforced { generation: activated, members };
        if activated > self.enforced && known.plan != Some(enforced) {
            step("counts, to record", &plan(enforced));
        }
        match known.plan {
            Some(Plan::Activate { generation, members, version }) => {
                let is_current = match variant.precondition {
                    Precondition::Decided => version + 1 == self.history.len(),
                    Precondition::Fresher => known.version + 1 == self.history.len(),
                    Precondition::Nothing => true,
                };
                let reports = self.reports(members, variant, |reported| reported.0);
                if is_current && self.now().1 != generation && may_activate(generation, reports) {
                    step("activates", &|state| {
                        let (newest, _) = state.now();
                        state.history.push((newest, generation));
                        state.aggregators[index].plan = None;
                    });
                }
            }
            Some(Plan::Enforced { generation, members }) => {
                let reports = self.reports(members, variant, |reported| reported.1);
                if may_activate(generation, reports) {
                    step("records", &|state| {
                        state.enforced = generation;
                        state.aggregators[index].plan = None;
                    });
                }
            }
            None => {}
        }
    }

    /// The reports of the members that are waited for. A pod that is gone counts as one that agrees: it was a
    /// member when it was counted, so there was one.
    fn reports(
        &self,
        members: [bool; PODS],
        variant: Variant,
        of: fn((i64, i64)) -> i64,
    ) -> Vec<Option<i64>> {
        let counted = self.pods.iter().zip(members).filter(|(_, is_member)| *is_member);
        let report = |(pod, _): (&Pod, bool)| {
            let is_dropped = matches!(pod.phase, Phase::Gone | Phase::Fenced)
                || (variant.drops_partitioned && pod.phase == Phase::Partitioned);
            Some(if is_dropped { LAST } else { of(pod.reported) })
        };
        counted.map(report).collect()
    }
}
