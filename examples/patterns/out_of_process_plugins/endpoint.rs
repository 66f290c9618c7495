//! One plug-in as the controller calls it: mutual TLS, bounded concurrency, deadlines, retries with jitter, a breaker.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow, ensure};
use backon::{BackoffBuilder, ExponentialBuilder};
use examples::ranking::{Answer, Question, VERSIONS, agree};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use kube::config::{
    AuthInfo, Cluster, Context as KubeContext, KubeConfigOptions, Kubeconfig, NamedAuthInfo, NamedCluster,
    NamedContext,
};
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;

use crate::breaker::Breaker;
use crate::certificates::Identity;
use crate::kinds::{Extension, ExtensionSpec, Known};

/// Calls to one plug-in at a time.
const PLACES: usize = 2;
/// An answer names zones; more is an attack or a mistake.
const ANSWER_BYTES: usize = 64 << 10;

pub(crate) struct Endpoint {
    client: Client,
    address: String,
    version: &'static str,
    /// The Extension that it was made from.
    of: ExtensionSpec,
    /// The plug-in has answered that it no longer has this version.
    withdrawn: AtomicBool,
    patience: Duration,
    places: Semaphore,
    waiting: AtomicUsize,
    breaker: Mutex<Breaker>,
    /// Notified whenever there is something new to report.
    changed: Arc<Notify>,
}

// === impl Endpoint ===

impl Endpoint {
    /// Connects, and asks which versions of the hook the plug-in has.
    pub(crate) async fn discover(
        extension: &Extension,
        identity: &Identity,
        changed: Arc<Notify>,
    ) -> Result<Self> {
        let address = extension.spec.endpoint.clone().context("the plug-in has not said where it is")?;
        let (client, patience) = (connect(extension, &address, identity).await?, extension.timeout());
        let offered = timeout(patience, ask(&client, Request::get("/discovery"), &json!({}))).await??;
        Ok(Self {
            client,
            address,
            version: agree(&offered, &VERSIONS).map_err(Error::msg)?,
            of: extension.spec.clone(),
            withdrawn: AtomicBool::new(false),
            patience,
            places: Semaphore::new(PLACES),
            waiting: AtomicUsize::new(0),
            breaker: Mutex::new(Breaker::Closed(0)),
            changed,
        })
    }

    /// False when the plug-in has to be discovered anew: it is elsewhere, has another authority, is given another time, or
    /// no longer has the version that was agreed on.
    pub(crate) fn is_current(&self, extension: &Extension) -> bool {
        let (known, spec) = (&self.of, &extension.spec);
        let same = known.endpoint == spec.endpoint && known.ca_bundle == spec.ca_bundle;
        same && known.timeout_seconds == spec.timeout_seconds && !self.withdrawn.load(Ordering::SeqCst)
    }

    /// Asks the plug-in: up to three attempts, each with its deadline and a random pause before it.
    pub(crate) async fn rank(&self, question: &Question) -> Result<Answer> {
        let _place = self.place().await?;
        let pauses = ExponentialBuilder::default().with_min_delay(Duration::from_millis(50)).with_jitter();
        let mut pauses = pauses.with_max_times(2).build();
        loop {
            let failed = match self.attempt(question).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            match pauses.next() {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return Err(failed),
            }
        }
    }

    /// Back pressure: a caller waits for a place, and it is reported that callers do.
    async fn place(&self) -> Result<tokio::sync::SemaphorePermit<'_>> {
        if let Ok(place) = self.places.try_acquire() {
            return Ok(place);
        }
        if self.waiting.fetch_add(1, Ordering::SeqCst) == 0 {
            self.changed.notify_one();
        }
        let place = timeout(self.patience, self.places.acquire()).await;
        if self.waiting.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.changed.notify_one();
        }
        Ok(place.map_err(|_| anyhow!("it is busy: {PLACES} calls are under way"))??)
    }

    async fn attempt(&self, question: &Question) -> Result<Answer> {
        ensure!(self.change(|breaker| breaker.permits(Instant::now())), "its circuit is open");
        let request = Request::post(format!("/{}/rank", self.version));
        // Version 1 has no prices.
        let mut body = json!(question);
        if self.version == "v1" {
            let names = question.zones.iter().map(|zone| json!(zone.name)).collect();
            body.as_object_mut().map(|fields| fields.insert("zones".to_owned(), names));
        }
        let answer = timeout(self.patience, ask(&self.client, request, &body)).await;
        let answer = answer.map_err(|_| anyhow!("no answer in {} s", self.patience.as_secs())).flatten();
        self.change(|breaker| breaker.record(answer.is_ok(), Instant::now()));
        if let Err(error) = &answer
            && error.downcast_ref() == Some(&UnexpectedStatus(StatusCode::NOT_FOUND))
        {
            self.withdrawn.store(true, Ordering::SeqCst);
            self.changed.notify_one();
        }
        Ok(serde_json::from_value(answer?)?)
    }

    fn change<T>(&self, act: impl FnOnce(&mut Breaker) -> T) -> T {
        let mut breaker = self.breaker.lock().unwrap_or_else(PoisonError::into_inner);
        let (before, result) = (breaker.name(), act(&mut breaker));
        if breaker.name() != before {
            self.changed.notify_one();
        }
        result
    }

    /// The endpoint as it is reported.
    pub(crate) fn known(&self) -> Known {
        Known {
            endpoint: self.address.clone(),
            version: self.version.to_owned(),
            circuit: self.change(|breaker| breaker.name()).to_owned(),
            saturated: self.waiting.load(Ordering::SeqCst) > 0,
        }
    }
}

/// An answer that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it answered {0}")]
struct UnexpectedStatus(StatusCode);

/// kube's client is an HTTPS client with mutual TLS, so no second one is needed; a kubeconfig says whom to trust and who asks.
async fn connect(extension: &Extension, address: &str, identity: &Identity) -> Result<Client> {
    ensure!(address.starts_with("https://"), "its endpoint is not an https address");
    let name = "plug-in".to_owned();
    let cluster = Cluster {
        server: Some(address.to_owned()),
        certificate_authority_data: extension.spec.ca_bundle.clone(),
        ..Cluster::default()
    };
    let user = AuthInfo {
        client_certificate_data: Some(identity.certificate.clone()),
        client_key_data: Some(identity.key.clone().into()),
        ..AuthInfo::default()
    };
    let context = KubeContext { cluster: name.clone(), user: Some(name.clone()), ..KubeContext::default() };
    let kubeconfig = Kubeconfig {
        clusters: vec![NamedCluster {
            name: name.clone(),
            cluster: Some(cluster),
            ..NamedCluster::default()
        }],
        auth_infos: vec![NamedAuthInfo {
            name: name.clone(),
            auth_info: Some(user),
            ..NamedAuthInfo::default()
        }],
        contexts: vec![NamedContext {
            name: name.clone(),
            context: Some(context),
            ..NamedContext::default()
        }],
        current_context: Some(name),
        ..Kubeconfig::default()
    };
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    // Retries are counted here, where the breaker sees them.
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}

async fn ask(client: &Client, request: http::request::Builder, body: &Value) -> Result<Value> {
    let request =
        request.header("content-type", "application/json").body(Body::from(serde_json::to_vec(body)?))?;
    let answer = client.send(request).await?;
    let (status, body) = (answer.status(), Limited::new(answer.into_body(), ANSWER_BYTES).collect().await);
    let body = body.map_err(|error| anyhow!("its answer cannot be read: {error}"))?.to_bytes();
    ensure!(status == StatusCode::OK, UnexpectedStatus(status));
    serde_json::from_slice(&body).context("its answer is not JSON")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use admission_server::{Answer as Response, Body as Received, Routes, Server, ServingCertificate};
    use admission_server::{CancellationToken, Tls, TlsOptions};
    use base64::prelude::{BASE64_STANDARD, Engine};
    use futures::FutureExt;
    use futures::future::BoxFuture;
    use tokio::net::TcpListener;

    use super::*;
    use crate::certificates;

    /// A plug-in behind one address, with one version of the hook.
    struct PlugIn(Arc<AtomicU32>);

    impl Routes for PlugIn {
        fn route(&self, request: Request<Received>) -> BoxFuture<'_, Response> {
            let version = format!("v{}", self.0.load(Ordering::SeqCst));
            let body = match request.uri().path() {
                "/discovery" => Some(json!({"hooks": {"rank": [version]}})),
                path => (path == format!("/{version}/rank")).then(|| json!({"zones": ["eu-1"]})),
            };
            let mut answer = Response::new(body.clone().unwrap_or_default().to_string().into_bytes().into());
            if body.is_none() {
                *answer.status_mut() = StatusCode::NOT_FOUND;
            }
            std::future::ready(answer).boxed()
        }
    }

    #[tokio::test]
    async fn a_plug_in_that_changes_behind_its_address_is_discovered_anew() {
        let version = Arc::new(AtomicU32::new(2));
        let certificate = ServingCertificate::generate(&["127.0.0.1".to_owned()]).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut extension = Extension::new("plug-in", serde_json::from_str("{}").unwrap());
        extension.spec.endpoint = Some(format!("https://{}", listener.local_addr().unwrap()));
        extension.spec.ca_bundle = Some(BASE64_STANDARD.encode(&certificate.authority));
        let server = Server::new(listener, PlugIn(Arc::clone(&version)));
        let server = server.with_tls(Tls::new(&certificate, TlsOptions::default()).unwrap());
        let serving = tokio::spawn(server.run(CancellationToken::new()));
        let (identity, question) = (certificates::stranger().unwrap(), Question::new("a", 2));
        let discover =
            async |extension: &Extension| Endpoint::discover(extension, &identity, Arc::default()).await;

        let newer = discover(&extension).await.unwrap();
        assert_eq!((newer.version, newer.is_current(&extension)), ("v2", true));
        newer.rank(&question).await.unwrap();
        // It is rolled back, and its Service has the same name.
        version.store(1, Ordering::SeqCst);
        newer.rank(&question).await.unwrap_err();
        assert!(!newer.is_current(&extension), "it no longer has version 2");
        let older = discover(&extension).await.unwrap();
        assert_eq!(older.version, "v1");
        older.rank(&question).await.unwrap();

        let changed = |change: fn(&mut ExtensionSpec)| {
            let mut other = extension.clone();
            change(&mut other.spec);
            !older.is_current(&other)
        };
        assert!(changed(|spec| spec.timeout_seconds = 1), "the administrator gives it less time");
        assert!(changed(|spec| spec.ca_bundle = None), "its certificate is of another authority");
        assert!(changed(|spec| spec.endpoint = None), "it has moved");
        assert!(!changed(|spec| spec.selector = [("a".to_owned(), "b".to_owned())].into()));
        serving.abort();
    }
}
