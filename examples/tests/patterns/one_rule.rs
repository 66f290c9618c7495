//! One rule, four ways: the printed table, which the API server and the framework have filled, and the pure parts.

#![allow(dead_code, reason = "only their unit tests run here")]

#[path = "../../one_rule/declaration.rs"]
mod declaration;
#[path = "../../one_rule/kyverno/mod.rs"]
mod kyverno;
#[path = "../../one_rule/manifests.rs"]
mod manifests;
#[path = "../../one_rule/offline.rs"]
mod offline;
#[path = "../../one_rule/verdict.rs"]
mod verdict;

use std::time::Duration;

use control_plane::ControlPlane;
use examples::{Cluster, grant};
use tokio::process::Command;
use tokio::time::timeout;

use crate::demo::{plane, program};

const TABLE: &str = "
                             own     Gatekeeper  Kyverno  VAP     VAP offline  inverted
  3 replicas                 admits  admits      admits   admits  admits       DENIES
  10 replicas                admits  admits      admits   admits  admits       DENIES
  2 replicas                 DENIES  DENIES      DENIES   DENIES  DENIES       admits
  11 replicas                DENIES  DENIES      admits   DENIES  DENIES       DENIES
  0 replicas                 DENIES  DENIES      DENIES   DENIES  DENIES       admits
  replicas missing           DENIES  DENIES      DENIES   DENIES  DENIES       admits
  UPDATE from 5 to 6         admits  admits      admits   admits  admits       DENIES
  UPDATE from 5 to 2         DENIES  DENIES      DENIES   DENIES  DENIES       admits
  UPDATE from 5 to 11        DENIES  DENIES      admits   DENIES  DENIES       DENIES
  UPDATE, 2 before and after DENIES  DENIES      admits   DENIES  DENIES       admits
  scale subresource, 5 to 1  DENIES  admits      admits   admits  admits       admits
  DELETE, 2 replicas         admits  admits      admits   admits  admits       admits
  file: replicas missing     -       admits      DENIES   -       DENIES       -
  file: 2 replicas           -       DENIES      DENIES   -       DENIES       -
";

const MODES: &str = "
                                      Gatekeeper  Kyverno  VAP
  deny, Enforce, Deny                 DENIES      DENIES   DENIES
  warn, Audit with emitWarning, Warn  warns       warns    warns
  dryrun, Audit, Audit                admits      admits   admits
";

/// Columns are as wide as they have to be; what counts is what is in them.
fn words(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.filter(|line| !line.is_empty()).collect()
}

#[tokio::test]
async fn four_forms_of_a_rule_are_asked_about_the_same_deployments() {
    let plane = plane().await;
    let admin = Cluster::connect(plane.config(), "default", "admin", None).unwrap();
    grant(&admin, &declaration::declarations()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, kubeconfig_as(plane, "one-rule")).unwrap();
    let mut command = Command::new(program("one_rule"));
    command.env("KUBECONFIG", kubeconfig).kill_on_drop(true);
    let mut said = String::new();
    // What a run leaves is not in the way of the next.
    for _ in 0..2 {
        let output = timeout(Duration::from_secs(600), command.output()).await.expect("it must end").unwrap();
        said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    }
    let (said, expected) = (words(&said), [words(TABLE), words(MODES)]);
    for table in expected {
        assert!(said.windows(table.len()).any(|lines| lines == table), "{table:#?} is not in {said:#?}");
    }

    // The mode Audit admits without a word; the finding is in the audit log.
    let finding = "validation.policy.admission.k8s.io/validation_failure";
    let recorded = |event: &serde_json::Value| {
        let text = event["annotations"][finding].as_str().unwrap_or_default();
        text.contains("2 replicas")
            && text.contains("Audit")
            && event["objectRef"]["namespace"] == "one-rule-audit"
    };
    let log = plane.audit_log().unwrap();
    assert!(log.iter().any(recorded));

    // It has run with the rights that it declares; it did all of that and nothing else.
    let path = folder.path().join("audit.log");
    let of_it = |event: &&serde_json::Value| event["impersonatedUser"]["username"] == username("one-rule");
    let lines: Vec<_> = log.iter().filter(of_it).map(|event| format!("{event}\n")).collect();
    assert!(!lines.is_empty());
    std::fs::write(&path, lines.concat()).unwrap();
    let output = Command::new(program("one_rule")).arg("--check-audit").arg(path).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn username(declared: &str) -> String {
    format!("system:serviceaccount:default:{declared}")
}

/// The kubeconfig of a control plane, for the service account of a declaration.
fn kubeconfig_as(plane: &ControlPlane, declared: &str) -> String {
    let text = std::fs::read_to_string(plane.kubeconfig()).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&text).unwrap();
    config["users"][0]["user"]["as"] = username(declared).into();
    config.to_string()
}
