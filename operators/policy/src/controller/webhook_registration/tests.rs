//! The registration by its decisions, by a model of pods that start, react and end, and beside a server in memory.

use std::collections::BTreeSet;

use pod_status::{PodIdentity, SHARD_LABEL};
use serde_json::json;
use tokio::time::timeout;
use watch_manager::testing::FakeApi;

use super::*;
use crate::controller::WebhookClient;

const fn facts(epoch: u64, intact: bool, wanted: bool) -> Option<Facts> {
    Some(Facts { epoch, intact, wanted, abandoned: false })
}

#[test]
fn what_is_deleted_or_edited_is_written_again() {
    assert_eq!(verdict(None, Some(3)), Verdict::Write(3));
    assert_eq!(verdict(facts(3, false, false), Some(3)), Verdict::Write(3));
    assert_eq!(verdict(facts(0, false, false), Some(3)), Verdict::Write(3), "annotations were removed");
}

#[test]
fn a_pod_that_becomes_ready_brings_its_form_and_older_pods_leave_it_alone() {
    assert_eq!(verdict(facts(3, true, false), None), Verdict::Write(4));
    assert_eq!(verdict(facts(4, true, false), Some(3)), Verdict::Good(3));
    assert_eq!(verdict(facts(4, false, false), Some(3)), Verdict::Wait);
    assert_eq!(verdict(facts(4, true, true), Some(3)), Verdict::Good(4));
}

/// Two settings and three pods, of which each may start with either, react, and end.
const PODS: usize = 3;
const DEPTH: usize = 7;

/// One run of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    number: u8,
    form: u8,
    mine: Option<u64>,
}

/// The stored form, and the runs that there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Model {
    /// Epoch, form, and the run that has written it.
    live: Option<(u64, u8, u8)>,
    pods: [Option<Run>; PODS],
    started: u8,
}

impl Model {
    fn abandoned(&self) -> bool {
        let is_there = |number: u8| self.pods.iter().flatten().any(|run| run.number == number);
        self.live.is_some_and(|(_, _, writer)| !is_there(writer))
    }

    /// A pod reacts, with what it would only do after [`ABANDONED`] if `patient`. Returns true if it wrote.
    fn react(&mut self, pod: usize, patient: bool) -> bool {
        let Some(run) = self.pods[pod] else { return false };
        let abandoned = self.abandoned();
        let facts = self.live.map(|(epoch, form, _)| Facts {
            epoch,
            intact: true,
            wanted: form == run.form,
            abandoned,
        });
        let written = match (verdict(facts, run.mine), self.live) {
            (Verdict::Good(epoch), _) => {
                self.pods[pod] = Some(Run { mine: Some(epoch), ..run });
                // Signed in the place of the run that has ended.
                abandoned.then_some(epoch)
            }
            (Verdict::Write(epoch), _) => Some(epoch),
            (Verdict::Wait, Some((epoch, ..))) if patient => epoch.checked_add(1),
            (Verdict::Wait, _) => None,
        };
        if let Some(epoch) = written {
            self.live = Some((epoch, run.form, run.number));
            self.pods[pod] = Some(Run { mine: Some(epoch), ..run });
        }
        written.is_some()
    }

    fn next(&self) -> Vec<Self> {
        let mut next = Vec::new();
        for pod in 0..PODS {
            let mut model = self.clone();
            if self.pods[pod].is_some() {
                model.react(pod, false);
                next.push(model.clone());
                model = self.clone();
                model.pods[pod] = None;
                next.push(model);
                continue;
            }
            for form in 0..2 {
                let mut model = self.clone();
                model.started = model.started.checked_add(1).unwrap();
                model.pods[pod] = Some(Run { number: model.started, form, mine: None });
                next.push(model);
            }
        }
        next
    }

    /// Lets all pods react until none writes; then [`ABANDONED`] passes, and they react again.
    fn settle(mut self) -> (Self, usize) {
        let mut writes = 0;
        for patient in [false, true, false] {
            while (0..PODS).any(|pod| self.react(pod, patient)) {
                writes = usize::saturating_add(writes, 1);
                assert!(writes < 12, "pods undo each other's writes: {self:?}");
            }
        }
        (self, writes)
    }
}

/// However pods of two settings start, react and end: what is registered in the end is what a pod that is there wants, no pod writes any
/// more, and what a pod of the newest setting wants is not replaced by the others.
#[test]
fn what_is_registered_is_what_a_pod_that_is_there_wants() {
    let mut seen = BTreeSet::from([Model::default()]);
    let mut last = seen.clone();
    for _ in 0..DEPTH {
        let next = last.iter().flat_map(Model::next).filter(|model| seen.insert(model.clone())).collect();
        last = next;
    }
    assert!(seen.len() > 5_000, "{}", seen.len());
    for model in seen {
        let runs = || model.pods.iter().flatten();
        let (settled, _) = model.clone().settle();
        let Some((epoch, form, writer)) = settled.live else {
            assert_eq!(runs().count(), 0, "{model:?}");
            continue;
        };
        let is_wanted = settled.pods.iter().flatten().any(|run| run.form == form && run.number == writer);
        assert!(is_wanted || runs().count() == 0, "{model:?} ends as {settled:?}");
        assert_eq!(settled.clone().settle(), (settled.clone(), 0));
        if let Some((before, newest, _)) = model.live
            && runs().any(|run| run.form == newest && run.mine == Some(before))
            && runs().all(|run| run.mine.is_some())
        {
            assert_eq!((epoch, form), (before, newest), "{model:?}: the newest form has been replaced");
        }
    }
}

/// Old and new pods, in any order of their reactions, end with the newest form and write once.
#[test]
fn pods_of_two_releases_do_not_undo_each_others_writes() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let run = |number, form, mine| Some(Run { number, form, mine });
        let pods = [run(1, 0, Some(1)), run(2, 0, Some(1)), run(3, 1, None)];
        let mut model = Model { live: Some((1, 0, 1)), pods, started: 3 };
        let writes = (0..5).flat_map(|_| order).filter(|pod| model.react(*pod, true)).count();
        assert_eq!((model.live, writes), (Some((2, 1, 3)), 1));
    }
}

const NAME: &str = "policies";

fn configuration(port: u16) -> WebhookConfiguration {
    WebhookConfiguration {
        name: NAME.to_owned(),
        client: WebhookClient::Url(format!("https://127.0.0.1:{port}/v1/admit")),
        authority: String::new(),
        failure_policy: "Ignore".to_owned(),
        operations: vec!["CREATE".to_owned()],
        emits_events: false,
        namespace: "ours".to_owned(),
    }
}

/// A server with the registration of this run.
fn registered(api: &FakeApi, identity: &PodIdentity, stopped: bool) {
    let gvk = GroupVersionKind::gvk("status.webtroller.dev", "v1alpha1", "PodReport");
    let labels = json!({SHARD_LABEL: "0"});
    let pod = json!({"id": identity.name, "incarnation": identity.incarnation, "stopped": stopped});
    let metadata = json!({"name": identity.name, "namespace": "ours", "labels": labels});
    api.apply(&gvk, json!({"metadata": metadata, "pod": pod, "shard": 0, "entries": []})).unwrap();
}

struct Pod {
    identity: PodIdentity,
    state: RegistrationState,
    shutdown: CancellationToken,
    running: tokio::task::JoinHandle<()>,
    _kept: (watch::Sender<WebhookConfiguration>, watch::Sender<bool>),
}

impl Pod {
    fn start(api: &FakeApi, name: &str, port: u16) -> Self {
        let identity = PodIdentity::detached("ours", name, ["webhook"]);
        registered(api, &identity, false);
        let (configuration, ready) = (watch::Sender::new(configuration(port)), watch::Sender::new(true));
        let runs = Runs::new(api.client(), None, &identity);
        let (registration, state) =
            WebhookRegistration::new(api.client(), configuration.subscribe(), runs, ready.subscribe());
        let shutdown = CancellationToken::new();
        let running = tokio::spawn(registration.run(shutdown.clone()));
        Self { identity, state, shutdown, running, _kept: (configuration, ready) }
    }

    /// As a process that is asked to end: it stops registering, and then says that it has stopped.
    async fn end(self, api: &FakeApi) {
        self.shutdown.cancel();
        self.running.await.unwrap();
        registered(api, &self.identity, true);
    }
}

/// The stored configuration once its epoch and port are these.
async fn until(api: &FakeApi, epoch: &str, port: u16) -> DynamicObject {
    let resource = ApiResource::from_gvk_with_plural(&kind(), "validatingwebhookconfigurations");
    let stored: Api<DynamicObject> = Api::all_with(api.client(), &resource);
    let reading = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(100));
        loop {
            ticks.tick().await;
            let Some(object) = stored.get_opt(NAME).await.unwrap() else { continue };
            let url = object.data["webhooks"][0]["clientConfig"]["url"].as_str().unwrap_or_default();
            let found = object.annotations().get(EPOCH).map(String::as_str);
            if found == Some(epoch) && url.contains(&format!(":{port}/")) {
                return object;
            }
        }
    };
    timeout(Duration::from_secs(60), reading)
        .await
        .unwrap_or_else(|_| panic!("never epoch {epoch} of {port}"))
}

fn server() -> FakeApi {
    let api = FakeApi::new();
    api.serve(&kind(), "validatingwebhookconfigurations");
    api.set_cluster_scoped(&kind());
    let reports = GroupVersionKind::gvk("status.webtroller.dev", "v1alpha1", "PodReport");
    api.serve(&reports, "podreports");
    api
}

#[tokio::test(start_paused = true)]
async fn a_form_whose_pods_have_ended_is_replaced_and_called_no_longer_enforced_before_that() {
    let api = server();
    let mut old = Pod::start(&api, "old", 1);
    until(&api, "1", 1).await;
    let new = Pod::start(&api, "new", 2);
    until(&api, "2", 2).await;
    // Both are there: the newer one stays, and the older one does not mind.
    assert!(timeout(Duration::from_secs(30), until(&api, "3", 1)).await.is_err());
    assert_eq!(*old.state.error.borrow_and_update(), None);

    new.end(&api).await;
    let failing = async { old.state.error.wait_for(Option::is_some).await.is_ok() };
    assert_eq!(
        timeout(Duration::from_secs(1), failing).await,
        Ok(true),
        "requests go to a pod that has ended"
    );
    until(&api, "3", 1).await;
    let well = async { old.state.error.wait_for(Option::is_none).await.is_ok() };
    assert_eq!(timeout(Duration::from_secs(1), well).await, Ok(true));
    old.end(&api).await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_of_the_same_form_signs_in_the_place_of_one_that_has_ended() {
    let api = server();
    let old = Pod::start(&api, "old", 1);
    until(&api, "1", 1).await;
    let new = Pod::start(&api, "new", 2);
    until(&api, "2", 2).await;
    let other = Pod::start(&api, "other", 2);
    new.end(&api).await;
    // It would take ten seconds until the old form came back.
    assert!(timeout(Duration::from_secs(30), until(&api, "3", 1)).await.is_err());
    let signed = until(&api, "2", 2).await;
    let run = format!("ours/{}", other.identity.holder());
    assert_eq!(signed.annotations().get(RUN), Some(&run));
    let digest = fingerprint(&signed.data["webhooks"]);
    assert_eq!(signed.annotations().get(DIGEST), Some(&digest));
    old.end(&api).await;
    other.end(&api).await;
}
