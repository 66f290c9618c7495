//! Everything of Gatekeeper that is not a template or a constraint: objects of kinds that have no effect here, and the arguments
//! of its containers.

use constraint_framework::api::CONSTRAINTS_GROUP;
use serde_json::Value;

use super::diagnostic::{Diagnostic, Rule};
use super::policies::diagnostic;
use super::webhook_settings::{self, enforcing_webhook};
use super::{Entry, MigrateCheckArgs, ReadFlags};

const MUTATIONS: &str = "mutations.gatekeeper.sh";
/// The groups that Gatekeeper writes itself, and the suites of `gator verify`.
const NOT_IN_USE: [&str; 2] = ["status.gatekeeper.sh", "test.gatekeeper.sh"];
/// The label of everything that Gatekeeper's manifests and chart install.
const SYSTEM: &str = "/metadata/labels/gatekeeper.sh~1system";

/// Says what there is to say about an object, if it is Gatekeeper's.
pub(super) fn look(
    entry: &Entry,
    args: &MigrateCheckArgs,
    flags: ReadFlags<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut find = |rule, message: &str| diagnostics.push(diagnostic(rule, entry, message.to_owned()));
    match (entry.group(), entry.text("/kind")) {
        (MUTATIONS, _) => find(Rule::Mutator, "it changes no object: this release mutates nothing"),
        ("externaldata.gatekeeper.sh", "Provider") => {
            find(Rule::Provider, "it is not asked: templates that call external_data are refused")
        }
        ("expansion.gatekeeper.sh", _) => find(
            Rule::ExpansionTemplate,
            "workloads are expanded on the command line only: `webtroller expand`",
        ),
        ("connection.gatekeeper.sh", _) => {
            find(Rule::Connection, "no violations are exported: use logs, Events or metrics")
        }
        ("apps", "Deployment") if is_gatekeepers(entry, args) => deployment(entry, flags, diagnostics),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration") => {
            webhook_settings::look(entry, args, diagnostics);
        }
        _ => {}
    }
}

/// Returns true if an object is a part of Gatekeeper, or is about it. A Deployment outside of Gatekeeper's namespace has the label
/// of Gatekeeper's manifests and chart: other programs are called `gatekeeper`, too.
pub(super) fn is_gatekeepers(entry: &Entry, args: &MigrateCheckArgs) -> bool {
    let group = entry.group();
    let is_near = || ["", args.namespace.as_str()].contains(&entry.text("/metadata/namespace"));
    match entry.text("/kind") {
        "Deployment" => {
            entry.text(SYSTEM) == "yes" || is_near() && containers(&entry.object).any(is_its_container)
        }
        "ValidatingWebhookConfiguration" => enforcing_webhook(&entry.object).is_some(),
        _ => group.ends_with(".gatekeeper.sh") && !NOT_IN_USE.contains(&group),
    }
}

/// The word by which an object is counted.
pub(super) fn class(entry: &Entry) -> String {
    match entry.group() {
        CONSTRAINTS_GROUP => "constraints".to_owned(),
        _ => entry.text("/kind").to_owned(),
    }
}

fn containers(deployment: &Value) -> impl Iterator<Item = &Value> {
    deployment.pointer("/spec/template/spec/containers").and_then(Value::as_array).into_iter().flatten()
}

/// The image's name without registry and version is `gatekeeper`.
fn is_its_container(container: &Value) -> bool {
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    let name = image.rsplit('/').next().unwrap_or_default();
    name.split([':', '@']).next() == Some("gatekeeper")
}

fn deployment(entry: &Entry, flags: ReadFlags<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for container in with_its_arguments(&entry.object) {
        let list = |field| container.get(field).and_then(Value::as_array).into_iter().flatten();
        let words = list("command").skip(1).chain(list("args"));
        let words: Vec<_> = words.filter_map(Value::as_str).map(str::to_owned).collect();
        let report = flags(&words);
        for (rule, messages) in [
            (Rule::FlagRefused, report.refused),
            (Rule::FlagDifferent, report.different),
            (Rule::FlagIgnored, report.ignored),
        ] {
            diagnostics.extend(messages.into_iter().map(|message| diagnostic(rule, entry, message)));
        }
    }
}

/// Other containers of the Deployment, such as a proxy, have arguments of their own. If none is known as the manager, any may
/// be it.
fn with_its_arguments(deployment: &Value) -> Vec<&Value> {
    let known: Vec<_> = containers(deployment).filter(|container| is_manager(container)).collect();
    if known.is_empty() { containers(deployment).collect() } else { known }
}

fn is_manager(container: &Value) -> bool {
    let program = container.pointer("/command/0").and_then(Value::as_str).unwrap_or_default();
    let named = container.get("name").is_some_and(|name| name == "manager");
    named || program.rsplit('/').next() == Some("manager") || is_its_container(container)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::FlagReport;
    use super::*;

    #[test]
    fn a_container_is_gatekeepers_by_the_name_of_its_image() {
        for (image, expected) in [
            ("openpolicyagent/gatekeeper:v3.23.1", true),
            ("registry.example.com:5000/mirror/gatekeeper@sha256:0", true),
            ("gatekeeper", true),
            ("example.com/gatekeeper-proxy:1", false),
        ] {
            assert_eq!(is_its_container(&json!({"image": image})), expected, "{image}");
        }
    }

    /// Names are those of the chart's values `containerName` and `image.repository`.
    #[test]
    fn arguments_are_read_whatever_the_container_is_called_and_wherever_they_are() {
        let read = |containers: Value| {
            let spec = json!({"template": {"spec": {"containers": containers}}});
            let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec});
            let mut diagnostics = Vec::new();
            let flags = |args: &[String]| FlagReport { refused: args.to_vec(), ..FlagReport::default() };
            deployment(&Entry { object, place: None }, &flags, &mut diagnostics);
            diagnostics.into_iter().map(|diagnostic| diagnostic.message).collect::<Vec<_>>()
        };
        let proxy = json!({"name": "proxy", "image": "example.com/proxy:1", "args": ["--upstream"]});
        let renamed = json!({"name": "admission", "image": "example.com/policy:1", "args": ["--port=1"]});
        assert_eq!(read(json!([renamed])), ["--port=1"]);
        let manager = json!({
            "name": "admission", "image": "example.com/policy:1", "command": ["/manager", "--enable-pprof"],
            "args": ["--port=1"]
        });
        assert_eq!(read(json!([proxy, manager])), ["--enable-pprof", "--port=1"]);
        assert_eq!(read(json!([proxy, renamed])), ["--upstream", "--port=1"]);
    }
}
