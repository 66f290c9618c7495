//! An admission controller: one webhook refuses, one changes, and the certificate is rotated while both serve.
//!
//! The API server of `$KUBECONFIG` must reach this process at 127.0.0.1, as that of `cargo run -p control-plane` does.
//! `building_blocks.rs` declares what it does there.

use std::{error::Error, time::Duration};

use admission_server::{AdmissionRequest, AdmissionRoutes, CancellationToken, mutate, validate};
use admission_server::{Server, ServingCertificate, Tls, TlsOptions, shutdown_on_signal};
use k8s_openapi::{ByteString, api::core::v1::ConfigMap};
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams};
use serde_json::{Value, json};

const NAME: &str = "admission-example";
const GROUP: &str = "admissionregistration.k8s.io";

fn needs_owner(request: &AdmissionRequest) -> Result<(), String> {
    let object: Value = request.object().map_err(|error| error.to_string())?.unwrap_or_default();
    let text = |at| object.pointer(at).and_then(Value::as_str);
    let name = text("/metadata/name").or_else(|| text("/metadata/generateName")).unwrap_or_default();
    object.pointer("/data/owner").map(drop).ok_or_else(|| format!("ConfigMap {name} needs data.owner"))
}

fn add_team(_: &AdmissionRequest, object: &mut Value) -> Result<(), String> {
    json_patch::merge(object, &json!({"metadata": {"labels": {"team": "shop"}}}));
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (client, hosts) = (kube::Client::try_default().await?, ["127.0.0.1".to_owned()]);
    let (first, next) = (ServingCertificate::generate(&hosts)?, ServingCertificate::generate(&hosts)?);
    let tls = Tls::new(&first, TlsOptions::default())?;
    let routes = AdmissionRoutes::new().with_handler("/validate", validate(needs_owner));
    let routes = routes.with_handler("/mutate", mutate(add_team));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let (url, shutdown) = (format!("https://{}", listener.local_addr()?), CancellationToken::new());
    let server = tokio::spawn(Server::new(listener, routes).with_tls(tls.clone()).run(shutdown.clone()));
    let ann = || json!({"owner": "ann"});
    let demo = async {
        register(&client, &url, Some(&first.authority)).await?;
        // A dry run succeeds once the API server knows the registration.
        while create(&client, "waiting", json!({}), true).await.starts_with("created") {}
        println!("{}", create(&client, "without-owner", json!({}), false).await);
        println!("{}", create(&client, "with-owner", ann(), false).await);
        // Trust the next certificate, then serve it, then no longer trust the former one.
        register(&client, &url, Some(&format!("{}{}", first.authority, next.authority))).await?;
        tls.replace(&next)?;
        while create(&client, "waiting", ann(), true).await.contains("failed calling webhook") {}
        register(&client, &url, Some(&next.authority)).await?;
        println!("rotated: {}", create(&client, "after-rotation", ann(), false).await);
        Ok::<(), Box<dyn Error>>(())
    };
    let ended = tokio::select! { it = demo => it, it = shutdown_on_signal(CancellationToken::new(), Duration::ZERO, CancellationToken::new()) => it.map_err(Into::into) };
    // Whatever has happened: a registered webhook without a server refuses everything.
    let removed = register(&client, &url, None).await.inspect_err(|left| eprintln!("left: {left}"));
    shutdown.cancel();
    server.await?;
    ended.and(removed.map_err(Into::into))
}

/// Registers both webhooks for ConfigMaps in `default`, or removes them; one of them whatever happens to the other.
async fn register(client: &kube::Client, url: &str, authority: Option<&str>) -> Result<(), String> {
    let mut failed = Vec::new();
    for (kind, path) in [("Mutating", "/mutate"), ("Validating", "/validate")] {
        let kind = GroupVersionKind::gvk(GROUP, "v1", &format!("{kind}WebhookConfiguration"));
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
        let configuration = Patch::Apply(json!({
            "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": {"name": NAME},
            "webhooks": [{
                "name": "example.webtroller.dev", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "clientConfig": {"url": format!("{url}{path}"), "caBundle": ByteString(authority.unwrap_or_default().into())},
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
                "rules": [{"operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]
            }]
        }));
        let done = match authority {
            Some(_) => api.patch(NAME, &PatchParams::apply(NAME), &configuration).await.map(drop),
            None => api.delete(NAME, &DeleteParams::default()).await.map(drop),
        };
        // Another client may have deleted it.
        let is_gone = |error: &kube::Error| matches!(error, kube::Error::Api(status) if status.code == 404);
        failed.extend(done.err().filter(|error| !is_gone(error)).map(|error| said(&error)));
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
}

/// Creates a ConfigMap and returns what the API server says.
async fn create(client: &kube::Client, name: &str, data: Value, dry_run: bool) -> String {
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"app": "a"}}, "data": data});
    match api.patch(name, &PatchParams { dry_run, ..PatchParams::apply(NAME) }, &Patch::Apply(object)).await {
        Ok(it) => format!("created {name} with {:?}", it.metadata.labels.unwrap_or_default()),
        Err(error) => said(&error),
    }
}

fn said(error: &kube::Error) -> String {
    if let kube::Error::Api(status) = error { status.message.clone() } else { error.to_string() }
}
