//! The options of a control plane that a test may change before it starts.
//!
//! The defaults are a stock cluster's; nothing here turns admission or authorization off.

/// Every request is logged with its user, verb and object, once; a watch when it opens and when it ends.
const METADATA_OF_EVERYTHING: &str = r#"{
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy",
    "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]
}"#;

/// Settings of a control plane; [`ControlPlane::start`](crate::ControlPlane::start) uses the default ones.
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) api_server_flags: Vec<String>,
    pub(crate) controller_manager_flags: Vec<String>,
    pub(crate) audit_policy: String,
}

// === impl Options ===

impl Default for Options {
    fn default() -> Self {
        Self {
            api_server_flags: Vec::new(),
            controller_manager_flags: Vec::new(),
            audit_policy: METADATA_OF_EVERYTHING.to_owned(),
        }
    }
}

impl Options {
    /// Adds a flag to kube-apiserver, such as `--feature-gates=...`. A later flag wins over an earlier one.
    #[must_use]
    pub fn api_server_flag(mut self, flag: impl Into<String>) -> Self {
        self.api_server_flags.push(flag.into());
        self
    }

    /// Adds a flag to kube-controller-manager.
    #[must_use]
    pub fn controller_manager_flag(mut self, flag: impl Into<String>) -> Self {
        self.controller_manager_flags.push(flag.into());
        self
    }

    /// Replaces the audit policy (`audit.k8s.io/v1`, YAML or JSON); the default logs metadata of every request.
    #[must_use]
    pub fn audit_policy(mut self, policy: impl Into<String>) -> Self {
        self.audit_policy = policy.into();
        self
    }
}
