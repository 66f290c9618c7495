//! An API server in memory: objects by path, resource versions, and faults by script.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Method, Request, Response};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::Instant;

/// What happens to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is answered as it should be.
    None,
    /// It is refused with this code, and an advice in seconds (0: none).
    Refuse(u16, u32),
    /// It never arrives, and no answer comes.
    Vanish,
    /// It is carried out, and no answer comes.
    LoseAnswer,
}

/// One request as the server saw it.
#[derive(Clone, Debug)]
pub struct Seen {
    pub at: Instant,
    pub verb: Method,
    pub path: String,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Value>,
    version: u64,
    faults: VecDeque<Fault>,
    seen: Vec<Seen>,
    /// Clients that reach nothing.
    cut_off: Vec<String>,
}

#[derive(Clone, Default)]
pub struct Server {
    state: Arc<Mutex<State>>,
}

impl Server {
    /// A client; `name` is for [`Server::cut_off`].
    pub fn client(&self, name: &str) -> kube::Client {
        let (server, name) = (self.clone(), name.to_owned());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (server, name) = (server.clone(), name.clone());
            async move { server.serve(&name, request).await }
        });
        kube::Client::new(service, "default")
    }

    /// The next requests meet these faults, in this order.
    pub fn script(&self, faults: impl IntoIterator<Item = Fault>) {
        self.state.lock().unwrap().faults.extend(faults);
    }

    /// From now on the requests of this client vanish, or arrive again.
    pub fn cut_off(&self, name: &str, off: bool) {
        let mut state = self.state.lock().unwrap();
        state.cut_off.retain(|known| known != name);
        if off {
            state.cut_off.push(name.to_owned());
        }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.state.lock().unwrap().seen.clone()
    }

    /// The objects whose path contains `part`.
    pub fn objects(&self, part: &str) -> Vec<Value> {
        let state = self.state.lock().unwrap();
        state
            .objects
            .iter()
            .filter(|(path, _)| path.contains(part))
            .map(|(_, object)| object.clone())
            .collect()
    }

    pub fn delete_all(&self) {
        self.state.lock().unwrap().objects.clear();
    }

    /// Somebody else writes the object at this path.
    pub fn edit(&self, path: &str, edit: impl FnOnce(&mut Value)) {
        let mut state = self.state.lock().unwrap();
        let old = state.objects.get(path).cloned().unwrap();
        let mut new = old.clone();
        edit(&mut new);
        state.store(path, new, Some(&old));
    }

    async fn serve(&self, client: &str, request: Request<Body>) -> Result<Response<Body>, http::Error> {
        let (parts, body) = request.into_parts();
        let bytes = body.collect_bytes().await.unwrap();
        let body: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        let path = parts.uri.path().to_owned();
        let query = parts.uri.query().unwrap_or_default().to_owned();
        let (code, answer, lost) = {
            let mut state = self.state.lock().unwrap();
            let cut_off = state.cut_off.iter().any(|name| name == client);
            let fault = if cut_off { Fault::Vanish } else { state.faults.pop_front().unwrap_or(Fault::None) };
            state.seen.push(Seen { at: Instant::now(), verb: parts.method.clone(), path: path.clone() });
            match fault {
                Fault::Vanish => (0, Value::Null, true),
                Fault::Refuse(code, seconds) => (code, refusal(code, seconds), false),
                fault => {
                    let (code, answer) = state.carry_out(&parts.method, &path, &query, body);
                    (code, answer, fault == Fault::LoseAnswer)
                }
            }
        };
        if lost {
            std::future::pending::<()>().await;
        }
        // A request takes a moment, so that what overlaps can overlap.
        tokio::time::sleep(Duration::from_millis(10)).await;
        Response::builder().status(code).body(Body::from(serde_json::to_vec(&answer).unwrap()))
    }
}

impl State {
    fn carry_out(&mut self, verb: &Method, path: &str, query: &str, body: Value) -> (u16, Value) {
        let known = self.objects.get(path).cloned();
        match (verb, known) {
            (&Method::GET, Some(object)) => (200, object),
            (&Method::GET, None) if path.ends_with("podreports") => (200, self.list(path, query)),
            (&Method::POST, _) => {
                let path = format!("{path}/{}", body["metadata"]["name"].as_str().unwrap());
                if self.objects.contains_key(&path) {
                    return (409, refusal(409, 0));
                }
                (201, self.store(&path, body, None))
            }
            (&Method::PUT, Some(old)) => {
                if body["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"] {
                    return (409, refusal(409, 0));
                }
                (200, self.store(path, body, Some(&old)))
            }
            (&Method::PATCH, old) => (200, self.store(path, body, old.as_ref())),
            (&Method::DELETE, Some(object)) => {
                self.objects.remove(path);
                (200, object)
            }
            _ => (404, refusal(404, 0)),
        }
    }

    fn list(&self, path: &str, query: &str) -> Value {
        let (_, selector) = query.split_once("labelSelector=").unwrap();
        let selector = selector.split('&').next().unwrap().replace("%2F", "/").replace("%3D", "=");
        let (label, value) = selector.split_once('=').unwrap();
        let items: Vec<&Value> = self
            .objects
            .iter()
            .filter(|(object, _)| object.starts_with(path))
            .map(|(_, object)| object)
            .filter(|object| object["metadata"]["labels"][label] == value)
            .collect();
        json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items})
    }

    fn store(&mut self, path: &str, mut object: Value, old: Option<&Value>) -> Value {
        self.version += 1;
        let uid =
            old.map_or_else(|| json!(format!("uid-{}", self.version)), |old| old["metadata"]["uid"].clone());
        object["metadata"]["uid"] = uid;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.insert(path.to_owned(), object.clone());
        object
    }
}

fn refusal(code: u16, seconds: u32) -> Value {
    let reason = match code {
        404 => "NotFound",
        409 => "Conflict",
        429 => "TooManyRequests",
        _ => "InternalError",
    };
    json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
        "message": "by script", "reason": reason, "details": {"retryAfterSeconds": seconds},
    })
}
