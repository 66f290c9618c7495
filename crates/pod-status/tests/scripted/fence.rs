//! Fencing: what a process that is left over does, and what its permit says meanwhile.

use std::time::Duration;

use http::Method;
use pod_status::{FencedError, ParentKey, ParentRef, PodIdentity, ReporterConfig, StatusReporter};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::api::{Fault, Server};

const REPORTS: &str = "/apis/status.webtroller.dev/v1alpha1/namespaces/pod-namespace/podreports/";
const FENCE: Duration = Duration::from_secs(30);

fn identity() -> PodIdentity {
    PodIdentity::from_variables(|name| Some(name.to_lowercase().replace('_', "-")), ["webhook"]).unwrap()
}

fn parent(number: usize) -> ParentKey {
    ParentKey::new(ParentRef::new("g", "K", format!("p{number}")), format!("u{number}"))
}

/// A reporter with 12 parents in several objects.
async fn start(server: &Server, fence: Option<Duration>) -> (StatusReporter, JoinHandle<()>) {
    start_until(server, fence, CancellationToken::new()).await
}

async fn start_until(
    server: &Server,
    fence: Option<Duration>,
    shutdown: CancellationToken,
) -> (StatusReporter, JoinHandle<()>) {
    server.add_pod();
    let mut config = ReporterConfig::default().shard_bytes(512);
    config.fence = fence;
    let (reporter, driver) = StatusReporter::new(server.client("pod"), identity(), config);
    let driver = tokio::spawn(driver.run(shutdown));
    reporter.registered().await.unwrap();
    for number in 0..12 {
        reporter.ingested(&parent(number), 1, Ok(()), Value::Null);
    }
    reporter.flush().await.unwrap();
    sleep(Duration::from_secs(1)).await;
    (reporter, driver)
}

/// Another client, such as an aggregator, deletes the pod's reports as soon as they are written. Counts them.
async fn sweep(server: &Server, time: Duration) -> usize {
    let (mut swept, until) = (0, tokio::time::Instant::now() + time);
    while tokio::time::Instant::now() < until {
        for object in server.objects("podreports") {
            let is_stopped = object["pod"]["stopped"] == true;
            if !is_stopped {
                server.delete(&format!("{REPORTS}{}", object["metadata"]["name"].as_str().unwrap()));
                swept += 1;
            }
        }
        sleep(Duration::from_millis(200)).await;
    }
    swept
}

fn writes(server: &Server) -> usize {
    server.seen().iter().filter(|seen| seen.verb != Method::GET).count()
}

fn pod_is_recreated(server: &Server) {
    server.delete_pod();
    let metadata = json!({"name": "pod-name", "uid": "another-uid"});
    let path = "/api/v1/namespaces/pod-namespace/pods/pod-name";
    server.put(path, json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}));
}

fn pod_has_failed(server: &Server) {
    let path = "/api/v1/namespaces/pod-namespace/pods/pod-name";
    server.edit(path, |pod| pod["status"] = json!({"phase": "Failed", "reason": "NodeLost"}));
}

#[tokio::test(start_paused = true)]
async fn a_process_that_is_left_over_gives_up_when_the_partition_heals() {
    type Loss = (&'static str, fn(&Server));
    let losses: [Loss; 3] =
        [("deleted", Server::delete_pod), ("recreated", pod_is_recreated), ("failed", pod_has_failed)];
    for ((name, lose), fence) in losses.into_iter().flat_map(|loss| [(loss, None), (loss, Some(FENCE))]) {
        let server = Server::default();
        let (reporter, driver) = start(&server, fence).await;
        server.cut_off("pod", true);
        lose(&server);
        sweep(&server, Duration::from_secs(60)).await;
        let before = writes(&server);
        server.cut_off("pod", false);
        // Its controllers go on.
        let busy = async {
            for generation in 2.. {
                (0..12)
                    .for_each(|number| reporter.ingested(&parent(number), generation, Ok(()), Value::Null));
                sleep(Duration::from_secs(1)).await;
            }
        };
        let swept = tokio::select! {
            () = busy => unreachable!(),
            swept = sweep(&server, Duration::from_secs(120)) => swept,
        };
        let written = writes(&server) - before;
        assert!(
            written <= 5 && swept <= 2,
            "{name}, {fence:?}: {written} writes, {swept} swept in two minutes"
        );
        assert_eq!(reporter.permit().check(), Err(FencedError::PodDeleted), "{name}, {fence:?}");
        timeout(Duration::from_secs(1), driver).await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_created_again_while_it_is_not_known_that_the_pod_exists() {
    let server = Server::default();
    let (reporter, _driver) = start(&server, None).await;
    server.refuse_reads("/pods/pod-name", true);
    server.delete_pod();
    server.delete_reports();
    let before = writes(&server);
    for generation in 2..600 {
        reporter.ingested(&parent(1), generation, Ok(()), Value::Null);
        sleep(Duration::from_secs(1)).await;
        assert_eq!(server.objects("podreports").len(), 0);
    }
    assert!(writes(&server) - before <= 2, "{} writes", writes(&server) - before);
    server.refuse_reads("/pods/pod-name", false);
    assert_eq!(
        timeout(Duration::from_secs(60), reporter.permit().fenced()).await,
        Ok(FencedError::PodDeleted)
    );
}

#[tokio::test(start_paused = true)]
async fn the_permit_is_over_before_the_pod_says_that_it_has_stopped() {
    for fence in [None, Some(FENCE)] {
        let server = Server::default();
        let shutdown = CancellationToken::new();
        let (reporter, driver) = start_until(&server, fence, shutdown.clone()).await;
        let permit = reporter.permit();
        assert_eq!(permit.check(), Ok(()));
        let watching = async {
            loop {
                let is_stopped = server.objects("-0").iter().any(|object| object["pod"]["stopped"] == true);
                if is_stopped {
                    return permit.check();
                }
                sleep(Duration::from_millis(1)).await;
            }
        };
        shutdown.cancel();
        let (answer, ended) = tokio::join!(watching, driver);
        ended.unwrap();
        assert_eq!(answer, Err(FencedError::Stopped), "statements are made without this pod from now on");
        assert_eq!(permit.resume(), Err(FencedError::Stopped), "final");
        assert_eq!(permit.renewed().await, Err(FencedError::Stopped));
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_a_renewal_ends_when_there_can_be_none() {
    let server = Server::default();
    let (reporter, _driver) = start(&server, Some(FENCE)).await;
    server.cut_off("pod", true);
    let permit = reporter.permit();
    assert_eq!(permit.fenced().await, FencedError::Expired);
    let healed = async {
        sleep(Duration::from_secs(300)).await;
        server.delete_pod();
        server.delete_reports();
        server.cut_off("pod", false);
    };
    let (renewed, ()) = tokio::join!(timeout(Duration::from_secs(600), permit.renewed()), healed);
    assert_eq!(renewed, Ok(Err(FencedError::PodDeleted)));
}

/// The renewals of the registration that the server has seen.
fn renewals(server: &Server) -> usize {
    server.seen().iter().filter(|seen| seen.verb == Method::PATCH && seen.path.ends_with("-0")).count()
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_to_wait_longer_than_the_fence_does_not_end_the_permit() {
    const REFUSED: Fault = Fault::Refuse(429, 600);
    // The first requests after the start: of a renewal, of an entry, and of the look at the Pod after a renewal.
    let cases = [
        ("two renewals", false, vec![REFUSED, REFUSED]),
        ("an entry", true, vec![REFUSED]),
        ("the look at the Pod", false, vec![Fault::None, REFUSED]),
    ];
    for (name, reports, faults) in cases {
        for is_patient in [false, true] {
            let server = Server::default();
            server.add_pod();
            let client = if is_patient { server.patient_client("pod") } else { server.client("pod") };
            let (reporter, driver) =
                StatusReporter::new(client, identity(), ReporterConfig::default().fence(FENCE));
            let _driver = tokio::spawn(driver.run(CancellationToken::new()));
            reporter.registered().await.unwrap();
            sleep(Duration::from_secs(1)).await;
            server.script(faults.clone());
            if reports {
                reporter.ingested(&parent(1), 1, Ok(()), Value::Null);
            }
            let permit = reporter.permit();
            let has_entries =
                || server.objects("podreports").iter().any(|object| object["entries"] != json!([]));
            sleep(Duration::from_secs(50)).await;
            // A client that follows the advice itself is cut off after the time for one request.
            assert!(is_patient || !has_entries(), "{name}: a minute of the advice holds for everything else");
            let fenced = timeout(Duration::from_secs(250), permit.fenced()).await;
            assert!(fenced.is_err(), "{name}, patient {is_patient}: {fenced:?}");
            assert!(renewals(&server) <= 40, "{name}: {} renewals in five minutes", renewals(&server));
            assert!(has_entries() || !reports, "{name}");
        }
    }
}

/// The aggregator waits for the fence, a tenth of it and a second since the heartbeat has become another number. Whenever the
/// pod is cut off, it must not answer longer, also after a renewal that was carried out and whose answer was lost.
#[tokio::test(start_paused = true)]
async fn a_pod_does_not_answer_longer_than_an_aggregator_waits_for_it() {
    let step = Duration::from_millis(250);
    for seconds in 0..45 {
        let server = Server::default();
        let (reporter, _driver) = start(&server, Some(FENCE)).await;
        let permit = reporter.permit();
        server.script([Fault::LoseAnswer]);
        let heartbeat = || {
            let reports = server.objects("podreports");
            reports.iter().find(|report| report["shard"] == 0).unwrap()["pod"]["heartbeat"].clone()
        };
        let (began, mut last) = (Instant::now(), (heartbeat(), Instant::now()));
        while permit.check().is_ok() {
            if began.elapsed() >= Duration::from_secs(seconds) {
                server.cut_off("pod", true);
            }
            sleep(step).await;
            let now = heartbeat();
            last = if now == last.0 { last } else { (now, Instant::now()) };
        }
        let answered = last.1.elapsed();
        assert!(
            answered <= FENCE + FENCE / 10 + Duration::from_secs(1),
            "cut off after {seconds} s: {answered:?}"
        );
    }
}

/// A copy of a pod's environment in another container, or a process that was not ended: both believe to be the pod.
#[tokio::test(start_paused = true)]
async fn of_two_processes_with_one_identity_one_refuses_and_the_other_stays_registered() {
    for fence in [None, Some(Duration::from_secs(30))] {
        let server = Server::default();
        server.add_pod();
        let first =
            PodIdentity::from_variables(|name| Some(name.to_lowercase().replace('_', "-")), ["webhook"])
                .unwrap();
        let config = match fence {
            Some(fence) => ReporterConfig::default().fence(fence),
            None => ReporterConfig::default(),
        };
        let mut runs = Vec::new();
        for (client, identity) in [("one", first.clone()), ("two", first.clone().restarted())] {
            let (reporter, driver) =
                StatusReporter::new(server.client(client), identity.clone(), config.clone());
            let driver = tokio::spawn(driver.run(CancellationToken::new()));
            reporter.registered().await.unwrap();
            runs.push((identity.incarnation, reporter, driver));
        }
        sleep(Duration::from_secs(60)).await;
        runs.sort_by(|a, b| a.0.cmp(&b.0));
        let [(_, loser, ended), (incarnation, winner, goes_on)] = &runs[..] else { panic!("two runs") };
        assert_eq!(loser.permit().check(), Err(FencedError::Duplicate));
        assert!(ended.is_finished(), "it overwrites nothing any more");
        assert_eq!(winner.permit().check(), Ok(()));
        assert!(!goes_on.is_finished());
        let registrations = server.objects("podreports");
        assert_eq!(registrations.len(), 1);
        assert_eq!(registrations[0]["pod"]["incarnation"], incarnation.as_str());
    }
}
