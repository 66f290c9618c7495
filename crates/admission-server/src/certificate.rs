//! The certificate that a server serves, and the authority by which clients trust it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use tokio_rustls::rustls;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::ServerCertVerifier;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use x509_parser::prelude::{FromDer, X509Certificate};

/// The life of a certificate that [`ServingCertificate::generate`] makes.
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// Clocks that are behind by less than this accept a new certificate. A machine that takes local time for UTC is off by up
/// to 14 hours.
const SKEW: Duration = Duration::from_secs(24 * 60 * 60);

/// A serving certificate with its key and the authorities that clients trust it by, all PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServingCertificate {
    /// The authorities, for `caBundle`: more than one while certificates are rotated.
    pub authority: String,
    /// The server's certificate, followed by intermediate ones.
    pub certificate: String,
    /// The server's key.
    pub key: String,
}

/// The reason for which a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// A new one could not be made.
    #[error("no certificate could be made")]
    Generate(#[from] rcgen::Error),
    /// The PEM text could not be read.
    #[error("the certificate or its key is not PEM: {0}")]
    Pem(String),
    /// Certificate and key do not fit, or clients would not accept it.
    #[error("the certificate cannot be served")]
    Unusable(#[from] rustls::Error),
    /// The authority that has signed the certificate is not valid any more.
    #[error("the authority has expired")]
    AuthorityExpired,
    /// The authorities for clients cannot be used.
    #[error("the client authority cannot be used: {0}")]
    ClientAuthority(String),
}

impl ServingCertificate {
    /// Makes an authority and a server certificate for `hosts` (DNS names or IP addresses), valid for a year.
    ///
    /// The authority's key is thrown away: nothing else can be signed with it.
    ///
    /// # Errors
    /// When a host is neither a name nor an address.
    pub fn generate(hosts: &[String]) -> Result<Self, CertificateError> {
        Self::generate_for(hosts, SystemTime::now(), YEAR)
    }

    /// Generates a certificate like [`ServingCertificate::generate`], valid from a day before `now` until `lifetime` after it.
    ///
    /// # Errors
    /// As [`ServingCertificate::generate`].
    pub fn generate_for(
        hosts: &[String],
        now: SystemTime,
        lifetime: Duration,
    ) -> Result<Self, CertificateError> {
        let valid = |mut params: CertificateParams| {
            params.not_before = now.checked_sub(SKEW).unwrap_or(now).into();
            params.not_after = now.checked_add(lifetime).unwrap_or(now).into();
            params
        };
        let authority_key = KeyPair::generate()?;
        let mut authority = valid(CertificateParams::new(Vec::new())?);
        // Authorities of one name cannot be told apart while both are trusted: the key's hash makes names differ.
        let mark: String =
            authority_key.public_key_raw().iter().skip(1).take(8).map(|b| format!("{b:02x}")).collect();
        authority.distinguished_name.push(DnType::CommonName, format!("webhook-ca-{mark}"));
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let authority_certificate = authority.self_signed(&authority_key)?;

        let key = KeyPair::generate()?;
        let mut server = valid(CertificateParams::new(hosts.to_vec())?);
        server.distinguished_name.push(DnType::CommonName, "webhook");
        server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = server.signed_by(&key, &Issuer::new(authority, authority_key))?;
        Ok(Self {
            authority: authority_certificate.pem(),
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }

    /// Checks that a client that trusts `pem` accepts the certificate for `host` at the time `now`, and that the
    /// key fits. Without an authority only the key is checked.
    ///
    /// # Errors
    /// The reason for which a client would refuse it.
    pub fn verify(&self, host: &str, now: SystemTime) -> Result<(), CertificateError> {
        let chain = self.chain()?;
        rustls::ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain.clone(), self.private_key()?)?;
        if self.authority.trim().is_empty() {
            return Ok(());
        }
        let (server, intermediates) =
            chain.split_first().ok_or_else(|| CertificateError::Pem("no certificate".to_owned()))?;
        let name = ServerName::try_from(host).map_err(|error| CertificateError::Pem(error.to_string()))?;
        let mut valid = certificates(&self.authority)?;
        valid.retain(|authority| expiry(authority).is_some_and(|end| end > now));
        let now = UnixTime::since_unix_epoch(now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default());
        let accepts = |authorities: Vec<CertificateDer<'static>>| {
            WebPkiServerVerifier::builder_with_provider(Arc::new(trust(authorities)?), provider())
                .build()
                .map_err(|error| CertificateError::Pem(error.to_string()))?
                .verify_server_cert(server, intermediates, &name, &[], now)?;
            Ok(())
        };
        accepts(certificates(&self.authority)?)?;
        // rustls trusts an authority that has expired, and Go, in which the API server is written, does not.
        accepts(valid).map_err(|_: CertificateError| CertificateError::AuthorityExpired)
    }

    /// Returns the time at which the server's certificate expires.
    ///
    /// # Errors
    /// When the PEM text cannot be read.
    pub fn expires(&self) -> Result<SystemTime, CertificateError> {
        let chain = self.chain()?;
        let first = chain.first().ok_or_else(|| CertificateError::Pem("no certificate".to_owned()))?;
        expiry(first).ok_or_else(|| CertificateError::Pem("not an X.509 certificate".to_owned()))
    }

    /// Returns the TLS configuration of a client that trusts these authorities only.
    ///
    /// # Errors
    /// When the PEM text cannot be read.
    pub fn client_config(&self) -> Result<Arc<rustls::ClientConfig>, CertificateError> {
        client_config(&self.authority)
    }

    pub(crate) fn chain(&self) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
        certificates(&self.certificate)
    }

    pub(crate) fn private_key(&self) -> Result<PrivateKeyDer<'static>, CertificateError> {
        PrivateKeyDer::from_pem_slice(self.key.as_bytes()).map_err(|e| CertificateError::Pem(e.to_string()))
    }
}

/// Returns the TLS configuration of a client that trusts only the authorities in this PEM text.
///
/// # Errors
/// When the PEM text cannot be read.
pub fn client_config(authority: &str) -> Result<Arc<rustls::ClientConfig>, CertificateError> {
    let config = rustls::ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots(authority)?)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

pub(crate) fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| CertificateError::Pem(error.to_string()))
}

pub(crate) fn roots(pem: &str) -> Result<rustls::RootCertStore, CertificateError> {
    trust(certificates(pem)?)
}

fn trust(authorities: Vec<CertificateDer<'static>>) -> Result<rustls::RootCertStore, CertificateError> {
    let mut roots = rustls::RootCertStore::empty();
    for authority in authorities {
        roots.add(authority)?;
    }
    Ok(roots)
}

pub(crate) fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The time at which a certificate expires.
pub(crate) fn expiry(certificate: &CertificateDer<'_>) -> Option<SystemTime> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    let seconds = u64::try_from(parsed.validity().not_after.timestamp()).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// The common name of a certificate's subject.
pub(crate) fn common_name(certificate: &CertificateDer<'_>) -> Option<String> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    parsed.subject().iter_common_name().next()?.as_str().ok().map(str::to_owned)
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "small numbers")]
mod tests {
    use super::*;
    use crate::tls::{Tls, TlsOptions};

    fn generate(host: &str) -> ServingCertificate {
        ServingCertificate::generate(&[host.to_owned(), "127.0.0.1".to_owned()]).unwrap()
    }

    #[test]
    fn a_generated_certificate_can_be_served_and_trusted() {
        let now = SystemTime::now();
        let certificate = generate("webhook.svc");
        assert!(Tls::new(&certificate, TlsOptions::default()).is_ok() && certificate.client_config().is_ok());
        for host in ["webhook.svc", "127.0.0.1"] {
            certificate.verify(host, now).unwrap();
        }
        let lifetime = certificate.expires().unwrap().duration_since(now).unwrap();
        assert!(lifetime <= YEAR && lifetime > YEAR - Duration::from_secs(60));
    }

    /// A certificate that is valid, of an authority that is not any more; and an authority that is.
    fn signed_by_an_expired_authority(now: SystemTime) -> (ServingCertificate, String) {
        let make = |not_after: SystemTime| {
            let key = KeyPair::generate().unwrap();
            let mut authority = CertificateParams::new(Vec::new()).unwrap();
            authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            authority.distinguished_name.push(DnType::CommonName, "authority");
            authority.not_after = not_after.into();
            let pem = authority.self_signed(&key).unwrap().pem();
            (Issuer::new(authority, key), pem)
        };
        let (issuer, authority) = make(now - Duration::from_secs(3600));
        let key = KeyPair::generate().unwrap();
        let server = CertificateParams::new(vec!["a.svc".to_owned()]).unwrap();
        let certificate = server.signed_by(&key, &issuer).unwrap().pem();
        (ServingCertificate { authority, certificate, key: key.serialize_pem() }, make(now + YEAR).1)
    }

    #[test]
    fn a_certificate_that_clients_would_refuse_is_refused() {
        let now = SystemTime::now();
        let good = generate("a.svc");
        assert!(matches!(good.verify("b.svc", now), Err(CertificateError::Unusable(_))));
        assert!(matches!(good.verify("a.svc", now + 2 * YEAR), Err(CertificateError::Unusable(_))));
        let other = generate("a.svc");
        let untrusted = ServingCertificate { authority: other.authority.clone(), ..good.clone() };
        assert!(matches!(untrusted.verify("a.svc", now), Err(CertificateError::Unusable(_))));
        let both =
            ServingCertificate { authority: other.authority.clone() + &good.authority, ..good.clone() };
        both.verify("a.svc", now).unwrap();
        // The clock of the certificate that it signed goes on.
        let hour = Duration::from_secs(3600);
        let old = ServingCertificate::generate_for(&["a.svc".to_owned()], now - 3 * hour, hour).unwrap();
        let (authority, good_authority) = signed_by_an_expired_authority(now);
        assert!(matches!(authority.verify("a.svc", now), Err(CertificateError::AuthorityExpired)));
        let with_another =
            ServingCertificate { authority: good_authority + &authority.authority, ..authority.clone() };
        assert!(matches!(with_another.verify("a.svc", now), Err(CertificateError::AuthorityExpired)));
        let former = ServingCertificate { authority: old.authority + &good.authority, ..good.clone() };
        former.verify("a.svc", now).unwrap();
        let broken = ServingCertificate { key: "no key".to_owned(), ..good.clone() };
        assert!(matches!(broken.verify("a.svc", now), Err(CertificateError::Pem(_))));
        let mixed = ServingCertificate { key: other.key, ..good };
        assert!(matches!(mixed.verify("a.svc", now), Err(CertificateError::Unusable(_))));
    }
}
