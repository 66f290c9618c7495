//! The authorities in `caBundle`: that of this pod, and those by which other pods may be serving.
//!
//! Pods learn of a new authority at different moments: the kubelets of two nodes bring the files of a Secret up to minutes
//! apart. So what is registered stays until it has expired, and each pod adds its own.

use std::time::SystemTime;

use admission_server::{includes_authorities, merge_authorities};
use k8s_openapi::ByteString;
use serde_json::Value;

/// More bytes of former authorities are not kept: an object has at most 1.5 MB, and the bundle is in four webhooks.
const LONGEST: usize = 64 * 1024;

/// The authorities that this process knows of.
#[derive(Debug, Default)]
pub(super) struct Trust {
    known: String,
}

impl Trust {
    /// Returns what to register. `found` is what pods have registered, or nothing where another client wrote last.
    ///
    /// A bundle that has all of it is left as it is: pods whose clocks differ must not take turns in removing an authority
    /// that expires, and in adding it.
    pub(super) fn bundle(&mut self, own: &str, found: Option<&Value>, now: SystemTime) -> String {
        if own.trim().is_empty() {
            // The API server's own list of authorities counts, as long as there is no other.
            return own.to_owned();
        }
        let found = found.map(bundles).unwrap_or_default();
        let texts: Vec<_> = found.iter().map(String::as_str).chain([self.known.as_str()]).collect();
        let merged = merge_authorities(&texts, own, now);
        let merged = if merged.len() > LONGEST.saturating_add(own.len()) {
            tracing::warn!("too many authorities are registered: those of former certificates are dropped");
            merge_authorities(&[], own, now)
        } else {
            merged
        };
        self.known.clone_from(&merged);
        let first = found.first().filter(|first| found.iter().all(|other| other == *first));
        first.filter(|first| includes_authorities(first, &merged)).cloned().unwrap_or(merged)
    }
}

/// The webhooks trust a pod by this authority.
pub(super) fn trusts(webhooks: &Value, own: &str) -> bool {
    bundles(webhooks).iter().all(|bundle| includes_authorities(bundle, own))
}

/// The `caBundle` of each webhook.
fn bundles(webhooks: &Value) -> Vec<String> {
    let decoded = |webhook: &Value| {
        let bundle = webhook.pointer("/clientConfig/caBundle")?;
        let bytes: ByteString = serde_json::from_value(bundle.clone()).ok()?;
        String::from_utf8(bytes.0).ok()
    };
    webhooks.as_array().into_iter().flatten().map(|webhook| decoded(webhook).unwrap_or_default()).collect()
}

/// Replaces the `caBundle` of each webhook.
pub(super) fn replace_bundles(webhooks: &mut Value, bundle: &str) {
    for webhook in webhooks.as_array_mut().into_iter().flatten() {
        if let Some(config) = webhook.get_mut("clientConfig").and_then(Value::as_object_mut) {
            let bytes = ByteString(bundle.as_bytes().to_vec());
            config.insert("caBundle".to_owned(), serde_json::json!(bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use admission_server::ServingCertificate;
    use serde_json::json;

    use super::*;

    /// A pod as far as its certificate goes.
    #[derive(Default)]
    struct Pod {
        /// The authorities that it has registered, and that of the certificate that it serves.
        own: String,
        serves: String,
        trust: Trust,
        ready: bool,
    }

    impl Pod {
        /// Takes its next step, and returns what it writes.
        fn step(&mut self, webhooks: &Value) -> Option<Value> {
            let bundle = self.trust.bundle(&self.own, Some(webhooks), SystemTime::now());
            if trusts(webhooks, &self.own) {
                self.ready = true;
                self.serves.clone_from(&self.own);
            }
            let written = registered(&bundle);
            (written != *webhooks).then_some(written)
        }
    }

    fn registered(bundle: &str) -> Value {
        let mut webhooks = json!([{"clientConfig": {}}, {"clientConfig": {}}]);
        replace_bundles(&mut webhooks, bundle);
        webhooks
    }

    /// Pods start and are brought other files in any order. What is registered accepts each pod that is ready, and in the end
    /// no pod writes.
    #[test]
    fn every_ready_pod_is_accepted_whatever_the_order_of_starts_and_renewals() {
        let make = |_| ServingCertificate::generate(&["a.svc".to_owned()]).unwrap().authority;
        let authorities: Vec<_> = (0..4).map(make).collect();
        for seed in 1_u32..=200 {
            let mut state = seed.wrapping_mul(2_654_435_761);
            let mut random = |bound: usize| {
                for (left, right) in [(13, 17), (5, 0)] {
                    state ^= state << left;
                    state ^= state.checked_shr(right).filter(|_| right > 0).unwrap_or_default();
                }
                usize::try_from(state).unwrap() % bound
            };
            let mut pods: Vec<_> = (0..4).map(|_| Pod::default()).collect();
            let mut live = registered(&authorities[0]);
            for _ in 0..60 {
                let (pod, files) = (&mut pods[random(4)], &authorities[random(4)]);
                match random(5) {
                    0 => *pod = Pod { own: files.clone(), serves: files.clone(), ..Pod::default() },
                    1 if pod.ready => pod.own = merge_authorities(&[&pod.own], files, SystemTime::now()),
                    _ if pod.own.is_empty() => {}
                    _ => live = pod.step(&live).unwrap_or(live),
                }
                for pod in pods.iter().filter(|pod| pod.ready) {
                    assert!(trusts(&live, &pod.serves), "seed {seed}");
                }
            }
            let mut started: Vec<_> = pods.iter_mut().filter(|pod| !pod.own.is_empty()).collect();
            for pod in &mut started {
                live = pod.step(&live).unwrap_or(live);
            }
            assert!(started.iter_mut().all(|pod| pod.step(&live).is_none()), "seed {seed}: pods take turns");
        }
    }

    #[test]
    fn a_pod_that_the_api_server_accepts_by_its_own_list_has_no_authority_registered() {
        let webhooks = registered("");
        assert_eq!(Trust::default().bundle("", Some(&webhooks), SystemTime::now()), "");
        assert!(trusts(&webhooks, ""));
    }
}
