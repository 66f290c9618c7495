//! Drives a `kube::runtime::Controller` from a registrar: no second watch, and no second copy of the objects.
//!
//! ```no_run
//! # use std::{sync::Arc, time::Duration};
//! # use futures::StreamExt;
//! # use kube::core::{ApiResource, GroupVersionKind};
//! # use kube::runtime::controller::{Action, Controller};
//! # use watch_manager::controller::{SharedObject, shared_stream};
//! # async fn reconcile(object: Arc<SharedObject>, _: Arc<()>) -> Result<Action, std::io::Error> {
//! #     Ok(Action::await_change())
//! # }
//! # async fn run(manager: watch_manager::WatchManager) -> Result<(), watch_manager::Error> {
//! let gadgets = GroupVersionKind::gvk("example.com", "v1", "Gadget");
//! let registrar = manager.registrar("controller")?;
//! registrar.replace([gadgets.clone()]);
//! let resource = ApiResource::from_gvk_with_plural(&gadgets, "gadgets");
//! let (triggers, store) = shared_stream(registrar.events(), resource.clone());
//! Controller::for_shared_stream_with(triggers, store, resource)
//!     .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(5)), Arc::new(()))
//!     .for_each(|_| async {})
//!     .await;
//! # Ok(())
//! # }
//! ```

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;

use futures::{Stream, StreamExt, stream};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::{ApiResource, DynamicResourceScope, GroupVersionKind, TypeMeta};
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{Lookup, ObjectRef, Store};
use kube::runtime::watcher::Event;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::event::WatchEvent;
use crate::object::WatchedObject;
use crate::stream::runtime::{Translator, parse};

/// A watched object as a `kube::Resource`. Holds its identity and shares the rest with the manager's store.
#[derive(Debug, Clone)]
pub struct SharedObject {
    /// Name, namespace, uid, resourceVersion and generation.
    identity: ObjectMeta,
    object: Arc<WatchedObject>,
}

// === impl SharedObject ===

impl SharedObject {
    fn new(object: &Arc<WatchedObject>) -> Self {
        let identity = ObjectMeta {
            name: Some(object.name().to_owned()),
            namespace: object.namespace().map(ToOwned::to_owned),
            uid: Some(object.uid().to_owned()),
            resource_version: Some(object.resource_version().to_owned()),
            generation: object.generation(),
            ..ObjectMeta::default()
        };
        Self { identity, object: Arc::clone(object) }
    }

    /// Returns the object.
    pub fn object(&self) -> &Arc<WatchedObject> {
        &self.object
    }
}

/// The form that an API server sends. A `Controller` requires it, although it does not read objects that come from a
/// stream.
impl<'de> Deserialize<'de> for SharedObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = serde_json::Value::deserialize(deserializer)?;
        let types = TypeMeta::deserialize(&json).map_err(D::Error::custom)?;
        let gvk = GroupVersionKind::try_from(&types).map_err(D::Error::custom)?;
        let object = WatchedObject::from_value(&gvk, &json).map_err(D::Error::custom)?;
        Ok(Self::new(&Arc::new(object)))
    }
}

/// `meta` has the identity only; labels and the rest are in [`SharedObject::object`].
impl Resource for SharedObject {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn api_version(resource: &ApiResource) -> Cow<'_, str> {
        resource.api_version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.identity
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.identity
    }
}

/// Returns the input of `Controller::for_shared_stream_with`, from the events of a registrar with one kind.
///
/// A deleted object triggers no reconciliation, as with kube's own streams: it is removed from the store.
///
/// # Guarantees
/// - A changed object is in the store before its trigger is returned; those of a snapshot are when it is complete, for which
///   `Controller` waits at the start.
/// - When the kind is removed and added again, or asked for in another scope, the store is replaced by the new snapshot.
///
/// # Assumptions
/// The triggers are polled, which `Controller` does: the store changes by nothing else. It is for one kind: the events of a
/// registrar with several replace each other's objects.
pub fn shared_stream(
    events: impl Stream<Item = WatchEvent>,
    resource: ApiResource,
) -> (impl Stream<Item = Arc<SharedObject>>, Store<SharedObject>) {
    let mut writer = Writer::new(resource);
    let store = writer.as_reader();
    writer.apply_watcher_event(&Event::Init);
    let mut translator = Translator::default();
    let triggers = events.flat_map(move |event| {
        let mut triggers = Vec::new();
        for event in translator.translate(event) {
            let Ok(event) = parse(event, |object, _| Ok::<_, Infallible>(SharedObject::new(object)));
            writer.apply_watcher_event(&event);
            if let Event::InitApply(object) | Event::Apply(object) = event {
                triggers.push(Arc::new(object));
            }
        }
        stream::iter(triggers)
    });
    (triggers, store)
}

/// Returns the input of `Controller::reconcile_on`: a reference to `K` for each event that `map` derives one from, for
/// instance the owner of a changed object.
///
/// # Guarantees
/// - A deleted object is mapped like a changed one, with its last state.
/// - The stream has no errors, which would pause all triggers of the controller.
///
/// # Assumptions
/// `map` is called while the controller is polled: it must not block.
pub fn reconcile_on<K: Lookup>(
    events: impl Stream<Item = WatchEvent>,
    mut map: impl FnMut(&WatchedObject) -> Vec<ObjectRef<K>>,
) -> impl Stream<Item = ObjectRef<K>> {
    events.flat_map(move |event| {
        let references = event.kind.object().map(|object| map(object)).unwrap_or_default();
        stream::iter(references)
    })
}
