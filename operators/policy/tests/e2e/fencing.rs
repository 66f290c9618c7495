//! A process that is left over: its Pod object has been deleted by force, and it is not notified of changes.

use tokio::join;
use tokio::time::timeout;

use crate::cluster::{Cluster, NAMESPACE};
use crate::https::{Connection, authority, post};
use crate::operator::{Operator, PATIENCE};
use crate::prober::{Prober, constraint, review, template};
use crate::proxy::Proxy;

/// Short, so that the test is.
const TIMEOUT: [&str; 2] = ["--registration-timeout", "6s"];

/// Longer than the test: what is sent does not arrive.
const NEVER: u64 = 3_600_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The process runs and serves, but cannot reach the API server.
    CutOff,
    /// The process does not run for a while, and then does.
    Frozen,
}

/// The condition may say `Enforced` without the process that is left over, but only when that no longer answers.
async fn enforced_without_a_process_that_is_left_over(fault: Fault) {
    let cluster = Cluster::start().await;
    let kubeconfig = cluster.shipped.clone();
    let mut served =
        Operator::start_with(&kubeconfig, ["webtroller-0", NAMESPACE, &cluster.pod_uid], &TIMEOUT).await;
    served.log("webhook registered").await;
    let proxy = Proxy::start(&kubeconfig).await;
    let uid = cluster.pod("webtroller-1").await;
    let identity = ["webtroller-1", NAMESPACE, uid.as_str()];
    // The API server sends its requests to the first pod only; the prober asks both.
    let mut left = Operator::launch_with(proxy.kubeconfig(), identity, &served.webhook, &TIMEOUT).await;
    left.webhook = left.log("serving").await["webhook"].as_str().unwrap().to_owned();
    left.until_readyz(|code, _| code == 200).await;

    cluster.apply(&template(1)).await;
    cluster.enforced("constrainttemplate/numbered").await;
    cluster.apply(&constraint(1)).await;
    let trusted = authority(&cluster).await;
    let mut prober = Prober::start(&cluster, trusted.clone()).await;
    prober.ask("webtroller-0", &served.webhook);
    prober.ask("webtroller-1", &left.webhook);
    prober.enforced((1, 1)).await;

    let mut open = Connection::open(&left.webhook, &trusted).await.unwrap();
    match fault {
        Fault::CutOff => proxy.delay_millis(NEVER),
        Fault::Frozen => left.signal("-STOP"),
    }
    cluster.must(&["delete", "pod", "webtroller-1", "-n", NAMESPACE, "--force", "--grace-period=0"]).await;
    cluster.apply(&constraint(2)).await;
    prober.enforced((2, 1)).await;
    if fault == Fault::Frozen {
        // A request that waits in the process's own buffers when it wakes up.
        let (answer, ()) = join!(open.send(post("application/json", review())), async {
            left.signal("-CONT");
        });
        assert!(!answer.is_ok_and(|(status, ..)| status.as_u16() == 200));
    }
    let ended = timeout(PATIENCE, left.child.wait()).await.expect("it must end").unwrap();
    assert!(ended.code().is_some_and(|code| code != 0), "so that the kubelet starts it anew: {ended}");
    let (answers, lies) = prober.lies();
    assert!(answers > 10 && lies.is_empty(), "{} of {answers} answers: {:?}", lies.len(), lies.first());
    served.stop().await;
}

#[tokio::test]
async fn a_pod_that_is_cut_off_stops_answering_before_policies_are_enforced_without_it() {
    enforced_without_a_process_that_is_left_over(Fault::CutOff).await;
}

#[tokio::test]
async fn a_pod_that_was_frozen_does_not_answer_by_what_it_knew_before() {
    enforced_without_a_process_that_is_left_over(Fault::Frozen).await;
}
