//! A plug-in: serves the hook over mutual TLS, and tells its Extension where it is. It needs no rights but that.

use admission_server::{Answer, Body, Routes, Server, ServingCertificate, Shutdown, Tls, TlsOptions};
use anyhow::{Context, Result, bail};
use base64::prelude::{BASE64_STANDARD, Engine};
use controller_declaration::{Access, Declaration};
use examples::Cluster;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Request, Response, StatusCode};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::runtime::wait::await_condition;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::certificates;
use crate::kinds::{self, Extension};

/// A plug-in holds its answers while there is no ConfigMap of this name: a slow one, without a clock.
pub(crate) const GATE: &str = "gate-is-open";

/// Writes of others that may come between reading an Extension and registering in it.
const ATTEMPTS: u32 = 20;

pub(crate) fn declaration() -> Declaration {
    let endpoint = ["/spec/endpoint", "/spec/caBundle"];
    Declaration::new("plug-in", "Serves a hook, and says in its Extension where.")
        .access(Access::to(kinds::GROUP, "extensions").watches().writes(endpoint))
        .access(Access::to("", "configmaps").watches())
}

struct PlugIn {
    name: String,
    versions: Vec<String>,
    cluster: Cluster,
}

/// Runs the plug-in `name` with the hook `versions`, until it is asked to end; requests that have begun are answered.
pub(crate) async fn run(cluster: Cluster, name: &str, versions: &[String]) -> Result<()> {
    let authorities =
        await_condition(cluster.api::<ConfigMap>(), certificates::AUTHORITY, |map: Option<&ConfigMap>| {
            map.is_some()
        });
    let authority = authorities.await?.and_then(|map| map.data?.remove("ca.crt")).context("no ca.crt")?;
    let certificate = ServingCertificate::generate(&["127.0.0.1".to_owned()])?;
    let mut options = TlsOptions::default();
    options.client_authority = Some(authority);
    options.client_name = Some(certificates::NAME.to_owned());
    let tls = Tls::new(&certificate, options)?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let endpoint = format!("https://{}", listener.local_addr()?);
    let plug_in = PlugIn { name: name.to_owned(), versions: versions.to_vec(), cluster: cluster.clone() };
    let shutdown = Shutdown { drain: cluster.shutdown.clone(), ..Shutdown::default() };
    let serving = Server::new(listener, plug_in).with_tls(tls).run(shutdown);
    let bundle = BASE64_STANDARD.encode(&certificate.authority);
    let registering = register(&cluster, name, json!({"spec": {"endpoint": endpoint, "caBundle": bundle}}));
    futures::try_join!(registering, serving.map(Ok)).map(drop)
}

/// States where this plug-in is, in the Extension that the administrator has created. A process that was frozen meanwhile does not
/// take the place of one that has registered since it looked, and does not bring back what the administrator has deleted.
async fn register(cluster: &Cluster, name: &str, place: Value) -> Result<()> {
    let Some(found) = after(cluster, name, None).await? else { return Ok(()) };
    let mut now = found.clone();
    // Others write too: the administrator, and the controller its status.
    for _attempt in 0..ATTEMPTS {
        if cluster.decide(&cluster.api(), &now, place.clone()).await? {
            report_replacement(cluster, name, &place).await;
            return Ok(());
        }
        let is_free = |it: &Extension| it.uid() == found.uid() && it.spec.endpoint == found.spec.endpoint;
        let Some(latest) = after(cluster, name, Some(&now)).await?.filter(is_free) else {
            cluster.say(format!(
                "{name}: another process has registered, or none is wanted: this one is not asked"
            ));
            return Ok(());
        };
        now = latest;
    }
    bail!("Extension {name} changes all the time: its plug-in cannot register")
}

/// Says when the Extension no longer names this place. A watch that fails is no reason to stop serving.
async fn report_replacement(cluster: &Cluster, name: &str, place: &Value) {
    let endpoint = place.pointer("/spec/endpoint").and_then(Value::as_str).map(str::to_owned);
    let is_replaced =
        move |it: Option<&Extension>| it.and_then(|it| it.spec.endpoint.as_ref()) != endpoint.as_ref();
    tokio::select! {
        replaced = await_condition(cluster.api::<Extension>(), name, is_replaced) => {
            if replaced.is_ok() {
                cluster.say(format!("{name}: this process is not asked any more"));
            }
        }
        () = cluster.shutdown.cancelled() => {}
    }
}

/// The Extension once it exists, or once it is another than it was; `None` if it is gone or the process is to end.
async fn after(cluster: &Cluster, name: &str, before: Option<&Extension>) -> Result<Option<Extension>> {
    let seen = before.and_then(ResourceExt::resource_version);
    let has_changed = move |it: Option<&Extension>| it.and_then(ResourceExt::resource_version) != seen;
    tokio::select! {
        found = await_condition(cluster.api(), name, has_changed) => Ok(found?),
        () = cluster.shutdown.cancelled() => Ok(None),
    }
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
        if self.name == "gate" {
            let open = |map: Option<&ConfigMap>| map.is_some();
            await_condition(self.cluster.api::<ConfigMap>(), GATE, open).await?;
        }
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
