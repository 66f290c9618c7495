//! The operator's rights in these tests: those of the shipped manifest. At the end of each test the API server's audit
//! log is compared with what the controllers declare.

use std::path::{Path, PathBuf};

use control_plane::ControlPlane;
use controller_declaration::{Declaration, DeclaredAccess, check, of_user};
use kube::config::Kubeconfig;
use webtroller::declaration::operator;

use crate::cluster::{Cluster, NAMESPACE, workspace};

const ACCOUNT: &str = "webtroller";
/// The rights that the chart grants with `emitAdmissionEvents`, `emitAuditEvents` and either value of `policyReports`.
const OPTIONAL: &str = "
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: webtroller-options}
rules:
- {apiGroups: [''], resources: [events], verbs: [create, patch]}
- {apiGroups: [openreports.io], resources: [reports, clusterreports], verbs: [create, patch, delete]}
- {apiGroups: [wgpolicyk8s.io], resources: [policyreports, clusterpolicyreports], verbs: [create, patch, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: webtroller-options}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: webtroller-options}
subjects: [{kind: ServiceAccount, name: webtroller, namespace: gatekeeper-system}]
";

/// Creates the shipped account and its roles, and a kubeconfig by which the operator acts as that account.
pub(crate) async fn shipped(cluster: &Cluster, folder: &Path) -> PathBuf {
    let manifest = std::fs::read_to_string(workspace("deploy/webtroller.yaml")).unwrap();
    let is_right = |document: &&str| {
        let kind = document.lines().find_map(|line| line.strip_prefix("kind: "));
        kind.is_some_and(|kind| kind == "ServiceAccount" || kind.contains("Role"))
    };
    let rights: Vec<_> = manifest.split("---\n").filter(is_right).collect();
    assert_eq!(rights.len(), 5, "an account, two roles and their bindings");
    cluster.apply(&(rights.join("---\n") + OPTIONAL)).await;
    acting_as(&cluster.plane, ACCOUNT, folder)
}

/// A kubeconfig by which its user acts as this service account of the operator's namespace.
pub(crate) fn acting_as(plane: &ControlPlane, account: &str, folder: &Path) -> PathBuf {
    let mut config = Kubeconfig::read_from(plane.kubeconfig()).unwrap();
    let user = config.auth_infos[0].auth_info.as_mut().unwrap();
    user.impersonate = Some(format!("system:serviceaccount:{NAMESPACE}:{account}"));
    user.impersonate_groups = Some(vec![
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{NAMESPACE}"),
        "system:authenticated".to_owned(),
    ]);
    let path = folder.join(account);
    std::fs::write(&path, serde_json::to_string(&config).unwrap()).unwrap();
    path
}

/// Calls and written fields of the operator that no controller of it declares.
pub(crate) fn undeclared(plane: &ControlPlane) -> Vec<String> {
    let log = plane.audit_log().unwrap();
    let user = format!("system:serviceaccount:{NAMESPACE}:{ACCOUNT}");
    let report = check(&declared(), of_user(&log, &user));
    let calls = report.undeclared.iter().map(ToString::to_string);
    calls.chain(report.undeclared_fields).collect()
}

/// The declaration names one of the two APIs of reports, with which the operator does the same.
fn declared() -> Declaration {
    let reports = |resource| {
        DeclaredAccess::to("wgpolicyk8s.io", resource)
            .everywhere()
            .lists()
            .creates()
            .deletes()
            .verbs(["patch"])
    };
    operator().access(reports("policyreports")).access(reports("clusterpolicyreports"))
}
