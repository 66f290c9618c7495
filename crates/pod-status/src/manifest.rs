//! The objects to install before any pod reports: the definition of the report kind, and the permissions.

use std::collections::BTreeMap;

use k8s_openapi::api::rbac::v1::PolicyRule;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition, CustomResourceDefinitionNames,
    CustomResourceDefinitionSpec, CustomResourceDefinitionVersion, CustomResourceValidation, JSONSchemaProps,
    JSONSchemaPropsOrArray,
};
use kube::api::ObjectMeta;
use kube::core::ApiResource;

use crate::gatekeeper::PodStatusKind;
use crate::report::ReportKind;

impl ReportKind {
    /// Returns the CustomResourceDefinition, to be installed before any pod reports.
    pub fn crd(&self) -> CustomResourceDefinition {
        let columns = vec![
            column("Pod", "string", ".pod.id"),
            column("Shard", "integer", ".shard"),
            column("Age", "date", ".metadata.creationTimestamp"),
        ];
        definition(&self.api_resource(), schema(), columns)
    }

    /// Returns the CustomResourceDefinition of the object with the activations, to be installed before any strict rollout.
    pub fn epoch_crd(&self) -> CustomResourceDefinition {
        let columns = vec![column("Age", "date", ".metadata.creationTimestamp")];
        definition(&self.epoch_resource(), activations(), columns)
    }

    /// Returns the rules of a Role in the pods' namespace for strict rollouts.
    pub fn strict_rules(&self) -> Vec<PolicyRule> {
        let resource = self.epoch_resource();
        vec![rule(&resource.group, &resource.plural, &["get", "create", "update"])]
    }

    /// Returns the rules of a Role in the pods' namespace, for a process that reports and aggregates.
    pub fn namespace_rules(&self) -> Vec<PolicyRule> {
        vec![
            rule(&self.group, &self.plural, &["get", "list", "watch", "create", "patch", "delete"]),
            rule("", "pods", &["get", "list", "watch"]),
            rule("coordination.k8s.io", "leases", &["get", "create", "update"]),
        ]
    }
}

/// Returns the rules of a ClusterRole that let the aggregator read these kinds of parents and write their statuses.
pub fn parent_rules<'a>(parents: impl IntoIterator<Item = &'a ApiResource>) -> Vec<PolicyRule> {
    with_status(parents, "get")
}

/// Returns the rules of a Role in the pods' namespace for a process that reports or reads these kinds of Gatekeeper's.
pub fn per_parent_rules<'a>(kinds: impl IntoIterator<Item = &'a PodStatusKind>) -> Vec<PolicyRule> {
    let rules = |kind: &PodStatusKind| {
        let resource = kind.api_resource();
        rule(&resource.group, &resource.plural, &["get", "list", "watch", "create", "patch", "delete"])
    };
    kinds.into_iter().map(rules).collect()
}

/// Returns the rules of a ClusterRole for a process that applies its entries to these kinds of parents itself.
pub fn direct_rules<'a>(parents: impl IntoIterator<Item = &'a ApiResource>) -> Vec<PolicyRule> {
    with_status(parents, "list")
}

/// Rules to read the parents by `verb`, and to write their statuses.
fn with_status<'a>(parents: impl IntoIterator<Item = &'a ApiResource>, verb: &str) -> Vec<PolicyRule> {
    let rules = |resource: &ApiResource| {
        let status = format!("{}/status", resource.plural);
        [rule(&resource.group, &resource.plural, &[verb]), rule(&resource.group, &status, &["patch"])]
    };
    parents.into_iter().flat_map(rules).collect()
}

fn definition(
    resource: &ApiResource,
    schema: JSONSchemaProps,
    columns: Vec<CustomResourceColumnDefinition>,
) -> CustomResourceDefinition {
    let names = CustomResourceDefinitionNames {
        kind: resource.kind.clone(),
        list_kind: Some(format!("{}List", resource.kind)),
        plural: resource.plural.clone(),
        singular: Some(resource.kind.to_lowercase()),
        ..CustomResourceDefinitionNames::default()
    };
    let version = CustomResourceDefinitionVersion {
        name: resource.version.clone(),
        served: true,
        storage: true,
        schema: Some(CustomResourceValidation { open_api_v3_schema: Some(schema) }),
        additional_printer_columns: Some(columns),
        ..CustomResourceDefinitionVersion::default()
    };
    CustomResourceDefinition {
        metadata: ObjectMeta {
            name: Some(format!("{}.{}", resource.plural, resource.group)),
            ..ObjectMeta::default()
        },
        spec: CustomResourceDefinitionSpec {
            group: resource.group.clone(),
            scope: "Namespaced".to_owned(),
            names,
            versions: vec![version],
            ..CustomResourceDefinitionSpec::default()
        },
        status: None,
    }
}

fn rule(group: &str, resource: &str, verbs: &[&str]) -> PolicyRule {
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(vec![resource.to_owned()]),
        verbs: verbs.iter().map(|&verb| verb.to_owned()).collect(),
        ..PolicyRule::default()
    }
}

fn column(name: &str, type_: &str, path: &str) -> CustomResourceColumnDefinition {
    CustomResourceColumnDefinition {
        name: name.to_owned(),
        type_: type_.to_owned(),
        json_path: path.to_owned(),
        ..CustomResourceColumnDefinition::default()
    }
}

fn text() -> JSONSchemaProps {
    JSONSchemaProps { type_: Some("string".to_owned()), ..JSONSchemaProps::default() }
}

fn integer(minimum: Option<f64>) -> JSONSchemaProps {
    JSONSchemaProps {
        type_: Some("integer".to_owned()),
        format: Some("int64".to_owned()),
        minimum,
        ..JSONSchemaProps::default()
    }
}

fn list(items: JSONSchemaProps) -> JSONSchemaProps {
    JSONSchemaProps {
        type_: Some("array".to_owned()),
        x_kubernetes_list_type: Some("atomic".to_owned()),
        items: Some(JSONSchemaPropsOrArray::Schema(Box::new(items))),
        ..JSONSchemaProps::default()
    }
}

fn object<const N: usize>(required: &[&str], fields: [(&str, JSONSchemaProps); N]) -> JSONSchemaProps {
    JSONSchemaProps {
        type_: Some("object".to_owned()),
        required: (!required.is_empty()).then(|| required.iter().map(|&name| name.to_owned()).collect()),
        properties: Some(
            fields.map(|(name, schema)| (name.to_owned(), schema)).into_iter().collect::<BTreeMap<_, _>>(),
        ),
        ..JSONSchemaProps::default()
    }
}

fn flag() -> JSONSchemaProps {
    JSONSchemaProps { type_: Some("boolean".to_owned()), ..JSONSchemaProps::default() }
}

fn activations() -> JSONSchemaProps {
    let fields = [
        ("group", text()),
        ("kind", text()),
        ("namespace", text()),
        ("name", text()),
        ("uid", text()),
        ("generation", integer(None)),
        ("settled", flag()),
        ("late", flag()),
    ];
    let activation = object(&["kind", "name", "uid", "generation"], fields);
    let description =
        "The generations that are in force in strict rollouts. Written by the aggregator. Do not delete.";
    JSONSchemaProps {
        description: Some(description.to_owned()),
        ..object(&[], [("activations", list(activation))])
    }
}

fn schema() -> JSONSchemaProps {
    let detail = JSONSchemaProps {
        type_: Some("object".to_owned()),
        x_kubernetes_preserve_unknown_fields: Some(true),
        ..JSONSchemaProps::default()
    };
    let error = object(
        &["message"],
        [("code", text()), ("message", text()), ("location", text()), ("class", text())],
    );
    let entry = object(
        &["kind", "name", "uid", "generation"],
        [
            ("group", text()),
            ("kind", text()),
            ("namespace", text()),
            ("name", text()),
            ("uid", text()),
            ("generation", integer(None)),
            ("enforcing", integer(None)),
            ("sequence", integer(Some(0.0))),
            ("errors", list(error)),
            ("detail", detail),
        ],
    );
    let pod = object(
        &["id", "incarnation"],
        [
            ("id", text()),
            ("uid", text()),
            ("incarnation", text()),
            ("operations", list(text())),
            ("ttlSeconds", integer(Some(1.0))),
            ("heartbeat", integer(None)),
            ("stopped", flag()),
            ("incomplete", flag()),
        ],
    );
    let fields = [("pod", pod), ("shard", integer(Some(0.0))), ("entries", list(entry))];
    JSONSchemaProps {
        description: Some("The outcomes of one pod. Written by that pod alone.".to_owned()),
        ..object(&["pod", "shard"], fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each resource with its verbs.
    fn rights(rules: &[PolicyRule]) -> Vec<String> {
        let name = |rule: &PolicyRule| rule.resources.iter().flatten().cloned().collect::<String>();
        rules.iter().map(|rule| format!("{}: {}", name(rule), rule.verbs.join(" "))).collect()
    }

    #[test]
    fn the_rights_are_those_of_the_guide() {
        let kind = ReportKind::default();
        let policy = kind.api_resource();
        assert_eq!(
            rights(&kind.namespace_rules()),
            [
                "podreports: get list watch create patch delete",
                "pods: get list watch",
                "leases: get create update"
            ]
        );
        assert_eq!(rights(&kind.strict_rules()), ["activationepochs: get create update"]);
        assert_eq!(rights(&parent_rules([&policy])), ["podreports: get", "podreports/status: patch"]);
        assert_eq!(rights(&direct_rules([&policy])), ["podreports: list", "podreports/status: patch"]);
    }
}
