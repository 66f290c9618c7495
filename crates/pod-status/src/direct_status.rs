//! Entries that each pod applies itself to `status.byPod` of the parent, without a report object in between.
//!
//! Pod `a` applies `{"status": {"byPod": [{"id": "a", …}]}}` with a field manager of its own. The API server merges the
//! entries if the schema declares `byPod` as a map (`x-kubernetes-list-type: map`, key `id`); otherwise each pod would
//! replace what the others wrote, so such a schema is an error.
//!
//! The aggregator reads the entries in the parent, applies the conditions, and removes the entries of dead pods.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::Status;
use kube::{Client, ResourceExt};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::aggregate::by_pod_entry;
use crate::desired::{Write, Written};
use crate::identity::PodIdentity;
use crate::name::label_value;
use crate::pace::answered_within;
use crate::parent::{ParentKey, ParentRef};
use crate::reason::no_subresource;
use crate::report::{Entry, Member, PodReport};
use crate::shape::Shape;
use crate::vote::Reported;

/// Entries that a previous run has left get numbers from here on.
const LEFT_OVER: u32 = 3 << 30;

/// The entry of `byPod` for one run: Gatekeeper's fields, and those that identify the run.
pub(crate) fn entry(shape: &Shape, member: &Member, entry: &Entry) -> Value {
    let mut fields = by_pod_entry(shape, member, entry);
    fields.insert("incarnation".to_owned(), json!(member.incarnation));
    if !entry.errors.is_empty() {
        // With their classes, which the aggregator reads from here.
        fields.insert("errors".to_owned(), json!(entry.errors));
    }
    for (name, value) in [("podUID", json!(member.uid)), ("enforcing", json!(entry.enforcing))] {
        fields.remove(name);
        if !value.is_null() {
            fields.insert(name.to_owned(), value);
        }
    }
    Value::Object(fields)
}

/// The entries of `byPod`. One that cannot be read is nothing: its pod is then waited for.
pub(crate) fn read(shape: &Shape, parent: &ParentRef, status: &Value) -> Vec<Option<Reported>> {
    let entries = status.get("byPod").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    entries.iter().map(|entry| read_entry(shape, parent, entry)).collect()
}

fn read_entry(shape: &Shape, parent: &ParentRef, entry: &Value) -> Option<Reported> {
    let mut detail = entry.as_object()?.clone();
    let mut take = |field: &str| detail.remove(field);
    let text = |value: Value| value.as_str().map(str::to_owned);
    let member = Member {
        id: take("id").and_then(text)?,
        uid: take("podUID").and_then(text),
        incarnation: take("incarnation").and_then(text).unwrap_or_default(),
        operations: take("operations").map(Deserialize::deserialize).transpose().ok()?.unwrap_or_default(),
        ..Member::default()
    };
    let key = ParentKey::new(parent.clone(), take(&shape.uid_field).and_then(text)?);
    let generation = take("observedGeneration")?.as_i64()?;
    let errors = take("errors").map(Deserialize::deserialize).transpose().ok()?.unwrap_or_default();
    let enforcing = take("enforcing").and_then(|value| value.as_i64());
    let detail = if detail.is_empty() { Value::Null } else { Value::Object(detail) };
    let entry = Entry { enforcing, detail, ..Entry::new(key, generation).errors(errors) };
    Some(Reported { member, entry })
}

/// The parents with an entry of this run, by the number of their report.
pub(crate) struct DirectEntries {
    client: Client,
    shapes: Vec<Arc<Shape>>,
    pod: String,
    params: PatchParams,
    places: BTreeMap<u32, Place>,
}

struct Place {
    shape: Arc<Shape>,
    parent: ParentRef,
    /// Nothing for an entry of a previous run.
    uid: Option<String>,
    /// The entry as it was applied, and its report; nothing for an entry of a previous run.
    applied: Option<(Value, PodReport)>,
}

impl DirectEntries {
    pub(crate) fn new(client: Client, identity: &PodIdentity, manager: &str, shapes: Vec<Shape>) -> Self {
        // The same manager in every run of the pod: a run replaces the entries of its predecessor.
        let manager = format!("{manager}-{}", label_value(&identity.name));
        let params = PatchParams::apply(&manager).force();
        let shapes = shapes.into_iter().map(Arc::new).collect();
        Self { client, shapes, pod: identity.name.clone(), params, places: BTreeMap::new() }
    }

    /// Applies or withdraws one entry; nothing if the report belongs elsewhere.
    pub(crate) async fn carry_out(
        &mut self,
        write: &Write,
        limit: Duration,
    ) -> Option<kube::Result<Written>> {
        let entry = write.report.as_ref().and_then(|report| report.entries.first());
        let shape = entry.and_then(|entry| {
            self.shapes.iter().find(|shape| shape.is_for(&entry.parent.reference)).cloned()
        });
        match (&write.report, entry, shape) {
            (Some(report), Some(entry), Some(shape)) => {
                Some(self.apply(write.shard, report, entry, shape, limit).await)
            }
            (None, _, _) => {
                let place = self.places.get(&write.shard)?;
                let withdrawn = self.patch(place, json!({}), limit).await.map(|_| Written::Done);
                if withdrawn.is_ok() {
                    self.places.remove(&write.shard);
                }
                Some(withdrawn)
            }
            _ => None,
        }
    }

    async fn apply(
        &mut self,
        shard: u32,
        report: &PodReport,
        about: &Entry,
        shape: Arc<Shape>,
        limit: Duration,
    ) -> kube::Result<Written> {
        let parent = about.parent.reference.clone();
        let value = entry(&shape, &report.pod, about);
        let status = json!({"byPod": [&value]});
        let (uid, applied) = (Some(about.parent.uid.clone()), Some((value.clone(), report.clone())));
        let place = Place { shape, parent, uid, applied };
        let Some(stored) = self.patch(&place, status, limit).await? else {
            if self.is_there(&place, limit).await? {
                // Refused for this entry alone.
                return Err(no_subresource(&about.parent.reference.kind, 422));
            }
            self.places.remove(&shard);
            return Ok(Written::Done);
        };
        if self.entry_in(&stored) != Some(&value) || !merges(&stored, &self.pod) {
            let message = format!(
                "the schema of {} drops fields of status.byPod, or does not merge it by id",
                about.parent.reference.kind
            );
            return Err(kube::Error::Api(Status::failure(&message, "Invalid").with_code(422).boxed()));
        }
        // It replaces what a previous run has left, or was reported about another object of the name.
        self.places.retain(|_, known| known.parent != place.parent);
        self.places.insert(shard, place);
        Ok(Written::Done)
    }

    /// Applies a status. Nothing comes back from a parent that is gone, or another one of the name.
    async fn patch(
        &self,
        place: &Place,
        status: Value,
        limit: Duration,
    ) -> kube::Result<Option<DynamicObject>> {
        let resource = &place.shape.resource;
        let mut metadata = Map::from_iter([("name".to_owned(), json!(place.parent.name))]);
        for (field, value) in [("namespace", &place.parent.namespace), ("uid", &place.uid)] {
            metadata.extend(value.as_ref().map(|value| (field.to_owned(), json!(value))));
        }
        let body = json!({
            "apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "status": status,
        });
        let api = place.shape.api(&self.client, &place.parent);
        let patch = Patch::Apply(&body);
        match answered_within(limit, api.patch_status(&place.parent.name, &self.params, &patch)).await {
            Ok(stored) => Ok(Some(stored)),
            Err(kube::Error::Api(status)) if status.code == 404 || status.is_conflict() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns true if the very parent exists.
    async fn is_there(&self, place: &Place, limit: Duration) -> kube::Result<bool> {
        let api = place.shape.api(&self.client, &place.parent);
        match answered_within(limit, api.get_opt(&place.parent.name)).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
            found => Ok(found?.is_some_and(|found| found.metadata.uid == place.uid)),
        }
    }

    /// This pod's entries by number, including those that another run of the pod has left.
    pub(crate) async fn list(&mut self, limit: Duration) -> kube::Result<BTreeMap<u32, Option<PodReport>>> {
        let mut found = BTreeMap::new();
        for shape in self.shapes.clone() {
            let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &shape.resource);
            for object in answered_within(limit, api.list(&ListParams::default())).await? {
                let Some(entry) = self.entry_in(&object) else { continue };
                let parent = ParentKey::of(&object, &shape.resource).reference;
                let known = self.places.iter().find(|(_, place)| place.parent == parent);
                let report = known.and_then(|(_, place)| place.applied.as_ref());
                let report = report.filter(|(applied, _)| applied == entry).map(|(_, report)| report.clone());
                let number = known.map(|(number, _)| *number);
                let number = number.unwrap_or_else(|| self.left_over(&shape, parent));
                found.insert(number, Some(report.unwrap_or_default()));
            }
        }
        Ok(found)
    }

    fn left_over(&mut self, shape: &Arc<Shape>, parent: ParentRef) -> u32 {
        let last = self.places.keys().next_back().copied().unwrap_or_default();
        let number = last.saturating_add(1).max(LEFT_OVER);
        self.places.insert(number, Place { shape: Arc::clone(shape), parent, uid: None, applied: None });
        number
    }

    /// This pod's entry.
    fn entry_in<'a>(&self, object: &'a DynamicObject) -> Option<&'a Value> {
        let entries = object.data.get("status")?.get("byPod")?.as_array()?;
        entries.iter().find(|entry| entry.get("id").and_then(Value::as_str) == Some(&self.pod))
    }
}

/// Returns true if the API server merges the entries, by what it says about their owners.
fn merges(object: &DynamicObject, pod: &str) -> bool {
    let key = format!("k:{}", json!({"id": pod}));
    let owns = |fields: &Value| {
        fields.pointer("/f:status/f:byPod").is_some_and(|entries| entries.get(&key).is_some())
    };
    object.managed_fields().iter().filter_map(|entry| entry.fields_v1.as_ref()).any(|fields| owns(&fields.0))
}

#[cfg(test)]
mod tests {
    use kube::core::{ApiResource, GroupVersionKind};
    use proptest::prelude::*;

    use super::*;
    use crate::readiness::ErrorClass;
    use crate::report::PodError;

    #[test]
    fn a_list_that_is_replaced_as_a_whole_is_noticed() {
        let variable = |name: &str| Some(name.to_lowercase());
        let identity = PodIdentity::from_variables(variable, ["webhook"]).unwrap();
        let key = json!({"id": identity.name}).to_string();
        for (by_pod, is_merged) in [(json!({ format!("k:{key}"): {} }), true), (json!({}), false)] {
            let fields = json!({"f:status": {"f:byPod": by_pod}});
            let managed =
                json!([{"manager": "m", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": fields}]);
            let object = json!({"metadata": {"name": "p", "managedFields": managed}});
            let object: DynamicObject = serde_json::from_value(object).unwrap();
            assert_eq!(merges(&object, &identity.name), is_merged);
        }
    }

    proptest! {
        #[test]
        fn what_a_pod_applies_is_what_the_aggregator_reads(
            uid in prop::option::of("[a-z]{1,4}"),
            operations in prop::collection::btree_set("[a-z]{1,4}", 0..3),
            generation in 1..9i64,
            errors in prop::collection::vec(("[a-z]{0,3}", "[ -~]{0,9}", prop::option::of("[a-z]"), any::<bool>()), 0..3),
            enforcing in prop::option::of(1..9i64),
            enforced in prop::option::of(any::<bool>()),
        ) {
            let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("g", "v1", "K"));
            let shape = Shape::new(resource, "kUID");
            let parent = ParentRef::new("g", "K", "p");
            let member = Member { uid, operations, ..Member::new("a", "run") };
            let error = |(code, message, location, retried): (String, String, Option<String>, bool)| {
                let class = if retried { ErrorClass::Transient } else { ErrorClass::Permanent };
                let error = PodError::new(code, message).class(class);
                location.into_iter().fold(error, PodError::at)
            };
            let about = Entry::new(ParentKey::new(parent.clone(), "u"), generation)
                .errors(errors.into_iter().map(error).collect())
                .detail(enforced.map_or(Value::Null, |enforced| json!({"enforced": enforced})));
            let about = Entry { enforcing, ..about };
            let status = json!({"byPod": [entry(&shape, &member, &about), {"id": "another"}]});
            let read = read(&shape, &parent, &status);
            prop_assert_eq!(read, [Some(Reported::new(member, about)), None]);
        }
    }
}
