//! The rules of kstatus for the built-in kinds, most of which do not have the conditions that its general rules read.

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::core::DynamicObject;
use serde_json::Value;

use super::progress::{Progress, Signal};

/// The time that a pod may be unscheduled before it counts as unschedulable.
const SCHEDULING: SignedDuration = SignedDuration::from_secs(15);

/// An object with its conditions.
struct Object<'a> {
    object: &'a DynamicObject,
    conditions: &'a [Signal],
    now: Timestamp,
}

/// The progress of a kind with rules of its own, or nothing.
pub(super) fn progress(
    group: &str,
    kind: &str,
    object: &DynamicObject,
    conditions: &[Signal],
    now: Timestamp,
) -> Option<Progress> {
    let object = Object { object, conditions, now };
    Some(match (group, kind) {
        ("apps" | "extensions", "Deployment") => object.deployment(),
        ("apps" | "extensions", "ReplicaSet") => object.replica_set(),
        ("apps" | "extensions", "DaemonSet") => object.daemon_set(),
        ("apps", "StatefulSet") => object.stateful_set(),
        ("batch", "Job") => object.job(),
        ("", "Pod") => object.pod(),
        ("", "PersistentVolumeClaim") => object.claim(),
        ("", "Service") => object.service(),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => object.definition(),
        // The first three are as good as their existence; the budget has an observedGeneration, which was compared.
        ("", "ConfigMap" | "Secret") | ("batch", "CronJob") | ("policy", "PodDisruptionBudget") => {
            Progress::Current
        }
        _ => return None,
    })
}

fn waiting(what: &str, have: i64, want: i64) -> Progress {
    Progress::InProgress(format!("{what}: {have} of {want}"))
}

fn in_progress(message: &str) -> Progress {
    Progress::InProgress(message.to_owned())
}

/// The first comparison in which there are fewer than wanted.
fn fewer(want: i64, have: &[(&str, i64)]) -> Option<Progress> {
    have.iter().find(|(_, have)| want > *have).map(|(what, have)| waiting(what, *have, want))
}

fn surplus(have: i64, want: i64) -> Option<Progress> {
    (have > want).then(|| Progress::InProgress(format!("{} to be terminated", have.saturating_sub(want))))
}

impl Object<'_> {
    fn field(&self, pointer: &str) -> Option<&Value> {
        self.object.data.pointer(pointer)
    }

    fn number(&self, pointer: &str, default: i64) -> i64 {
        self.field(pointer).and_then(Value::as_i64).unwrap_or(default)
    }

    fn text(&self, pointer: &str) -> Option<&str> {
        self.field(pointer)?.as_str()
    }

    fn replicas(&self) -> (i64, i64) {
        (self.number("/spec/replicas", 1), self.number("/status/replicas", 0))
    }

    fn condition(&self, r#type: &str, status: &str) -> Option<&Signal> {
        self.conditions.iter().find(|condition| condition.is(r#type, status))
    }

    fn deployment(&self) -> Progress {
        let exceeded =
            |one: &&Signal| one.r#type == "Progressing" && one.reason == "ProgressDeadlineExceeded";
        if self.conditions.iter().any(|one| exceeded(&one)) {
            return Progress::Failed("the progress deadline is exceeded".to_owned());
        }
        let (want, replicas) = self.replicas();
        let updated = self.number("/status/updatedReplicas", 0);
        let available = self.number("/status/availableReplicas", 0);
        let ready = self.number("/status/readyReplicas", 0);
        // Without a deadline (the largest i32 stands for none) the controller sets no condition Progressing.
        let deadline = self.number("/spec/progressDeadlineSeconds", i64::from(i32::MAX));
        let rolled_out = deadline == i64::from(i32::MAX)
            || self
                .conditions
                .iter()
                .any(|one| one.is("Progressing", "True") && one.reason == "NewReplicaSetAvailable");
        fewer(want, &[("replicas", replicas), ("updated", updated)])
            .or_else(|| surplus(replicas, want))
            .or_else(|| fewer(updated, &[("available", available)]))
            .or_else(|| fewer(want, &[("ready", ready)]))
            .or_else(|| (!rolled_out).then(|| in_progress("the new ReplicaSet is not available")))
            .or_else(|| {
                let unavailable = self.condition("Available", "True").is_none();
                unavailable.then(|| in_progress("the Deployment is not available"))
            })
            .unwrap_or(Progress::Current)
    }

    fn replica_set(&self) -> Progress {
        if self.condition("ReplicaFailure", "True").is_some() {
            return in_progress("pods cannot be created or deleted");
        }
        let (want, replicas) = self.replicas();
        let have = [
            ("labelled", self.number("/status/fullyLabeledReplicas", 0)),
            ("available", self.number("/status/availableReplicas", 0)),
            ("ready", self.number("/status/readyReplicas", 0)),
        ];
        fewer(want, &have).or_else(|| surplus(replicas, want)).unwrap_or(Progress::Current)
    }

    fn daemon_set(&self) -> Progress {
        let seen =
            self.object.metadata.generation.is_some() && self.field("/status/observedGeneration").is_some();
        if !seen {
            return in_progress("the generation was not observed");
        }
        let want = self.number("/status/desiredNumberScheduled", -1);
        if want == -1 {
            return in_progress("status.desiredNumberScheduled is missing");
        }
        let have = [
            ("scheduled", self.number("/status/currentNumberScheduled", 0)),
            ("updated", self.number("/status/updatedNumberScheduled", 0)),
            ("available", self.number("/status/numberAvailable", 0)),
            ("ready", self.number("/status/numberReady", 0)),
        ];
        fewer(want, &have).unwrap_or(Progress::Current)
    }

    fn stateful_set(&self) -> Progress {
        // Its owner replaces the pods by hand.
        if self.text("/spec/updateStrategy/type") == Some("OnDelete") {
            return Progress::Current;
        }
        let (want, replicas) = self.replicas();
        let updated = self.number("/status/updatedReplicas", 0);
        let partition = self.number("/spec/updateStrategy/rollingUpdate/partition", -1);
        let ready = self.number("/status/readyReplicas", 0);
        let few =
            fewer(want, &[("replicas", replicas), ("ready", ready)]).or_else(|| surplus(replicas, want));
        if let Some(progress) = few {
            return progress;
        }
        // Only pods with an ordinal of at least the partition are updated.
        if partition != -1 {
            let want = want.saturating_sub(partition);
            return fewer(want, &[("updated", updated)]).unwrap_or(Progress::Current);
        }
        let current = self.number("/status/currentReplicas", 0);
        let revision = |name: &str| self.text(name).unwrap_or_default();
        if let Some(progress) = fewer(want, &[("current", current)]) {
            return progress;
        }
        if revision("/status/currentRevision") != revision("/status/updateRevision") {
            return in_progress("the update revision is not the current one yet");
        }
        Progress::Current
    }

    fn job(&self) -> Progress {
        for condition in self.conditions {
            if condition.is("Complete", "True") {
                return Progress::Current;
            }
            if condition.is("Failed", "True") {
                return Progress::Failed(format!("{} pods failed", self.number("/status/failed", 0)));
            }
        }
        // A job that runs is what its specification asks for.
        match self.text("/status/startTime") {
            None | Some("") => in_progress("the job is not started"),
            Some(_) => Progress::Current,
        }
    }

    fn pod(&self) -> Progress {
        match self.text("/status/phase").unwrap_or_default() {
            "Succeeded" | "Failed" => Progress::Current,
            "Running" if self.condition("Ready", "True").is_some() => Progress::Current,
            "Running" => match self.crash_looping().as_slice() {
                [] => in_progress("the pod runs and is not ready"),
                names => Progress::Failed(format!("containers crash again and again: {}", names.join(", "))),
            },
            "Pending" => self.pending(),
            "" => in_progress("the pod has no phase yet"),
            phase => Progress::Unknown(format!("the phase of the pod is {phase}")),
        }
    }

    fn pending(&self) -> Progress {
        let scheduled = self.condition("PodScheduled", "False");
        if scheduled.is_none_or(|condition| condition.reason != "Unschedulable") {
            return in_progress("the pod is pending");
        }
        let created = self.object.metadata.creation_timestamp.as_ref().map(|time| time.0);
        match created {
            Some(created) if self.now.duration_since(created) < SCHEDULING => {
                in_progress("the pod is not scheduled")
            }
            _ => Progress::Failed("the pod cannot be scheduled".to_owned()),
        }
    }

    fn crash_looping(&self) -> Vec<&str> {
        let statuses = self.field("/status/containerStatuses").and_then(Value::as_array);
        let looping = statuses.into_iter().flatten().filter(|status| {
            status.pointer("/state/waiting/reason").is_some_and(|reason| reason == "CrashLoopBackOff")
        });
        looping.filter_map(|status| status.get("name")?.as_str()).collect()
    }

    fn claim(&self) -> Progress {
        match self.text("/status/phase") {
            Some("Bound") => Progress::Current,
            phase => Progress::InProgress(format!("the claim is not bound: {}", phase.unwrap_or("no phase"))),
        }
    }

    fn service(&self) -> Progress {
        let balanced = self.text("/spec/type") == Some("LoadBalancer");
        if balanced && self.text("/spec/clusterIP").unwrap_or_default().is_empty() {
            return in_progress("the load balancer has no cluster IP");
        }
        Progress::Current
    }

    fn definition(&self) -> Progress {
        for condition in self.conditions {
            let refused = condition.is("NamesAccepted", "False")
                || (condition.is("Established", "False") && condition.reason != "Installing");
            if refused {
                return Progress::Failed(condition.message.clone());
            }
            if condition.is("Established", "True") {
                return Progress::Current;
            }
        }
        in_progress("the definition is being installed")
    }
}
