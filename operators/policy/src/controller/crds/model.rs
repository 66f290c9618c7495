//! Two pods, a user who edits, deletes and creates a template again, and garbage collection, in every order.
//!
//! Each step of a pod is one request, and anything may happen between two requests: the template changes, the pod learns
//! of it late, the other pod writes, the collector deletes. A write that is cancelled may still arrive, at any later
//! time. The decisions are those of [`decide`]; the conditions of the writes are those of `place`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::decision::{Decision, Live, Owner, Template, decide};
use super::revision::REVISION;

/// The template after each step of the user: uid and generation.
const SCRIPT: [Option<(u8, u8)>; 5] = [None, Some((1, 1)), Some((1, 2)), None, Some((2, 1))];

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct World {
    /// The step of the script that the user has reached.
    step: usize,
    crd: Option<Crd>,
    /// Counts uids and resource versions of CRDs.
    counter: u8,
    /// The CRD that the collector is about to delete, because its owner did not exist when it looked.
    condemned: Option<(u8, u8)>,
    pods: [Pod; 2],
    /// Writes of cancelled jobs, which may still arrive.
    late: BTreeSet<Write>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Crd {
    uid: u8,
    version: u8,
    /// The uid of the owning template, and the generation whose schema it has.
    owner: u8,
    schema: u8,
    /// A user created a constraint after the present template was enforced.
    in_use: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Pod {
    /// The last step of the user that the pod knows of.
    belief: usize,
    /// The CRD as it was read by the job in progress.
    read: Option<Option<Crd>>,
    /// The write that the job has decided on.
    write: Option<Write>,
    /// The pod has seen the CRD as its template asks for, and enforces.
    placed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Write {
    /// The CRD must have this uid and version; `None`: there must be none.
    on: Option<(u8, u8)>,
    owner: u8,
    schema: u8,
}

/// The safeguards; a test takes each away to see that the exploration finds what it prevents.
#[derive(Clone, Copy)]
struct Rules {
    writes_are_conditional: bool,
    template_is_read: bool,
}

const RULES: Rules = Rules { writes_are_conditional: true, template_is_read: true };

impl World {
    fn new() -> Self {
        Self {
            step: 0,
            crd: None,
            counter: 0,
            condemned: None,
            pods: Default::default(),
            late: BTreeSet::new(),
        }
    }

    fn template(&self) -> Option<(u8, u8)> {
        SCRIPT[self.step]
    }

    /// Every pod enforces the template that exists: what `Enforced=True` says.
    fn is_enforced(&self) -> bool {
        self.template().is_some() && self.pods.iter().all(|pod| pod.placed && pod.belief == self.step)
    }

    fn is_done(&self) -> bool {
        self.step + 1 == SCRIPT.len() && self.is_enforced()
    }

    fn number(&mut self) -> u8 {
        self.counter += 1;
        self.counter
    }

    fn store(&mut self, write: &Write, rules: Rules) {
        let now = self.crd.as_ref().map(|crd| (crd.uid, crd.version));
        if rules.writes_are_conditional && now != write.on {
            return;
        }
        let version = self.number();
        let uid = now.map_or(version, |(uid, _)| uid);
        let in_use = self.crd.as_ref().is_some_and(|crd| crd.in_use);
        self.crd = Some(Crd { uid, version, owner: write.owner, schema: write.schema, in_use });
    }

    /// Returns what the user and the collector may do next.
    fn outside(&self) -> Vec<World> {
        let mut next = Vec::new();
        if self.step + 1 < SCRIPT.len() {
            let mut world = self.clone();
            world.step += 1;
            world.crd.iter_mut().for_each(|crd| crd.in_use = false);
            next.push(world);
        }
        if self.is_enforced() && self.crd.as_ref().is_some_and(|crd| !crd.in_use) {
            let mut world = self.clone();
            world.crd.iter_mut().for_each(|crd| crd.in_use = true);
            next.push(world);
        }
        let orphan = self.crd.as_ref().filter(|crd| self.template().map(|(uid, _)| uid) != Some(crd.owner));
        if let Some(crd) = orphan {
            next.push(World { condemned: Some((crd.uid, crd.version)), ..self.clone() });
        }
        if self.condemned.is_some() {
            // The collector deletes on the condition of what it saw, as kube-controller-manager does.
            let now = self.crd.as_ref().map(|crd| (crd.uid, crd.version));
            let crd = self.crd.clone().filter(|_| now != self.condemned);
            next.push(World { condemned: None, crd, ..self.clone() });
        }
        next
    }

    fn late_writes(&self, rules: Rules) -> Vec<World> {
        let arrive = |write: &Write| {
            let mut world = self.clone();
            world.late.remove(write);
            let lost = world.clone();
            world.store(write, rules);
            [world, lost]
        };
        self.late.iter().flat_map(arrive).collect()
    }

    /// Returns what one pod may do next.
    fn pod(&self, index: usize, rules: Rules) -> Vec<World> {
        let mut next = Vec::new();
        let pod = &self.pods[index];
        if pod.belief < self.step {
            // The watch brings the next version: the job of the one before is cancelled.
            let mut world = self.clone();
            let fresh = Pod { belief: pod.belief + 1, ..Pod::default() };
            let before = std::mem::replace(&mut world.pods[index], fresh);
            world.late.extend(before.write);
            next.push(world);
        }
        let Some((owner, schema)) = SCRIPT[pod.belief] else { return next };
        let mut world = self.clone();
        if let Some(write) = world.pods[index].write.take() {
            world.store(&write, rules);
        } else if let Some(read) = world.pods[index].read.take() {
            world.pods[index].write = self.decide(owner, schema, read.as_ref(), rules);
        } else {
            let is_placed = self.crd.as_ref().is_some_and(|crd| (crd.owner, crd.schema) == (owner, schema));
            world.pods[index].placed = is_placed;
            world.pods[index].read = (!is_placed).then(|| self.crd.clone());
        }
        next.push(world);
        next
    }

    fn decide(&self, owner: u8, schema: u8, read: Option<&Crd>, rules: Rules) -> Option<Write> {
        let is_current = !rules.template_is_read || self.template() == Some((owner, schema));
        let template = if is_current { Template::Current } else { Template::Superseded };
        let live = read.map(|crd| Live {
            owner: if crd.owner == owner { Owner::Mine } else { Owner::Predecessor },
            kind: "Foo".to_owned(),
            terminating: false,
            matches: crd.schema == schema,
            revision: REVISION,
        });
        match decide("Foo", template, live.as_ref()) {
            Decision::Create | Decision::Replace => {
                Some(Write { on: read.map(|crd| (crd.uid, crd.version)), owner, schema })
            }
            _ => None,
        }
    }

    fn successors(&self, rules: Rules) -> Vec<World> {
        let pods = (0..self.pods.len()).flat_map(|index| self.pod(index, rules));
        self.outside().into_iter().chain(self.late_writes(rules)).chain(pods).collect()
    }

    /// Checks what must hold in every state and in every step; returns the promise that is broken.
    fn broken(&self, next: &World) -> Option<&'static str> {
        let is_as_asked =
            |world: &World| world.crd.as_ref().map(|crd| (crd.owner, crd.schema)) == world.template();
        if next.is_enforced() && !is_as_asked(next) {
            return Some("the CRD is not what an enforced template asks for");
        }
        let was_in_use = self.crd.as_ref().is_some_and(|crd| crd.in_use) && self.step == next.step;
        (was_in_use && next.crd.is_none()).then_some("a constraint of an enforced template was deleted")
    }
}

/// Every state that can be reached, with its successors; or the first broken promise.
fn explore(rules: Rules) -> Result<BTreeMap<World, Vec<World>>, &'static str> {
    let mut graph = BTreeMap::new();
    let mut queue = VecDeque::from([World::new()]);
    while let Some(world) = queue.pop_front() {
        if graph.contains_key(&world) {
            continue;
        }
        let successors = world.successors(rules);
        if let Some(broken) = successors.iter().find_map(|next| world.broken(next)) {
            return Err(broken);
        }
        queue.extend(successors.iter().filter(|next| !graph.contains_key(*next)).cloned());
        graph.insert(world, successors);
    }
    Ok(graph)
}

/// Removes the states from which a finished rollout can be reached, backwards from it; what remains is stuck.
fn stuck(graph: &BTreeMap<World, Vec<World>>) -> Vec<&World> {
    let mut before: BTreeMap<&World, Vec<&World>> = BTreeMap::new();
    for (world, successors) in graph {
        for next in successors {
            before.entry(next).or_default().push(world);
        }
    }
    let mut queue: Vec<&World> = graph.keys().filter(|world| world.is_done()).collect();
    let mut live: BTreeSet<&World> = queue.iter().copied().collect();
    while let Some(world) = queue.pop() {
        for earlier in before.get(world).into_iter().flatten() {
            if live.insert(earlier) {
                queue.push(earlier);
            }
        }
    }
    graph.keys().filter(|world| !live.contains(world)).collect()
}

#[test]
fn an_enforced_template_keeps_its_crd_and_its_constraints_in_every_order_of_events() {
    let graph = explore(RULES).unwrap();
    assert!(graph.len() > 1_000, "only {} states", graph.len());
    assert!(graph.keys().any(World::is_done));
    let stuck = stuck(&graph);
    assert!(stuck.is_empty(), "{} of {} states never finish: {:?}", stuck.len(), graph.len(), stuck[0]);
}

#[test]
fn without_conditional_writes_a_cancelled_job_reverts_an_enforced_template() {
    let rules = Rules { writes_are_conditional: false, ..RULES };
    assert_eq!(explore(rules).unwrap_err(), "the CRD is not what an enforced template asks for");
}

#[test]
fn without_a_read_of_the_template_a_pod_that_lags_behind_reverts_an_enforced_template() {
    let rules = Rules { template_is_read: false, ..RULES };
    assert!(explore(rules).is_err());
}
