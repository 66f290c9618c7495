//! Asks every pod directly, all the time, and compares each answer with what the conditions promised before.
//!
//! The policy denies one object with a message that names two numbers: that of the constraint's latest change and that
//! of the template's. Both only grow, so an answer is a lie when it has a smaller number than an object that was
//! `Enforced` before the request was sent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use admission_server::ServingCertificate;
use futures::StreamExt;
use kube::Api;
use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};

use crate::cluster::Cluster;
use crate::https::{Connection, post};
use crate::operator::PATIENCE;

/// The numbers of constraint and template.
type Numbers = (u64, u64);

/// The template, with its number in the message.
pub(crate) fn template(number: u64) -> String {
    format!(
        "
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {{name: numbered, annotations: {{number: '{number}'}}}}
spec:
  crd:
    spec:
      names: {{kind: Numbered}}
      validation: {{openAPIV3Schema: {{type: object, properties: {{number: {{type: integer}}}}}}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package numbered
      violation[{{\"msg\": msg}}] {{
        input.review.name == \"forbidden\"
        msg := sprintf(\"numbers=%v,{number}\", [input.parameters.number])
      }}
"
    )
}

/// The constraint, with its number as parameter.
pub(crate) fn constraint(number: u64) -> String {
    format!(
        "{{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: Numbered, \
         metadata: {{name: a, annotations: {{number: '{number}'}}}}, \
         spec: {{match: {{kinds: [{{apiGroups: [''], kinds: [ConfigMap]}}]}}, parameters: {{number: {number}}}}}}}"
    )
}

/// An answer of a pod.
#[derive(Clone, Debug)]
struct Answer {
    pod: String,
    sent: Instant,
    /// `None` when the object was admitted.
    numbers: Option<Numbers>,
}

/// The times when an object was seen as enforced, with its number.
type Promises = Vec<(Instant, u64)>;

#[derive(Default)]
struct Record {
    answers: Vec<Answer>,
    promises: [Promises; 2],
}

/// The running probes, and what they saw.
pub(crate) struct Prober {
    record: Arc<Mutex<Record>>,
    addresses: watch::Sender<BTreeMap<String, String>>,
    enforced: watch::Receiver<Numbers>,
    trusted: ServingCertificate,
    tasks: JoinSet<()>,
}

impl Prober {
    pub(crate) async fn start(cluster: &Cluster, trusted: ServingCertificate) -> Self {
        let record = Arc::new(Mutex::new(Record::default()));
        let (promise, enforced) = watch::channel((0, 0));
        let mut tasks = JoinSet::new();
        let watched = [
            GroupVersionKind::gvk("constraints.gatekeeper.sh", "v1beta1", "Numbered"),
            GroupVersionKind::gvk("templates.gatekeeper.sh", "v1", "ConstraintTemplate"),
        ];
        for (index, (gvk, plural)) in watched.iter().zip(["numbered", "constrainttemplates"]).enumerate() {
            let resource = ApiResource::from_gvk_with_plural(gvk, plural);
            let api = Api::all_with(cluster.plane.client().unwrap(), &resource);
            tasks.spawn(follow(api, index, record.clone(), promise.clone()));
        }
        Self { record, addresses: watch::Sender::default(), enforced, trusted, tasks }
    }

    /// Asks the pod `name` at `address` from now on, instead of where it was before.
    pub(crate) fn ask(&mut self, name: &str, address: &str) {
        let before = self.addresses.borrow().get(name).is_some_and(|before| !before.is_empty());
        self.addresses.send_modify(|all| drop(all.insert(name.to_owned(), address.to_owned())));
        if !before {
            let addresses = self.addresses.subscribe();
            self.tasks.spawn(probe(name.to_owned(), addresses, self.trusted.clone(), self.record.clone()));
        }
    }

    /// Waits until constraint and template are enforced with these numbers.
    pub(crate) async fn enforced(&mut self, numbers: Numbers) {
        let reached = self.enforced.wait_for(|now| now.0 >= numbers.0 && now.1 >= numbers.1);
        if timeout(PATIENCE, reached).await.is_err() {
            panic!("{numbers:?} are not enforced; enforced are {:?}", *self.enforced.borrow());
        }
    }

    /// Waits until the pods have given this many more answers.
    pub(crate) async fn more_answers(&self, count: usize) {
        let answers = || self.record.lock().unwrap().answers.len();
        let wanted = answers() + count;
        let waiting = async {
            let mut ticks = interval(Duration::from_millis(20));
            while answers() < wanted {
                ticks.tick().await;
            }
        };
        timeout(PATIENCE, waiting).await.expect("the pods must answer");
    }

    /// Every answer that was older than what had been promised, in words; and how many answers there were.
    pub(crate) fn lies(&self) -> (usize, Vec<String>) {
        let record = self.record.lock().unwrap();
        let promised = |index: usize, at: Instant| {
            let before = record.promises[index].iter().filter(|(seen, _)| *seen < at);
            before.map(|(_, number)| *number).max().unwrap_or_default()
        };
        let lies = record.answers.iter().filter_map(|answer| {
            let promised = (promised(0, answer.sent), promised(1, answer.sent));
            let numbers = answer.numbers.unwrap_or_default();
            let is_lie = promised.0 > 0 && (numbers.0 < promised.0 || numbers.1 < promised.1);
            is_lie.then(|| format!("{} answered {:?} after {promised:?}", answer.pod, answer.numbers))
        });
        (record.answers.len(), lies.collect())
    }
}

/// Notes each revision of an object that says that it is enforced.
async fn follow(
    api: Api<DynamicObject>,
    index: usize,
    record: Arc<Mutex<Record>>,
    promise: watch::Sender<Numbers>,
) {
    let mut revisions = watcher(api, watcher::Config::default()).default_backoff().touched_objects().boxed();
    while let Some(revision) = revisions.next().await {
        let Ok(object) = revision else { continue };
        let Some(number) = enforced_number(&object) else { continue };
        record.lock().unwrap().promises[index].push((Instant::now(), number));
        promise.send_modify(|numbers| match index {
            0 => numbers.0 = numbers.0.max(number),
            _ => numbers.1 = numbers.1.max(number),
        });
    }
}

/// The number of an object whose present generation is enforced. The condition counts only for its own generation.
fn enforced_number(object: &DynamicObject) -> Option<u64> {
    let conditions = object.data.pointer("/status/conditions")?.as_array()?;
    let enforced = conditions.iter().find(|condition| condition["type"] == "Enforced")?;
    let is_present = enforced["observedGeneration"].as_i64() == object.metadata.generation;
    let number = object.metadata.annotations.as_ref()?.get("number")?;
    (enforced["status"] == "True" && is_present).then(|| number.parse().ok())?
}

async fn probe(
    pod: String,
    addresses: watch::Receiver<BTreeMap<String, String>>,
    trusted: ServingCertificate,
    record: Arc<Mutex<Record>>,
) {
    let mut ticks = interval(Duration::from_millis(20));
    loop {
        ticks.tick().await;
        let address = addresses.borrow().get(&pod).cloned().unwrap_or_default();
        let Ok(mut connection) = Connection::open(&address, &trusted).await else { continue };
        loop {
            ticks.tick().await;
            let sent = Instant::now();
            let answer = connection.send(post("application/json", review())).await;
            let Ok((status, closes, body)) = answer else { break };
            // Before it is ready a pod answers 503, which is not a verdict.
            // A refusal without numbers is none of this policy's: the request was not judged in time.
            let numbers = numbers(&body);
            if status.as_u16() == 200 && (numbers.is_some() || is_admitted(&body)) {
                record.lock().unwrap().answers.push(Answer { pod: pod.clone(), sent, numbers });
            }
            if closes || addresses.borrow().get(&pod) != Some(&address) {
                break;
            }
        }
    }
}

pub(crate) fn review() -> String {
    let object = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"forbidden"}}"#;
    format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u","operation":"CREATE",
        "kind":{{"group":"","version":"v1","kind":"ConfigMap"}},"name":"forbidden","object":{object}}}}}"#
    )
}

fn is_admitted(body: &str) -> bool {
    let review: Value = serde_json::from_str(body).unwrap_or_default();
    review.pointer("/response/allowed") != Some(&Value::Bool(false))
}

fn numbers(body: &str) -> Option<Numbers> {
    let review: Value = serde_json::from_str(body).ok()?;
    let message = review.pointer("/response/status/message")?.as_str()?;
    let (constraint, template) = message.split_once("numbers=")?.1.split_once(',')?;
    Some((constraint.parse().ok()?, template.parse().ok()?))
}
