//! The target `admission.k8s.gatekeeper.sh`: Kubernetes objects and admission requests.

mod request;

use std::sync::LazyLock;

use rego_compat::Segment;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::api::FieldErrors;
use crate::review::{Document, Review, ReviewSource};

use self::request::AdmissionRequest;

use super::matcher::KubernetesMatcher;
use super::{InventoryPathError, Matcher, Target};

/// The target `admission.k8s.gatekeeper.sh`: Kubernetes objects, in admission requests, in a cluster or in files.
#[derive(Clone, Copy, Debug, Default)]
pub struct AdmissionTarget;

/// The reason why an admission request cannot be reviewed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The text is not an AdmissionRequest.
    #[error("the admission request cannot be read")]
    Decode(#[source] serde_json::Error),
    /// A DELETE without `oldObject`: an API server before 1.15, or a request written by hand.
    #[error("a DELETE request must carry oldObject")]
    DeleteWithoutOldObject,
}

impl Target for AdmissionTarget {
    fn name(&self) -> &str {
        "admission.k8s.gatekeeper.sh"
    }

    fn match_schema(&self) -> Value {
        static SCHEMA: LazyLock<Value> = LazyLock::new(match_schema);
        SCHEMA.clone()
    }

    fn matcher(&self, spec: Option<&Value>) -> Result<Box<dyn Matcher>, FieldErrors> {
        Ok(Box::new(KubernetesMatcher::compile(spec)?))
    }

    /// Returns `cluster/<groupVersion>/<kind>/<name>` or `namespace/<namespace>/<groupVersion>/<kind>/<name>`.
    fn inventory_path(&self, object: &Document) -> Result<Vec<String>, InventoryPathError> {
        let required = |value: &str, what| match value {
            "" => Err(InventoryPathError(what)),
            value => Ok(value.to_owned()),
        };
        let tail = [
            // `/v1` is the core group's `v1`, as to Kubernetes' own parser.
            required(object.api_version().strip_prefix('/').unwrap_or(object.api_version()), "apiVersion")?,
            required(object.kind(), "kind")?,
            required(object.name(), "metadata.name")?,
        ];
        let head = match object.namespace() {
            "" => vec!["cluster".to_owned()],
            namespace => vec!["namespace".to_owned(), namespace.to_owned()],
        };
        Ok(head.into_iter().chain(tail).collect())
    }
}

/// A kind of which a policy reads the objects in the inventory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KindRead {
    /// `<group>/<version>`, or `<version>` in the core group; `None` where the policy takes any.
    pub api_version: Option<String>,
    /// The kind, in CamelCase.
    pub kind: String,
}

impl AdmissionTarget {
    /// Returns the kind that a path below `data.inventory` names; `None` where it is computed at evaluation.
    ///
    /// `data.inventory.namespace[_][version].Ingress[name]` names `Ingress` of any version.
    #[must_use]
    pub fn kind_read(path: &[Segment]) -> Option<KindRead> {
        let of_object = match path.first()? {
            Segment::Key(scope) if scope == "cluster" => path.get(1..)?,
            Segment::Key(scope) if scope == "namespace" => path.get(2..)?,
            _ => return None,
        };
        let literal = |segment: Option<&Segment>| match segment {
            Some(Segment::Key(name)) => Some(name.clone()),
            _ => None,
        };
        Some(KindRead { api_version: literal(of_object.first()), kind: literal(of_object.get(1))? })
    }

    /// Builds the review of an admission request from its JSON text.
    ///
    /// The Namespace object is not part of a request: the caller adds it with
    /// [`Review::into_builder`] before the review is judged. On DELETE the object is the old one, and a Namespace is in no namespace, as in Gatekeeper.
    /// Policies see the fields of an AdmissionRequest and no others, empty ones as Kubernetes' Go types write them.
    ///
    /// # Errors
    /// See [`RequestError`].
    pub fn request(&self, request: &str) -> Result<Review, RequestError> {
        // A list would pass for a struct with every field absent.
        if !request.trim_start().starts_with('{') {
            return Err(RequestError::Decode(serde::de::Error::custom("a request must be a JSON object")));
        }
        let mut request: AdmissionRequest = serde_json::from_str(request).map_err(RequestError::Decode)?;
        let document = |raw: Option<Box<RawValue>>| {
            raw.map(Document::from_raw).transpose().map_err(RequestError::Decode)
        };
        let old_object = document(request.old_object.take())?;
        let mut object = document(request.object.take())?;
        let operation = std::mem::take(&mut request.operation);
        if operation == "DELETE" {
            object = Some(old_object.clone().ok_or(RequestError::DeleteWithoutOldObject)?);
        }
        let attributes = request.into_attributes();
        let source = Some(ReviewSource::Original);
        let review = Review::builder(self.name()).object(object).old_object(old_object);
        Ok(review.operation(operation).source(source).attributes(attributes).build())
    }

    /// Builds the review of an object that is not being admitted: an audit or the command line. Policies see no
    /// operation, no user and no old object, as in Gatekeeper.
    pub fn object(&self, object: Document, source: Option<ReviewSource>) -> Review {
        let kind = json!({"group": object.group(), "version": object.version(), "kind": object.kind()});
        let empty = json!({"group": "", "version": "", "resource": ""});
        let mut attributes = Map::new();
        attributes.insert("uid".to_owned(), json!(""));
        attributes.insert("kind".to_owned(), kind);
        attributes.insert("resource".to_owned(), empty);
        attributes.insert("userInfo".to_owned(), json!({}));
        attributes.insert("options".to_owned(), Value::Null);
        for (key, value) in [("name", object.name()), ("namespace", object.namespace())] {
            if !value.is_empty() {
                attributes.insert(key.to_owned(), Value::from(value));
            }
        }
        Review::builder(self.name()).object(object).source(source).attributes(attributes).build()
    }
}

fn match_schema() -> Value {
    let strings = json!({"type": "array", "items": {"type": "string"}});
    let globs = json!({"type": "array", "items": {"type": "string", "pattern": GLOB_PATTERN}});
    json!({
        "type": "object",
        "description": "Which objects the constraint applies to; all criteria must hold.",
        "properties": {
            "kinds": {"type": "array", "items": {"type": "object", "properties": {"apiGroups": strings, "kinds": strings}}},
            "scope": {"type": "string"},
            "namespaces": globs,
            "excludedNamespaces": globs,
            "labelSelector": label_selector_schema(),
            "namespaceSelector": label_selector_schema(),
            "name": {"type": "string", "pattern": GLOB_PATTERN},
            "source": {"type": "string", "enum": ["All", "Generated", "Original"]}
        }
    })
}

const GLOB_PATTERN: &str = r"^\*?[-:a-z0-9]*\*?$";

fn label_selector_schema() -> Value {
    json!({
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "matchLabels": {"type": "object", "additionalProperties": {"type": "string"}},
            "matchExpressions": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {
                "type": "object",
                "required": ["key", "operator"],
                "properties": {
                    "key": {"type": "string"},
                    "operator": {"type": "string"},
                    "values": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "string"}}
                }
            }}
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(value: &Value) -> Result<Review, RequestError> {
        AdmissionTarget.request(&value.to_string())
    }

    #[test]
    fn a_create_keeps_every_attribute_for_the_policy() {
        let review = request(&json!({
            "uid": "u", "operation": "CREATE", "userInfo": {"username": "ann"}, "namespace": "shop",
            "object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}, "oldObject": null
        }))
        .unwrap();
        assert_eq!(review.operation(), "CREATE");
        assert!(review.old_object().is_none());
        let input = review.rego().unwrap().to_json_str();
        let input: Value = serde_json::from_str(&input).unwrap();
        assert_eq!(input["userInfo"]["username"], "ann");
        assert_eq!(input["object"]["metadata"]["name"], "a");
        assert_eq!((&input["oldObject"], &input["namespaceObject"]), (&Value::Null, &Value::Null));
    }

    #[test]
    fn a_delete_is_judged_by_the_old_object() {
        let old = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}});
        let review = request(&json!({"operation": "DELETE", "oldObject": old})).unwrap();
        assert_eq!(review.object().unwrap().name(), "a");
        let error = request(&json!({"operation": "DELETE"})).unwrap_err();
        assert!(matches!(error, RequestError::DeleteWithoutOldObject));
    }

    #[test]
    fn a_namespace_has_no_namespace_of_its_own() {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
        let kind = json!({"group": "", "version": "v1", "kind": "Namespace"});
        let review =
            request(&json!({"operation": "CREATE", "namespace": "shop", "kind": kind, "object": object}))
                .unwrap();
        assert_eq!(review.attributes().get("namespace"), None);
    }

    #[test]
    fn a_request_written_by_hand_looks_like_one_of_an_api_server() {
        let review = request(&json!({
            "name": "", "dryRun": null, "comment": "x", "kind": {"kind": "Pod"}, "userInfo": {"username": "", "groups": []}
        }));
        let expected = json!({
            "uid": "", "kind": {"group": "", "version": "", "kind": "Pod"},
            "resource": {"group": "", "version": "", "resource": ""}, "userInfo": {}, "options": null
        });
        assert_eq!(Value::from(review.unwrap().attributes().clone()), expected);
    }

    #[test]
    fn a_malformed_request_is_an_error() {
        for text in [
            "",
            "[]",
            "{\"object\": 1}",
            "{\"object\": []}",
            "{\"operation\": 1}",
            "{\"object\": {\"metadata\": 1}}",
        ] {
            assert!(matches!(AdmissionTarget.request(text), Err(RequestError::Decode(_))), "{text}");
        }
    }

    #[test]
    fn inventory_paths_are_gatekeepers() {
        let path = |value: Value| AdmissionTarget.inventory_path(&Document::from_value(&value).unwrap());
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "n"}});
        assert_eq!(path(pod).unwrap(), ["namespace", "n", "v1", "Pod", "a"]);
        let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "a"}});
        assert_eq!(path(role).unwrap(), ["cluster", "rbac.authorization.k8s.io/v1", "ClusterRole", "a"]);
        let slashed = json!({"apiVersion": "/v1", "kind": "Namespace", "metadata": {"name": "a"}});
        assert_eq!(path(slashed).unwrap(), ["cluster", "v1", "Namespace", "a"]);
        assert!(path(json!({"kind": "Pod"})).is_err());
    }

    #[test]
    fn a_read_of_the_inventory_names_a_kind_or_leaves_it_open() {
        let (key, any) = (|name: &str| Segment::Key(name.to_owned()), Segment::Any);
        let kind = |path: &[Segment]| {
            AdmissionTarget::kind_read(path).map(|read| format!("{:?} {}", read.api_version, read.kind))
        };
        let ingresses = [key("namespace"), any.clone(), any.clone(), key("Ingress"), any.clone()];
        assert_eq!(kind(&ingresses).as_deref(), Some("None Ingress"));
        let namespaces = [key("cluster"), key("v1"), key("Namespace")];
        assert_eq!(kind(&namespaces).as_deref(), Some("Some(\"v1\") Namespace"));
        for open in [&[][..], &[key("cluster")], &[any.clone(), any.clone(), key("Pod")], &ingresses[..3]] {
            assert_eq!(kind(open), None, "{open:?}");
        }
    }
}
