//! The target: which requests a rule is about, as `match` and `exclude` of a ClusterPolicy say.

use constraint_framework::api::{FieldError, FieldErrors};
use constraint_framework::review::{Document, Review};
use constraint_framework::target::AdmissionTarget;
use constraint_framework::target::{
    InventoryPathError, MatchCriteria, MatchError, Matcher, RequestError, Target,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::operand::wildcard;

pub(super) const NAME: &str = "clusterpolicy.kyverno.example";

/// Judges admission requests by ClusterPolicies.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClusterPolicyTarget;

/// The objects that a rule selects, without those it excludes.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Selection {
    r#match: Filters,
    #[serde(default)]
    exclude: Filters,
}

/// One of `any` fits, or all of `all`; without both, nothing does.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Filters {
    any: Vec<Filter>,
    all: Vec<Filter>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    resources: Resources,
}

/// A list left out fits everything.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Resources {
    /// `Kind`, `version/Kind` or `group/version/Kind`.
    kinds: Vec<String>,
    names: Vec<String>,
    namespaces: Vec<String>,
    operations: Vec<String>,
}

impl ClusterPolicyTarget {
    /// The review of an admission request: the same content, for the constraints of this target.
    pub(crate) fn request(self, request: &str) -> Result<Review, RequestError> {
        let review = AdmissionTarget.request(request)?;
        let copy = Review::builder(self.name())
            .operation(review.operation())
            .attributes(review.attributes().clone());
        Ok(copy.object(review.object().cloned()).old_object(review.old_object().cloned()).build())
    }

    /// The review of an object in a file: Kyverno's command line takes it for one that is created.
    pub(crate) fn object(self, object: Document) -> Review {
        Review::builder(self.name()).operation("CREATE").object(object).build()
    }
}

impl Target for ClusterPolicyTarget {
    fn name(&self) -> &str {
        NAME
    }

    fn match_schema(&self) -> Value {
        let filters = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        json!({"type": "object", "properties": {"match": filters, "exclude": filters}})
    }

    fn matcher(&self, spec: Option<&Value>) -> Result<Box<dyn Matcher>, FieldErrors> {
        let selection = Selection::deserialize(spec.unwrap_or(&Value::Null));
        let wrong =
            |error: serde_json::Error| FieldErrors::from(FieldError::new("/spec/match", error.to_string()));
        let selection = selection.map_err(wrong)?;
        let unsupported = selection.kinds().find(|kind| !is_supported(kind));
        if let Some(kind) = unsupported {
            let message = format!("kinds: {kind:?}: subresources are not supported here");
            return Err(FieldError::new("/spec/match", message).into());
        }
        Ok(Box::new(selection))
    }

    /// Patterns refer to no other object.
    fn inventory_path(&self, _: &Document) -> Result<Vec<String>, InventoryPathError> {
        Err(InventoryPathError("place: patterns refer to no other object"))
    }
}

impl Selection {
    fn kinds(&self) -> impl Iterator<Item = &str> {
        let all = [&self.r#match.any, &self.r#match.all, &self.exclude.any, &self.exclude.all];
        all.into_iter().flatten().flat_map(|filter| filter.resources.kinds.iter().map(String::as_str))
    }
}

/// Kyverno reads `Pod/exec`, `Pod.exec` and `v1/Pod/exec` as subresources, and `*/*` as everything with subresources.
fn is_supported(kind: &str) -> bool {
    let is_version = |text: &str| {
        text == "*"
            || text.strip_prefix('v').is_some_and(|rest| rest.starts_with(|sign: char| sign.is_ascii_digit()))
    };
    let parts = kind.split('/').collect::<Vec<_>>();
    !kind.rsplit('/').next().is_some_and(|last| last.contains('.'))
        && match parts.as_slice() {
            [_] => true,
            ["*", kind] => kind.starts_with(|sign: char| sign.is_ascii_uppercase()),
            [version, _] => is_version(version),
            [group, _, _] => !is_version(group),
            _ => false,
        }
}

impl Matcher for Selection {
    fn criteria(&self) -> MatchCriteria {
        MatchCriteria::everywhere()
    }

    fn matches(&self, review: &Review) -> Result<bool, MatchError> {
        let object = review.object().ok_or(MatchError::NoObject)?;
        Ok(self.r#match.fit(review, object) && !self.exclude.fit(review, object))
    }
}

impl Filters {
    fn fit(&self, review: &Review, object: &Document) -> bool {
        let fits = |filter: &Filter| filter.resources.fit(review, object);
        self.any.iter().any(fits) || (!self.all.is_empty() && self.all.iter().all(fits))
    }
}

impl Resources {
    fn fit(&self, review: &Review, object: &Document) -> bool {
        let one_of = |list: &[String], text: &str| {
            list.is_empty() || list.iter().any(|pattern| wildcard(pattern, text))
        };
        // Kyverno's default: a rule is asked about what would be, and not about deletions.
        let operation = match self.operations.is_empty() {
            true => matches!(review.operation(), "CREATE" | "UPDATE"),
            false => one_of(&self.operations, review.operation()),
        };
        let kind = self.kinds.iter().any(|kind| is_kind(kind, object));
        kind && operation
            && one_of(&self.names, object.name())
            && one_of(&self.namespaces, object.namespace())
    }
}

fn is_kind(wanted: &str, object: &Document) -> bool {
    match wanted.split('/').collect::<Vec<_>>().as_slice() {
        [kind] => wildcard(kind, object.kind()),
        [version, kind] => wildcard(version, object.version()) && wildcard(kind, object.kind()),
        [group, version, kind] => {
            wildcard(group, object.group())
                && wildcard(version, object.version())
                && wildcard(kind, object.kind())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(spec: Value, operation: &str, expected: bool) {
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}});
        let object = Document::from_value(&deployment).unwrap();
        let review = Review::builder(NAME).operation(operation).object(object).build();
        assert_eq!(
            ClusterPolicyTarget.matcher(Some(&spec)).unwrap().matches(&review),
            Ok(expected),
            "{spec}"
        );
    }

    #[test]
    fn kinds_names_namespaces_and_operations_select() {
        let any = |resources: Value| json!({"match": {"any": [{"resources": resources}]}});
        for kind in
            ["Deployment", "apps/v1/Deployment", "apps/*/Deployment", "v1/Deployment", "*/Deployment", "*"]
        {
            check(any(json!({"kinds": [kind]})), "CREATE", true);
        }
        check(any(json!({"kinds": ["Pod"]})), "CREATE", false);
        check(any(json!({"kinds": ["batch/v1/Deployment"]})), "CREATE", false);
        check(any(json!({"kinds": ["Deployment"]})), "DELETE", false);
        check(any(json!({"kinds": ["Deployment"], "operations": ["DELETE"]})), "DELETE", true);
        check(any(json!({"kinds": ["Deployment"], "namespaces": ["sh*"], "names": ["db"]})), "CREATE", false);
        let two = json!({"match": {"all": [{"resources": {"kinds": ["Deployment"]}}, {"resources": {"kinds": ["Pod"]}}]}});
        check(two, "CREATE", false);
    }

    #[test]
    fn what_is_excluded_is_not_matched_and_unknown_fields_are_refused() {
        let deployments = json!({"any": [{"resources": {"kinds": ["Deployment"]}}]});
        check(json!({"match": deployments, "exclude": deployments}), "CREATE", false);
        let users = json!({"match": {"any": [{"resources": {"kinds": ["Pod"]}, "subjects": []}]}});
        assert!(ClusterPolicyTarget.matcher(Some(&users)).is_err());
        for kind in [
            "Deployment/scale",
            "Deployment.scale",
            "v1/Pod/exec",
            "apps/v1/Deployment/scale",
            "*/scale",
            "*/*",
        ] {
            let subresource = json!({"match": {"any": [{"resources": {"kinds": [kind]}}]}});
            let refused = ClusterPolicyTarget.matcher(Some(&subresource)).map(drop);
            assert!(refused.is_err_and(|error| error.to_string().contains(kind)), "{kind}");
        }
    }
}
