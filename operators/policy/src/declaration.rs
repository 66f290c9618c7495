//! Declarations of the operator's controllers: the chart's roles, `docs/controllers.md` and the check of the API
//! server's audit log in the suite `install` come from here.
//!
//! All of them run in one process under one service account, so its roles are those of all together ([`operator`]).

use constraint_framework::api::{CONSTRAINTS_GROUP, TEMPLATES_GROUP};
use controller_declaration::{Declaration, DeclaredAccess};

const DEFINITIONS: &str = "apiextensions.k8s.io";

/// Returns the controllers, with the optional parts (`--emit-admission-events`, `--policy-reports`).
#[must_use]
pub fn controllers() -> Vec<Declaration> {
    vec![policies(), registration(), status(), audit(), events(), policy_reports()]
}

/// Returns all of them as one, which is what an audit log shows of the service account.
#[must_use]
pub fn operator() -> Declaration {
    let all = controllers();
    let accesses = all.iter().flat_map(|declaration| declaration.all().iter().cloned());
    accesses.fold(Declaration::new("webtroller", "All controllers of the operator."), Declaration::access)
}

fn policies() -> Declaration {
    let summary = "Compiles templates, makes a definition for each, watches the constraints of every kind that came from one, and \
                   keeps what SyncSets and the Config name for `data.inventory`.";
    Declaration::new("policies", summary)
        .access(DeclaredAccess::to(TEMPLATES_GROUP, "constrainttemplates").everywhere().watches())
        .access(DeclaredAccess::to(CONSTRAINTS_GROUP, "*").everywhere().watches())
        .access(DeclaredAccess::to("config.gatekeeper.sh", "configs").everywhere().watches())
        .access(DeclaredAccess::to("syncset.gatekeeper.sh", "syncsets").everywhere().watches())
        .access(DeclaredAccess::to("*", "*").everywhere().watches())
        .access(
            DeclaredAccess::to(DEFINITIONS, "customresourcedefinitions")
                .everywhere()
                .watches()
                .gets()
                .creates()
                .verbs(["update"])
                .writes(["/metadata/labels", "/spec"]),
        )
}

fn registration() -> Declaration {
    let summary = "Keeps the certificate that all pods share, and the registration of the webhook with its authority, and \
                   removes registrations that earlier settings have left behind.";
    Declaration::new("registration", summary)
        .access(DeclaredAccess::to("", "secrets").watches().gets().creates().verbs(["update"]))
        .access(DeclaredAccess::to("discovery.k8s.io", "endpointslices").lists())
        .access(
            DeclaredAccess::to("admissionregistration.k8s.io", "validatingwebhookconfigurations")
                .everywhere()
                .watches()
                .gets()
                .lists()
                .creates()
                .deletes()
                .verbs(["update"]),
        )
        .access(DeclaredAccess::to("", "services").gets())
}

fn status() -> Declaration {
    let summary = "Reports what this pod enforces; in one pod at a time, under a Lease, folds the reports of all into statuses.";
    let statuses = |group: &str, resource: &str| {
        DeclaredAccess::to(group, resource).everywhere().gets().writes(["/status"])
    };
    Declaration::new("status", summary)
        .access(
            DeclaredAccess::to("status.webtroller.dev", "podreports")
                .watches()
                .creates()
                .deletes()
                .verbs(["patch"]),
        )
        .access(DeclaredAccess::to("coordination.k8s.io", "leases").gets().creates().verbs(["update"]))
        .access(DeclaredAccess::to("", "pods").watches().gets())
        .access(statuses(TEMPLATES_GROUP, "constrainttemplates"))
        .access(statuses("config.gatekeeper.sh", "configs"))
        .access(statuses("syncset.gatekeeper.sh", "syncsets"))
        .access(DeclaredAccess::to(CONSTRAINTS_GROUP, "*").everywhere().gets().writes([
            "/status/byPod",
            "/status/conditions",
            "/status/summary",
        ]))
}

fn audit() -> Declaration {
    let summary = "In one pod at a time, under a Lease: judges all objects and each change, and states the violations in the \
                   statuses of constraints.";
    Declaration::new("audit", summary)
        .access(DeclaredAccess::to("*", "*").everywhere().watches().gets())
        .access(DeclaredAccess::to("", "namespaces").everywhere().watches().gets())
        .access(DeclaredAccess::to("coordination.k8s.io", "leases").gets().creates().verbs(["update"]))
        .access(
            DeclaredAccess::to(CONSTRAINTS_GROUP, "*")
                .everywhere()
                .writes(["/status/violations", "/status/totalViolations"]),
        )
}

fn events() -> Declaration {
    Declaration::new(
        "events",
        "Writes an Event for what the webhook and the audit find, and counts repetitions in it.",
    )
    .access(DeclaredAccess::to("", "events").everywhere().gets().creates().verbs(["patch"]))
}

fn policy_reports() -> Declaration {
    let report = |resource: &str| {
        DeclaredAccess::to("openreports.io", resource)
            .everywhere()
            .lists()
            .watches()
            .creates()
            .deletes()
            .verbs(["patch"])
    };
    Declaration::new(
        "policy-reports",
        "Writes the violations of each namespace into reports (with `--policy-reports openreports`).",
    )
    .access(report("reports"))
    .access(report("clusterreports"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_field_has_two_owners() {
        assert_eq!(controller_declaration::check_consistency(&controllers()), Ok(()));
    }

    /// `UPDATE_MANIFEST=1` writes it.
    #[test]
    fn the_committed_page_is_what_is_declared() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/controllers.md");
        let page =
            controller_declaration::render_page("What each controller of the operator does", &controllers());
        if std::env::var_os("UPDATE_MANIFEST").is_some() {
            std::fs::write(&path, &page).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            committed, page,
            "docs/controllers.md is out of date: run this test with UPDATE_MANIFEST=1"
        );
    }
}
