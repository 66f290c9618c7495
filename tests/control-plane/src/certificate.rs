//! The certificate authority of one control plane and what it signs: one server certificate for
//! 127.0.0.1, and client certificates whose name and groups Kubernetes reads from the subject.
//!
//! Keys live in the control plane's temporary folder and die with it. It does not know who uses which.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

use crate::Error;

/// A certificate and its key as PEM, with the authority that vouches for it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServingCertificate {
    /// The certificate, for `127.0.0.1` and `localhost`.
    pub certificate: String,
    /// Its private key, PKCS #8.
    pub key: String,
    /// The authority: what goes, base64-encoded, into a webhook's `clientConfig.caBundle`.
    pub authority: String,
}

/// A certificate and its key as files.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// The two halves of a key as files.
#[derive(Clone, Debug)]
pub(crate) struct TokenKeys {
    pub(crate) private: PathBuf,
    pub(crate) public: PathBuf,
}

/// A certificate authority that writes what it signs into one folder.
#[derive(Debug)]
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: PathBuf,
}

// === impl Authority ===

impl Authority {
    /// Makes a new authority and writes its certificate.
    pub(crate) fn create(folder: &Path) -> Result<Self, Error> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        params.distinguished_name.push(DnType::CommonName, "control-plane");
        let issuer = KeyPair::generate().and_then(|key| CertifiedIssuer::self_signed(params, key));
        let issuer = issuer.map_err(refused("the authority"))?;
        let authority = Self { issuer, folder: folder.to_path_buf() };
        write(&authority.certificate(), &authority.issuer.pem())?;
        Ok(authority)
    }

    /// The file with the authority's own certificate.
    pub(crate) fn certificate(&self) -> PathBuf {
        self.folder.join("ca.crt")
    }

    /// A server certificate for this machine's loopback address.
    pub(crate) fn serving(&self) -> Result<ServingCertificate, Error> {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(names).map_err(refused("127.0.0.1"))?;
        // etcd is also a client of itself: its gRPC gateway dials its own port with this certificate.
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let (certificate, key) = self.sign(params, "127.0.0.1")?;
        Ok(ServingCertificate { certificate, key, authority: self.issuer.pem() })
    }

    /// The same as files called `server.crt` and `server.key`.
    pub(crate) fn server(&self) -> Result<Identity, Error> {
        let ServingCertificate { certificate, key, .. } = self.serving()?;
        self.store("server", &certificate, &key)
    }

    /// A client certificate: the API server takes the user from the common name, groups from the organisation.
    pub(crate) fn client(&self, file: &str, user: &str, group: Option<&str>) -> Result<Identity, Error> {
        let mut params = CertificateParams::default();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.distinguished_name.push(DnType::CommonName, user);
        if let Some(group) = group {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        let (certificate, key) = self.sign(params, user)?;
        self.store(file, &certificate, &key)
    }

    /// A key pair without a certificate, for signing service account tokens and for checking them.
    pub(crate) fn token_keys(&self) -> Result<TokenKeys, Error> {
        let pair = KeyPair::generate().map_err(refused("service accounts"))?;
        let keys = TokenKeys {
            private: self.folder.join("service-account.key"),
            public: self.folder.join("service-account.pub"),
        };
        write(&keys.private, &pair.serialize_pem())?;
        write(&keys.public, &pair.public_key_pem())?;
        Ok(keys)
    }

    fn sign(&self, params: CertificateParams, subject: &str) -> Result<(String, String), Error> {
        let key = KeyPair::generate().map_err(refused(subject))?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(refused(subject))?;
        Ok((certificate.pem(), key.serialize_pem()))
    }

    fn store(&self, file: &str, certificate: &str, key: &str) -> Result<Identity, Error> {
        let identity = Identity {
            certificate: self.folder.join(format!("{file}.crt")),
            key: self.folder.join(format!("{file}.key")),
        };
        write(&identity.certificate, certificate)?;
        write(&identity.key, key)?;
        Ok(identity)
    }
}

fn refused(subject: &str) -> impl FnOnce(rcgen::Error) -> Error {
    let subject = subject.to_owned();
    move |source| Error::Certificate { subject, source }
}

fn write(path: &Path, content: &str) -> Result<(), Error> {
    fs::write(path, content).map_err(Error::io(format!("write {}", path.display())))
}
