//! An HTTPS server for Kubernetes AdmissionReviews.
//!
//! It terminates TLS with a certificate that can be replaced while it runs, bounds what clients may occupy, decodes
//! `admission.k8s.io/v1` and `v1beta1`, hands each request to a handler with the deadline of the API server, and answers
//! errors, panics and missed deadlines as reviews.
//!
//! ```
//! use admission_server::{AdmissionRoutes, CancellationToken, Limits, Server, ServingCertificate, Tls, TlsOptions, validate};
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let certificate = ServingCertificate::generate(&["localhost".to_owned()])?;
//! let tls = Tls::new(&certificate, TlsOptions::default())?;
//! let routes = AdmissionRoutes::new().with_handler("/validate", validate(|request| {
//!     if request.name.starts_with("web-") { Ok(()) } else { Err("names start with web-".to_owned()) }
//! }));
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! let shutdown = CancellationToken::new();
//! let server = Server::new(listener, routes).with_tls(tls.clone()).with_limits(Limits::default());
//! let running = tokio::spawn(server.run(shutdown.clone()));
//! tls.replace(&ServingCertificate::generate(&["localhost".to_owned()])?)?; // The next handshake uses it.
//! shutdown.cancel(); // `shutdown_on_signal` does it at SIGTERM.
//! running.await?;
//! # Ok::<_, Box<dyn std::error::Error>>(()) })?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! | module of the guide | types |
//! |---|---|
//! | serving | [`Server`], [`Limits`], [`shutdown_on_signal`], [`Routes`], [`HealthRoutes`] |
//! | TLS | [`Tls`], [`TlsOptions`], [`ServingCertificate`], [`CertificateSet`], [`merge_authorities`] |
//! | reviews | [`AdmissionRoutes`], [`AdmissionHandler`], [`validate`], [`mutate`], [`AdmissionRequest`], [`AdmissionResponse`] |
//!
//! It does not register webhooks, store certificates, or know any policy.

mod answer;
mod body;
mod certificate;
mod connections;
mod eviction;
mod handler;
mod health;
mod in_flight;
mod limits;
mod pem;
mod request;
mod response;
mod rotation;
mod routes;
mod server;
mod shutdown;
mod tls;

pub use answer::Answer;
pub use body::{Body, BodyError, ReceivedBody};
pub use certificate::{CertificateError, ServingCertificate, client_config};
pub use handler::{AdmissionHandler, mutate, validate};
pub use health::{HealthRoutes, ReadinessCheck, ReadinessError};
pub use limits::Limits;
pub use pem::{includes_authorities, merge_authorities};
pub use request::{AdmissionRequest, DecodeError, GroupVersionKind, GroupVersionResource, User};
pub use response::{AdmissionResponse, PatchError};
pub use rotation::{CertificateSet, RotationTimes};
pub use routes::AdmissionRoutes;
pub use server::{Routes, Server};
pub use shutdown::shutdown_on_signal;
pub use tls::{Tls, TlsOptions, TlsVersion};
pub use tokio_util::sync::CancellationToken;

/// The program of the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
