//! The controller's identity for plug-ins: an authority and a client certificate, made once and kept in a Secret.
//!
//! A plug-in trusts the authority (ConfigMap `placement-ca`), so no other client can call it. The other direction is the
//! `caBundle` of its Extension.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use base64::prelude::{BASE64_STANDARD, Engine};
use examples::Cluster;
use examples::cluster::bounded;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::PostParams;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use serde_json::json;

pub(crate) const AUTHORITY: &str = "placement-ca";
const SECRET: &str = "placement-client";
/// The common name in the certificate, which plug-ins demand.
pub(crate) const NAME: &str = "placement";

/// A client certificate and its key, in base64 as kubeconfigs have them.
pub(crate) struct Identity {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// Reads the identity, and makes it where there is none. Of two controllers that make one, the first wins.
pub(crate) async fn identity(cluster: &Cluster) -> Result<Identity> {
    let secrets = cluster.api::<Secret>();
    if bounded(secrets.get_opt(SECRET)).await?.is_none() {
        let secret = Secret { string_data: Some(generate()?), ..Secret::default() };
        let named = serde_json::from_value(json!({"name": SECRET}))?;
        let created =
            bounded(secrets.create(&PostParams::default(), &Secret { metadata: named, ..secret })).await;
        let exists = |error: &anyhow::Error| matches!(error.downcast_ref(), Some(kube::Error::Api(status)) if status.is_already_exists());
        created.map(drop).or_else(|error| if exists(&error) { Ok(()) } else { Err(error) })?;
    }
    let secret = bounded(secrets.get(SECRET)).await?.data.unwrap_or_default();
    let pem =
        |name: &str| secret.get(name).map(|bytes| bytes.0.clone()).with_context(|| format!("no {name}"));
    // Also after a start that was killed between the two writes.
    let authority = String::from_utf8(pem("ca.crt")?)?;
    cluster.apply::<ConfigMap>(AUTHORITY, json!({"data": {"ca.crt": authority}})).await?;
    let encode = |pem: Vec<u8>| BASE64_STANDARD.encode(pem);
    Ok(Identity { certificate: encode(pem("tls.crt")?), key: encode(pem("tls.key")?) })
}

/// An identity that no plug-in trusts.
pub(crate) fn stranger() -> Result<Identity> {
    let files = generate()?;
    let encode = |name: &str| files.get(name).map(|pem| BASE64_STANDARD.encode(pem)).unwrap_or_default();
    Ok(Identity { certificate: encode("tls.crt"), key: encode("tls.key") })
}

/// An authority that is forgotten once it has signed, and what it signed.
fn generate() -> Result<BTreeMap<String, String>> {
    let authority_key = KeyPair::generate()?;
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.distinguished_name.push(DnType::CommonName, "placement-authority");
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let authority_certificate = authority.self_signed(&authority_key)?;
    let key = KeyPair::generate()?;
    let mut client = CertificateParams::new(Vec::new())?;
    client.distinguished_name.push(DnType::CommonName, NAME);
    client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = client.signed_by(&key, &Issuer::new(authority, authority_key))?;
    let files = [
        ("ca.crt", authority_certificate.pem()),
        ("tls.crt", certificate.pem()),
        ("tls.key", key.serialize_pem()),
    ];
    Ok(files.into_iter().map(|(name, pem)| (name.to_owned(), pem)).collect())
}
