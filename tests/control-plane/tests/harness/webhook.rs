//! The API server calls an admission webhook that a test serves on 127.0.0.1.

use std::sync::Arc;

use control_plane::{ControlPlane, ServingCertificate};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

fn acceptor(serving: &ServingCertificate) -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_slice(serving.certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(serving.key.as_bytes()).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// Serves one request over HTTP/1.1 and denies it with a message that quotes its user.
async fn deny_one(acceptor: TlsAcceptor, connection: TcpStream) {
    let mut stream = BufReader::new(acceptor.accept(connection).await.unwrap());
    let (mut line, mut length) = (String::new(), 0);
    while stream.read_line(&mut line).await.unwrap() > 2 {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    let review: Value = serde_json::from_slice(&body).unwrap();
    let message = format!("not from {}", review["request"]["userInfo"]["username"].as_str().unwrap());
    let answer = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": {"uid": review["request"]["uid"], "allowed": false, "status": {"message": message}},
    });
    let (answer, kind) = (answer.to_string(), "content-type: application/json");
    let response = format!(
        "HTTP/1.1 200 OK\r\n{kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
        answer.len()
    );
    stream.write_all(response.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
}

fn configuration(port: u16, authority: &str, namespace: &str) -> ValidatingWebhookConfiguration {
    let mut configuration: ValidatingWebhookConfiguration = serde_json::from_value(json!({
        "metadata": {"name": format!("deny-{namespace}")},
        "webhooks": [{
            "name": "deny.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": format!("https://127.0.0.1:{port}/admit")},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
        }],
    }))
    .unwrap();
    let webhook = &mut configuration.webhooks.as_mut().unwrap()[0];
    webhook.client_config.ca_bundle = Some(ByteString(authority.as_bytes().to_vec()));
    configuration
}

#[tokio::test]
async fn a_webhook_on_the_loopback_address_is_called() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace("webhook").await.unwrap();
    let serving = plane.serving_certificate().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = acceptor(&serving);
    let server = async {
        loop {
            let (connection, _) = listener.accept().await.unwrap();
            deny_one(acceptor.clone(), connection).await;
        }
    };
    let asking = async {
        let configuration = configuration(port, &serving.authority, &namespace);
        Api::all(plane.client().unwrap()).create(&PostParams::default(), &configuration).await.unwrap();
        first_denial(Api::namespaced(plane.client().unwrap(), &namespace)).await
    };
    let message = tokio::select! {
        message = asking => message,
        () = server => unreachable!("the server never ends"),
    };
    assert!(message.contains("denied the request: not from admin"), "{message}");
}

/// The API server learns of a new webhook through a watch of its own, which nothing announces: it is
/// there when the first request is denied.
async fn first_denial(maps: Api<ConfigMap>) -> String {
    loop {
        let metadata = ObjectMeta { generate_name: Some("map-".to_owned()), ..ObjectMeta::default() };
        let map = ConfigMap { metadata, ..ConfigMap::default() };
        match maps.create(&PostParams::default(), &map).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) => return status.message,
            Err(error) => panic!("{error}"),
        }
    }
}
