//! The namespaces that the Config takes out of the audit: `spec.match[]` with `excludedNamespaces` for the process
//! `audit` or `*`.

use constraint_framework::target::Glob;
use serde::Deserialize;
use serde_json::Value;

/// What is exempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Exemptions(Vec<Glob>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(default)]
    excluded_namespaces: Vec<String>,
    #[serde(default)]
    processes: Vec<String>,
}

impl Exemptions {
    /// The exemptions of a Config. One that cannot be read exempts nothing: more is audited, not less.
    pub(super) fn of(config: &Value) -> Self {
        let entries = config.pointer("/spec/match").cloned().unwrap_or_default();
        let entries: Vec<Entry> = serde_json::from_value(entries).unwrap_or_default();
        let audit =
            |entry: &Entry| entry.processes.iter().any(|process| process == "audit" || process == "*");
        let namespaces = entries.into_iter().filter(audit).flat_map(|entry| entry.excluded_namespaces);
        Self(namespaces.map(|namespace| Glob::new(&namespace)).collect())
    }

    /// Whether objects in this namespace are exempt. Those of the cluster are not.
    pub(super) fn exempt(&self, namespace: &str) -> bool {
        !namespace.is_empty() && self.0.iter().any(|glob| glob.matches(namespace))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn namespaces_are_exempt_by_name_prefix_and_suffix_for_the_audit() {
        let config = json!({"spec": {"match": [
            {"excludedNamespaces": ["kube-*", "*-ci", "one"], "processes": ["audit", "sync"]},
            {"excludedNamespaces": ["everywhere"], "processes": ["*"]},
            {"excludedNamespaces": ["webhook-only"], "processes": ["webhook"]},
        ]}});
        let exemptions = Exemptions::of(&config);
        for (namespace, expected) in [
            ("kube-system", true),
            ("a-ci", true),
            ("one", true),
            ("everywhere", true),
            ("webhook-only", false),
            ("ones", false),
            ("", false),
        ] {
            assert_eq!(exemptions.exempt(namespace), expected, "{namespace}");
        }
        assert_eq!(Exemptions::of(&json!({"spec": {"match": 7}})), Exemptions::default());
    }
}
