//! Gatekeeper's pod-status kinds: one object for each pod and parent, with its names, labels and fields.
//!
//! Its status controller, its tools and its users read these objects. With [`crate::ReporterConfig::per_parent`] this
//! pod writes them in place of shards; with [`crate::AggregatorConfig::per_parent`] the aggregator reads them, also
//! those that Gatekeeper's own pods write, so that a cluster can be migrated pod by pod.
//!
//! Gatekeeper's fields do not hold everything that a report does, and its schemas prune what they do not know. An
//! annotation holds the whole report; without one, the fields are read.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::api::DynamicObject;
use kube::core::{ApiResource, GroupVersionKind};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::name::{label_value, pack, unpack};
use crate::parent::{ParentKey, ParentRef};
use crate::readiness::ErrorClass;
use crate::report::{Entry, Member, PodError, PodReport};

const GROUP: &str = "status.gatekeeper.sh";
const LABELS: &str = "internal.gatekeeper.sh";
/// The label with the pod's name.
pub(crate) const POD_LABEL: &str = "internal.gatekeeper.sh/pod";
/// The codes and types of Gatekeeper's errors that are about the text of the object alone: the same text cannot succeed. Beside
/// them are OPA's, which begin with `rego_`. Its `create_error` and `update_error` mean a refused or unanswered write, too, and an
/// error of a constraint, which has no code, that its template is still missing.
const PERMANENT: [&str; 4] = ["conversion_error", "ingest_error", "parse_error", "ErrConflictingSchema"];
/// The annotation with the whole report.
const REPORT: &str = "status.webtroller.dev/report";

/// One of Gatekeeper's pod-status kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodStatusKind {
    kind: &'static str,
    version: &'static str,
    /// The group of the parents, and their kind; nothing for every kind of the group.
    parent: (&'static str, Option<&'static str>),
    /// The field with the parent's uid.
    uid: &'static str,
    /// The word in the labels: `constraint` for `constraint-name`.
    word: &'static str,
    /// The parts of the name after the pod's.
    name: Name,
    /// The field of an error with its short name.
    code: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Plain,
    WithKind,
    WithNamespace,
}

macro_rules! kinds {
    ($($constant:ident: $kind:literal $version:literal, $parent:expr, $uid:literal, $word:literal, $name:ident, $code:literal;)+) => {
        impl PodStatusKind {
            $(
                #[doc = concat!("`", $kind, "`, version ", $version, ".")]
                pub const $constant: Self = Self {
                    kind: $kind, version: $version, parent: $parent, uid: $uid, word: $word, name: Name::$name, code: $code,
                };
            )+
            /// All seven kinds.
            pub const ALL: &'static [Self] = &[$(Self::$constant),+];
        }
    };
}

kinds! {
    CONSTRAINT: "ConstraintPodStatus" "v1beta1", ("constraints.gatekeeper.sh", None), "constraintUID", "constraint", WithKind, "code";
    TEMPLATE: "ConstraintTemplatePodStatus" "v1beta1", ("templates.gatekeeper.sh", Some("ConstraintTemplate")), "templateUID", "constrainttemplate", Plain, "code";
    CONFIG: "ConfigPodStatus" "v1beta1", ("config.gatekeeper.sh", Some("Config")), "configUID", "config", WithNamespace, "type";
    EXPANSION: "ExpansionTemplatePodStatus" "v1beta1", ("expansion.gatekeeper.sh", Some("ExpansionTemplate")), "templateUID", "expansiontemplate", Plain, "type";
    MUTATOR: "MutatorPodStatus" "v1beta1", ("mutations.gatekeeper.sh", None), "mutatorUID", "mutator", WithKind, "type";
    PROVIDER: "ProviderPodStatus" "v1beta1", ("externaldata.gatekeeper.sh", Some("Provider")), "providerUID", "provider", Plain, "type";
    CONNECTION: "ConnectionPodStatus" "v1alpha1", ("connection.gatekeeper.sh", Some("Connection")), "connectionUID", "connection", WithNamespace, "type";
}

impl PodStatusKind {
    /// Returns the resource, such as `constraintpodstatuses.status.gatekeeper.sh`.
    pub fn api_resource(&self) -> ApiResource {
        let gvk = GroupVersionKind::gvk(GROUP, self.version, self.kind);
        ApiResource::from_gvk_with_plural(&gvk, &format!("{}es", self.kind.to_lowercase()))
    }

    /// Returns true if the kind holds reports about `parent`.
    pub fn is_for(&self, parent: &ParentRef) -> bool {
        let (group, kind) = self.parent;
        group == parent.group && kind.is_none_or(|kind| kind == parent.kind)
    }

    /// Returns the name of the object of `pod` for `parent`, as Gatekeeper packs it. Gatekeeper has no name longer than 253
    /// characters; here it ends in a hash.
    pub fn object_name(&self, pod: &str, parent: &ParentRef) -> String {
        let kind = parent.kind.to_lowercase();
        match self.name {
            Name::Plain => pack(&[pod, &parent.name]),
            Name::WithKind => pack(&[pod, &kind, &parent.name]),
            Name::WithNamespace => {
                pack(&[pod, parent.namespace.as_deref().unwrap_or_default(), &parent.name])
            }
        }
    }

    pub(crate) fn labels(&self, pod: &str, parent: &ParentRef) -> BTreeMap<String, String> {
        let label = |part: &str, value: &str| (format!("{LABELS}/{}-{part}", self.word), label_value(value));
        let mut labels =
            BTreeMap::from([(POD_LABEL.to_owned(), label_value(pod)), label("name", &parent.name)]);
        if self.name == Name::WithKind {
            labels.extend([label("kind", &parent.kind)]);
        }
        if self.word == "constraint" {
            // A template has the name of its constraints' kind in lower case.
            let template = label_value(&parent.kind.to_lowercase());
            labels.insert(format!("{LABELS}/constrainttemplate-name"), template);
        }
        labels
    }

    pub(crate) fn annotations(report: &PodReport) -> BTreeMap<String, String> {
        [(REPORT.to_owned(), json!(report).to_string())].into()
    }

    /// Gatekeeper's fields for the one entry of `report`.
    pub(crate) fn status(&self, report: &PodReport) -> Value {
        let Some(entry) = report.entries.first() else { return Value::Null };
        let mut status = entry.detail.as_object().cloned().unwrap_or_default();
        status.insert("id".to_owned(), json!(report.pod.id));
        status.insert(self.uid.to_owned(), json!(entry.parent.uid));
        status.insert("operations".to_owned(), json!(report.pod.operations));
        status.insert("observedGeneration".to_owned(), json!(entry.generation));
        let errors: Vec<Value> = entry.errors.iter().map(|error| self.error(error)).collect();
        status.insert("errors".to_owned(), json!(errors));
        Value::Object(status)
    }

    fn error(&self, error: &PodError) -> Value {
        let mut fields = Map::from_iter([
            (self.code.to_owned(), json!(error.code)),
            ("message".to_owned(), json!(error.message)),
        ]);
        if let Some(location) = error.location.as_ref().filter(|_| self.code == "code") {
            fields.insert("location".to_owned(), json!(location));
        }
        if *self == Self::PROVIDER {
            // Its schema requires them.
            fields.insert("retryable".to_owned(), json!(error.class == ErrorClass::Transient));
            fields.insert("errorTimestamp".to_owned(), json!(Time(Timestamp::now())));
        }
        Value::Object(fields)
    }

    /// The report in an object of this kind, of any writer. Nothing if it cannot be read, or if its fields are not
    /// those that follow from its annotation: another client has changed it.
    pub(crate) fn read(&self, object: &DynamicObject) -> Option<PodReport> {
        let status = object.data.get("status")?;
        let Some(annotation) = object.annotations().get(REPORT) else {
            return self.read_fields(object, status);
        };
        let report: PodReport = serde_json::from_str(annotation).ok()?;
        let wanted = self.status(&report);
        let is_intact = ["id", self.uid, "observedGeneration", "operations"]
            .iter()
            .all(|field| status.get(*field) == wanted.get(*field));
        let count =
            |status: &Value| status.get("errors").map_or(Some(0), |errors| Some(errors.as_array()?.len()));
        (is_intact && count(status) == count(&wanted)).then_some(report)
    }

    /// Reads what Gatekeeper's own pod has reported. It does not register; its Pod shows whether it is there.
    fn read_fields(&self, object: &DynamicObject, status: &Value) -> Option<PodReport> {
        let text = |field: &str| status.get(field).and_then(Value::as_str).map(str::to_owned);
        let label = |part: &str| object.labels().get(&format!("{LABELS}/{}-{part}", self.word)).cloned();
        let owner = object.owner_references().iter().find(|owner| owner.kind == "Pod");
        let pod = Member {
            id: text("id")?,
            uid: owner.map(|owner| owner.uid.clone()),
            operations: BTreeSet::deserialize(status.get("operations")?).ok()?,
            ..Member::default()
        };
        let kind = self.parent.1.map(str::to_owned).or_else(|| label("kind"))?;
        let mut parent = ParentRef::new(self.parent.0, kind, label("name")?);
        if self.name == Name::WithNamespace {
            parent.namespace = unpack(&object.name_any())?.into_iter().nth(1);
        }
        let generation = status.get("observedGeneration")?.as_i64()?;
        let errors = match status.get("errors") {
            None => &[],
            Some(errors) => errors.as_array()?.as_slice(),
        };
        let errors = errors.iter().map(|error| {
            let text = |field: &str| error.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
            let (code, retryable) = (text(self.code), error.get("retryable").and_then(Value::as_bool));
            let class = class(&code, retryable);
            PodError::new(code, text("message")).class(class)
        });
        let mut detail = status.as_object().cloned().unwrap_or_default();
        for field in ["id", self.uid, "operations", "observedGeneration", "errors"] {
            detail.remove(field);
        }
        let entry = Entry::new(ParentKey::new(parent, text(self.uid)?), generation);
        let entry = Entry { detail: Value::Object(detail), ..entry.errors(errors.collect()) };
        Some(PodReport { pod, shard: 1, entries: vec![entry] })
    }
}

/// The class of an error of Gatekeeper's own pod, which states none. It is permanent only if that is certain: at the first
/// permanent one the parent is `Stalled`, and Flux gives up.
fn class(code: &str, retryable: Option<bool>) -> ErrorClass {
    let is_certain = PERMANENT.contains(&code) || code.starts_with("rego_") || retryable == Some(false);
    if is_certain && retryable != Some(true) { ErrorClass::Permanent } else { ErrorClass::Transient }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constraint() -> ParentRef {
        ParentRef::new("constraints.gatekeeper.sh", "K8sRequiredLabels", "all-must-have")
    }

    fn object(kind: PodStatusKind, value: Value) -> DynamicObject {
        let mut object = DynamicObject::new("o", &kind.api_resource());
        object.metadata = serde_json::from_value(value["metadata"].clone()).unwrap();
        object.data = json!({"status": value["status"]});
        object
    }

    #[test]
    fn names_and_labels_are_gatekeepers() {
        let kind = PodStatusKind::CONSTRAINT;
        assert_eq!(kind.api_resource().plural, "constraintpodstatuses");
        assert_eq!(kind.object_name("no-pod", &constraint()), "no--pod-k8srequiredlabels-all--must--have");
        let labels = json!({
            "internal.gatekeeper.sh/pod": "no-pod",
            "internal.gatekeeper.sh/constraint-name": "all-must-have",
            "internal.gatekeeper.sh/constraint-kind": "K8sRequiredLabels",
            "internal.gatekeeper.sh/constrainttemplate-name": "k8srequiredlabels",
        });
        assert_eq!(json!(kind.labels("no-pod", &constraint())), labels);
        let config =
            ParentRef::new("config.gatekeeper.sh", "Config", "config").in_namespace("gatekeeper-system");
        assert_eq!(PodStatusKind::CONFIG.object_name("a", &config), "a-gatekeeper--system-config");
        let template = ParentRef::new("templates.gatekeeper.sh", "ConstraintTemplate", "k8srequiredlabels");
        assert_eq!(PodStatusKind::TEMPLATE.object_name("no-pod", &template), "no--pod-k8srequiredlabels");
        assert_eq!(
            json!(PodStatusKind::TEMPLATE.labels("a", &template)),
            json!({"internal.gatekeeper.sh/pod": "a", "internal.gatekeeper.sh/constrainttemplate-name": "k8srequiredlabels"})
        );
    }

    #[test]
    fn each_parent_has_one_kind() {
        for kind in PodStatusKind::ALL {
            let parent = ParentRef::new(kind.parent.0, kind.parent.1.unwrap_or("Any"), "p");
            assert_eq!(
                PodStatusKind::ALL.iter().filter(|other| other.is_for(&parent)).count(),
                1,
                "{kind:?}"
            );
        }
    }

    #[test]
    fn a_report_comes_back_whole_and_an_edited_one_does_not() {
        for kind in PodStatusKind::ALL {
            let parent =
                ParentRef::new(kind.parent.0, kind.parent.1.unwrap_or("Any"), "p").in_namespace("ns");
            let error = PodError::new("ingest_error", "no").at("line 1");
            let entry = Entry::new(ParentKey::new(parent, "u"), 3).errors(vec![error]);
            let entry = entry.detail(json!({"enforced": true}));
            let pod = Member::new("a", "i1").operations(["webhook"]);
            let report = PodReport { pod, shard: 4, entries: vec![entry] };
            let metadata = json!({"name": "o", "annotations": PodStatusKind::annotations(&report)});
            let mut value = json!({"metadata": metadata, "status": kind.status(&report)});
            assert_eq!(kind.read(&object(*kind, value.clone())), Some(report), "{kind:?}");
            let mut unreadable = value.clone();
            unreadable["status"]["errors"] = json!("no");
            assert_eq!(kind.read(&object(*kind, unreadable)), None, "{kind:?}");
            value["status"]["observedGeneration"] = 4.into();
            assert_eq!(kind.read(&object(*kind, value)), None, "{kind:?}");
        }
    }

    #[test]
    fn what_gatekeepers_own_pods_write_is_read() {
        let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "gatekeeper-audit", "uid": "pod-uid"});
        let value = json!({
            "metadata": {
                "name": "gatekeeper--audit-k8srequiredlabels-all--must--have",
                "labels": PodStatusKind::CONSTRAINT.labels("gatekeeper-audit", &constraint()),
                "ownerReferences": [owner],
            },
            "status": {
                "id": "gatekeeper-audit", "constraintUID": "u", "operations": ["audit", "status"], "enforced": true,
                "observedGeneration": 2, "errors": [{"code": "x", "message": "y"}],
            },
        });
        let report = PodStatusKind::CONSTRAINT.read(&object(PodStatusKind::CONSTRAINT, value)).unwrap();
        assert_eq!(report.pod.uid.as_deref(), Some("pod-uid"));
        let entry = &report.entries[0];
        assert_eq!(entry.parent, ParentKey::new(constraint(), "u"));
        assert_eq!((entry.generation, &entry.detail), (2, &json!({"enforced": true})));
        assert_eq!(entry.errors, [PodError::new("x", "y").class(ErrorClass::Transient)]);
    }

    #[test]
    fn a_status_whose_errors_or_generation_cannot_be_read_is_no_success() {
        let labels = PodStatusKind::CONSTRAINT.labels("a", &constraint());
        let read = |status: Value| {
            let value = json!({"metadata": {"name": "o", "labels": labels}, "status": status});
            PodStatusKind::CONSTRAINT.read(&object(PodStatusKind::CONSTRAINT, value))
        };
        let status =
            json!({"id": "a", "constraintUID": "u", "operations": ["webhook"], "observedGeneration": 1});
        assert!(
            read(status.clone()).unwrap().entries[0].errors.is_empty(),
            "Gatekeeper leaves out what is empty"
        );
        for (field, value) in [
            ("errors", json!({"message": "no"})),
            ("errors", json!("no")),
            ("observedGeneration", json!("1")),
            ("observedGeneration", Value::Null),
        ] {
            let mut status = status.clone();
            status[field] = value;
            assert_eq!(read(status.clone()), None, "{status}");
        }
    }

    #[test]
    fn an_error_of_gatekeepers_own_pod_is_permanent_only_if_that_is_certain() {
        for (code, retryable, expected) in [
            ("ingest_error", None, ErrorClass::Permanent),
            ("conversion_error", None, ErrorClass::Permanent),
            ("rego_parse_error", None, ErrorClass::Permanent),
            ("ErrConflictingSchema", None, ErrorClass::Permanent),
            ("create_error", None, ErrorClass::Transient),
            ("update_error", None, ErrorClass::Transient),
            ("", None, ErrorClass::Transient),
            ("Conversion", Some(false), ErrorClass::Permanent),
            ("UpsertCache", Some(true), ErrorClass::Transient),
        ] {
            assert_eq!(class(code, retryable), expected, "{code}");
        }
    }
}
