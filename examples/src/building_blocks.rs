//! Declarations of the programs under `examples/` that talk to a cluster. Those that run in memory alone declare nothing.
//!
//! Each runs as the service account of the name that stands here, with these rights and no others, in `tests/building_blocks.rs`.

use controller_declaration::{Declaration, DeclaredAccess};

/// The group of webhooks.
const ADMISSION: &str = "admissionregistration.k8s.io";

/// The declarations, in the order of the page `examples/controllers.md`.
#[must_use]
pub fn declarations() -> Vec<Declaration> {
    vec![admission_server(), watch_manager(), duck_reader(), replica()]
}

/// `examples/admission_server.rs`.
#[must_use]
pub fn admission_server() -> Declaration {
    let registers = |resource: &str| {
        let webhooks = DeclaredAccess::to(ADMISSION, resource).named("admission-example").everywhere();
        webhooks.creates().writes(["/webhooks"]).deletes()
    };
    let summary = "Registers a webhook that refuses and one that changes, and makes ConfigMaps to show them.";
    Declaration::new("admission-server", summary)
        .access(registers("mutatingwebhookconfigurations"))
        .access(registers("validatingwebhookconfigurations"))
        .access(DeclaredAccess::to("", "configmaps").creates().writes(["/data", "/metadata/labels"]))
}

/// `examples/watch_manager.rs -- --cluster`.
#[must_use]
pub fn watch_manager() -> Declaration {
    Declaration::new("watch-manager", "Prints what happens to namespaces and gadgets.")
        .access(DeclaredAccess::to("", "namespaces").everywhere().watches())
        .access(DeclaredAccess::to("example.com", "gadgets").everywhere().watches())
        // It learns from them that gadgets are defined.
        .access(
            DeclaredAccess::to("apiextensions.k8s.io", "customresourcedefinitions").everywhere().watches(),
        )
}

/// `crates/pod-status/examples/replica.rs`, which is `pod_status` here. `pod-status` uses no other crate of this repository, so it cannot declare this.
#[must_use]
pub fn replica() -> Declaration {
    let definitions = DeclaredAccess::to("apiextensions.k8s.io", "customresourcedefinitions").everywhere();
    let reports = DeclaredAccess::to("status.webtroller.dev", "podreports");
    Declaration::new(
        "replica",
        "Enforces lamps, reports that, and takes its turn in folding all reports into the statuses.",
    )
    .access(definitions.watches().creates().writes(["/spec"]))
    .access(DeclaredAccess::to("example.com", "lamps").everywhere().watches().gets().writes(["/status"]))
    .access(reports.watches().creates().deletes().writes([
        "/entries",
        "/pod",
        "/shard",
        "/metadata/labels",
        "/metadata/ownerReferences",
    ]))
    .access(DeclaredAccess::to("", "pods").watches().gets())
    .access(
        DeclaredAccess::to("coordination.k8s.io", "leases")
            .gets()
            .creates()
            .verbs(["update"])
            .owns(["/spec"]),
    )
}

/// `examples/duck_reader.rs -- --cluster KIND`.
#[must_use]
pub fn duck_reader() -> Declaration {
    Declaration::new(
        "duck-reader",
        "Prints the conditions of the objects of a kind that the command line names.",
    )
    .access(DeclaredAccess::to("*", "*").everywhere().lists())
}
