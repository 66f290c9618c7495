//! Where a verdict is asked for.

/// A place that asks for verdicts and acts on them. The names are Gatekeeper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EnforcementPoint(&'static str);

impl EnforcementPoint {
    /// The admission webhook.
    pub const WEBHOOK: Self = Self("validation.gatekeeper.sh");
    /// The periodic audit.
    pub const AUDIT: Self = Self("audit.gatekeeper.sh");
    /// The command line.
    pub const GATOR: Self = Self("gator.gatekeeper.sh");
    /// A generated ValidatingAdmissionPolicy.
    pub const VAP: Self = Self("vap.k8s.io");

    const ALL: [Self; 4] = [Self::WEBHOOK, Self::AUDIT, Self::GATOR, Self::VAP];

    /// The name that manifests use.
    pub const fn name(self) -> &'static str {
        self.0
    }

    /// The points that a name in a manifest stands for: one, all for `*`, none for an unknown name.
    pub(crate) fn named(name: &str) -> Vec<Self> {
        Self::ALL.into_iter().filter(|point| name == "*" || name == point.0).collect()
    }

    pub(crate) fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}
