//! `deploy/webtroller.yaml` is what the chart renders with its defaults.

use std::collections::BTreeSet;

use controller_declaration::Call;

use crate::gatekeeper;
use crate::helm::{NAMESPACE, RELEASE, chart, helm, workspace};
use crate::rights;

const HEADER: &str = "\
# Rendered from charts/webtroller; UPDATE_MANIFEST=1 cargo test -p webtroller --test install manifest writes it anew.
# Before you delete these objects, run `webtroller uninstall --deployment webtroller --namespace gatekeeper-system`.
---
apiVersion: v1
kind: Namespace
metadata:
  name: gatekeeper-system
  labels:
    admission.gatekeeper.sh/ignore: no-self-managing
    pod-security.kubernetes.io/enforce: restricted
";

#[tokio::test]
async fn the_committed_manifest_is_the_rendered_chart() {
    let chart = chart();
    // The rights of the hook are of no use to kubectl.
    let no_hook = ["--no-hooks", "--set", "preUninstall.deleteWebhookConfigurations.enabled=false"];
    let template = ["template", RELEASE, chart.to_str().unwrap(), "-n", NAMESPACE];
    let rendered = helm(None, &[&template[..], &no_hook].concat()).await;
    let lines =
        rendered.lines().filter(|line| !line.starts_with("# Source:") && !line.contains("helm.sh/chart"));
    let lines = lines.map(|line| line.replace("managed-by: Helm", "managed-by: kubectl")).collect::<Vec<_>>();
    let expected = format!("{HEADER}{}\n", lines.join("\n").trim_end());
    let path = workspace("deploy/webtroller.yaml");
    if std::env::var_os("UPDATE_MANIFEST").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    assert!(
        committed == expected,
        "deploy/webtroller.yaml is out of date: run the command in its first line"
    );
}

#[tokio::test]
async fn a_certificate_of_cert_manager_is_mounted_and_no_secret_may_be_written() {
    let chart = chart();
    let render = async |set: &str| {
        helm(None, &["template", RELEASE, chart.to_str().unwrap(), "-n", NAMESPACE, "--set", set]).await
    };
    let mounted =
        ["--disable-cert-rotation", "mountPath: /certs", "secretName: gatekeeper-webhook-server-cert"];
    let writes = "resources: [secrets]";
    let plain = render("replicas=1").await;
    assert!(plain.contains(writes) && mounted.iter().all(|part| !plain.contains(part)), "{plain}");

    let external = render("externalCertInjection.enabled=true").await;
    assert!(!external.contains(writes) && mounted.iter().all(|part| external.contains(part)), "{external}");
    assert!(!external.contains("cert-manager.io"), "{external}");

    let managed = render("certManager.enabled=true").await;
    assert!(!managed.contains(writes) && mounted.iter().all(|part| managed.contains(part)), "{managed}");
    let kinds = |text: &str, kind: &str| text.matches(&format!("\nkind: {kind}\n")).count();
    assert_eq!((kinds(&managed, "Issuer"), kinds(&managed, "Certificate")), (2, 2), "{managed}");
    assert!(managed.contains("- gatekeeper-webhook-service.gatekeeper-system.svc\n"), "{managed}");

    let set = "certManager.enabled=true,certManager.issuerRef.kind=ClusterIssuer,certManager.issuerRef.name=corporate";
    let issued = render(set).await;
    assert_eq!((kinds(&issued, "Issuer"), kinds(&issued, "Certificate")), (0, 1), "{issued}");
    assert!(issued.contains("    kind: ClusterIssuer\n    name: corporate\n"), "{issued}");
}

/// Kind and name of each object in a rendered manifest.
fn objects(rendered: &str) -> BTreeSet<String> {
    let documents = rendered.split("\n---").map(|document| {
        let kind = document.lines().find_map(|line| line.strip_prefix("kind: "))?;
        let name = document.lines().find_map(|line| line.strip_prefix("  name: "))?;
        Some(format!("{} {}", kind.trim(), name.trim()))
    });
    documents.flatten().collect()
}

#[tokio::test]
async fn beside_gatekeeper_no_object_has_the_name_of_one_of_gatekeepers() {
    let chart = chart();
    let render = async |set: &str| {
        helm(None, &["template", RELEASE, chart.to_str().unwrap(), "-n", NAMESPACE, "--set", set]).await
    };
    let theirs = objects(&std::fs::read_to_string(gatekeeper::file("deploy/gatekeeper.yaml")).unwrap());
    let beside = render("besideGatekeeper=true").await;
    let shared: Vec<_> = objects(&beside).intersection(&theirs).cloned().collect();
    assert_eq!(shared, [""; 0]);
    // What the operator itself writes, and what it is reached by.
    for expected in [
        "--cert-service-name=webtroller-webhook-service\"\n",
        "--cert-secret-name=webtroller-webhook-server-cert\"\n",
        "--validating-webhook-configuration-name=webtroller-validating-webhook-configuration\"\n",
        "resourceNames: [\"webtroller-validating-webhook-configuration\"]\n",
    ] {
        assert!(beside.contains(expected), "{expected} is not in:\n{beside}");
    }
    // Gatekeeper takes its quota with it, and some clusters admit pods of this class only where there is one.
    assert!(objects(&beside).contains("ResourceQuota webtroller-critical-pods"), "{beside}");
    assert!(!beside.contains("gatekeeper-webhook") && !beside.contains("gatekeeper-validating"), "{beside}");
    let plain = objects(&render("replicas=3").await);
    let shared: Vec<_> = plain.intersection(&theirs).cloned().collect();
    assert_eq!(shared, ["ResourceQuota gatekeeper-critical-pods", "Service gatekeeper-webhook-service"]);
}

#[tokio::test]
async fn every_value_of_the_chart_renders() {
    let chart = chart();
    let set = "controllerManager.networkPolicy.enabled=true,enableDeleteOperations=true,enableConnectOperations=true,\
               maxServingThreads=4,emitAdmissionEvents=true,controllerManager.extraArgs={--host=::}";
    let rendered =
        helm(None, &["template", RELEASE, chart.to_str().unwrap(), "-n", NAMESPACE, "--set", set]).await;
    for expected in [
        "kind: NetworkPolicy",
        "--webhook-operations=CREATE,UPDATE,DELETE,CONNECT",
        "--max-serving-threads=4",
        "--emit-admission-events",
        "resources: [events]",
        "- \"--host=::\"",
        "helm.sh/hook: pre-delete",
    ] {
        assert!(rendered.contains(expected), "{expected} is not in:\n{rendered}");
    }
}

/// The suite `scenario` shows that what is declared is what is done.
#[tokio::test]
async fn in_every_mode_the_roles_grant_what_is_declared_and_nothing_else() {
    let chart = chart();
    let report = |resource: &str, verb: &str| Call::new("wgpolicyk8s.io", resource, verb);
    // The declaration names one of the two APIs of reports; with the other the operator does the same.
    let other_reports: Vec<_> = ["policyreports", "clusterpolicyreports"]
        .iter()
        .flat_map(|resource| ["create", "patch", "delete"].map(|verb| report(resource, verb)))
        .collect();
    for mode in [
        "replicas=3",
        "certManager.enabled=true",
        "externalCertInjection.enabled=true",
        "besideGatekeeper=true",
        "disableAudit=true",
        "emitAdmissionEvents=true",
        "emitAuditEvents=true",
        "policyReports=openreports",
        "policyReports=wgpolicy",
    ] {
        let template = ["template", RELEASE, chart.to_str().unwrap(), "-n", NAMESPACE, "--set", mode];
        let rendered = helm(None, &template).await;
        let objects = go_compat::sigs_yaml::documents(&rendered).unwrap();
        let objects: Vec<_> = objects.into_iter().map(|document| document.value).collect();
        assert_eq!(rights::undeclared(&objects, &other_reports), [""; 0], "{mode}");
        let roles =
            objects.iter().filter(|object| object["kind"] == "Role" || object["kind"] == "ClusterRole");
        assert_eq!(roles.count(), 4, "{mode}: the operator's and the hook's");
    }
}

/// `lookup` answers nothing in a program that only renders, as Argo CD does. The page on such programs names each refusal that
/// depends on it.
#[tokio::test]
async fn without_a_cluster_the_chart_renders_and_the_page_on_gitops_names_what_is_not_checked() {
    let chart = chart();
    for set in ["replicas=3", "besideGatekeeper=true", "validatingWebhookName=other"] {
        let template = ["template", RELEASE, chart.to_str().unwrap(), "-n", "elsewhere", "--set", set];
        let rendered = helm(None, &template).await;
        // A former configuration is removed by the pods, which have to be allowed to.
        let rule = "resources: [validatingwebhookconfigurations]\n    verbs: [create, update, delete]";
        assert!(rendered.contains(rule), "{set}: {rendered}");
    }
    let helpers = std::fs::read_to_string(chart.join("templates/_helpers.tpl")).unwrap();
    let page = std::fs::read_to_string(workspace("docs/gitops.md")).unwrap();
    let (_, table) = page.split_once("| refused by Helm |").unwrap();
    let rows = table.split("\n\n").next().unwrap().lines().skip(2).count();
    assert_eq!(
        rows,
        helpers.matches("lookup \"").count(),
        "each lookup of the chart has a row in docs/gitops.md"
    );
}
