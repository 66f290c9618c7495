//! Writes Events: creates each, or adds to the count of the one that is there.

use std::collections::HashMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;

use super::Finder;
use super::pace::Pace;
use super::queue::{EventQueue, component, count, occurrences};
use crate::api_error::reason;

/// The time in which an Event must be stored.
const DEADLINE: Duration = Duration::from_secs(10);
/// Requests for one Event, where other pods write the same one.
const ATTEMPTS: usize = 10;
/// Events whose last version is remembered.
const KNOWN: usize = 1000;

/// Stores the Events of `queue` until it is closed and empty. One that cannot be stored is logged and counted: Events are
/// best effort, and statuses and logs have the same content. Events of a process that ends, at most as many as can wait, are
/// written one after the other without the pauses in between.
///
/// # Guarantees
/// Not cancel-safe: the Event that is being stored is lost. Close the queue to end it.
pub async fn store_events(client: kube::Client, queue: EventQueue) {
    let mut store = Store { client, known: HashMap::new() };
    let mut pace = Pace::new();
    announce();
    while let Some(event) = queue.next().await {
        if !queue.is_closed() {
            pace.wait().await;
        }
        let result = match tokio::time::timeout(DEADLINE, store.store(&event)).await {
            Ok(Ok(())) => "stored",
            Ok(Err(error)) => {
                tracing::warn!(error = reason(&error), "an Event is not stored");
                "failed"
            }
            Err(_) => {
                tracing::warn!("an Event is not stored: the API server did not answer in time");
                "failed"
            }
        };
        count(component(&event), result, occurrences(&event));
    }
}

/// Registers the counters, so that an alert can distinguish 0 from absence.
fn announce() {
    for finder in [Finder::Admission, Finder::Audit] {
        for result in ["stored", "dropped", "failed"] {
            count(finder.component().to_owned(), result, 0);
        }
    }
}

struct Store {
    client: kube::Client,
    /// Count and `resourceVersion` of stored Events, by namespace and name.
    known: HashMap<(String, String), (i32, String)>,
}

/// The Event is changing, or has gone: another attempt will succeed.
struct Contended;

impl Store {
    async fn store(&mut self, event: &Event) -> kube::Result<()> {
        let name = event.metadata.name.clone().unwrap_or_default();
        let namespace = event.metadata.namespace.clone().unwrap_or_default();
        let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        let key = (namespace, name);
        for _ in 0..ATTEMPTS {
            let attempt = match self.known.get(&key) {
                Some(known) => add(&api, event, &key.1, known).await?,
                None => create(&api, event).await?,
            };
            match attempt {
                Ok(stored) => {
                    self.remember(key, &stored);
                    return Ok(());
                }
                Err(Contended) => match api.get_opt(&key.1).await? {
                    Some(stored) => self.remember(key.clone(), &stored),
                    None => drop(self.known.remove(&key)),
                },
            }
        }
        Err(kube::Error::Service("other pods write it all the time".into()))
    }

    fn remember(&mut self, key: (String, String), stored: &Event) {
        // What is forgotten is read again when it is needed.
        if self.known.len() >= KNOWN {
            self.known.clear();
        }
        let version = stored.metadata.resource_version.clone().unwrap_or_default();
        self.known.insert(key, (occurrences(stored), version));
    }
}

async fn create(api: &Api<Event>, event: &Event) -> kube::Result<Result<Event, Contended>> {
    match api.create(&PostParams::default(), event).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(Err(Contended)),
        stored => stored.map(Ok),
    }
}

/// Adds the occurrences of `event` to those of the stored one, unless that has changed.
async fn add(
    api: &Api<Event>,
    event: &Event,
    name: &str,
    (stored, version): &(i32, String),
) -> kube::Result<Result<Event, Contended>> {
    let patch = json!({
        "metadata": {"resourceVersion": version, "annotations": event.metadata.annotations},
        "count": stored.saturating_add(occurrences(event)),
        "lastTimestamp": event.last_timestamp,
    });
    match api.patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await {
        Err(kube::Error::Api(status)) if status.is_conflict() || status.is_not_found() => Ok(Err(Contended)),
        stored => stored.map(Ok),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use http_body_util::BodyExt;
    use hyper::{Method, Request, Response, StatusCode};
    use kube::client::Body;
    use serde_json::Value;
    use tower::BoxError;

    use super::*;

    /// The Events of an API server, with optimistic locking.
    #[derive(Clone, Default)]
    struct FakeServer(Arc<Mutex<HashMap<String, Value>>>);

    impl FakeServer {
        fn client(&self) -> kube::Client {
            let server = self.clone();
            let service = tower::service_fn(move |request: Request<Body>| {
                let server = server.clone();
                async move {
                    let (head, body) = request.into_parts();
                    let body = body.collect().await?.to_bytes();
                    let body = serde_json::from_slice(&body).unwrap_or_default();
                    let (status, answer) = server.answer(&head.method, head.uri.path(), body);
                    let mut response = Response::new(Body::from(answer.to_string().into_bytes()));
                    *response.status_mut() = status;
                    Ok::<_, BoxError>(response)
                }
            });
            kube::Client::new(service, "default")
        }

        fn answer(&self, method: &Method, path: &str, body: Value) -> (StatusCode, Value) {
            let mut events = self.0.lock().unwrap();
            if *method == Method::POST {
                let name = body["metadata"]["name"].as_str().unwrap().to_owned();
                if events.contains_key(&name) {
                    return refusal(StatusCode::CONFLICT, "AlreadyExists");
                }
                let stored = with_version(body, 1);
                events.insert(name, stored.clone());
                return (StatusCode::CREATED, stored);
            }
            let name = path.rsplit('/').next().unwrap();
            let Some(stored) = events.get_mut(name) else {
                return refusal(StatusCode::NOT_FOUND, "NotFound");
            };
            if *method == Method::PATCH {
                let version = &stored["metadata"]["resourceVersion"];
                if body["metadata"]["resourceVersion"] != *version {
                    return refusal(StatusCode::CONFLICT, "Conflict");
                }
                let next = version.as_str().unwrap().parse::<u64>().unwrap().saturating_add(1);
                stored["count"] = body["count"].clone();
                *stored = with_version(stored.take(), next);
            }
            (StatusCode::OK, stored.clone())
        }

        fn counts(&self) -> Vec<i64> {
            let events = self.0.lock().unwrap();
            events.values().map(|event| event["count"].as_i64().unwrap()).collect()
        }
    }

    fn with_version(mut event: Value, version: u64) -> Value {
        event["metadata"]["resourceVersion"] = Value::from(version.to_string());
        event
    }

    fn refusal(code: StatusCode, reason: &str) -> (StatusCode, Value) {
        (code, json!({"kind": "Status", "status": "Failure", "reason": reason, "code": code.as_u16()}))
    }

    fn event(count: i32) -> Event {
        let mut event = Event { count: Some(count), ..Event::default() };
        event.metadata.name = Some("a".to_owned());
        event.metadata.namespace = Some("default".to_owned());
        event
    }

    fn pod(server: &FakeServer) -> Store {
        Store { client: server.client(), known: HashMap::new() }
    }

    #[tokio::test]
    async fn pods_that_see_the_same_violation_count_it_in_one_event() {
        let server = FakeServer::default();
        let mut pods = [pod(&server), pod(&server), pod(&server)];
        for round in 1..=4 {
            for pod in &mut pods {
                pod.store(&event(round)).await.unwrap();
            }
        }
        assert_eq!(server.counts(), [3 * (1 + 2 + 3 + 4)]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_when_the_process_ends_is_stored_without_pauses() {
        let (server, queue) = (FakeServer::default(), EventQueue::default());
        for number in 0..300 {
            let mut event = event(1);
            event.metadata.name = Some(format!("e{number}"));
            queue.push(event);
        }
        queue.close();
        let start = tokio::time::Instant::now();
        store_events(server.client(), queue).await;
        assert_eq!((server.counts().len(), start.elapsed()), (300, Duration::ZERO));
    }

    #[tokio::test]
    async fn an_event_that_has_expired_begins_anew() {
        let server = FakeServer::default();
        let mut pod = pod(&server);
        pod.store(&event(5)).await.unwrap();
        server.0.lock().unwrap().clear();
        pod.store(&event(2)).await.unwrap();
        assert_eq!(server.counts(), [2]);
    }
}
