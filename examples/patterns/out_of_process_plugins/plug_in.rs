//! A plug-in: serves the hook over mutual TLS, and writes its address into its Extension. It needs no rights but that.

use std::pin::pin;

use admission_server::{Answer, Body, Routes, Server, ServingCertificate, Tls, TlsOptions};
use anyhow::{Context, Result, bail};
use base64::prelude::{BASE64_STANDARD, Engine};
use controller_declaration::{Declaration, DeclaredAccess};
use examples::Cluster;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use http::{Request, Response, StatusCode};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch::{self, Receiver, Sender};

use crate::certificates;
use crate::kinds::{self, Extension};

/// The plug-in `gate` holds its answers until there is a ConfigMap of this name: a slow one, without a clock.
pub(crate) const GATE: &str = "gate-is-open";

pub(crate) fn declaration() -> Declaration {
    let endpoint = ["/spec/endpoint", "/spec/caBundle"];
    Declaration::new("plug-in", "Serves a hook, and says in its Extension where.")
        .access(DeclaredAccess::to(kinds::GROUP, "extensions").watches().writes(endpoint))
        .access(DeclaredAccess::to("", "configmaps").watches())
}

struct PlugIn {
    name: String,
    versions: Vec<String>,
    gate: Receiver<bool>,
}

/// Runs the plug-in `name` with the hook `versions`, until it is asked to end; requests that have begun are answered.
pub(crate) async fn run(cluster: Cluster, name: &str, versions: &[String]) -> Result<()> {
    let authorities: ConfigMap = cluster.existing(certificates::AUTHORITY).await?;
    let authority = authorities.data.and_then(|mut data| data.remove("ca.crt")).context("no ca.crt")?;
    let certificate = ServingCertificate::generate(&["127.0.0.1".to_owned()])?;
    let mut options = TlsOptions::default();
    options.client_authority = Some(authority);
    options.client_name = Some(certificates::NAME.to_owned());
    let tls = Tls::new(&certificate, options)?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let endpoint = format!("https://{}", listener.local_addr()?);
    let (open, gate) = watch::channel(name != "gate");
    let plug_in = PlugIn { name: name.to_owned(), versions: versions.to_vec(), gate };
    let serving = Server::new(listener, plug_in).with_tls(tls).run(cluster.shutdown.clone());
    let bundle = BASE64_STANDARD.encode(&certificate.authority);
    let registering = async {
        keep_registered(&cluster, name, &endpoint, &bundle).await?;
        withdraw(&cluster, name, &endpoint).await
    };
    futures::try_join!(registering, serving.map(Ok), open_gate(&cluster, open)).map(drop)
}

/// Lets the answers go when the ConfigMap is there.
async fn open_gate(cluster: &Cluster, open: Sender<bool>) -> Result<()> {
    if !*open.borrow() {
        tokio::select! {
            opened = cluster.existing::<ConfigMap>(GATE) => drop(opened?),
            () = cluster.shutdown.cancelled() => {}
        }
    }
    open.send_replace(true);
    Ok(())
}

/// States where this process is, in the Extension that the administrator has created: once when it starts, in place of the process
/// that it finds registered, and whenever none is registered. So an upgrade takes over from the former release, and of two
/// processes the other takes over from one that [withdraws](withdraw). Each write carries the version that was read: a process that was frozen
/// before it does not take the place of one that has registered since, and does not bring back what the administrator has
/// deleted.
///
/// Returns when the process is to end.
async fn keep_registered(cluster: &Cluster, name: &str, endpoint: &str, bundle: &str) -> Result<()> {
    let place = json!({"spec": {"endpoint": endpoint, "caBundle": bundle}});
    let mut states = pin!(cluster.state::<Extension>(name));
    let (mut predecessor, mut said) = (None, None);
    loop {
        let state = tokio::select! {
            state = states.next() => state.context("the watch has ended")?,
            () = cluster.shutdown.cancelled() => return Ok(()),
        };
        // A write that comes too late is followed by the state that it has missed.
        let Some(extension) = state? else { continue };
        let registered = extension.spec.endpoint.clone();
        let predecessor = predecessor.get_or_insert_with(|| registered.clone());
        if registered.is_none() || registered == *predecessor {
            cluster.decide(&cluster.api(), &extension, place.clone()).await?;
        } else if registered.as_deref() != Some(endpoint) && registered != said {
            cluster.say(format!("{name}: another process is registered, this one is not asked"));
            said = registered;
        }
    }
}

/// Takes this process out of the Extension if it is registered there.
async fn withdraw(cluster: &Cluster, name: &str, endpoint: &str) -> Result<()> {
    // A watch of its own begins with a list, which has the last write of this process.
    let mut states = pin!(cluster.state(name));
    while let Some(state) = states.next().await {
        let is_ours = |it: &Extension| it.spec.endpoint.as_deref() == Some(endpoint);
        let Some(extension) = state?.filter(is_ours) else { return Ok(()) };
        if cluster.decide(&cluster.api(), &extension, json!({"spec": {}})).await? {
            cluster.say(format!("{name}: this process ends, another may register"));
            return Ok(());
        }
    }
    bail!("the watch of Extension {name} has ended")
}

impl Routes for PlugIn {
    fn route(&self, request: Request<Body>) -> BoxFuture<'_, Answer> {
        async move {
            let answered = self.answer(request).await;
            let (status, body) = match answered {
                Ok(Some(answer)) => (StatusCode::OK, answer),
                Ok(None) => (StatusCode::NOT_FOUND, json!({})),
                Err(error) => (StatusCode::BAD_REQUEST, json!({"error": error.to_string()})),
            };
            let mut answer = Response::new(body.to_string().into_bytes().into());
            *answer.status_mut() = status;
            answer
        }
        .boxed()
    }
}

// === impl PlugIn ===

impl PlugIn {
    async fn answer(&self, request: Request<Body>) -> Result<Option<Value>> {
        let path = request.uri().path().to_owned();
        if path == "/discovery" {
            return Ok(Some(json!({"hooks": {"rank": self.versions}})));
        }
        let version = path.strip_prefix('/').and_then(|path| path.strip_suffix("/rank"));
        if !self.versions.iter().any(|offered| Some(offered.as_str()) == version) {
            return Ok(None);
        }
        let question: Value = serde_json::from_slice(request.into_body().read().await?.as_ref())?;
        self.gate.clone().wait_for(|open| *open).await?;
        Ok(Some(json!({"zones": rank(&self.name, &question)})))
    }
}

/// Version 1 of the question has names of zones, version 2 has names and prices.
fn rank(plug_in: &str, question: &Value) -> Vec<String> {
    let name = |zone: &Value| zone.as_str().or(zone["name"].as_str()).unwrap_or_default().to_owned();
    // Where the question has no prices, the plug-in has to know them: the reason why there is a version 2.
    let price =
        |zone: &Value| zone["cents"].as_u64().unwrap_or(if name(zone).starts_with("eu") { 10 } else { 7 });
    let mut zones: Vec<&Value> = question["zones"].as_array().into_iter().flatten().collect();
    match plug_in {
        "only-eu" => zones.retain(|zone| name(zone).starts_with("eu")),
        "cheapest" => zones.sort_by_key(|zone| price(zone)),
        _ => {}
    }
    zones.into_iter().map(name).collect()
}
