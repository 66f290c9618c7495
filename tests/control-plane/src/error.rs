//! The reasons why a control plane could not be built, started or reached.
//!
//! Each message says what to do; the tail of the failing program's log is part of it, because a test
//! run on another machine leaves nothing else behind. It does not wrap what a test asks of the API
//! server: that stays a [`kube::Error`].

use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use crate::Component;

/// Everything that can go wrong between a clone of the repository and a ready API server.
/// `Debug` prints the message, because a test that unwraps it shows `Debug`.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// `go` is not on the `PATH`, and no ready-made binaries were named.
    #[error(
        "the control plane is built from Go modules and `go` could not be run: install Go 1.26 or newer \
         (https://go.dev/dl, or your distribution's `golang` package), or set KUBEBUILDER_ASSETS to a folder \
         that holds etcd, kube-apiserver, kube-controller-manager and kubectl"
    )]
    GoMissing(#[source] std::io::Error),

    /// `go build` failed; the tail of its output is attached.
    #[error(
        "`go build` of the control plane failed ({status}); it needs Go 1.26 or newer and the Go module proxy \
         (GOPROXY), or set KUBEBUILDER_ASSETS to skip it\n{output}"
    )]
    GoBuild {
        /// The exit status of `go`.
        status: ExitStatus,
        /// The last lines `go` printed.
        output: String,
    },

    /// `KUBEBUILDER_ASSETS` names a folder without some of the programs.
    #[error(
        "{}: no {} there; add them (`setup-envtest` does not bring kube-controller-manager) or unset \
         KUBEBUILDER_ASSETS to build all of them with Go", folder.display(), missing.join(", ")
    )]
    AssetsIncomplete {
        /// The folder that was looked into.
        folder: PathBuf,
        /// The programs it lacks.
        missing: Vec<&'static str>,
    },

    /// A file or a process could not be created, read or signalled.
    #[error("could not {doing}")]
    Io {
        /// The attempted operation, with the path.
        doing: String,
        /// The operating system's answer.
        source: std::io::Error,
    },

    /// A key or a certificate could not be made.
    #[error("could not make a certificate for {subject}")]
    Certificate {
        /// The name of the certificate's owner.
        subject: String,
        /// The certificate library's answer.
        source: rcgen::Error,
    },

    /// The generated kubeconfig was refused by the client.
    #[error("could not read back the generated kubeconfig")]
    Kubeconfig(#[from] kube::config::KubeconfigError),

    /// The API server or the client library refused.
    #[error("could not {doing}")]
    Kube {
        /// The attempted operation.
        doing: String,
        /// The client's answer.
        source: kube::Error,
    },

    /// Three attempts found no free loopback port.
    #[error("no free port between 20000 and 32767 on 127.0.0.1")]
    NoPort,

    /// A component ended by itself.
    #[error("{component} ended by itself ({status}); the end of its log:\n{log}")]
    Exited {
        /// The component or path.
        component: Component,
        /// The exit status.
        status: ExitStatus,
        /// The end of its log.
        log: String,
    },

    /// A component was stopped or killed before.
    #[error("{component} does not run: call `restart` first")]
    NotRunning {
        /// The component or path.
        component: Component,
    },

    /// A component is alive and does not say that it is ready.
    #[error("{component} is not ready after {after:?}: {answer}; the end of its log:\n{log}")]
    NotReady {
        /// The component or path.
        component: Component,
        /// The time it was given.
        after: Duration,
        /// The last answer of its readiness endpoint.
        answer: String,
        /// The end of its log.
        log: String,
    },

    /// A namespace did not become usable.
    #[error(
        "namespace {name} has no default service account after {after:?}: is the controller manager running?"
    )]
    NamespaceUnusable {
        /// The component or path.
        name: String,
        /// The time it was given.
        after: Duration,
    },
}

impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")?;
        std::error::Error::source(self).map_or(Ok(()), |source| write!(f, ": {source}"))
    }
}

impl Error {
    /// Returns true if another attempt on fresh ports can succeed: a component that ended by itself most often
    /// lost its port to another process between the choice and the bind.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Exited { .. })
    }

    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }

    pub(crate) fn kube(doing: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Kube { doing, source }
    }
}
