//! The three programs a control plane consists of, in the order in which they start.
//!
//! Their command lines are in `launch.rs`.

use std::fmt;

/// One program of the control plane.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Component {
    /// The store. Without it the API server answers reads from its watch cache at best.
    Etcd,
    /// The API server.
    ApiServer,
    /// Garbage collection, namespace deletion, service accounts and the workload controllers.
    ControllerManager,
}

// === impl Component ===

impl Component {
    pub(crate) const IN_START_ORDER: [Self; 3] = [Self::Etcd, Self::ApiServer, Self::ControllerManager];

    /// The program's name, which is also its log file's.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
        }
    }

    /// The path at which it says that it can work.
    pub(crate) fn readiness(self) -> &'static str {
        match self {
            Self::Etcd | Self::ApiServer => "/readyz",
            Self::ControllerManager => "/healthz",
        }
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
