//! An image in a registry, read within a deadline and a size.
//!
//! Loopback addresses are asked without TLS, as gator does; others with it, and trusted where an authority of the system signed
//! their certificate, or one that `SSL_CERT_FILE` or `SSL_CERT_DIR` names. Credentials are those of Docker's
//! configuration (`DOCKER_CONFIG`, or `~/.docker`), credential helpers included.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use docker_credential::{CredentialRetrievalError, DockerCredential, get_credential_from_reader};
use futures::TryStreamExt;
use oci_client::client::{ClientConfig, ClientProtocol};
use oci_client::manifest::{
    IMAGE_MANIFEST_LIST_MEDIA_TYPE, IMAGE_MANIFEST_MEDIA_TYPE, OCI_IMAGE_INDEX_MEDIA_TYPE,
    OCI_IMAGE_MEDIA_TYPE, OciDescriptor,
};
use oci_client::secrets::RegistryAuth;
use oci_client::{Client, Reference};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::rustls::crypto::ring;

use crate::api_error::causes;

use super::{Limits, Store, TOO_LARGE, hex};

const ACCEPTED: [&str; 4] = [
    OCI_IMAGE_MEDIA_TYPE,
    OCI_IMAGE_INDEX_MEDIA_TYPE,
    IMAGE_MANIFEST_MEDIA_TYPE,
    IMAGE_MANIFEST_LIST_MEDIA_TYPE,
];
const DOCKER_HUB: &str = "https://index.docker.io/v1/";

/// The image that a text refers to, where it names a registry: a host with a dot or a port, or `localhost`. Nothing is
/// looked up at Docker Hub because a folder was misspelt.
pub(super) fn reference(text: &str) -> Option<Reference> {
    let (registry, _) = text.split_once('/')?;
    let is_host = registry == "localhost" || registry.contains(['.', ':']);
    text.parse().ok().filter(|_| is_host)
}

/// A registry and an image in it.
pub(super) struct Registry {
    runtime: Runtime,
    client: Client,
    image: Reference,
    auth: RegistryAuth,
    /// For all requests together.
    deadline: Instant,
}

impl Registry {
    /// With the credentials in a file of Docker's. Nothing is asked yet.
    pub(super) fn new(image: Reference, limits: Limits, config: Option<&Path>) -> Result<Self, String> {
        let auth = credentials(config, image.resolve_registry())?;
        // Fails where a provider was chosen before.
        let _ = ring::default_provider().install_default();
        let config = ClientConfig {
            protocol: protocol(image.resolve_registry()),
            connect_timeout: Some(limits.connect),
            read_timeout: Some(limits.silence),
            user_agent: concat!("webtroller/", env!("CARGO_PKG_VERSION")),
            ..ClientConfig::default()
        };
        let client = Client::try_from(config).map_err(|error| with_cure(causes(&error)))?;
        let runtime =
            Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
        let now = Instant::now();
        let deadline = now.checked_add(limits.total).unwrap_or(now);
        Ok(Self { runtime, client, image, auth, deadline })
    }
}

impl Registry {
    /// An index or a manifest: the client compares it with the digest by which it is asked for.
    fn pull(&self, image: &Reference) -> Result<Vec<u8>, String> {
        self.within(async {
            let pulled = self.client.pull_manifest_raw(image, &self.auth, &ACCEPTED).await;
            pulled.map(|(content, _)| content.to_vec()).map_err(|error| causes(&error))
        })
    }

    fn within<T>(&self, work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
        let late = |_| Err("the registry took too long".to_owned());
        // The timer belongs to the runtime.
        self.runtime.block_on(async { timeout_at(self.deadline, work).await }).unwrap_or_else(late)
    }
}

impl Store for Registry {
    fn root(&mut self) -> Result<Vec<u8>, String> {
        self.pull(&self.image)
    }

    fn manifest(&mut self, digest: &str) -> Result<Vec<u8>, String> {
        hex(digest)?;
        self.pull(&self.image.clone_with_digest(digest.to_owned()))
    }

    fn layer(&mut self, digest: &str, most: u64) -> Result<Vec<u8>, String> {
        hex(digest)?;
        let layer = OciDescriptor { digest: digest.to_owned(), ..OciDescriptor::default() };
        self.within(async {
            let pulled = self.client.pull_blob_stream(&self.image, &layer).await;
            let mut pieces = pulled.map_err(|error| causes(&error))?.stream;
            let mut content = Vec::new();
            // The last piece is an error where the digest is another one.
            while let Some(piece) = pieces.try_next().await.map_err(|error| causes(&error))? {
                content.extend_from_slice(&piece);
                if u64::try_from(content.len()).is_ok_and(|size| size >= most) {
                    return Err(TOO_LARGE.to_owned());
                }
            }
            Ok(content)
        })
    }
}

/// Without TLS where the registry is on this machine: those that are run for a test have none.
fn protocol(registry: &str) -> ClientProtocol {
    let host =
        registry.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map_or(registry, |(host, _)| host);
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    let is_here = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
    if is_here { ClientProtocol::Http } else { ClientProtocol::Https }
}

/// The file of Docker's configuration.
pub(super) fn docker_config() -> Option<PathBuf> {
    let folder = std::env::var_os("DOCKER_CONFIG").map(PathBuf::from);
    let folder = folder.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".docker")))?;
    Some(folder.join("config.json"))
}

/// The credentials of a configuration for a registry; none where there is no file or no entry.
fn credentials(config: Option<&Path>, registry: &str) -> Result<RegistryAuth, String> {
    let server = if registry == "index.docker.io" { DOCKER_HUB } else { registry };
    let Some(config) = config.filter(|config| config.exists()) else { return Ok(RegistryAuth::Anonymous) };
    let refused = |error: &dyn std::fmt::Display| format!("credentials in {}: {error}", config.display());
    let file = std::fs::File::open(config).map_err(|error| refused(&error))?;
    match get_credential_from_reader(BufReader::new(file), server) {
        Ok(DockerCredential::UsernamePassword(name, password)) => Ok(RegistryAuth::Basic(name, password)),
        Ok(DockerCredential::IdentityToken(_)) => {
            let text = "identity tokens are not supported: fetch the image with `oras copy --to-oci-layout`";
            Err(refused(&text))
        }
        Err(CredentialRetrievalError::NoCredentialConfigured) => Ok(RegistryAuth::Anonymous),
        // A store that has no entry fails with these words of docker-credential-helpers.
        Err(CredentialRetrievalError::HelperFailure { stdout, .. })
            if stdout.contains("credentials not found") =>
        {
            Ok(RegistryAuth::Anonymous)
        }
        Err(error) => Err(refused(&error)),
    }
}

/// The verifier's words for a system without certificates say nothing of what to do.
fn with_cure(reason: String) -> String {
    if !reason.contains("No CA certificates") {
        return reason;
    }
    "no certificate authority is known: install those of the system (the package ca-certificates), or name a file of them with \
     SSL_CERT_FILE"
        .to_owned()
}

#[cfg(test)]
mod tests;
