//! TLS: another certificate without a restart, versions, client certificates.

use std::sync::Arc;
use std::time::SystemTime;

use admission_server::{Limits, ServingCertificate, TlsOptions, TlsVersion};
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::version::TLS12;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::client::{Client, connect, post, review, routes, start, start_with};

#[tokio::test]
async fn another_certificate_is_served_from_the_next_handshake_on() {
    let running = start(Limits::default()).await;
    let mut open = running.client().await;
    let next = ServingCertificate::generate(&["127.0.0.1".to_owned()]).unwrap();
    let trusts_next = next.client_config().unwrap();
    assert!(connect(running.address, &trusts_next, &[]).await.is_err());
    running.tls.replace(&next).unwrap();
    connect(running.address, &trusts_next, &[]).await.unwrap();
    assert!(running.connect().await.is_err(), "the former authority is no longer served");
    // The open connection goes on, and a broken certificate changes nothing.
    open.ask("/validate", &review("u", "good")).await;
    let broken = ServingCertificate { key: "none".to_owned(), ..next };
    assert!(running.tls.replace(&broken).is_err());
    connect(running.address, &trusts_next, &[]).await.unwrap();
}

/// As a file that is being written, or files that are replaced one after the other.
#[tokio::test]
async fn a_certificate_that_is_there_in_part_changes_nothing() {
    let running = start(Limits::default()).await;
    let hosts = ["127.0.0.1".to_owned()];
    let (former, next) = (running.certificate.clone(), ServingCertificate::generate(&hosts).unwrap());
    let parts = |text: &str| {
        [0, 1, 20, text.len() / 2, text.len() - 10].map(|end| text.chars().take(end).collect::<String>())
    };
    let certificates = parts(&next.certificate).map(|part| (part, next.key.clone()));
    let keys = parts(&next.key).map(|part| (next.certificate.clone(), part));
    let mixed =
        [(former.certificate.clone(), next.key.clone()), (next.certificate.clone(), former.key.clone())];
    for (certificate, key) in certificates.into_iter().chain(keys).chain(mixed) {
        let part = ServingCertificate { certificate, key, authority: next.authority.clone() };
        assert!(running.tls.replace(&part).is_err(), "{part:?}");
        assert!(part.verify("127.0.0.1", SystemTime::now()).is_err(), "{part:?}");
        running.connect().await.unwrap();
    }
}

/// Clients that trust both certificates connect all the time, and notice nothing.
#[tokio::test(flavor = "multi_thread")]
async fn no_handshake_fails_while_certificates_are_rotated() {
    let running = Arc::new(start(Limits::default()).await);
    let former = running.certificate.clone();
    let next = ServingCertificate::generate(&["127.0.0.1".to_owned()]).unwrap();
    let both = former.authority.clone() + &next.authority;
    let trusts = ServingCertificate { authority: both, ..next.clone() }.client_config().unwrap();
    let clients = (0..4).map(|_| {
        let (running, trusts) = (Arc::clone(&running), Arc::clone(&trusts));
        let certificates = [former.clone(), next.clone()];
        tokio::spawn(async move {
            for turn in 0..25 {
                // The handshakes of the others are under way.
                running.tls.replace(&certificates[turn % 2]).unwrap();
                let stream = connect(running.address, &trusts, &[]).await.expect("a handshake");
                Client::over(stream).await.send(post("/validate", review("u", "good"))).await.unwrap();
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.unwrap();
    }
}

fn roots(certificate: &ServingCertificate) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(certificate.authority.as_bytes()).unwrap()).unwrap();
    roots
}

fn builder() -> tokio_rustls::rustls::ConfigBuilder<ClientConfig, tokio_rustls::rustls::WantsVersions> {
    ClientConfig::builder_with_provider(Arc::new(tokio_rustls::rustls::crypto::ring::default_provider()))
}

#[tokio::test]
async fn tls_1_2_is_accepted_only_where_it_is_chosen() {
    for (min_version, accepted) in [(TlsVersion::V1_2, true), (TlsVersion::V1_3, false)] {
        let mut options = TlsOptions::default();
        options.min_version = min_version;
        let running = start_with(Limits::default(), options, routes()).await;
        let config = builder().with_protocol_versions(&[&TLS12]).unwrap();
        let config = config.with_root_certificates(roots(&running.certificate)).with_no_client_auth();
        let connected = connect(running.address, &Arc::new(config), &[]).await;
        assert_eq!(connected.is_ok(), accepted, "{min_version:?}");
    }
}

/// An authority for clients, and a certificate of it with this common name.
fn client_certificate(name: &str) -> (String, CertificateDer<'static>, PrivateKeyDer<'static>) {
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_pem = authority.self_signed(&authority_key).unwrap().pem();
    let key = KeyPair::generate().unwrap();
    let mut client = CertificateParams::new(Vec::new()).unwrap();
    client.distinguished_name.push(DnType::CommonName, name);
    client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = client.signed_by(&key, &Issuer::new(authority, authority_key)).unwrap();
    let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
    (authority_pem, certificate.der().clone(), key)
}

#[tokio::test]
async fn clients_without_the_demanded_certificate_are_refused() {
    for (demanded, shown, accepted) in [
        (None, None, false),
        (None, Some("anybody"), true),
        (Some("kube-apiserver"), Some("anybody"), false),
        (Some("kube-apiserver"), Some("kube-apiserver"), true),
    ] {
        let (authority, certificate, key) = client_certificate(shown.unwrap_or_default());
        let mut options = TlsOptions::default();
        options.client_authority = Some(authority);
        options.client_name = demanded.map(str::to_owned);
        let running = start_with(Limits::default(), options, routes()).await;
        let config = builder().with_safe_default_protocol_versions().unwrap();
        let config = config.with_root_certificates(roots(&running.certificate));
        let config = match shown {
            Some(_) => config.with_client_auth_cert(vec![certificate], key).unwrap(),
            None => config.with_no_client_auth(),
        };
        // With TLS 1.3 a client learns that its certificate was refused when it first reads.
        let usable = match connect(running.address, &Arc::new(config), &[]).await {
            Ok(stream) => {
                Client::over(stream).await.send(post("/validate", review("u", "good"))).await.is_ok()
            }
            Err(_) => false,
        };
        assert_eq!(usable, accepted, "{demanded:?} {shown:?}");
    }
}
