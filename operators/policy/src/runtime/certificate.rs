//! The certificate that the webhook serves, and the authority that clients trust it by.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use std::sync::Arc;
use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A serving certificate with its key and its authority, all PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServingCertificate {
    /// The authority's certificate, for `caBundle`.
    pub authority: String,
    /// The server's certificate.
    pub certificate: String,
    /// The server's key.
    pub key: String,
}

/// Why there is no usable certificate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// A new one could not be made.
    #[error("no certificate could be made")]
    Generate(#[from] rcgen::Error),
    /// The PEM text could not be read.
    #[error("the certificate or its key is not PEM: {0}")]
    Pem(String),
    /// Certificate and key do not fit.
    #[error("the certificate cannot be served")]
    Unusable(#[from] rustls::Error),
}

impl ServingCertificate {
    /// Makes an authority and a server certificate for `hosts`: DNS names or IP addresses.
    ///
    /// The authority's key is thrown away, so that nothing else can ever be signed with it.
    ///
    /// # Errors
    /// When a host is neither a name nor an address.
    pub fn generate(hosts: &[String]) -> Result<Self, CertificateError> {
        let authority_key = KeyPair::generate()?;
        let mut authority = CertificateParams::new(Vec::new())?;
        authority.distinguished_name.push(DnType::CommonName, "webtroller-ca");
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let authority_certificate = authority.self_signed(&authority_key)?;

        let key = KeyPair::generate()?;
        let mut server = CertificateParams::new(hosts.to_vec())?;
        server.distinguished_name.push(DnType::CommonName, "webtroller");
        server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = server.signed_by(&key, &Issuer::new(authority, authority_key))?;
        Ok(Self {
            authority: authority_certificate.pem(),
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }

    /// The TLS configuration of a server that speaks HTTP/2 and HTTP/1.1.
    ///
    /// # Errors
    /// When the PEM text cannot be read or does not fit together.
    pub fn server_config(&self) -> Result<Arc<rustls::ServerConfig>, CertificateError> {
        let chain = certificates(&self.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes())
            .map_err(|e| CertificateError::Pem(e.to_string()))?;
        let mut config = rustls::ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    /// The TLS configuration of a client that trusts this authority only.
    ///
    /// # Errors
    /// When the PEM text cannot be read.
    pub fn client_config(&self) -> Result<Arc<rustls::ClientConfig>, CertificateError> {
        let mut roots = rustls::RootCertStore::empty();
        for certificate in certificates(&self.authority)? {
            roots.add(certificate)?;
        }
        let config = rustls::ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Arc::new(config))
    }
}

fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| CertificateError::Pem(error.to_string()))
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_certificate_can_be_served_and_trusted() {
        let certificate =
            ServingCertificate::generate(&["127.0.0.1".to_owned(), "webhook.svc".to_owned()]).unwrap();
        assert!(certificate.server_config().is_ok() && certificate.client_config().is_ok());
    }

    #[test]
    fn a_broken_certificate_is_an_error() {
        let good = ServingCertificate::generate(&["localhost".to_owned()]).unwrap();
        let broken = ServingCertificate { key: "no key".to_owned(), ..good.clone() };
        assert!(matches!(broken.server_config(), Err(CertificateError::Pem(_))));
        let other = ServingCertificate::generate(&["localhost".to_owned()]).unwrap();
        let mixed = ServingCertificate { key: other.key, ..good };
        assert!(matches!(mixed.server_config(), Err(CertificateError::Unusable(_))));
    }
}
