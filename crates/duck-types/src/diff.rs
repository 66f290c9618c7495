//! The difference that an edit makes, as patches that cannot touch anything else.
//!
//! Worked example, a duck at `/spec/replicas` and `/status/ready` of an object that has the field `paused` too:
//!
//! ```text
//! read        spec: {paused: true, replicas: 1}, status: {ready: 1}
//! observed    spec: {replicas: 1},               status: {ready: 1}
//! target      spec: {replicas: 2},               status: {ready: 2}
//!
//! `json`      object   test /metadata/uid, test /spec/replicas is 1, replace /spec/replicas by 2
//!             status   test /metadata/uid, test /status/ready is 1, replace /status/ready by 2
//! `merge`     object   {metadata: {uid, resourceVersion}, spec: {replicas: 2}}
//!             status   {metadata: {uid, resourceVersion}, status: {ready: 2}}
//! `apply`     object   {apiVersion, kind, metadata: {name, uid}, spec: {replicas: 2}}
//!             status   {apiVersion, kind, metadata: {name, uid}, status: {ready: 2}}
//! ```
//!
//! `json` is shown with [`PatchPrecondition::Leaves`]. Each change is two requests, because the endpoint of the object ignores `status`, and the endpoint `status` everything
//! else. No body names `paused`, so that no patch can undo what another client writes there.

use json_patch::Patch as JsonPatch;
use kube::core::params::{Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject};
use serde_json::{Map, Value, json};

use crate::Endpoint;
use crate::error::DuckError;
use crate::patch::{Operations, PatchPrecondition, merge_patch};
use crate::path::endpoint;

/// The most operations that the API server accepts in a JSON patch: `maxJSONPatchOperations` of `k8s.io/apiserver`.
const MOST_OPERATIONS: usize = 10_000;

/// A change of one duck of one object. Made by [`crate::Duck::edit`].
#[derive(Clone, Debug, PartialEq)]
pub struct DuckDiff {
    pub(crate) duck: &'static str,
    pub(crate) identity: Identity,
    /// The projection of the object onto the paths of the duck, as it was read.
    pub(crate) observed: Value,
    /// The same as it shall be.
    pub(crate) target: Value,
    /// All of the edited duck, in the shape of the object, and nothing that the type does not know.
    pub(crate) intent: Value,
}

/// The metadata that a patch needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Identity {
    pub(crate) name: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) uid: Option<String>,
    pub(crate) version: Option<String>,
}

/// One request: a patch and the endpoint that accepts it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DuckPatch {
    /// The object's name, for the URL.
    pub name: String,
    /// The endpoint that accepts it.
    pub endpoint: Endpoint,
    /// The field manager. An apply is not forced: a field of another manager is a conflict (409), which names it.
    pub params: PatchParams,
    /// The body.
    pub patch: Patch<Value>,
}

impl Identity {
    pub(crate) fn of(object: &DynamicObject) -> Self {
        let metadata = &object.metadata;
        Self {
            name: metadata.name.clone(),
            namespace: metadata.namespace.clone(),
            uid: metadata.uid.clone(),
            version: metadata.resource_version.clone(),
        }
    }

    fn name(&self) -> Result<&String, DuckError> {
        self.name.as_ref().ok_or(DuckError::MissingIdentity { field: "name" })
    }

    fn uid(&self) -> Result<&String, DuckError> {
        self.uid.as_ref().ok_or(DuckError::MissingIdentity { field: "uid" })
    }

    fn version(&self) -> Result<&String, DuckError> {
        self.version.as_ref().ok_or(DuckError::MissingIdentity { field: "resourceVersion" })
    }
}

impl DuckDiff {
    /// Returns true if the edit changed nothing, so that there is nothing to send.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.observed == self.target
    }

    /// Returns the endpoints that accept parts of this change, the object before its status.
    #[must_use]
    pub fn endpoints(&self) -> Vec<Endpoint> {
        [Endpoint::Object, Endpoint::Status]
            .into_iter()
            .filter(|endpoint| part(&self.observed, *endpoint) != part(&self.target, *endpoint))
            .collect()
    }

    /// Returns the edited duck as server-side applies by `manager` (at most 128 characters), one per endpoint.
    ///
    /// The bodies hold the identity and *all* of the duck, because an apply is the manager's whole intent: the API
    /// server removes what the manager applied before and leaves out now. Hence one manager per duck and purpose.
    /// The uid keeps an apply from creating an object that was deleted in the meantime.
    ///
    /// # Errors
    ///
    /// [`DuckError::MissingIdentity`] for an object without a name.
    pub fn apply(&self, resource: &ApiResource, manager: &str) -> Result<Vec<DuckPatch>, DuckError> {
        let name = self.identity.name()?;
        let mut metadata = Map::from_iter([("name".to_owned(), json!(name))]);
        let optional = [("namespace", &self.identity.namespace), ("uid", &self.identity.uid)];
        let optional = optional.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
        metadata.extend(optional.map(|(key, value)| (key.to_owned(), json!(value))));
        let body = |endpoint| {
            let mut body = part(&self.intent, endpoint);
            // An empty body takes back what this manager has applied: it is sent only where the edit has emptied the part.
            if body.is_empty() && !self.endpoints().contains(&endpoint) {
                return None;
            }
            body.insert("apiVersion".to_owned(), json!(resource.api_version));
            body.insert("kind".to_owned(), json!(resource.kind));
            let duck = body.remove("metadata");
            let mut metadata = metadata.clone();
            metadata.extend(duck.and_then(|duck| duck.as_object().cloned()).unwrap_or_default());
            body.insert("metadata".to_owned(), Value::Object(metadata));
            let (name, params) = (name.clone(), PatchParams::apply(manager));
            Some(DuckPatch { name, endpoint, params, patch: Patch::Apply(Value::Object(body)) })
        };
        Ok([Endpoint::Object, Endpoint::Status].into_iter().filter_map(body).collect())
    }

    /// Returns the change as JSON patches, one per endpoint that it touches; none if nothing changed.
    ///
    /// Each first tests the uid, with [`PatchPrecondition::Version`] the resourceVersion, and then the old value of what it
    /// replaces or removes: when another client has written in the meantime, the API server refuses the whole patch
    /// (422) and the caller reads again. Fields that the type does not know survive.
    ///
    /// The second of two patches tests the resourceVersion that was read, which the first one changes:
    /// see [`DuckPatch::follow`]. `Duck::apply` (feature `client`) does all of this.
    ///
    /// # Errors
    ///
    /// [`DuckError::MissingIdentity`] for an object without name, uid or resourceVersion; [`DuckError::Untestable`].
    pub fn json(&self, precondition: PatchPrecondition) -> Result<Vec<DuckPatch>, DuckError> {
        self.endpoints().into_iter().map(|endpoint| self.json_part(endpoint, precondition)).collect()
    }

    fn json_part(&self, endpoint: Endpoint, precondition: PatchPrecondition) -> Result<DuckPatch, DuckError> {
        let mut operations = self.operations(endpoint, precondition, false)?;
        // An operation or two for each element of a long list; a list that is replaced as a whole has one for all.
        if operations.operations.len() > MOST_OPERATIONS {
            operations = self.operations(endpoint, precondition, true)?;
        }
        match operations.untestable.pop() {
            Some(pointer) => Err(DuckError::Untestable { pointer }),
            None => self.request(endpoint, Patch::Json(JsonPatch(operations.operations))),
        }
    }

    fn operations(
        &self,
        endpoint: Endpoint,
        precondition: PatchPrecondition,
        whole_lists: bool,
    ) -> Result<Operations, DuckError> {
        let mut operations = Operations::new(precondition, whole_lists);
        operations.test(&["metadata", "uid"], self.identity.uid()?.clone());
        if precondition == PatchPrecondition::Version {
            operations.test(&["metadata", "resourceVersion"], self.identity.version()?.clone());
        }
        operations.members(&part(&self.observed, endpoint), &part(&self.target, endpoint));
        Ok(operations)
    }

    /// Returns the change as merge patches (RFC 7386), one per endpoint that it touches; none if nothing changed.
    ///
    /// A merge patch replaces lists as a whole. It carries uid and resourceVersion, so the API server refuses it
    /// (409) when another client has written in the meantime.
    ///
    /// # Errors
    ///
    /// [`DuckError::MissingIdentity`], and [`DuckError::Unwritable`] for a null, which a merge patch cannot write.
    pub fn merge(&self) -> Result<Vec<DuckPatch>, DuckError> {
        let merge = |endpoint| {
            let unwritable = |at: String| DuckError::Unwritable {
                duck: self.duck,
                message: format!("a merge patch cannot write the null at {at}: use a JSON patch"),
            };
            let (before, after) = (part(&self.observed, endpoint), part(&self.target, endpoint));
            let mut body = merge_patch(&before, &after).map_err(unwritable)?;
            let duck = body.remove("metadata");
            let mut metadata = duck.and_then(|duck| duck.as_object().cloned()).unwrap_or_default();
            metadata.insert("uid".to_owned(), json!(self.identity.uid()?));
            metadata.insert("resourceVersion".to_owned(), json!(self.identity.version()?));
            body.insert("metadata".to_owned(), Value::Object(metadata));
            self.request(endpoint, Patch::Merge(Value::Object(body)))
        };
        self.endpoints().into_iter().map(merge).collect()
    }

    fn request(&self, endpoint: Endpoint, patch: Patch<Value>) -> Result<DuckPatch, DuckError> {
        let name = self.identity.name()?.clone();
        Ok(DuckPatch { name, endpoint, params: PatchParams::default(), patch })
    }
}

impl DuckPatch {
    /// Returns the body of the request, for clients other than kube's and for logs.
    ///
    /// # Errors
    ///
    /// None in practice: every patch has a JSON form.
    pub fn body(&self) -> Result<Value, serde_json::Error> {
        match &self.patch {
            Patch::Json::<Value>(patch) => serde_json::to_value(patch),
            Patch::Apply(body) | Patch::Merge(body) => Ok(body.clone()),
            // A diff makes no other kind of patch.
            _ => Ok(Value::Null),
        }
    }

    /// Sets the field manager of a JSON or merge patch; an apply has one from the start.
    #[must_use]
    pub fn managed_by(mut self, manager: &str) -> Self {
        self.params.field_manager = Some(manager.to_owned());
        self
    }

    /// Returns true if the API server refuses the patch after any other write.
    #[cfg(feature = "client")]
    pub(crate) fn tests_version(&self) -> bool {
        match &self.patch {
            Patch::Json(JsonPatch(operations)) => operations.iter().any(|operation| {
                matches!(operation, json_patch::PatchOperation::Test(test) if test.path == *"/metadata/resourceVersion")
            }),
            patch => matches!(patch, Patch::Merge(_)),
        }
    }

    /// Makes this patch follow another one of the same diff: it tests the resourceVersion in the response to that.
    #[must_use]
    pub fn follow(mut self, response: &DynamicObject) -> Self {
        let version = json!(response.metadata.resource_version);
        match &mut self.patch {
            Patch::Json(JsonPatch(operations)) => {
                for operation in operations {
                    if let json_patch::PatchOperation::Test(test) = operation
                        && test.path == *"/metadata/resourceVersion"
                    {
                        test.value = version.clone();
                    }
                }
            }
            Patch::Merge(body) => {
                if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
                    metadata.insert("resourceVersion".to_owned(), version);
                }
            }
            _ => {}
        }
        self
    }
}

/// The part of a projection that one endpoint accepts.
fn part(projection: &Value, wanted: Endpoint) -> Map<String, Value> {
    let fields = projection.as_object().into_iter().flatten();
    let wanted = fields.filter(|(name, _)| endpoint(name) == wanted);
    wanted.map(|(name, value)| (name.clone(), value.clone())).collect()
}
