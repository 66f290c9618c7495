//! Serves a certificate once the API server accepts it.

use std::time::{Duration, SystemTime};

use admission_server::{ServingCertificate, Tls, includes_authorities, merge_authorities};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::Api;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::api_error::reason;
use crate::controller::WebhookConfiguration;

/// After this time every API server knows what one of them has stored.
const PROPAGATION: Duration = Duration::from_secs(1);

/// The places where certificates take effect in this process.
#[derive(Clone)]
pub(super) struct Effects {
    pub(super) client: kube::Client,
    pub(super) tls: Tls,
    pub(super) configuration: watch::Sender<WebhookConfiguration>,
}

/// The way from one certificate to the next: its authority is registered beside the former one, and then it is served.
pub(super) struct Handover {
    effects: Effects,
    /// The name by which API servers call the webhook.
    host: String,
    serving: ServingCertificate,
    /// The next certificate, and when the API server was seen to have its authority.
    next: Option<(ServingCertificate, Option<Instant>)>,
}

impl Handover {
    /// Starts with the certificate that is served.
    pub(super) const fn new(effects: Effects, host: String, serving: ServingCertificate) -> Self {
        Self { effects, host, serving, next: None }
    }

    /// There is a next step to take.
    pub(super) const fn is_waiting(&self) -> bool {
        self.next.is_some()
    }

    /// Takes the next step towards `certificate`.
    pub(super) async fn follow(&mut self, certificate: &ServingCertificate) {
        if *certificate == self.serving {
            self.next = None;
            return;
        }
        let seen = match self.next.take().filter(|(next, _)| next == certificate) {
            Some((_, seen)) => seen,
            None => {
                self.effects.register(&certificate.authority);
                None
            }
        };
        if self.is_accepted(certificate) || seen.is_some_and(|seen| seen.elapsed() >= PROPAGATION) {
            self.effects.serve(certificate);
            self.serving = certificate.clone();
            return;
        }
        let seen = match seen {
            None if self.effects.is_registered(&certificate.authority).await => Some(Instant::now()),
            seen => seen,
        };
        self.next = Some((certificate.clone(), seen));
    }

    /// Clients that trust what is served now accept it.
    fn is_accepted(&self, certificate: &ServingCertificate) -> bool {
        let authority = self.serving.authority.clone();
        let seen = ServingCertificate { authority, ..certificate.clone() };
        // Without an authority of its own, the API server decides by a list that is not known here.
        let known =
            !self.serving.authority.trim().is_empty() || self.serving.authority == certificate.authority;
        known && seen.verify(&self.host, SystemTime::now()).is_ok()
    }
}

impl Effects {
    /// Has an authority registered, beside the former ones until they expire.
    fn register(&self, authority: &str) {
        self.configuration.send_if_modified(|configuration| {
            let former = configuration.authority.as_str();
            let all = match authority.trim() {
                "" => String::new(),
                _ => merge_authorities(&[former], authority, SystemTime::now()),
            };
            let changed = configuration.authority != all;
            configuration.authority = all;
            changed
        });
    }

    fn serve(&self, certificate: &ServingCertificate) {
        if let Err(error) = self.tls.replace(certificate) {
            tracing::error!(%error, "the certificate cannot be served; the former one stays");
        }
    }

    /// The API server has all of these authorities; without a registration it never calls.
    pub(super) async fn is_registered(&self, authority: &str) -> bool {
        let api: Api<ValidatingWebhookConfiguration> = Api::all(self.client.clone());
        let name = self.configuration.borrow().name.clone();
        let configuration = match api.get_opt(&name).await {
            Ok(configuration) => configuration,
            Err(error) => {
                let reason = reason(&error);
                tracing::warn!(reason, "the webhook configuration cannot be read, will retry");
                return false;
            }
        };
        let webhooks = configuration.and_then(|configuration| configuration.webhooks).unwrap_or_default();
        webhooks.into_iter().all(|webhook| {
            let bundle = webhook.client_config.ca_bundle.unwrap_or_default().0;
            let bundle = String::from_utf8_lossy(&bundle);
            includes_authorities(&bundle, authority) && bundle.is_empty() == authority.trim().is_empty()
        })
    }
}
