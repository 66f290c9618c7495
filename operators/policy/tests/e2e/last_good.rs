//! A version of a template that is broken and stored all the same, because no webhook was registered: pods that have the
//! version before keep it, one that starts later has none, and neither is called enforced.

use crate::fleet::{Fleet, PODS, register, unregister};
use crate::prober::{constraint, review, template};

const TEMPLATE: &str = "constrainttemplate/numbered";

#[tokio::test]
async fn a_broken_version_that_is_stored_leaves_the_last_good_one_where_it_is_and_is_never_enforced() {
    let mut fleet = Fleet::start().await;
    fleet.cluster.apply(&template(1)).await;
    fleet.cluster.enforced(TEMPLATE).await;
    fleet.cluster.apply(&constraint(1)).await;
    fleet.cluster.enforced("numbered/a").await;

    unregister(&fleet.cluster).await;
    fleet.cluster.apply(&template(2).replace("sprintf(", "no_such_function(")).await;
    let not = |condition: &str| format!("--for=condition={condition}=False");
    fleet.cluster.must(&["wait", &not("Ingested"), "--timeout=120s", TEMPLATE]).await;
    for answer in fleet.ask_each(&review()).await {
        assert!(answer.contains("numbers=1,1"), "{answer}");
    }
    register(&fleet.cluster).await;
    // The webhook is good again, and neither is enforced: what the pods have is not what is stored.
    let waiting = "{range .status.byPod[*]}{.enforced}{.enforcementPointsStatus[0].message};{end}";
    let outdated = "falsethe present version of its template cannot be ingested; the version before is in force in pods \
                    that have it;";
    fleet.cluster.until(&["numbered/a"], waiting, &outdated.repeat(PODS)).await;
    for object in [TEMPLATE, "numbered/a"] {
        fleet.cluster.must(&["wait", &not("Enforced"), "--timeout=120s", object]).await;
    }

    // A pod that starts now has no version of it.
    fleet.pods[0].2.child.kill().await.unwrap();
    fleet.start_again(0).await;
    let answers = fleet.ask_each(&review()).await;
    assert!(answers[0].contains("\"allowed\":true"), "{answers:?}");
    assert!(answers[1..].iter().all(|answer| answer.contains("numbers=1,1")), "{answers:?}");
    let status = "{.status.conditions[?(@.type==\"Enforced\")].status}";
    for object in [TEMPLATE, "numbered/a"] {
        assert_ne!(fleet.cluster.get(&[object], status).await, "True", "{object}");
    }

    fleet.cluster.apply(&template(3)).await;
    fleet.cluster.enforced(TEMPLATE).await;
    fleet.cluster.enforced("numbered/a").await;
    for answer in fleet.ask_each(&review()).await {
        assert!(answer.contains("numbers=1,3"), "{answer}");
    }
}
