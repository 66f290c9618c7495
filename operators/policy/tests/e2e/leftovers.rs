//! Statuses from before: constraints that were enforced, by pods that are gone, of templates that no pod can put in force.

use control_plane::Component;
use hyper::Method;
use tokio::time::{Duration, interval, timeout};

use crate::cluster::{Cluster, NAMESPACE};
use crate::fleet::{Fleet, PODS, register, unregister};
use crate::operator::{Operator, PATIENCE, readyz};
use crate::prober::{constraint, review, template};
use crate::scripted::{Fate, Scripted};

const TEMPLATE: &str = "constrainttemplate/numbered";
const CONSTRAINT: &str = "numbered/a";
const ENFORCED: &str = "{.status.conditions[?(@.type==\"Enforced\")].status}";
/// A call in the template, and one that no release knows.
const BROKEN: (&str, &str) = ("sprintf(", "no_such_function(");

async fn enforcing() -> Fleet {
    let fleet = Fleet::start().await;
    fleet.cluster.apply(&template(1)).await;
    fleet.cluster.enforced(TEMPLATE).await;
    fleet.cluster.apply(&constraint(1)).await;
    fleet.cluster.enforced(CONSTRAINT).await;
    fleet
}

async fn is_enforced(fleet: &Fleet, object: &str) -> bool {
    fleet.cluster.get(&[object], ENFORCED).await == "True"
}

/// All pods serve without the policy, and say so of its constraint.
async fn is_without_the_policy(fleet: &Fleet, constraint: &str) {
    assert!(!is_enforced(fleet, constraint).await, "{constraint} is called enforced, and the pods are ready");
    for answer in fleet.ask_each(&review()).await {
        assert!(answer.contains("\"allowed\":true"), "{answer}");
    }
    fleet.cluster.must(&["wait", "--for=condition=Enforced=False", "--timeout=60s", constraint]).await;
    let messages = "{range .status.byPod[*]}{.errors[0].message};{end}";
    let message = "no ConstraintTemplate in force creates the kind \"Numbered\";";
    fleet.cluster.until(&[constraint], messages, &message.repeat(PODS)).await;
}

/// All pods have the policy in force, in this version.
async fn is_in_force(fleet: &Fleet, number: u64) {
    fleet.cluster.enforced(TEMPLATE).await;
    fleet.cluster.enforced(CONSTRAINT).await;
    for answer in fleet.ask_each(&review()).await {
        assert!(answer.contains(&format!("numbers=1,{number}")), "{answer}");
    }
}

/// No pod is left that had the version before, and no report of those that had it.
#[tokio::test]
async fn no_constraint_of_a_template_that_no_pod_can_compile_after_a_restart_is_called_enforced() {
    let mut fleet = enforcing().await;
    unregister(&fleet.cluster).await;
    fleet.kill_all().await;
    fleet.cluster.apply(&template(2).replace(BROKEN.0, BROKEN.1)).await;
    fleet.cluster.must(&["delete", "podreports", "--all", "-n", NAMESPACE]).await;
    assert!(is_enforced(&fleet, CONSTRAINT).await, "no process is there to say otherwise");
    fleet.start_all_again().await;
    is_without_the_policy(&fleet, CONSTRAINT).await;

    register(&fleet.cluster).await;
    fleet.cluster.apply(&template(3)).await;
    is_in_force(&fleet, 3).await;
}

#[tokio::test]
async fn a_constraint_that_outlives_its_template_is_not_called_enforced() {
    let mut fleet = enforcing().await;
    fleet.cluster.plane.stop(Component::ControllerManager).await.unwrap();
    fleet.cluster.must(&["delete", TEMPLATE]).await;
    fleet.cluster.must(&["wait", "--for=condition=Enforced=False", "--timeout=60s", CONSTRAINT]).await;
    is_without_the_policy(&fleet, CONSTRAINT).await;
    fleet.cluster.apply(&template(2)).await;
    is_in_force(&fleet, 2).await;

    // And the same while no process is there.
    unregister(&fleet.cluster).await;
    fleet.kill_all().await;
    fleet.cluster.must(&["delete", TEMPLATE]).await;
    assert!(is_enforced(&fleet, CONSTRAINT).await);
    fleet.start_all_again().await;
    is_without_the_policy(&fleet, CONSTRAINT).await;
    register(&fleet.cluster).await;
    fleet.cluster.apply(&template(3)).await;
    is_in_force(&fleet, 3).await;

    fleet.cluster.plane.restart(Component::ControllerManager).await.unwrap();
    fleet.cluster.must(&["delete", TEMPLATE]).await;
    fleet.cluster.must(&["wait", "--for=delete", "--timeout=60s", CONSTRAINT]).await;
    fleet.cluster.apply(&template(4)).await;
    fleet.cluster.enforced(TEMPLATE).await;
}

/// A fourth pod, of a release that cannot compile the template that the others enforce.
async fn a_pod_joins_that_cannot_compile_a_template(aggregator_dies: bool) {
    let mut fleet = enforcing().await;
    let proxy = Scripted::start(&fleet.cluster.shipped).await;
    proxy.change(BROKEN.0, BROKEN.1);
    let joining = fleet.join("webtroller-3", proxy.kubeconfig()).await;
    if aggregator_dies {
        let holder = ["lease", "pod-status-aggregator", "-n", NAMESPACE];
        let holder = fleet.cluster.get(&holder, "{.spec.holderIdentity}").await;
        let held = fleet.pods.iter_mut().find(|(name, _, _)| holder.contains(name.as_str()));
        held.expect("one of them").2.child.kill().await.unwrap();
    }
    let ready = async {
        let mut ticks = interval(Duration::from_millis(20));
        while readyz(&joining.health).await.is_none_or(|(code, _)| code != 200) {
            ticks.tick().await;
        }
    };
    timeout(PATIENCE, ready).await.expect("a broken template does not keep it from serving");
    for object in [TEMPLATE, CONSTRAINT] {
        assert!(!is_enforced(&fleet, object).await, "{object}");
    }
    let of_fourth = "{.status.byPod[?(@.id==\"webtroller-3\")].errors[0].message}";
    let message = "no ConstraintTemplate in force creates the kind \"Numbered\"";
    fleet.cluster.until(&[CONSTRAINT], of_fourth, message).await;
    joining.stop().await;
    if aggregator_dies {
        fleet.kill_all().await;
        fleet.start_all_again().await;
    }
    is_in_force(&fleet, 1).await;
}

#[tokio::test]
async fn a_pod_that_gives_up_a_template_is_ready_only_when_nothing_of_it_is_called_enforced() {
    a_pod_joins_that_cannot_compile_a_template(false).await;
}

#[tokio::test]
async fn a_pod_that_gives_up_a_template_waits_for_the_next_aggregator_when_one_dies() {
    a_pod_joins_that_cannot_compile_a_template(true).await;
}

/// Lists and watches of the constraints are refused.
fn is_list(method: &Method, path: &str) -> bool {
    method == Method::GET && path.starts_with("/apis/constraints.gatekeeper.sh/v1beta1/numbered?")
}

/// Constraints of the kind may exist, and no pod knows them: the template is not in force, whatever it compiles to.
#[tokio::test]
async fn a_template_is_not_called_enforced_before_its_constraints_can_be_listed() {
    let mut fleet = Fleet::start_scripted(&[]).await;
    let refuse = |method: &Method, path: &str| match is_list(method, path) {
        true => Fate::Fail(403, "Forbidden"),
        false => Fate::Pass,
    };
    fleet.scripted().script(refuse);
    fleet.cluster.apply(&template(1)).await;
    fleet.cluster.must(&["wait", "--for=condition=Enforced=False", "--timeout=60s", TEMPLATE]).await;
    let message = fleet.cluster.get(&[TEMPLATE], "{.status.byPod[0].errors[0].message}").await;
    assert!(message.contains("constraints of kind Numbered cannot be listed"), "{message}");
    fleet.scripted().script(|_, _| Fate::Pass);
    fleet.cluster.apply(&constraint(1)).await;
    is_in_force(&fleet, 1).await;

    // All pods start anew, and none can know which constraints call themselves enforced. None serves.
    unregister(&fleet.cluster).await;
    fleet.kill_all().await;
    fleet.scripted().script(refuse);
    fleet.launch_all_again().await;
    fleet.cluster.must(&["wait", "--for=condition=Enforced=False", "--timeout=60s", TEMPLATE]).await;
    for (_, _, operator) in &fleet.pods {
        operator.until_readyz(|code, body| code == 503 && body.contains("not listed yet")).await;
    }
    fleet.scripted().script(|_, _| Fate::Pass);
    fleet.balance().await;
    register(&fleet.cluster).await;
    is_in_force(&fleet, 1).await;
}

/// The CRD that a deleted template has left behind serves its constraints in another version than ours.
#[tokio::test]
async fn a_constraint_that_is_served_in_another_version_is_not_called_enforced() {
    let mut fleet = enforcing().await;
    fleet.cluster.plane.stop(Component::ControllerManager).await.unwrap();
    unregister(&fleet.cluster).await;
    fleet.kill_all().await;
    fleet.cluster.must(&["delete", TEMPLATE]).await;
    serve(&fleet.cluster, false).await;
    let constraint = "numbered.v1alpha1.constraints.gatekeeper.sh/a";
    assert!(is_enforced(&fleet, constraint).await, "no process is there to say otherwise");
    fleet.start_all_again().await;
    is_without_the_policy(&fleet, constraint).await;

    // The version returns while the pods run, and then the template.
    serve(&fleet.cluster, true).await;
    register(&fleet.cluster).await;
    fleet.cluster.apply(&template(2)).await;
    is_in_force(&fleet, 2).await;
}

/// Has the CRD serve `v1beta1`, or not.
async fn serve(cluster: &Cluster, served: bool) {
    let crd = "customresourcedefinition/numbered.constraints.gatekeeper.sh";
    let patch = format!(r#"[{{"op": "replace", "path": "/spec/versions/0/served", "value": {served}}}]"#);
    cluster.must(&["patch", crd, "--type=json", "-p", &patch]).await;
    cluster.until(&[crd], "{.spec.versions[0].name}", "v1beta1").await;
}

/// Such a constraint is not in force in a pod that starts, and cannot come into force before there is a template again.
#[tokio::test]
async fn a_constraint_without_a_template_keeps_a_pod_unready_where_broken_policies_block() {
    let mut cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    cluster.apply(&template(1)).await;
    cluster.enforced(TEMPLATE).await;
    cluster.apply(&constraint(1)).await;
    cluster.enforced(CONSTRAINT).await;
    cluster.must(&["delete", "validatingwebhookconfigurations", "--all"]).await;
    operator.stop().await;
    cluster.plane.stop(Component::ControllerManager).await.unwrap();
    cluster.must(&["delete", "validatingwebhookconfigurations", "--all", "--ignore-not-found"]).await;
    cluster.must(&["delete", TEMPLATE]).await;

    let identity = ["webtroller-0", NAMESPACE, cluster.pod_uid.as_str()];
    let operator = Operator::start_with(&cluster.shipped, identity, &["--broken-policies", "block"]).await;
    let body = operator.until_readyz(|code, body| code == 503 && body.contains("Numbered a")).await;
    assert!(body.contains("no ConstraintTemplate in force creates the kind"), "{body}");
    cluster.must(&["wait", "--for=condition=Enforced=False", "--timeout=60s", CONSTRAINT]).await;
    cluster.must(&["delete", CONSTRAINT]).await;
    operator.until_readyz(|code, _| code == 200).await;
    operator.stop().await;
}

/// The pods that have the template keep it until it is gone; one that starts has it not, and serves.
#[tokio::test]
async fn a_template_that_is_being_deleted_is_not_called_enforced_beside_a_pod_without_it() {
    let fleet = enforcing().await;
    let keep = r#"{"metadata": {"finalizers": ["example.com/keep"]}}"#;
    fleet.cluster.must(&["patch", TEMPLATE, "--type=merge", "-p", keep]).await;
    fleet.cluster.must(&["delete", TEMPLATE, "--wait=false"]).await;
    // The deletion is a generation that no pod ingests.
    fleet.cluster.must(&["wait", "--for=condition=Enforced=Unknown", "--timeout=60s", TEMPLATE]).await;
    fleet.cluster.enforced(CONSTRAINT).await;

    let joining = fleet.join("webtroller-3", fleet.cluster.shipped.clone()).await;
    joining.until_readyz(|code, _| code == 200).await;
    for object in [TEMPLATE, CONSTRAINT] {
        assert!(!is_enforced(&fleet, object).await, "{object} is called enforced beside a pod without it");
    }
    joining.stop().await;
}
