//! The declaration of this program: it registers the rule in the forms that the API server enforces, and asks.

use controller_declaration::{Declaration, DeclaredAccess};

const ADMISSION: &str = "admissionregistration.k8s.io";

/// Its namespaces have names of their own, so all rights are for all namespaces.
pub(crate) fn declarations() -> Vec<Declaration> {
    let registers = |resource: &str| {
        DeclaredAccess::to(ADMISSION, resource).named("one-rule-*").everywhere().creates().deletes()
    };
    let asks = DeclaredAccess::to("apps", "deployments").everywhere().creates().deletes();
    let summary =
        "Puts one rule in force in four forms, a namespace each, and asks all about the same Deployments.";
    vec![
        Declaration::new("one-rule", summary)
            .access(
                DeclaredAccess::to("", "namespaces")
                    .named("one-rule-*")
                    .everywhere()
                    .creates()
                    .verbs(["patch"]),
            )
            .access(registers("validatingwebhookconfigurations").writes(["/webhooks"]))
            .access(registers("validatingadmissionpolicies").writes(["/spec"]))
            .access(registers("validatingadmissionpolicybindings").writes(["/spec"]))
            .access(asks.writes(["/spec", "/metadata/labels"]).verbs_on("scale", ["patch"])),
    ]
}
