//! Diagnostics of `migrate check`, each with the place in the documents that describes it.

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// Something that is in use has no effect here, or is refused.
    Unsupported,
    /// Something behaves differently.
    Different,
    /// Nothing to do.
    Note,
}

/// The subject of a diagnostic. The order is that of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rule {
    Mutator,
    Provider,
    ExpansionTemplate,
    Connection,
    TemplateRefused,
    TemplateReachesOutside,
    ConstraintRefused,
    OnlyAdmissionPolicy,
    AdmissionPolicyPoint,
    FlagRefused,
    NotSynced,
    CommandLinePoint,
    FlagDifferent,
    Lockout,
    MessageNotText,
    PolicyFails,
    Unreadable,
    NumbersInMessages,
    NamespaceObject,
    YamlWords,
    MessageExpression,
    AdmissionPolicy,
    WebhookSettings,
    FlagIgnored,
}

/// The place where the documents describe something: a page, and the words of its row or sentence.
pub(super) type Described = (&'static str, &'static str);

const DIFFERENCES: &str = "docs/differences.md";
const FLAGS: &str = "docs/gatekeeper-flags.md";
const MIGRATION: &str = "docs/migrate.md";

impl Rule {
    #[cfg(test)]
    pub(super) const ALL: [Self; 24] = [
        Self::Mutator,
        Self::Provider,
        Self::ExpansionTemplate,
        Self::Connection,
        Self::TemplateRefused,
        Self::TemplateReachesOutside,
        Self::ConstraintRefused,
        Self::OnlyAdmissionPolicy,
        Self::AdmissionPolicyPoint,
        Self::FlagRefused,
        Self::NotSynced,
        Self::CommandLinePoint,
        Self::FlagDifferent,
        Self::Lockout,
        Self::MessageNotText,
        Self::PolicyFails,
        Self::Unreadable,
        Self::NumbersInMessages,
        Self::NamespaceObject,
        Self::YamlWords,
        Self::MessageExpression,
        Self::AdmissionPolicy,
        Self::WebhookSettings,
        Self::FlagIgnored,
    ];

    pub(super) const fn level(self) -> Level {
        match self {
            Self::Mutator
            | Self::Provider
            | Self::ExpansionTemplate
            | Self::Connection
            | Self::TemplateRefused
            | Self::TemplateReachesOutside
            | Self::ConstraintRefused
            | Self::OnlyAdmissionPolicy
            | Self::AdmissionPolicyPoint
            | Self::FlagRefused => Level::Unsupported,
            Self::NotSynced
            | Self::CommandLinePoint
            | Self::FlagDifferent
            | Self::Lockout
            | Self::MessageNotText
            | Self::PolicyFails
            | Self::Unreadable
            | Self::NumbersInMessages
            | Self::NamespaceObject
            | Self::YamlWords
            | Self::MessageExpression
            | Self::AdmissionPolicy
            | Self::WebhookSettings => Level::Different,
            Self::FlagIgnored => Level::Note,
        }
    }

    /// A word for programs.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Mutator => "mutator",
            Self::Provider => "provider",
            Self::ExpansionTemplate => "expansion-template",
            Self::Connection => "connection",
            Self::TemplateRefused => "template-refused",
            Self::TemplateReachesOutside => "template-reaches-outside",
            Self::ConstraintRefused => "constraint-refused",
            Self::OnlyAdmissionPolicy => "only-admission-policy",
            Self::AdmissionPolicyPoint => "admission-policy-point",
            Self::FlagRefused => "flag-refused",
            Self::NotSynced => "not-synced",
            Self::CommandLinePoint => "command-line-point",
            Self::FlagDifferent => "flag-different",
            Self::Lockout => "lockout",
            Self::MessageNotText => "message-not-text",
            Self::PolicyFails => "policy-fails",
            Self::Unreadable => "unreadable",
            Self::NumbersInMessages => "numbers-in-messages",
            Self::NamespaceObject => "namespace-object",
            Self::YamlWords => "yaml-words",
            Self::MessageExpression => "message-expression",
            Self::AdmissionPolicy => "admission-policy",
            Self::WebhookSettings => "webhook-settings",
            Self::FlagIgnored => "flag-ignored",
        }
    }

    pub(super) const fn described(self) -> Described {
        match self {
            Self::Mutator | Self::Provider | Self::ExpansionTemplate | Self::AdmissionPolicy => (
                DIFFERENCES,
                "Mutation, external data, expansion in the webhook and the generation of ValidatingAdmissionPolicies",
            ),
            Self::Connection => (FLAGS, "this release exports no violations to a connection"),
            Self::TemplateRefused => (DIFFERENCES, "a template whose code does not compile"),
            Self::TemplateReachesOutside => (DIFFERENCES, "`http.send`, `net.lookup_ip_addr`, `opa.runtime`"),
            Self::ConstraintRefused => (DIFFERENCES, "a constraint with errors"),
            Self::OnlyAdmissionPolicy | Self::AdmissionPolicyPoint | Self::CommandLinePoint => {
                (DIFFERENCES, "a constraint that is scoped to `vap.k8s.io` or `gator.gatekeeper.sh`")
            }
            Self::NotSynced => {
                (DIFFERENCES, "a constraint whose template refers to a kind that no SyncSet or Config lists")
            }
            Self::FlagRefused | Self::FlagDifferent | Self::FlagIgnored => {
                (FLAGS, "A flag that is refused ends the process")
            }
            Self::Lockout => {
                (DIFFERENCES, "a constraint that denies the Leases or the registration of nodes")
            }
            Self::MessageNotText => (DIFFERENCES, "a policy's `msg` is not text"),
            Self::PolicyFails => (DIFFERENCES, "a rule conflict, or an exhausted budget"),
            Self::Unreadable => (DIFFERENCES, "an object nested deeper than 512 levels"),
            Self::NumbersInMessages => (DIFFERENCES, "numbers in objects and parameters"),
            Self::NamespaceObject => {
                (DIFFERENCES, "`input.review.namespaceObject` of a cluster-scoped object")
            }
            Self::YamlWords => (DIFFERENCES, "`yaml.unmarshal` of the words `yes`, `no`, `on`, `off`"),
            Self::MessageExpression => (DIFFERENCES, "a `messageExpression` that does not compile"),
            Self::WebhookSettings => (MIGRATION, "Carry over the settings of the webhook"),
        }
    }
}

/// One thing to know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Diagnostic {
    pub(super) rule: Rule,
    /// The object that it is about, as in `ConstraintTemplate k8srequiredlabels`.
    pub(super) object: String,
    pub(super) message: String,
    /// File and line, in a dump.
    pub(super) place: Option<String>,
}

impl Diagnostic {
    pub(super) const fn level(&self) -> Level {
        self.rule.level()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_rule_is_described_where_it_says() {
        for rule in Rule::ALL {
            let (page, words) = rule.described();
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
            let page = std::fs::read_to_string(path).unwrap().replace('\n', " ");
            assert!(page.contains(words), "{rule:?}: {words}");
        }
        let words: BTreeSet<_> = Rule::ALL.iter().map(|rule| rule.word()).collect();
        assert_eq!(words.len(), Rule::ALL.len());
    }
}
