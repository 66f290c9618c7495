//! The Secret with the certificates that all pods share: its format, and its first version.
//!
//! | key | content |
//! |---|---|
//! | `tls.crt`, `tls.key` | the certificate that is served |
//! | `ca.crt` | the authorities that clients must trust |
//! | `next.crt`, `next.key`, `next-ca.crt` | the next certificate, while it is announced |

use std::time::SystemTime;

use admission_server::{CertificateSet, RotationTimes, ServingCertificate};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::PostParams;

use crate::runtime::RunError;

/// Marks a Secret that webtroller wrote, with the names that its certificate is valid for.
const HOSTS: &str = "webtroller.dev/hosts";
/// Set by a person who wants a new certificate before its time.
pub(super) const RENEW: &str = "webtroller.dev/renew";
/// Pods that start together write at most this often before one of them has won.
const ATTEMPTS: usize = 5;

/// The content of a Secret.
#[derive(Debug)]
pub(super) enum Stored {
    /// No data: Gatekeeper's chart creates such a Secret to be filled.
    Empty,
    /// Written by webtroller.
    Own(CertificateSet),
    /// Written by another program or person, and usable. It is served and never written.
    Foreign(ServingCertificate),
    /// Not usable, for a reason.
    Broken { is_own: bool, reason: String },
}

/// The names by which API servers call the webhook.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    /// The name that must be in every certificate.
    pub(super) required: String,
    /// The names of certificates that are made here.
    pub(super) all: Vec<String>,
}

/// Reads the certificates of the Secret; makes them where it is absent, empty, or webtroller's own and unusable.
///
/// # Errors
/// The Secret belongs to another program and has no usable certificate. It is not overwritten.
pub(super) async fn ensure(
    api: &Api<Secret>,
    name: &str,
    hosts: &Hosts,
    times: &RotationTimes,
) -> Result<CertificateSet, RunError> {
    for _ in 0..ATTEMPTS {
        let existing = api.get_opt(name).await.map_err(RunError::Cluster)?;
        let now = SystemTime::now();
        match existing.as_ref().map(|secret| read(secret, hosts, now)) {
            Some(Stored::Own(set)) => return Ok(set),
            Some(Stored::Foreign(certificate)) => return Ok(CertificateSet::new(certificate)),
            Some(Stored::Broken { is_own: false, reason }) => {
                return Err(RunError::ForeignSecret { name: name.to_owned(), reason });
            }
            None | Some(Stored::Empty | Stored::Broken { is_own: true, .. }) => {}
        }
        let set = fresh(existing.as_ref(), hosts, times, now)?;
        match write(api, name, existing.as_ref(), &set, hosts).await {
            Ok(()) => return Ok(set),
            // Another pod was faster: what it wrote is as good.
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {}
            Err(error) => return Err(RunError::Cluster(error)),
        }
    }
    Err(RunError::CertificateContended { name: name.to_owned() })
}

/// New certificates, for the former names too: pods of another version may still serve under those, and the former
/// authority stays trusted until they follow.
pub(super) fn fresh(
    replaced: Option<&Secret>,
    hosts: &Hosts,
    times: &RotationTimes,
    now: SystemTime,
) -> Result<CertificateSet, RunError> {
    let names = names(replaced, hosts);
    let made = ServingCertificate::generate_for(&names, now, times.lifetime)?;
    let former = replaced.and_then(|secret| certificates(secret).ok()).map(|set| set.serving.authority);
    let overlapping = former.map(|former| {
        let authority = format!("{}{former}", made.authority);
        ServingCertificate { authority, ..made.clone() }
    });
    let is_valid = |certificate: &ServingCertificate| certificate.verify(&hosts.required, now).is_ok();
    Ok(CertificateSet::new(overlapping.filter(is_valid).unwrap_or(made)))
}

/// The names of this pod, and those of the Secret.
fn names(secret: Option<&Secret>, hosts: &Hosts) -> Vec<String> {
    let former = secret.and_then(|secret| annotation(secret, HOSTS)).unwrap_or_default();
    let former = former.split(',').filter(|name| !name.is_empty()).map(str::to_owned);
    let names: std::collections::BTreeSet<_> = hosts.all.iter().cloned().chain(former).collect();
    names.into_iter().collect()
}

/// Creates the Secret, or replaces the version that was read.
pub(super) async fn write(
    api: &Api<Secret>,
    name: &str,
    replaced: Option<&Secret>,
    set: &CertificateSet,
    hosts: &Hosts,
) -> kube::Result<()> {
    let mut secret = replaced.cloned().unwrap_or_default();
    secret.metadata.name = Some(name.to_owned());
    secret.metadata.managed_fields = None;
    let annotations = secret.metadata.annotations.get_or_insert_default();
    annotations.insert(HOSTS.to_owned(), names(replaced, hosts).join(","));
    annotations.remove(RENEW);
    let mut files = vec![
        ("ca.crt", &set.serving.authority),
        ("tls.crt", &set.serving.certificate),
        ("tls.key", &set.serving.key),
    ];
    if let Some(next) = &set.next {
        files.extend([
            ("next-ca.crt", &next.authority),
            ("next.crt", &next.certificate),
            ("next.key", &next.key),
        ]);
    }
    let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
    secret.data = Some(files.into_iter().map(|(key, text)| (key.to_owned(), bytes(text))).collect());
    match replaced {
        None => api.create(&PostParams::default(), &secret).await.map(drop),
        Some(_) => api.replace(name, &PostParams::default(), &secret).await.map(drop),
    }
}

/// Judges the content of a Secret at the time `now`.
pub(super) fn read(secret: &Secret, hosts: &Hosts, now: SystemTime) -> Stored {
    let is_own = annotation(secret, HOSTS).is_some();
    if secret.data.as_ref().is_none_or(|data| data.is_empty()) {
        return Stored::Empty;
    }
    match (certificates(secret), is_own) {
        (Err(reason), _) => Stored::Broken { is_own, reason },
        (Ok(set), true) => match hosts.all.iter().find_map(|host| refusal(&set.serving, host, now)) {
            Some(reason) => Stored::Broken { is_own, reason },
            None => Stored::Own(set),
        },
        (Ok(set), false) => match refusal(&set.serving, &hosts.required, now) {
            Some(reason) => Stored::Broken { is_own, reason },
            None => Stored::Foreign(set.serving),
        },
    }
}

pub(super) fn annotation(secret: &Secret, name: &str) -> Option<String> {
    secret.metadata.annotations.as_ref()?.get(name).cloned()
}

fn refusal(certificate: &ServingCertificate, host: &str, now: SystemTime) -> Option<String> {
    let error = certificate.verify(host, now).err()?;
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
    Some(format!("for {host}: {error}{cause}"))
}

fn certificates(secret: &Secret) -> Result<CertificateSet, String> {
    let text = |key: &str| {
        let bytes = secret.data.as_ref().and_then(|data| data.get(key));
        let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes.0).into_owned());
        text.filter(|text| !text.trim().is_empty())
            .ok_or_else(|| format!("the key {key} is missing or empty"))
    };
    let serving = ServingCertificate {
        authority: text("ca.crt")?,
        certificate: text("tls.crt")?,
        key: text("tls.key")?,
    };
    let next = || {
        let (authority, certificate, key) =
            (text("next-ca.crt").ok()?, text("next.crt").ok()?, text("next.key").ok()?);
        Some(ServingCertificate { authority, certificate, key })
    };
    Ok(CertificateSet { serving, next: next() })
}
