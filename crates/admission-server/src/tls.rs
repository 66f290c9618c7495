//! TLS: versions, client certificates, and a certificate that can be replaced.

use std::sync::{Arc, PoisonError, RwLock};

use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{self, SupportedProtocolVersion};
use tokio_rustls::server::TlsStream;

use crate::certificate::{CertificateError, ServingCertificate, common_name, provider, roots};

/// The oldest version of TLS that is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsVersion {
    /// TLS 1.2.
    V1_2,
    /// TLS 1.3.
    #[default]
    V1_3,
}

/// Demands on clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsOptions {
    /// The oldest version that is accepted. Default 1.3.
    pub min_version: TlsVersion,
    /// PEM certificates of authorities; when given, clients must show a certificate that one of them signed.
    pub client_authority: Option<String>,
    /// The common name that a client's certificate must have; only with `client_authority`.
    pub client_name: Option<String>,
}

/// The TLS side of a server. Clones share the certificate.
#[derive(Clone)]
pub struct Tls(Arc<Inner>);

struct Inner {
    options: TlsOptions,
    config: RwLock<Arc<rustls::ServerConfig>>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("options", &self.0.options).finish_non_exhaustive()
    }
}

impl Tls {
    /// Serves `certificate`.
    ///
    /// # Errors
    /// When the PEM text cannot be read, or certificate and key do not fit together.
    pub fn new(certificate: &ServingCertificate, options: TlsOptions) -> Result<Self, CertificateError> {
        let config = RwLock::new(server_config(certificate, &options)?);
        Ok(Self(Arc::new(Inner { options, config })))
    }

    /// Serves another certificate from the next handshake on. Connections that are open stay as they are.
    ///
    /// # Errors
    /// As [`Tls::new`]; the former certificate then stays.
    pub fn replace(&self, certificate: &ServingCertificate) -> Result<(), CertificateError> {
        let config = server_config(certificate, &self.0.options)?;
        *self.0.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    pub(crate) async fn accept(&self, stream: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        let config = self.0.config.read().unwrap_or_else(PoisonError::into_inner).clone();
        let stream = TlsAcceptor::from(config).accept(stream).await?;
        match &self.0.options.client_name {
            Some(expected) if self.0.options.client_authority.is_some() => {
                let shown = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
                let name = shown.and_then(|certificate| common_name(certificate));
                if name.as_ref() == Some(expected) {
                    return Ok(stream);
                }
                let message = format!("the client's certificate is for {name:?}, not {expected:?}");
                Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, message))
            }
            _ => Ok(stream),
        }
    }
}

static SINCE_1_2: [&SupportedProtocolVersion; 2] = [&TLS12, &TLS13];
static SINCE_1_3: [&SupportedProtocolVersion; 1] = [&TLS13];

fn versions(options: &TlsOptions) -> &'static [&'static SupportedProtocolVersion] {
    match options.min_version {
        TlsVersion::V1_2 => &SINCE_1_2,
        TlsVersion::V1_3 => &SINCE_1_3,
    }
}

fn server_config(
    certificate: &ServingCertificate,
    options: &TlsOptions,
) -> Result<Arc<rustls::ServerConfig>, CertificateError> {
    let builder =
        rustls::ServerConfig::builder_with_provider(provider()).with_protocol_versions(versions(options))?;
    let builder = match &options.client_authority {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots(authority)?), provider())
                    .build()
                    .map_err(|error| CertificateError::ClientAuthority(error.to_string()))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config = builder.with_single_cert(certificate.chain()?, certificate.private_key()?)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
