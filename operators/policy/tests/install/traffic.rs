//! Writes that go through the webhook all the time, and what became of them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use tokio::time::interval;

/// The interval at which a good and a bad Deployment are sent, both as dry runs.
const PERIOD: Duration = Duration::from_millis(50);

/// The answers so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answers {
    /// Good Deployments that were admitted.
    pub(crate) admitted: usize,
    /// Bad Deployments that were denied by the policy.
    pub(crate) denied: usize,
    /// Bad Deployments that were admitted.
    pub(crate) slipped: usize,
    /// Requests that failed for another reason, with the reason.
    pub(crate) failed: Vec<String>,
}

#[derive(Clone, Default)]
pub(crate) struct Traffic(Arc<Mutex<Answers>>);

impl Traffic {
    /// Sends until it is dropped.
    pub(crate) async fn run(self, client: kube::Client) {
        let api: Api<Deployment> = Api::namespaced(client, "default");
        let mut tick = interval(PERIOD);
        loop {
            tick.tick().await;
            let (good, bad) = tokio::join!(send(&api, 3), send(&api, 2));
            let mut answers = self.0.lock().unwrap();
            match good {
                Ok(()) => answers.admitted += 1,
                Err(reason) => answers.failed.push(reason),
            }
            match bad {
                Ok(()) => answers.slipped += 1,
                Err(reason) if reason.contains("three-to-ten-replicas") => answers.denied += 1,
                Err(reason) => answers.failed.push(reason),
            }
        }
    }

    /// Waits for so many further denials.
    pub(crate) async fn until_denied(&self, more: usize) {
        let wanted = self.0.lock().unwrap().denied + more;
        let mut tick = interval(PERIOD);
        while self.0.lock().unwrap().denied < wanted {
            tick.tick().await;
        }
    }

    /// The answers since the last call.
    pub(crate) fn take(&self) -> Answers {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

async fn send(api: &Api<Deployment>, replicas: u8) -> Result<(), String> {
    let deployment = json!({
        "metadata": {"generateName": "traffic-"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "example.com/c"}]}}},
    });
    let deployment = serde_json::from_value(deployment).unwrap();
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    api.create(&dry_run, &deployment).await.map(|_| ()).map_err(|error| error.to_string())
}
