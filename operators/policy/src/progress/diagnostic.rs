//! Diagnostics about one object: deletion and finalizers, pauses, generations, conditions, replicas.
//!
//! Nothing here knows a kind of its own; the conventions are those of the Kubernetes API and of `kstatus`.

pub(super) mod condition;

use serde::Serialize;
use serde_json::Value;

use super::finalizer::{self, Declared};
use super::managed::{Write, last_status_write};
use super::reader::Event;
use super::text;

/// Phases of what has come to its end.
const FINISHED: [&str; 3] = ["Succeeded", "Complete", "Completed"];

/// The weight of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    /// For information.
    Note,
    /// The object waits, perhaps for what it owns or refers to.
    Waiting,
    /// Something failed or is missing; waiting alone does not help.
    Blocking,
}

/// Something that an object, or its absence, says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Diagnostic {
    pub(super) level: Level,
    pub(super) about: About,
    pub(super) message: String,
    /// The one that is to be looked at first.
    pub(super) is_first_cause: bool,
}

/// The part of an object that a diagnostic is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum About {
    Deletion,
    Finalizer,
    Paused,
    Generation,
    Status,
    Condition,
    Container,
    Phase,
    Replicas,
    /// The address of a load balancer.
    Address,
    Event,
    /// The object is not there.
    Missing,
}

// === impl Diagnostic ===

impl Diagnostic {
    pub(super) fn new(level: Level, about: About, message: impl Into<String>) -> Self {
        Self { level, about, message: message.into(), is_first_cause: false }
    }

    /// The same, for information only.
    pub(super) fn into_note(self) -> Self {
        Self { level: Level::Note, ..self }
    }
}

/// The diagnostics of an object; the most specific ones first. `has_status`: its kind has a status that controllers write.
pub(super) fn diagnostics(object: &Value, has_status: bool, declared: &Declared) -> Vec<Diagnostic> {
    let mut found = deletion(object, declared);
    found.extend(paused(object).into_iter().chain(generation(object)));
    // A pod that has run says `Ready=False`, and waits for nothing.
    let is_done = text(object, "/status/phase").is_some_and(|phase| FINISHED.contains(&phase));
    let waits = |diagnostic: &Diagnostic| !is_done || diagnostic.level > Level::Waiting;
    let conditions = condition::conditions(object).into_iter();
    let conditions =
        conditions.map(|diagnostic| if waits(&diagnostic) { diagnostic } else { diagnostic.into_note() });
    found.extend(containers(object).into_iter().chain(conditions));
    found.extend(phases(object).into_iter().chain(failure(object)));
    found.extend(replicas(object).into_iter().chain(outdated(object)));
    found.extend(address(object).into_iter().chain(status(object, has_status)).chain(unreadable(object)));
    found.sort_by_key(|diagnostic| std::cmp::Reverse(diagnostic.level));
    found
}

/// The generation that the status is about: the status says so itself, or the newest of its conditions does. The others may be
/// older, and each is judged for itself.
pub(super) fn observed_generation(object: &Value) -> Option<i64> {
    let own = object.pointer("/status/observedGeneration").and_then(Value::as_i64);
    let generation = |condition: &Value| condition.get("observedGeneration").and_then(Value::as_i64);
    own.or_else(|| condition::all(object).filter_map(generation).max())
}

pub(super) fn generation_of(object: &Value) -> Option<i64> {
    object.pointer("/metadata/generation").and_then(Value::as_i64)
}

fn deletion(object: &Value, declared: &Declared) -> Vec<Diagnostic> {
    let described = |name: &String| finalizer::described(object, name, declared);
    let names = |pointer: &str| {
        let all = object.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
        all.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
    };
    let (finalizers, of_namespace) = (names("/metadata/finalizers"), names("/spec/finalizers"));
    let Some(since) = text(object, "/metadata/deletionTimestamp") else {
        let note = |name: &String| Diagnostic::new(Level::Note, About::Finalizer, described(name));
        return finalizers.iter().map(note).collect();
    };
    if finalizers.is_empty() && of_namespace.is_empty() {
        // A deletion with a grace period is stamped with the end of it.
        let message = format!(
            "is being deleted, and no finalizer holds it: it goes when its grace period has ended ({since}) and, if it \
             runs on a node, the node has confirmed that it does not any more"
        );
        return vec![Diagnostic::new(Level::Waiting, About::Deletion, message)];
    }
    let held = |name: &String| {
        let level = if finalizer::is_of_the_collector(name) { Level::Waiting } else { Level::Blocking };
        let message = format!("is being deleted since {since} and waits for {}", described(name));
        Diagnostic::new(level, About::Finalizer, message)
    };
    let contents = of_namespace.iter().map(|name| {
        let message = format!(
            "is being deleted since {since} and waits for finalizer {name} of its spec: the namespace \
                               controller removes it when the namespace is empty"
        );
        Diagnostic::new(Level::Waiting, About::Finalizer, message)
    });
    finalizers.iter().map(held).chain(contents).collect()
}

fn paused(object: &Value) -> Option<Diagnostic> {
    let is_set = |name: &&str| object.pointer(&format!("/spec/{name}")) == Some(&Value::Bool(true));
    let field = ["paused", "suspend", "suspended"].into_iter().find(is_set)?;
    Some(Diagnostic::new(
        Level::Blocking,
        About::Paused,
        format!("spec.{field} is true: controllers leave it alone"),
    ))
}

fn generation(object: &Value) -> Option<Diagnostic> {
    let (wanted, observed) = (generation_of(object)?, observed_generation(object)?);
    if observed < 0 {
        // The default of a schema.
        let message =
            "no controller has observed any generation of it: is the one that is responsible for it running?";
        return Some(Diagnostic::new(Level::Waiting, About::Generation, message));
    }
    let last = last_status_write(object).map_or_else(String::new, |Write { manager, time, .. }| {
        format!("; the status was last written by {manager} at {time}")
    });
    let message =
        format!("generation {wanted} was not observed: the status is about generation {observed}{last}");
    // A later one than there is comes from a backup: a controller that waits for a later one still sees no change.
    (observed != wanted).then(|| Diagnostic::new(Level::Blocking, About::Generation, message))
}

/// Containers of a pod that wait for more than their turn.
fn containers(object: &Value) -> Vec<Diagnostic> {
    let lists = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let all = lists.iter().filter_map(|list| object.pointer(list).and_then(Value::as_array)).flatten();
    let waiting = all.filter_map(|container| {
        let reason = text(container, "/state/waiting/reason")?;
        let name = text(container, "/name").unwrap_or_default();
        let message = text(container, "/state/waiting/message").unwrap_or("no message");
        let is_turn = ["ContainerCreating", "PodInitializing"].contains(&reason);
        let level = if is_turn { Level::Waiting } else { Level::Blocking };
        Some(Diagnostic::new(level, About::Container, format!("container {name} waits: {reason}: {message}")))
    });
    waiting.collect()
}

/// The diagnostics of `status.phase`, or `status.state`, as some kinds call it.
fn phases(object: &Value) -> Vec<Diagnostic> {
    let judged = |field: &str| {
        let phase = text(object, &format!("/status/{field}"))?;
        let level = match phase {
            "Terminating" | "Provisioning" | "Deleting" => Some(Level::Waiting),
            _ => condition::bad_news(&as_name(phase)),
        };
        let message =
            text(object, "/status/message").map_or_else(String::new, |message| format!(": {message}"));
        let message = format!("{field} {phase}{message}{}", unscheduled(object));
        Some(Diagnostic::new(level?, About::Phase, message))
    };
    ["phase", "state"].into_iter().filter_map(judged).collect()
}

/// `error` and `ERROR` are `Error`.
fn as_name(phase: &str) -> String {
    let is_shouted = !phase.contains(char::is_lowercase);
    let mut letters = phase.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    let rest = letters.map(|letter| if is_shouted { letter.to_ascii_lowercase() } else { letter });
    first.into_iter().chain(rest).collect()
}

/// The failure that Cluster API's contracts have in fields of their own.
fn failure(object: &Value) -> Option<Diagnostic> {
    let of = |field: &str| text(object, &format!("/status/{field}")).filter(|text| !text.is_empty());
    let (reason, message) = (of("failureReason"), of("failureMessage"));
    let said = [reason, message].into_iter().flatten().collect::<Vec<_>>().join(": ");
    (!said.is_empty())
        .then(|| Diagnostic::new(Level::Blocking, About::Status, format!("has failed for good: {said}")))
}

/// For a pod that no scheduler has looked at: one that has says `PodScheduled`.
fn unscheduled(object: &Value) -> String {
    let scheduler = text(object, "/spec/schedulerName").filter(|_| text(object, "/spec/nodeName").is_none());
    let is_judged = condition::all(object).any(|condition| text(condition, "/type") == Some("PodScheduled"));
    match scheduler {
        Some(scheduler) if !is_judged => {
            format!(": the scheduler {scheduler} has not looked at it: is it running?")
        }
        _ => String::new(),
    }
}

fn replicas(object: &Value) -> Option<Diagnostic> {
    let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_i64);
    let scaled = number("/spec/replicas")
        .zip(number("/status/replicas").or_else(|| number("/status/readyReplicas")))
        .map(|(wanted, _)| (wanted, number("/status/readyReplicas")));
    // A DaemonSet has as many as there are matching nodes.
    let of_nodes =
        number("/status/desiredNumberScheduled").map(|wanted| (wanted, number("/status/numberReady")));
    let (wanted, ready) = scaled.or(of_nodes)?;
    let ready = ready.unwrap_or(0);
    let message = format!("{ready} of {wanted} replicas are ready");
    (ready < wanted).then(|| Diagnostic::new(Level::Waiting, About::Replicas, message))
}

/// Replicas that are ready and not of the newest revision. A partition keeps some of them on purpose.
fn outdated(object: &Value) -> Option<Diagnostic> {
    let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_i64);
    let of_set = || number("/spec/replicas").zip(number("/status/updatedReplicas"));
    let of_nodes = || number("/status/desiredNumberScheduled").zip(number("/status/updatedNumberScheduled"));
    let (wanted, updated) = of_set().or_else(of_nodes)?;
    let is_partitioned = number("/spec/updateStrategy/rollingUpdate/partition").is_some_and(|from| from > 0);
    let by_hand = match text(object, "/spec/updateStrategy/type") {
        Some("OnDelete") => ": spec.updateStrategy.type is OnDelete, so delete the pods that are not",
        _ => "",
    };
    let message = format!("{updated} of {wanted} replicas are of the newest revision{by_hand}");
    (updated < wanted && !is_partitioned).then(|| Diagnostic::new(Level::Waiting, About::Replicas, message))
}

/// An address that a load balancer should have. Some controllers never write that of an Ingress, so it is not awaited.
fn address(object: &Value) -> Option<Diagnostic> {
    let balancer = object.pointer("/status/loadBalancer")?;
    let has_address = balancer.get("ingress").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    let class = text(object, "/spec/loadBalancerClass")
        .map_or_else(String::new, |class| format!(" of class {class}"));
    let (level, message) = match text(object, "/spec/type") {
        Some("LoadBalancer") => (
            Level::Waiting,
            format!(
                "no controller has given it an address: spec.type is LoadBalancer, and status.loadBalancer.ingress is empty: is \
                 a controller for load balancers{class} running?"
            ),
        ),
        None => (
            Level::Note,
            "no controller has given it an address: status.loadBalancer.ingress is empty".to_owned(),
        ),
        Some(_) => return None,
    };
    (!has_address).then(|| Diagnostic::new(level, About::Address, message))
}

/// The newest Event of an object that waits, or says nothing about itself; the newest of `events` is the first one.
///
/// A warning tells more than a condition that is not `True` yet. So does any Event of an object of which only the phase is
/// known, such as a PersistentVolumeClaim.
pub(super) fn event(object: &Value, found: &[Diagnostic], events: &[Event]) -> Option<Diagnostic> {
    let Event { last, r#type: kind, reason, message, .. } = events.first()?;
    let is_silent = text(object, "/status/phase").is_none() && condition::all(object).next().is_none();
    let waits = found.iter().any(|diagnostic| diagnostic.level == Level::Waiting);
    let has_phase_only = condition::all(object).next().is_none() && waits;
    let explains = match kind.as_str() {
        "Warning" => is_silent || waits,
        _ => !is_silent && has_phase_only,
    };
    let message = format!("{kind} {reason} at {last}: {message}");
    explains.then(|| Diagnostic::new(Level::Waiting, About::Event, message))
}

/// Conditions that are not a list: they may report an error, so the object is not taken for ready.
fn unreadable(object: &Value) -> Option<Diagnostic> {
    let found = object.pointer("/status/conditions").filter(|found| !found.is_array() && !found.is_null())?;
    let found: String = found.to_string().chars().take(60).collect();
    let message = format!("status.conditions is not a list, and is not understood: {found}");
    Some(Diagnostic::new(Level::Waiting, About::Condition, message))
}

fn status(object: &Value, has_status: bool) -> Option<Diagnostic> {
    let is_empty = match object.get("status") {
        None | Some(Value::Null) => true,
        Some(Value::Object(fields)) => fields.is_empty(),
        Some(_) => false,
    };
    let message = "no controller has written a status: is the one that is responsible for it running?";
    (has_status && is_empty).then(|| Diagnostic::new(Level::Waiting, About::Status, message))
}

#[cfg(test)]
mod tests;
