//! One namespace of a cluster, seen by one controller: typed clients, and server-side apply under its own name.

use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;

use anyhow::{Context, Result};
use futures::{Stream, StreamExt};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions};
use kube::client::ClientBuilder;
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::Condition;
use kube::{Client, Config, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use watch_manager::{GroupVersionKind, Interest};

use crate::failpoint::Fault;
use crate::kind::TypeOf;
use crate::output::print;
use crate::states::{first, states};
use crate::{Failpoint, trace};

/// No write and no wait for a definition takes longer, or it is an error.
const DEADLINE: Duration = Duration::from_secs(30);

/// A client, the namespace that it is for, and the name under which it writes.
#[derive(Clone)]
pub struct Cluster {
    /// The client; every write passes the failpoint.
    pub client: Client,
    /// The only namespace that the demos touch.
    pub namespace: String,
    /// The name of the controller: its field manager, and the word in front of what it prints.
    pub role: String,
    /// Cancelled when the process is asked to end.
    pub shutdown: CancellationToken,
}

// === impl Cluster ===

impl Cluster {
    /// Connects to the cluster of `config`, which fails as the `fault` says.
    ///
    /// # Errors
    ///
    /// When the client library refuses the configuration.
    pub fn connect(config: Config, namespace: &str, role: &str, fault: Option<Fault>) -> Result<Self> {
        let builder = ClientBuilder::try_from(config)?.with_layer(&Failpoint::new(fault));
        let builder = builder.with_layer(&trace::Writes::new(role));
        let (client, shutdown) = (builder.build(), CancellationToken::new());
        Ok(Self { client, namespace: namespace.to_owned(), role: role.to_owned(), shutdown })
    }

    /// The objects of a kind in the namespace.
    #[must_use]
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// All objects of a kind in the namespace, for a watch.
    pub fn interest<K: Resource>(&self, kind: &K::DynamicType) -> Interest {
        Interest::new(gvk::<K>(kind)).namespaces([self.namespace.as_str()])
    }

    /// The states of one object in the namespace; `None` while there is none.
    pub fn state<K>(&self, name: &str) -> impl Stream<Item = Result<Option<K>>> + Send + use<K>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send,
    {
        let this = self.interest::<K>(&()).fields(format!("metadata.name={name}"));
        states(&self.client, this).map(|state| Ok(state?.pop()))
    }

    /// An object in the namespace, as soon as there is one.
    ///
    /// # Errors
    ///
    /// It is not a `K`.
    pub async fn existing<K>(&self, name: &str) -> Result<K>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send,
    {
        let found = first(self.state(name), Option::is_some).await;
        found?.with_context(|| format!("there is no {} {name}", K::kind(&())))
    }

    /// Prints a line of the demo.
    pub fn say(&self, line: impl AsRef<str>) {
        print(format_args!("  [{}] {}", self.role, line.as_ref()));
    }

    /// States all fields that this manager wants in an object, by server-side apply, and creates it where there is none.
    /// What was stated before and is left out now is removed. A field of another manager is a conflict, never forced:
    /// fields have one owner in these demos.
    ///
    /// # Errors
    ///
    /// Errors of the API server, or silence for 30 seconds.
    pub async fn apply<K>(&self, name: &str, fields: Value) -> Result<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        let body = identified::<K>(&(), json!({"name": name}), fields);
        self.send(&self.api(), name, body).await
    }

    /// As [`apply`](Self::apply), to an object that was read. It carries the uid, so it does not revive a deleted one.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply), and when the object is gone.
    pub async fn change<K: Applied>(&self, api: &Api<K>, object: &K, fields: Value) -> Result<K> {
        self.send(api, &object.name_any(), object.with_identity(fields)).await
    }

    /// Applies fields with the trace context of what causes them, and without it where another manager has taken the annotation.
    async fn send<K>(&self, api: &Api<K>, name: &str, body: Value) -> Result<K>
    where
        K: Clone + DeserializeOwned + Debug,
    {
        let parameters = PatchParams::apply(&self.role);
        let send = async |body: Value| bounded(api.patch(name, &parameters, &Patch::Apply(body))).await;
        let sent = match send(trace::mark(body.clone())).await {
            Err(error) if trace::is_refused(&error) => send(body).await,
            sent => sent,
        };
        sent.with_context(|| format!("apply {name}"))
    }

    /// As [`change`](Self::change), if nothing has changed the object since it was read: for what a controller that does not see its
    /// last write yet must not state. False if something has: the watch brings the object as it is now.
    ///
    /// # Errors
    ///
    /// As [`change`](Self::change).
    pub async fn decide<K: Applied>(&self, api: &Api<K>, object: &K, mut fields: Value) -> Result<bool> {
        json_patch::merge(&mut fields, &at_version(object));
        match self.change(api, object, fields).await {
            Err(error) if is_outdated(&error) => Ok(false),
            sent => sent.map(|_| true),
        }
    }

    /// Deletes an object if nothing has changed it since it was read: a process that was frozen must not delete what is in use by now.
    /// False if something has. True also if it is gone.
    ///
    /// # Errors
    ///
    /// Errors of the API server, or silence for 30 seconds.
    pub async fn delete<K: Applied>(&self, api: &Api<K>, object: &K) -> Result<bool> {
        let as_read = Preconditions { uid: object.uid(), resource_version: object.resource_version() };
        let parameters = DeleteParams::default().preconditions(as_read);
        match bounded(api.delete(&object.name_any(), &parameters)).await {
            Err(error) if is_outdated(&error) => Ok(false),
            Err(error) if !is_not_found(&error) => Err(error),
            _ => Ok(true),
        }
    }

    /// Returns true if the object is there and not being deleted. Asks the API server: a watch may be behind.
    ///
    /// # Errors
    ///
    /// Errors of the API server.
    pub async fn is_live<K: Applied>(&self, api: &Api<K>, object: &K) -> Result<bool> {
        let found = bounded(api.get_opt(&object.name_any())).await?;
        let is_same = |found: &K| found.uid() == object.uid();
        Ok(found.is_some_and(|found| is_same(&found) && found.meta().deletion_timestamp.is_none()))
    }

    /// As [`change`](Self::change), for the status. The manager has a name of its own there, so that stating the status
    /// removes nothing from the rest of the object.
    ///
    /// # Errors
    ///
    /// As [`change`](Self::change).
    pub async fn change_status<K: Applied>(
        &self,
        api: &Api<K>,
        object: &K,
        status: impl Serialize,
    ) -> Result<K> {
        self.send_status(api, object, json!({}), status).await
    }

    /// As [`change_status`](Self::change_status), if nothing has changed the object since it was read: for a decision that must
    /// not be taken twice by a controller that does not see its last write yet. False if something has: the watch brings the
    /// object as it is now, and the decision is taken anew, or is there.
    ///
    /// # Errors
    ///
    /// As [`change`](Self::change).
    pub async fn decide_status<K: Applied>(
        &self,
        api: &Api<K>,
        object: &K,
        status: impl Serialize,
    ) -> Result<bool> {
        match self.send_status(api, object, at_version(object), status).await {
            Err(error) if is_outdated(&error) => Ok(false),
            sent => sent.map(|_| true),
        }
    }

    async fn send_status<K: Applied>(
        &self,
        api: &Api<K>,
        object: &K,
        mut body: Value,
        status: impl Serialize,
    ) -> Result<K> {
        let (name, parameters) = (object.name_any(), PatchParams::apply(&format!("{}-status", self.role)));
        let status = serde_json::to_value(status)?;
        body.as_object_mut().map(|fields| fields.insert("status".to_owned(), status));
        let body = Patch::Apply(object.with_identity(body));
        let sent = bounded(api.patch_status(&name, &parameters, &body));
        sent.await.with_context(|| format!("apply the status of {name}"))
    }

    /// Installs definitions and waits until the API server serves them.
    ///
    /// # Errors
    ///
    /// Errors of the API server, or 30 seconds without the definition being established.
    pub async fn install(&self, definitions: &[CustomResourceDefinition]) -> Result<()> {
        let api: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        for definition in definitions {
            let name = definition.name_any();
            let parameters = PatchParams::apply("webtroller-examples").force();
            bounded(api.patch(&name, &parameters, &Patch::Apply(definition))).await?;
            let established = self.established(&name);
            timeout(DEADLINE, established).await.with_context(|| format!("{name} is not established"))??;
        }
        Ok(())
    }

    async fn established(&self, name: &str) -> Result<()> {
        let this =
            Interest::new(gvk::<CustomResourceDefinition>(&())).fields(format!("metadata.name={name}"));
        let served = |found: &Vec<CustomResourceDefinition>| {
            found.iter().any(|it| is_crd_established().matches_object(Some(it)))
        };
        first(states(&self.client, this), served).await.map(drop)
    }
}

/// A kind with a Rust type, or an object that knows its kind.
pub trait Applied: Resource + Clone + DeserializeOwned + Debug {
    /// The fields, with what server-side apply needs to know about this object.
    fn with_identity(&self, fields: Value) -> Value;
}

impl<K> Applied for K
where
    K: Resource<DynamicType: TypeOf<K>> + Clone + DeserializeOwned + Debug,
{
    fn with_identity(&self, fields: Value) -> Value {
        let metadata = json!({"name": self.name_any(), "uid": self.uid()});
        identified::<K>(&K::DynamicType::of(self), metadata, fields)
    }
}

fn identified<K: Resource>(kind: &K::DynamicType, identity: Value, mut fields: Value) -> Value {
    json_patch::merge(
        &mut fields,
        &json!({"apiVersion": K::api_version(kind), "kind": K::kind(kind), "metadata": identity}),
    );
    fields
}

fn gvk<K: Resource>(kind: &K::DynamicType) -> GroupVersionKind {
    GroupVersionKind::gvk(&K::group(kind), &K::version(kind), &K::kind(kind))
}

/// The version of an object, as a precondition.
fn at_version<K: Resource>(object: &K) -> Value {
    json!({"metadata": {"resourceVersion": object.resource_version()}})
}

/// The answer to a request, or an error after 30 seconds.
///
/// # Errors
///
/// That of the request, or silence.
pub async fn bounded<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T> {
    Ok(timeout(DEADLINE, request).await.context("the API server does not answer")??)
}

/// A name that no other object of the same name has ever had: what a process does late concerns the one that it is for.
#[must_use]
pub fn named_after(prefix: &str, object: &impl ResourceExt) -> String {
    let uid = object.uid().unwrap_or_default();
    format!("{prefix}-{}-{}", object.name_any(), uid.split('-').next().unwrap_or_default())
}

/// True if the API server has answered that there is no such object.
#[must_use]
pub fn is_not_found(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(kube::Error::Api(status)) if status.is_not_found())
}

/// True if the API server has refused a write because the object has changed since it was read. That a field has another
/// owner is a conflict too, which no waiting resolves.
fn is_outdated(error: &anyhow::Error) -> bool {
    let Some(kube::Error::Api(status)) = error.downcast_ref() else { return false };
    let causes = status.details.iter().flat_map(|details| &details.causes);
    status.is_conflict() && causes.into_iter().all(|cause| cause.reason != "FieldManagerConflict")
}
