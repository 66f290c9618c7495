//! The cluster: templates and constraints that are applied by the server, each read before it is written.

use std::time::Duration;

use constraint_framework::api::{CONSTRAINTS_GROUP, TEMPLATES_GROUP};
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, Preconditions};
use serde_json::{Value, json};
use tokio::time::{interval, timeout};

use crate::api_error::reason;

use super::plan::{BUNDLE, INSTALLED_AT, MANAGED_BY, MANAGER, SOURCE, Step, VERSION, set_action};

/// The owner of the fields of what is installed.
const FIELD_MANAGER: &str = "webtroller-policy";
/// The interval at which a template is read while it is waited for.
const POLL: Duration = Duration::from_millis(500);
/// Objects of a page.
const PAGE: u32 = 500;

/// Attempts at a write while others, such as pods with their reports, write the same object.
const ATTEMPTS: u32 = 5;

/// The reason why something was not done.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(
        "{kind} {name} exists, and was not installed from a catalogue: it has no label {MANAGED_BY}: {MANAGER} or no \
         annotation {SOURCE}"
    )]
    Conflict { kind: String, name: String },
    #[error("the cluster has no ConstraintTemplates: install webtroller or Gatekeeper first")]
    NotInstalled,
    #[error("{0}")]
    Refused(String),
    #[error("another client changed the object at every attempt; run the command again")]
    Outdated,
    #[error("{kind} is not in force after {} s: {reason}; run the command again", after.as_secs())]
    Slow { kind: String, after: Duration, reason: String },
    #[error("the request failed: {0}")]
    Request(String),
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        Self::Request(reason(&error))
    }
}

/// A template that was installed from a catalogue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Installed {
    pub(super) policy: String,
    pub(super) version: String,
    /// Empty where it was installed by itself.
    pub(super) bundle: String,
    pub(super) since: String,
}

pub(super) struct Cluster {
    client: kube::Client,
}

impl Cluster {
    pub(super) const fn new(client: kube::Client) -> Self {
        Self { client }
    }

    fn templates(&self) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &resource(TEMPLATES_GROUP, "v1", "ConstraintTemplate"))
    }

    fn constraints(&self, kind: &str) -> Api<DynamicObject> {
        let mut resource = resource(CONSTRAINTS_GROUP, "v1beta1", kind);
        resource.plural = kind.to_lowercase();
        Api::all_with(self.client.clone(), &resource)
    }

    /// Everything that was installed from a catalogue, by name.
    pub(super) async fn installed(&self) -> Result<Vec<Installed>, Failure> {
        let mut params = ListParams::default().labels(&format!("{MANAGED_BY}={MANAGER}")).limit(PAGE);
        let mut found = Vec::new();
        loop {
            let page = self.templates().list(&params).await.map_err(without_kind)?;
            found.extend(page.items.iter().filter(|object| is_managed(object)).map(installed));
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => break,
            }
        }
        found.sort();
        Ok(found)
    }

    /// Applies a policy. Returns whether its template and its constraint were written: a template of the same version is
    /// left as it is.
    pub(super) async fn apply(&self, step: &Step, patience: Duration) -> Result<[bool; 2], Failure> {
        let wrote_template = latest(async || self.put_template(step).await).await?;
        let Some(constraint) = &step.constraint else {
            return Ok([wrote_template, false]);
        };
        self.wait(step, patience).await?;
        latest(async || self.put_constraint(step, constraint).await).await?;
        Ok([wrote_template, true])
    }

    /// Returns whether it was written.
    async fn put_template(&self, step: &Step) -> Result<bool, Failure> {
        let templates = self.templates();
        let existing = managed(&templates, "ConstraintTemplate", &step.policy).await?;
        if existing.as_ref().is_some_and(|object| annotation(object, VERSION) == step.version) {
            return Ok(false);
        }
        write(&templates, &step.policy, step.template.clone(), existing.as_ref()).await.map(|()| true)
    }

    async fn put_constraint(&self, step: &Step, constraint: &Value) -> Result<(), Failure> {
        let constraints = self.constraints(&step.kind);
        let name = constraint.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let existing = managed(&constraints, &step.kind, name).await?;
        let constraint = keep_action(constraint, existing.as_ref(), step.keeps_action)?;
        write(&constraints, name, constraint, existing.as_ref()).await
    }

    /// Waits until every pod that reports has taken the template as it is now, and its kind is served.
    async fn wait(&self, step: &Step, patience: Duration) -> Result<(), Failure> {
        let templates = self.templates();
        let (constraints, first) = (self.constraints(&step.kind), ListParams::default().limit(1));
        let mut reason = "its status says nothing".to_owned();
        let waiting = async {
            let mut ticks = interval(POLL);
            loop {
                ticks.tick().await;
                match read(&templates, &step.policy).await? {
                    None => reason = "it is gone".to_owned(),
                    Some(template) => match progress(&template) {
                        Progress::Refused(reason) => return Err(Failure::Refused(reason)),
                        Progress::Waits(why) => reason = why,
                        Progress::Taken => match constraints.list(&first).await {
                            Ok(_) => return Ok(()),
                            Err(error) if is_absent(&error) => {
                                reason = "its constraints are not served".to_owned();
                            }
                            Err(error) => return Err(error.into()),
                        },
                    },
                }
            }
        };
        let ended = timeout(patience, waiting).await;
        let slow = || Err(Failure::Slow { kind: step.kind.clone(), after: patience, reason });
        ended.unwrap_or_else(|_| slow())
    }

    /// Returns true if an installed template can be removed: `false` where there is none.
    pub(super) async fn removable(&self, policy: &str) -> Result<bool, Failure> {
        Ok(managed(&self.templates(), "ConstraintTemplate", policy).await?.is_some())
    }

    /// Removes a template; its constraints go with their kind. `false` where there is none.
    pub(super) async fn remove(&self, policy: &str) -> Result<bool, Failure> {
        latest(async || self.remove_once(policy).await).await
    }

    async fn remove_once(&self, policy: &str) -> Result<bool, Failure> {
        let templates = self.templates();
        let Some(existing) = managed(&templates, "ConstraintTemplate", policy).await? else {
            return Ok(false);
        };
        // What was looked at is what is deleted.
        let preconditions = Preconditions {
            uid: existing.metadata.uid,
            resource_version: existing.metadata.resource_version,
        };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        match templates.delete(policy, &params).await {
            Ok(_) => Ok(true),
            Err(error) if is_absent(&error) => Ok(false),
            Err(kube::Error::Api(status)) if status.is_conflict() => Err(Failure::Outdated),
            Err(error) => Err(error.into()),
        }
    }
}

/// Tries again with what is stored by then, while that is another version than the one that was read.
async fn latest<T>(mut attempt: impl AsyncFnMut() -> Result<T, Failure>) -> Result<T, Failure> {
    for _ in 1..ATTEMPTS {
        match attempt().await {
            Err(Failure::Outdated) => {}
            ended => return ended,
        }
    }
    attempt().await
}

fn resource(group: &str, version: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk(group, version, kind))
}

/// The object of a name; one that is managed by another client is a conflict.
async fn managed(api: &Api<DynamicObject>, kind: &str, name: &str) -> Result<Option<DynamicObject>, Failure> {
    match read(api, name).await? {
        Some(object) if !is_managed(&object) => {
            Err(Failure::Conflict { kind: kind.to_owned(), name: name.to_owned() })
        }
        found => Ok(found),
    }
}

/// Applies an object: a new one must not exist, and another one must be as it was read.
async fn write(
    api: &Api<DynamicObject>,
    name: &str,
    mut object: Value,
    existing: Option<&DynamicObject>,
) -> Result<(), Failure> {
    let mut params = PatchParams::apply(FIELD_MANAGER);
    if let Some(existing) = existing {
        // Its managers are gator, and those who changed a field since; both lose it here as to gator.
        params = params.force();
        if let (Some(metadata), Some(version)) =
            (object.get_mut("metadata").and_then(Value::as_object_mut), &existing.metadata.resource_version)
        {
            metadata.insert("resourceVersion".to_owned(), json!(version));
        }
    }
    match api.patch(name, &params, &Patch::Apply(&object)).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) => Err(match status.code {
            404 if existing.is_none() => without_kind(kube::Error::Api(status)),
            409 if existing.is_some() => Failure::Outdated,
            _ => Failure::Refused(status.message.clone()),
        }),
        Err(error) => Err(error.into()),
    }
}

/// A constraint with the action that it has in the cluster: an upgrade does not begin to deny what was only warned of.
fn keep_action(constraint: &Value, existing: Option<&DynamicObject>, keep: bool) -> Result<Value, Failure> {
    let mut constraint = constraint.clone();
    let action = existing.and_then(|object| object.data.pointer("/spec/enforcementAction"));
    if let Some(action) = action.and_then(Value::as_str).filter(|action| keep && !action.is_empty()) {
        set_action(&mut constraint, action).map_err(Failure::Refused)?;
    }
    Ok(constraint)
}

/// The progress of a template.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Taken,
    Waits(String),
    Refused(String),
}

/// Reads `status.created`, and of each pod the generation that it reports.
pub(super) fn progress(template: &DynamicObject) -> Progress {
    let generation = template.metadata.generation.unwrap_or_default();
    let status = template.data.get("status").cloned().unwrap_or_default();
    let pods = status.get("byPod").and_then(Value::as_array).cloned().unwrap_or_default();
    let reported = |pod: &Value| pod.get("observedGeneration").and_then(Value::as_i64).unwrap_or_default();
    for pod in pods.iter().filter(|pod| reported(pod) >= generation) {
        let message = pod.pointer("/errors/0/message").and_then(Value::as_str);
        if let Some(message) = message {
            return Progress::Refused(format!("the template is not in force: {message}"));
        }
    }
    let behind = pods.iter().filter(|pod| reported(pod) < generation).count();
    match (pods.len(), behind) {
        (0, _) => Progress::Waits("no pod reports on it".to_owned()),
        (all, 1..) => Progress::Waits(format!("{behind} of {all} pods have not taken it")),
        _ if status.get("created") == Some(&json!(true)) => Progress::Taken,
        _ => Progress::Waits("its kind is not created".to_owned()),
    }
}

fn is_managed(object: &DynamicObject) -> bool {
    let label = object.metadata.labels.as_ref().and_then(|labels| labels.get(MANAGED_BY));
    label.is_some_and(|value| value == MANAGER) && !annotation(object, SOURCE).is_empty()
}

fn annotation<'a>(object: &'a DynamicObject, name: &str) -> &'a str {
    let found = object.metadata.annotations.as_ref().and_then(|annotations| annotations.get(name));
    found.map(String::as_str).unwrap_or_default()
}

fn installed(object: &DynamicObject) -> Installed {
    let label = object.metadata.labels.as_ref().and_then(|labels| labels.get(BUNDLE));
    Installed {
        policy: object.metadata.name.clone().unwrap_or_default(),
        version: annotation(object, VERSION).to_owned(),
        bundle: label.cloned().unwrap_or_default(),
        since: annotation(object, INSTALLED_AT).to_owned(),
    }
}

/// The object of a name; `None` where there is none, or its kind is not served.
async fn read(api: &Api<DynamicObject>, name: &str) -> Result<Option<DynamicObject>, Failure> {
    match api.get(name).await {
        Ok(object) => Ok(Some(object)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A group that is not served is answered by a page without a reason.
fn is_absent(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

fn without_kind(error: kube::Error) -> Failure {
    if is_absent(&error) { Failure::NotInstalled } else { error.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_outdated_write_is_tried_again_a_few_times() {
        let (mut tries, outdated) = (0, || Err::<u32, _>(Failure::Outdated));
        let third = latest(async || {
            tries += 1;
            if tries < 3 { outdated() } else { Ok(tries) }
        });
        assert_eq!(third.await.unwrap(), 3);
        let mut tries = 0;
        let never = latest(async || {
            tries += 1;
            outdated()
        });
        assert!(matches!(never.await, Err(Failure::Outdated)));
        assert_eq!(tries, ATTEMPTS);
    }
}
