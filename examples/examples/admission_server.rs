//! An admission controller: one webhook refuses, one changes, and the certificate is rotated while both serve.
//!
//! The API server of `$KUBECONFIG` must reach this process at 127.0.0.1, as that of `cargo run -p control-plane` does.
//! `building_blocks.rs` declares what it does there.

use std::error::Error;

use admission_server::{
    AdmissionRequest, AdmissionRoutes, Server, ServingCertificate, Shutdown, Tls, TlsOptions, mutate,
    validate,
};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams};
use serde_json::{Value, json};

const NAME: &str = "admission-example";

fn needs_owner(request: &AdmissionRequest) -> Result<(), String> {
    let object: Value = request.object().map_err(|error| error.to_string())?.unwrap_or_default();
    let owner = object.pointer("/data/owner");
    owner.map(drop).ok_or_else(|| format!("ConfigMap {} needs data.owner", request.name))
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
    let routes = AdmissionRoutes::new()
        .with_handler("/validate", validate(needs_owner))
        .with_handler("/mutate", mutate(add_team));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let (url, shutdown) = (format!("https://{}", listener.local_addr()?), Shutdown::default());
    let server = tokio::spawn(Server::new(listener, routes).with_tls(tls.clone()).run(shutdown.clone()));

    let ann = || json!({"owner": "ann"});
    let story = async {
        register(&client, &url, Some(&first.authority)).await?;
        // A dry run tells when the API server has learnt of the registration.
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
    let ended = tokio::select! { it = story => it, it = tokio::signal::ctrl_c() => it.map_err(Into::into) };
    // Whatever has happened: webhooks that nobody answers refuse everything.
    register(&client, &url, None).await?;
    shutdown.drain.cancel();
    server.await?;
    ended
}

/// Registers both webhooks for ConfigMaps in `default`, or removes them where there is no authority to trust.
async fn register(client: &kube::Client, url: &str, authority: Option<&str>) -> kube::Result<()> {
    for (kind, path) in
        [("MutatingWebhookConfiguration", "/mutate"), ("ValidatingWebhookConfiguration", "/validate")]
    {
        let gvk = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&gvk));
        let Some(authority) = authority else {
            api.delete(NAME, &DeleteParams::default()).await?;
            continue;
        };
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": NAME},
            "webhooks": [{
                "name": "example.webtroller.dev", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "clientConfig": {"url": format!("{url}{path}"), "caBundle": ByteString(authority.as_bytes().to_vec())},
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
                "rules": [{"operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]
            }]
        });
        api.patch(NAME, &PatchParams::apply(NAME), &Patch::Apply(configuration)).await?;
    }
    Ok(())
}

/// Creates a ConfigMap and returns what the API server says.
async fn create(client: &kube::Client, name: &str, data: Value, dry_run: bool) -> String {
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let metadata = json!({"name": name, "labels": {"app": "a"}});
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
    let parameters = PatchParams { dry_run, ..PatchParams::apply(NAME) };
    match api.patch(name, &parameters, &Patch::Apply(object)).await {
        Ok(created) => format!("created {name} with {:?}", created.metadata.labels.unwrap_or_default()),
        Err(error) => error.to_string(),
    }
}
