//! Enforcement points: the places where a verdict is requested.

/// A place where reviews are judged and their verdicts acted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EnforcementPoint(&'static str);

impl EnforcementPoint {
    /// The admission webhook, `validation.gatekeeper.sh`.
    pub const WEBHOOK: Self = Self("validation.gatekeeper.sh");
    /// The periodic audit, `audit.gatekeeper.sh`.
    pub const AUDIT: Self = Self("audit.gatekeeper.sh");
    /// The command line, `gator.gatekeeper.sh`.
    pub const GATOR: Self = Self("gator.gatekeeper.sh");
    /// A generated ValidatingAdmissionPolicy, `vap.k8s.io`.
    pub const VAP: Self = Self("vap.k8s.io");

    /// The points of Gatekeeper, which every constraint can name.
    pub const GATEKEEPER: [Self; 4] = [Self::WEBHOOK, Self::AUDIT, Self::GATOR, Self::VAP];

    /// Creates a point of an embedder, under the name that manifests use. Constraints whose actions are scoped can name it
    /// when the compiler knows it:
    /// [`Compiler::with_enforcement_points`](crate::policyset::Compiler::with_enforcement_points).
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// Returns the name that manifests use.
    pub const fn name(self) -> &'static str {
        self.0
    }

    /// Returns the points among `known` that a name in a manifest stands for: one, all for `*`, none for an unknown name.
    pub(crate) fn named(name: &str, known: &[Self]) -> Vec<Self> {
        known.iter().copied().filter(|point| name == "*" || name == point.0).collect()
    }

    pub(crate) fn names(known: &[Self]) -> String {
        known.iter().map(|point| point.0).collect::<Vec<_>>().join(", ")
    }
}
