//! An API server in memory: objects by path, resource versions, and faults by script.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use futures::channel::mpsc::{UnboundedSender, unbounded};
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::Instant;

const POD: &str = "/api/v1/namespaces/pod-namespace/pods/pod-name";

type Answer = UnsyncBoxBody<Bytes, std::io::Error>;

/// The fate of one request.
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

impl Watch {
    /// Returns true if the client still listens.
    fn send(&self, path: &str, object: &Value, event: &[u8]) -> bool {
        let matches = path.starts_with(&self.path) && is_selected(&self.query, object);
        !matches || self.events.unbounded_send(event.to_owned()).is_ok()
    }
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Value>,
    version: u64,
    faults: VecDeque<Fault>,
    seen: Vec<Seen>,
    /// Clients that reach nothing.
    cut_off: Vec<String>,
    /// Writes to paths that contain a part are refused with a code.
    refused: BTreeMap<String, u16>,
    /// Reads of paths that contain a part are refused.
    unreadable: Vec<String>,
    /// Requests to paths that contain a part are not answered.
    unanswered: Vec<String>,
    /// Events of paths that contain this part are not delivered.
    held: Option<&'static str>,
    latency: Option<Duration>,
    /// Four of five requests are refused, by the throws of a die with this seed.
    overload: Option<u64>,
    watches: Vec<Watch>,
    /// Every change: its version, its path, the object, and the event.
    log: Vec<(u64, String, Value, Vec<u8>)>,
}

/// A watch that is open.
struct Watch {
    client: String,
    path: String,
    query: String,
    events: UnboundedSender<Vec<u8>>,
}

#[derive(Clone, Default)]
pub struct Server {
    state: Arc<Mutex<State>>,
}

impl Server {
    /// A client that follows the server's advice to retry, as one made from a `kube::Config` does.
    pub fn patient_client(&self, name: &str) -> kube::Client {
        let (server, name) = (self.clone(), name.to_owned());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (server, name) = (server.clone(), name.clone());
            async move { server.serve(&name, request).await.map_err(tower::BoxError::from) }
        });
        let policy = kube::client::retry::RetryPolicy::server_retry();
        kube::Client::new(tower::ServiceBuilder::new().retry(policy).service(service), "default")
    }

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
            // Its connections break.
            state.watches.retain(|watch| watch.client != name);
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

    /// Another client creates or replaces an object.
    pub fn put(&self, path: &str, object: Value) {
        let mut state = self.state.lock().unwrap();
        let old = state.objects.get(path).cloned();
        state.store(path, object, old.as_ref());
    }

    /// Another client deletes an object.
    pub fn delete(&self, path: &str) {
        self.state.lock().unwrap().delete(|known, _| known == path);
    }

    pub fn get(&self, path: &str) -> Option<Value> {
        self.state.lock().unwrap().objects.get(path).cloned()
    }

    /// Another client deletes all reports.
    pub fn delete_reports(&self) {
        self.state.lock().unwrap().delete(|path, _| path.contains("podreports"));
    }

    /// The garbage collector deletes what a pod owns.
    pub fn delete_owned(&self) {
        self.state.lock().unwrap().delete(|_, object| !object["metadata"]["ownerReferences"].is_null());
    }

    /// The pod of the tests exists.
    pub fn add_pod(&self) {
        let pod =
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod-name", "uid": "pod-uid"}});
        self.state.lock().unwrap().objects.insert(POD.to_owned(), pod);
    }

    pub fn delete_pod(&self) {
        self.state.lock().unwrap().delete(|path, _| path == POD);
    }

    /// Writes to paths that contain `part` are refused, or accepted again.
    pub fn refuse(&self, part: &str, code: u16, on: bool) {
        let mut state = self.state.lock().unwrap();
        if on {
            state.refused.insert(part.to_owned(), code);
        } else {
            state.refused.remove(part);
        }
    }

    pub fn refuse_reads(&self, part: &str, on: bool) {
        let mut state = self.state.lock().unwrap();
        state.unreadable.retain(|known| known != part);
        if on {
            state.unreadable.push(part.to_owned());
        }
    }

    pub fn leave_unanswered(&self, part: &str) {
        self.state.lock().unwrap().unanswered.push(part.to_owned());
    }

    /// The watches of paths that contain this part stand still from now on. When they go on, they are opened again where they
    /// have stopped, which takes up to half a minute.
    pub fn hold(&self, part: Option<&'static str>) {
        self.state.lock().unwrap().held = part;
    }

    /// Refuses four of five requests, with the advice to wait a second.
    pub fn refuse_four_of_five(&self, seed: u64) {
        self.state.lock().unwrap().overload = Some(seed);
    }

    /// Each answer takes this long.
    pub fn set_latency(&self, latency: Duration) {
        self.state.lock().unwrap().latency = Some(latency);
    }

    /// Another client writes the object at this path.
    pub fn edit(&self, path: &str, edit: impl FnOnce(&mut Value)) {
        let mut state = self.state.lock().unwrap();
        let old = state.objects.get(path).cloned().unwrap();
        let mut new = old.clone();
        edit(&mut new);
        state.store(path, new, Some(&old));
    }

    async fn serve(&self, client: &str, request: Request<Body>) -> Result<Response<Answer>, http::Error> {
        let (parts, body) = request.into_parts();
        let bytes = body.collect_bytes().await.unwrap();
        let body: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        let path = parts.uri.path().to_owned();
        let query = parts.uri.query().unwrap_or_default().to_owned();
        if query.contains("watch=") {
            let is_silent = {
                let state = self.state.lock().unwrap();
                state.is_held(&path) || state.cut_off.iter().any(|name| name == client)
            };
            if is_silent {
                std::future::pending::<()>().await;
            }
            return self.watch(client, path, query).await;
        }
        let (code, answer, lost, latency) = {
            let mut state = self.state.lock().unwrap();
            state.seen.push(Seen { at: Instant::now(), verb: parts.method.clone(), path: path.clone() });
            let (code, answer, lost) = match state.fault(client, &parts.method, &path) {
                Fault::Vanish => (0, Value::Null, true),
                Fault::Refuse(code, seconds) => (code, refusal(code, seconds), false),
                fault => {
                    let (code, answer) = state.carry_out(&parts.method, &path, &query, body);
                    (code, answer, fault == Fault::LoseAnswer)
                }
            };
            // A request takes a moment, so that what overlaps can overlap.
            (code, answer, lost, state.latency.unwrap_or(Duration::from_millis(10)))
        };
        if lost {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(latency).await;
        let bytes = Full::new(Bytes::from(serde_json::to_vec(&answer).unwrap()));
        Response::builder().status(code).body(bytes.map_err(|never| match never {}).boxed_unsync())
    }

    /// Events since the version that is asked for.
    async fn watch(
        &self,
        client: &str,
        path: String,
        query: String,
    ) -> Result<Response<Answer>, http::Error> {
        let (events, receiver) = unbounded();
        let (_, version) = query.rsplit_once("resourceVersion=").unwrap();
        let version: u64 = version.split('&').next().unwrap().parse().unwrap();
        let watch = Watch { client: client.to_owned(), path, query: query.clone(), events };
        let mut state = self.state.lock().unwrap();
        for (_, path, object, event) in state.log.iter().filter(|(at, ..)| *at > version) {
            watch.send(path, object, event);
        }
        state.watches.push(watch);
        drop(state);
        let bytes = receiver.map(|event| Ok(Frame::data(Bytes::from(event))));
        // The server ends a watch after the time that was asked for.
        let ended = tokio::time::sleep(Duration::from_secs(30));
        Response::builder().body(StreamBody::new(bytes.take_until(ended)).boxed_unsync())
    }
}

impl State {
    fn fault(&mut self, client: &str, verb: &Method, path: &str) -> Fault {
        if self.cut_off.iter().any(|name| name == client) {
            return Fault::Vanish;
        }
        if self.overload.is_some_and(|seed| !throw(seed, self.seen.len()).is_multiple_of(5)) {
            return Fault::Refuse(429, 1);
        }
        let matches = |part: &&String| path.contains(part.as_str());
        if self.unanswered.iter().any(|part| matches(&part)) {
            return Fault::Vanish;
        }
        if verb == Method::GET && self.unreadable.iter().any(|part| matches(&part)) {
            return Fault::Refuse(500, 0);
        }
        let refused = self.refused.iter().find(|(part, _)| verb != Method::GET && matches(part));
        match refused {
            Some((_, code)) => Fault::Refuse(*code, 0),
            None => self.faults.pop_front().unwrap_or(Fault::None),
        }
    }

    fn is_held(&self, path: &str) -> bool {
        self.held.is_some_and(|part| path.contains(part))
    }

    fn delete(&mut self, is_deleted: impl Fn(&str, &Value) -> bool) {
        let deleted: Vec<String> = self
            .objects
            .iter()
            .filter(|(path, object)| is_deleted(path, object))
            .map(|(path, _)| path.clone())
            .collect();
        for path in deleted {
            let mut object = self.objects.remove(&path).unwrap();
            self.version += 1;
            object["metadata"]["resourceVersion"] = json!(self.version.to_string());
            self.announce("DELETED", &path, &object);
        }
    }

    fn announce(&mut self, type_: &str, path: &str, object: &Value) {
        let mut event = serde_json::to_vec(&json!({"type": type_, "object": object})).unwrap();
        event.push(b'\n');
        if !self.is_held(path) {
            self.watches.retain(|watch| watch.send(path, object, &event));
        }
        self.log.push((self.version, path.to_owned(), object.clone(), event));
    }

    fn carry_out(&mut self, verb: &Method, path: &str, query: &str, body: Value) -> (u16, Value) {
        let known = self.objects.get(path).cloned();
        match (verb, known) {
            (&Method::GET, Some(object)) => (200, object),
            (&Method::GET, None)
                if ["podreports", "pods", "podstatuses"].iter().any(|plural| path.ends_with(plural)) =>
            {
                (200, self.list(path, query))
            }
            (&Method::PATCH, _) if path.ends_with("/status") => self.apply_status(path, &body),
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
            (&Method::PATCH, old) => {
                let uid = &body["metadata"]["uid"];
                if !uid.is_null() && old.as_ref().is_none_or(|old| old["metadata"]["uid"] != *uid) {
                    return (409, refusal(409, 0));
                }
                (200, self.apply(path, body, old.as_ref()))
            }
            (&Method::DELETE, Some(object)) => {
                self.delete(|known, _| known == path);
                (200, object)
            }
            _ => (404, refusal(404, 0)),
        }
    }

    /// A pod applies its whole report, and an aggregator annotations alone. Each leaves the other's fields.
    fn apply(&mut self, path: &str, body: Value, old: Option<&Value>) -> Value {
        let is_whole = !body["pod"].is_null() || !body["status"].is_null();
        let mut new = if is_whole { body.clone() } else { old.cloned().unwrap_or_default() };
        for object in [old, Some(&body)].into_iter().flatten() {
            for (name, value) in object["metadata"]["annotations"].as_object().into_iter().flatten() {
                new["metadata"]["annotations"][name] = value.clone();
            }
        }
        self.store(path, new, old)
    }

    /// Replaces the fields that are applied, on the condition of the version.
    fn apply_status(&mut self, path: &str, body: &Value) -> (u16, Value) {
        let path = path.trim_end_matches("/status");
        let Some(old) = self.objects.get(path).cloned() else { return (404, refusal(404, 0)) };
        if body["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"] {
            return (409, refusal(409, 0));
        }
        let mut new = old.clone();
        for (field, value) in body["status"].as_object().unwrap() {
            new["status"][field] = value.clone();
        }
        new["metadata"]["managedFields"] = json!([{
            "manager": "pod-status-aggregator", "operation": "Apply", "subresource": "status",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:status": {"f:conditions": {}}},
        }]);
        (200, self.store(path, new, Some(&old)))
    }

    fn list(&self, path: &str, query: &str) -> Value {
        let items: Vec<&Value> = self
            .objects
            .iter()
            .filter(|(object, _)| object.starts_with(path))
            .map(|(_, object)| object)
            .filter(|object| is_selected(query, object))
            .collect();
        let metadata = json!({"resourceVersion": self.version.to_string()});
        json!({"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items})
    }

    fn store(&mut self, path: &str, mut object: Value, old: Option<&Value>) -> Value {
        self.version += 1;
        let given = object["metadata"]["uid"].clone();
        let new = if given.is_null() { json!(format!("uid-{}", self.version)) } else { given };
        let uid = old.map_or(new, |old| old["metadata"]["uid"].clone());
        object["metadata"]["uid"] = uid;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.insert(path.to_owned(), object.clone());
        self.announce("MODIFIED", path, &object);
        object
    }
}

/// Returns true if the label selector of the query selects the object.
fn is_selected(query: &str, object: &Value) -> bool {
    let Some((_, selector)) = query.split_once("labelSelector=") else { return true };
    let selector = selector.split('&').next().unwrap().replace("%2F", "/").replace("%3D", "=");
    let (label, value) = selector.split_once('=').unwrap();
    object["metadata"]["labels"][label] == value
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

/// The throw for a request. A pattern with a period would be wrong: clients that take turns would each meet the same
/// fate again and again.
fn throw(seed: u64, number: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    (seed, number).hash(&mut hasher);
    hasher.finish()
}
