//! Strict rollout: reporters, an aggregator and faults on one paused clock, by which judgements are ordered.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::core::{ApiResource, GroupVersionKind};
use pod_status::{
    Aggregator, AggregatorConfig, Compiled, Deadline, ParentKey, ParentRef, PodIdentity, ReporterConfig,
    Rollout, Shape, StatusReporter,
};
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::aggregator::{is_true, parent, policy_path, put_pod, put_policy};
use crate::api::Server;

const FENCE: Duration = Duration::from_secs(30);
const EPOCH: &str = "/apis/status.webtroller.dev/v1alpha1/namespaces/ns/activationepochs/activations";

/// One judgement: when, by which pod, by which generation.
type Judgement = (Instant, String, i64);

struct Scene {
    server: Server,
    judgements: Arc<Mutex<Vec<Judgement>>>,
    tasks: JoinSet<()>,
}

fn shapes(deadline: Deadline) -> impl Fn(&ParentRef) -> Option<Shape> + Send + Sync + 'static {
    move |_: &ParentRef| {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("test", "v1", "Policy"));
        Some(Shape::new(resource, "policyUID").enforced_by(["webhook"]).rollout(Rollout::Strict { deadline }))
    }
}

impl Scene {
    fn new() -> Self {
        let server = Server::default();
        put_policy(&server, "p", 1);
        Self { server, judgements: Arc::default(), tasks: JoinSet::new() }
    }

    fn aggregate(&mut self, name: &str, deadline: Deadline) {
        let identity = PodIdentity::detached("ns", name, ["status"]);
        let config = AggregatorConfig::new(&identity, shapes(deadline));
        let aggregator = Aggregator::new(self.server.client(name), config);
        let changes = aggregator.parent_changes();
        self.tasks.spawn(aggregator.run(CancellationToken::new()));
        self.tasks.spawn(async move {
            loop {
                changes.changed(parent("p"));
                sleep(Duration::from_secs(1)).await;
            }
        });
    }

    /// A pod that needs so long to see and compile a generation, and judges 20 times a second.
    fn pod(&mut self, id: &str, compiles: Duration) {
        self.pod_until(id, compiles, i64::MAX);
    }

    /// The same, which compiles no later generation than this.
    fn pod_until(&mut self, id: &str, compiles: Duration, last: i64) {
        put_pod(&self.server, id);
        let (server, judgements, id) = (self.server.clone(), self.judgements.clone(), id.to_owned());
        self.tasks.spawn(async move { serve(server, judgements, id, compiles, last).await });
    }

    fn update(&self, generation: i64) {
        let path = policy_path("p");
        self.server.edit(&path, |policy| policy["metadata"]["generation"] = generation.into());
    }

    fn stored(&self) -> Value {
        self.server.get(EPOCH).map(|object| object["activations"][0].clone()).unwrap_or_default()
    }

    async fn enforced(&self, generation: i64) {
        for _ in 0..600 {
            let policy = self.server.get(&policy_path("p")).unwrap();
            if policy["status"]["observedGeneration"] == generation && is_true(&self.server, "p") {
                return;
            }
            sleep(Duration::from_secs(1)).await;
        }
        panic!("{generation}: {:#}", self.server.get(&policy_path("p")).unwrap()["status"]);
    }

    /// The generations by which each pod has judged, in the order of time. Fails if one is older than any before.
    fn check(&self) -> Vec<Judgement> {
        let judgements = self.judgements.lock().unwrap().clone();
        let mut newest = 0;
        for (at, pod, generation) in &judgements {
            assert!(*generation >= newest, "{pod} judges by {generation} after {newest}, {at:?}");
            newest = *generation;
        }
        judgements
    }
}

async fn serve(
    server: Server,
    judgements: Arc<Mutex<Vec<Judgement>>>,
    id: String,
    compiles: Duration,
    last: i64,
) {
    let variable = |name: &str| match name {
        "POD_NAMESPACE" => Some("ns".to_owned()),
        "POD_UID" => Some(format!("{id}-uid")),
        _ => Some(id.clone()),
    };
    let identity = PodIdentity::from_variables(variable, ["webhook"]).unwrap();
    let config = ReporterConfig::default().fence(FENCE).strict(Duration::from_secs(1));
    let (reporter, driver) = StatusReporter::new(server.client(&id), identity, config);
    let judging = async {
        reporter.registered().await.unwrap();
        let (schedule, permit) = (reporter.schedule(), reporter.permit());
        let key = ParentKey::new(parent("p"), "p-uid");
        let mut programs = Compiled::default();
        let (mut known, mut since) = (0, Instant::now());
        loop {
            sleep(Duration::from_millis(50)).await;
            let generation =
                server.get(&policy_path("p")).unwrap()["metadata"]["generation"].as_i64().unwrap();
            if generation == known {
                since = Instant::now();
            } else if since.elapsed() >= compiles && generation <= last {
                known = generation;
                programs.insert(generation, generation);
                reporter.ingested(&key, generation, Ok(()), ());
            }
            // After a partition: the policy was read above, and is again in each round.
            if known == 0 || (permit.check().is_err() && permit.resume().is_err()) {
                continue;
            }
            let judged = schedule.in_force("p-uid").and_then(|by| Ok(programs.in_force(by)?.copied()));
            if let Ok(by) = judged {
                judgements.lock().unwrap().push((Instant::now(), id.clone(), by.unwrap_or_default()));
                by.into_iter().for_each(|by| reporter.enforcing(&key, by));
            }
        }
    };
    tokio::select! {
        () = driver.run(CancellationToken::new()) => {}
        () = judging => {}
    }
}

fn pauses(judgements: &[Judgement], pod: &str) -> Duration {
    let times: Vec<Instant> = judgements.iter().filter(|j| j.1 == pod).map(|j| j.0).collect();
    times.windows(2).map(|pair| pair[1].duration_since(pair[0])).max().unwrap_or_default()
}

fn at(judgements: &[Judgement], generation: i64) -> Instant {
    judgements.iter().find(|judgement| judgement.2 == generation).unwrap().0
}

#[tokio::test(start_paused = true)]
async fn no_pod_judges_by_an_old_generation_after_another_has_judged_by_the_new_one() {
    let mut scene = Scene::new();
    scene.aggregate("one", Deadline::default());
    for (id, seconds) in [("a", 0), ("b", 1), ("c", 7)] {
        scene.pod(id, Duration::from_secs(seconds));
    }
    for generation in 1..5 {
        scene.update(generation);
        let updated = Instant::now();
        scene.enforced(generation).await;
        let judgements = scene.check();
        let waited = at(&judgements, generation).duration_since(updated);
        assert!(waited >= FENCE, "the switch comes a lead after the activation: {waited:?}");
        assert!(waited <= Duration::from_secs(60), "{waited:?}");
    }
    let judgements = scene.check();
    for pod in ["a", "b", "c"] {
        let pause = pauses(&judgements, pod);
        assert!(pause <= Duration::from_millis(1200), "{pod} refuses for {pause:?}");
    }
    assert_eq!(scene.stored()["settled"], true);
}

#[tokio::test(start_paused = true)]
async fn pods_that_are_cut_off_join_and_leave_during_a_switch_do_not_judge_by_the_old_generation() {
    // At moments all over a switch, one pod is cut off and another one starts; later the first one is back.
    for moment in (0..48).step_by(8) {
        let mut scene = Scene::new();
        scene.aggregate("one", Deadline::default());
        for id in ["a", "b", "c"] {
            scene.pod(id, Duration::from_millis(300));
        }
        scene.enforced(1).await;
        scene.update(2);
        sleep(Duration::from_secs(moment)).await;
        scene.server.cut_off("c", true);
        scene.pod("d", Duration::from_secs(1));
        scene.enforced(2).await;
        scene.check();
        scene.server.cut_off("c", false);
        scene.update(3);
        scene.enforced(3).await;
        let judgements = scene.check();
        assert!(judgements.iter().any(|judgement| judgement.1 == "d" && judgement.2 == 3), "{moment}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_has_not_compiled_a_generation_that_its_deadline_activated_refuses() {
    let mut scene = Scene::new();
    scene.aggregate("one", Deadline::Activate(Duration::from_secs(20)));
    scene.pod("a", Duration::ZERO);
    scene.pod_until("b", Duration::from_secs(1), 1);
    scene.enforced(1).await;
    scene.update(2);
    sleep(Duration::from_secs(120)).await;
    assert_eq!(scene.stored()["late"], true);
    let judgements = scene.check();
    let last = judgements.iter().rfind(|judgement| judgement.1 == "b").unwrap();
    assert_eq!(last.2, 1);
    assert!(last.0 < at(&judgements, 2), "it refuses since generation 2 is in force");
    assert!(!is_true(&scene.server, "p"));
}

#[tokio::test(start_paused = true)]
async fn a_strict_rollout_waits_for_pods_without_a_fence_and_says_so() {
    let mut scene = Scene::new();
    crate::aggregator::put_member(&scene.server, &crate::aggregator::run("unfenced"), &["p"], 1);
    scene.pod("a", Duration::ZERO);
    scene.aggregate("one", Deadline::default());
    sleep(Duration::from_secs(120)).await;
    let policy = scene.server.get(&policy_path("p")).unwrap();
    let conditions = policy["status"]["conditions"].as_array().unwrap();
    let enforced = conditions.iter().find(|condition| condition["type"] == "Enforced").unwrap();
    assert_eq!((&enforced["status"], &enforced["reason"]), (&"False".into(), &"FenceMissing".into()));
    assert_eq!(scene.stored(), Value::Null);
}

#[tokio::test(start_paused = true)]
async fn the_activation_of_a_deleted_parent_is_removed() {
    let mut scene = Scene::new();
    scene.aggregate("one", Deadline::default());
    scene.pod("a", Duration::ZERO);
    scene.enforced(1).await;
    assert_eq!(scene.stored()["name"], "p");
    scene.tasks.abort_all();
    let mut scene = Scene { tasks: JoinSet::new(), ..scene };
    scene.server.delete(&policy_path("p"));
    scene.aggregate("two", Deadline::default());
    sleep(Duration::from_secs(60)).await;
    assert_eq!(scene.stored(), Value::Null);
}
