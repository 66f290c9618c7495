//! The serving certificate that all pods share: the first pod makes it, the others read it.

use admission_server::ServingCertificate;
use std::collections::BTreeMap;
use std::time::SystemTime;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};

use crate::runtime::RunError;

/// Gatekeeper's name for it.
const NAME: &str = "gatekeeper-webhook-server-cert";
/// The names that the certificate is valid for, so that a change of them is seen without reading the certificate.
const HOSTS: &str = "webtroller.dev/hosts";
/// Pods that start together write at most this often before one of them has won.
const ATTEMPTS: usize = 5;

/// The certificate of the Secret, valid for `hosts`; made anew when it is absent, unusable or for other hosts.
pub(super) async fn ensure(
    client: &kube::Client,
    namespace: &str,
    hosts: &[String],
) -> Result<ServingCertificate, RunError> {
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    for _ in 0..ATTEMPTS {
        let existing = api.get_opt(NAME).await.map_err(RunError::Cluster)?;
        if let Some(certificate) = existing.as_ref().and_then(|secret| read(secret, hosts)) {
            return Ok(certificate);
        }
        let certificate = ServingCertificate::generate(hosts)?;
        let secret = secret(&certificate, hosts, existing.as_ref());
        let written = match existing {
            None => api.create(&PostParams::default(), &secret).await,
            Some(_) => api.replace(NAME, &PostParams::default(), &secret).await,
        };
        match written {
            Ok(_) => return Ok(certificate),
            // Another pod was faster: what it wrote is as good.
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {}
            Err(error) => return Err(RunError::Cluster(error)),
        }
    }
    Err(RunError::CertificateContended { name: NAME.to_owned() })
}

fn read(secret: &Secret, hosts: &[String]) -> Option<ServingCertificate> {
    let valid_for = secret.metadata.annotations.as_ref()?.get(HOSTS)?;
    if hosts.iter().any(|host| !valid_for.split(',').any(|valid| valid == host)) {
        return None;
    }
    let data = secret.data.as_ref()?;
    let text = |key: &str| String::from_utf8(data.get(key)?.0.clone()).ok();
    let certificate = ServingCertificate {
        authority: text("ca.crt")?,
        certificate: text("tls.crt")?,
        key: text("tls.key")?,
    };
    hosts.iter().all(|host| certificate.verify(host, SystemTime::now()).is_ok()).then_some(certificate)
}

/// The resource version of what is replaced makes the write fail when somebody else was faster.
fn secret(certificate: &ServingCertificate, hosts: &[String], replaced: Option<&Secret>) -> Secret {
    let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
    let files = [
        ("ca.crt", &certificate.authority),
        ("tls.crt", &certificate.certificate),
        ("tls.key", &certificate.key),
    ];
    Secret {
        metadata: ObjectMeta {
            name: Some(NAME.to_owned()),
            annotations: Some(BTreeMap::from([(HOSTS.to_owned(), hosts.join(","))])),
            resource_version: replaced.and_then(|secret| secret.metadata.resource_version.clone()),
            ..ObjectMeta::default()
        },
        data: Some(files.into_iter().map(|(key, text)| (key.to_owned(), bytes(text))).collect()),
        ..Secret::default()
    }
}
