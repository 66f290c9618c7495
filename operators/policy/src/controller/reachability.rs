//! Looks for a pod behind the address that is about to be registered.
//!
//! A pod that is ready by its own account is not reachable yet: the kubelet has to probe it, and the Service's
//! EndpointSlices have to follow. A webhook registered before that refuses every request (`failurePolicy: Fail`), or
//! admits it without judging it (`Ignore`).

use std::time::Duration;

use admission_server::client_config;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use kube::Api;
use kube::api::ListParams;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::{WebhookClient, WebhookConfiguration};
use crate::api_error::reason;

/// Connecting to an address takes at most this.
const CONNECT: Duration = Duration::from_secs(2);
/// The API server may reach an address that this pod does not: where nothing says that no pod is there, the webhook is
/// registered after this time.
const PATIENCE: Duration = Duration::from_secs(30);

/// The state of the pods behind an address.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Sight {
    /// One of them is ready.
    Ready,
    /// None is ready behind this Service.
    NoneBehind(String),
    /// This pod cannot tell, because of this.
    Unknown(String),
}

/// Looks behind one address until a pod is there.
pub(super) struct Reachability {
    client: kube::Client,
    since: Option<Instant>,
}

impl Reachability {
    pub(super) fn new(client: kube::Client) -> Self {
        Self { client, since: None }
    }

    /// The reason why `configuration` must not be registered yet, or `None`.
    pub(super) async fn wait_reason(&mut self, configuration: &WebhookConfiguration) -> Option<String> {
        let since = *self.since.get_or_insert_with(Instant::now);
        let sight = match &configuration.client {
            WebhookClient::Service { namespace, name } => self.endpoints(namespace, name).await,
            WebhookClient::Url(url) => answers(url, &configuration.authority).await,
        };
        let wait = must_wait(&sight, since.elapsed());
        if let (None, Sight::Unknown(reason)) = (&wait, sight) {
            tracing::warn!(reason, "the webhook is registered, but no pod could be seen behind its address");
        }
        if wait.is_none() {
            self.since = None;
        }
        wait
    }

    async fn endpoints(&self, namespace: &str, service: &str) -> Sight {
        let slices: Api<EndpointSlice> = Api::namespaced(self.client.clone(), namespace);
        let of_service = ListParams::default().labels(&format!("kubernetes.io/service-name={service}"));
        match slices.list(&of_service).await {
            Ok(slices) if slices.items.iter().any(has_ready) => Sight::Ready,
            Ok(_) => Sight::NoneBehind(format!("{namespace}/{service}")),
            Err(error) => Sight::Unknown(reason(&error)),
        }
    }
}

/// An absent condition means ready, as the EndpointSlice API says.
fn has_ready(slice: &EndpointSlice) -> bool {
    let is_ready = |endpoint: &Endpoint| {
        endpoint.conditions.as_ref().is_none_or(|conditions| conditions.ready != Some(false))
    };
    slice.endpoints.iter().flatten().any(is_ready)
}

/// A handshake shows that a process with the registered certificate is there.
async fn answers(url: &str, authority: &str) -> Sight {
    let shaken = timeout(CONNECT, handshake(url, authority)).await;
    match shaken.unwrap_or_else(|_| Err("no answer".into())) {
        Ok(()) => Sight::Ready,
        Err(error) => Sight::Unknown(format!("{url}: {error}")),
    }
}

async fn handshake(url: &str, authority: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let url: hyper::Uri = url.parse()?;
    let host = url.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let stream = TcpStream::connect((host.as_str(), url.port_u16().unwrap_or(443))).await?;
    TlsConnector::from(client_config(authority)?).connect(ServerName::try_from(host)?, stream).await?;
    Ok(())
}

fn must_wait(sight: &Sight, waited: Duration) -> Option<String> {
    match sight {
        Sight::NoneBehind(service) => {
            Some(format!("no pod is ready behind the Service {service} yet, by its EndpointSlices"))
        }
        Sight::Unknown(reason) if waited < PATIENCE => {
            Some(format!("no pod could be seen behind its address yet ({reason})"))
        }
        Sight::Ready | Sight::Unknown(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_known_is_registered_in_the_end() {
        let long = PATIENCE;
        assert_eq!(must_wait(&Sight::Ready, Duration::ZERO), None);
        let none = Sight::NoneBehind("system/webhook".to_owned());
        assert!(must_wait(&none, long * 100).unwrap().contains("Service system/webhook"));
        let unknown = Sight::Unknown("connection refused".to_owned());
        assert!(must_wait(&unknown, Duration::ZERO).unwrap().contains("connection refused"));
        assert_eq!(must_wait(&unknown, long), None);
    }

    #[test]
    fn an_endpoint_is_ready_unless_its_slice_says_otherwise() {
        let slice = |conditions: serde_json::Value| -> EndpointSlice {
            let endpoint = serde_json::json!({"addresses": ["10.0.0.1"], "conditions": conditions});
            serde_json::from_value(serde_json::json!({"addressType": "IPv4", "endpoints": [endpoint]}))
                .unwrap()
        };
        assert!(has_ready(&slice(serde_json::json!({"ready": true}))));
        assert!(has_ready(&slice(serde_json::json!({}))));
        assert!(!has_ready(&slice(serde_json::json!({"ready": false, "serving": true}))));
        assert!(!has_ready(&EndpointSlice::default()));
    }
}
