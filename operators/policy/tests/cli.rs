//! The command lines of `docs/cli.md`, run as they stand there, and what a shell does to a command.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says no by panicking")]
#![allow(clippy::indexing_slicing, reason = "as above")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

const PAGE: &str = include_str!("../../../docs/cli.md");
const RESOURCES: &str = include_str!("../../../docs/config-validator.md");
const BINARY: &str = env!("CARGO_BIN_EXE_webtroller");

/// A folder as a reader has it: the examples in it, and files of its own.
fn checkout() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").canonicalize().unwrap();
    std::os::unix::fs::symlink(examples, folder.path().join("examples")).unwrap();
    folder
}

fn shell(folder: &Path, line: &str) -> Output {
    let binaries = Path::new(BINARY).parent().unwrap().to_owned();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([binaries].into_iter().chain(std::env::split_paths(&others))).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(folder).env("PATH", path).stdin(Stdio::null());
    command.output().unwrap()
}

/// The lines of the page's shell blocks.
fn lines() -> Vec<&'static str> {
    let blocks = PAGE.split("```sh\n").skip(1);
    blocks.flat_map(|block| block.split("```").next().unwrap_or_default().lines()).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn every_line_of_the_page_does_what_it_says() {
    let folder = checkout();
    // `kpt` is not ours, and what it calls is on the page by itself.
    for line in lines().into_iter().filter(|line| !line.starts_with("kpt ")) {
        let output = shell(folder.path(), line);
        let expected: &[i32] = match line {
            // Times are not asserted.
            _ if line.contains("--compare") => &[0, 1],
            _ if line.contains("webtroller sync test") => &[0],
            _ if line.contains("--fix") => &[0],
            _ if line.contains("webtroller lint") => &[1],
            _ if line.contains("webtroller test") || line.contains("webtroller fn") => &[1],
            _ => &[0],
        };
        let said = text(&output.stderr);
        assert!(expected.contains(&output.status.code().unwrap()), "{line}: {:?} {said}", output.status);
        let says_nothing_else =
            !said.contains("webtroller ") || line.contains("--fix") && said.contains("rewritten");
        assert!(!output.stdout.is_empty() && says_nothing_else, "{line}: {said}");
    }
    assert!(lines().len() > 8, "the page has command lines");
}

#[test]
fn the_page_shows_what_is_printed() {
    let folder = checkout();
    let shown = [
        "webtroller test -f",
        "webtroller test --scorecard",
        "webtroller test examples/expansion",
        "webtroller test examples/native",
        "webtroller sync test",
        "webtroller policy search",
    ];
    for start in shown {
        let line = lines().into_iter().find(|line| line.starts_with(start)).unwrap();
        let output = shell(folder.path(), line);
        let printed = text(&output.stdout);
        assert!(!printed.is_empty() && PAGE.contains(&printed), "{line}: {printed}{}", text(&output.stderr));
    }
    let table = text(&shell(folder.path(), "webtroller bench -f examples/quickstart -n 5").stdout);
    for word in
        ["set-up ", "p50", "medians of rounds", "all constraints ", "K8sReplicaLimits/three-to-ten-replicas "]
    {
        assert!(table.contains(word) && PAGE.contains(word), "{word}: {table}");
    }
}

#[test]
fn the_function_gives_its_input_back() {
    let folder = checkout();
    let output = shell(folder.path(), "webtroller fn < examples/krm/resource-list.yaml");
    let input: PathBuf = folder.path().join("examples/krm/resource-list.yaml");
    let out = text(&output.stdout);
    assert!(out.starts_with(&std::fs::read_to_string(input).unwrap()), "{out}");
    assert!(out.contains("path: shop/config.yaml") && out.contains("severity: error"), "{out}");
    assert_eq!(
        text(&output.stderr),
        "[error] v1/ConfigMap/shop/shop: private_key belongs in a Secret violatedConstraint: no-secrets-in-configmaps\n"
    );
}

#[test]
fn a_reader_that_leaves_is_no_reason_to_panic() {
    let folder = checkout();
    // The verdict stands.
    let piped = "{ webtroller verify -v examples/...; echo $? >&2; } | true";
    assert_eq!(text(&shell(folder.path(), piped).stderr).lines().last(), Some("0"));
    for command in [
        "test -f examples/quickstart -o json",
        "verify -v examples/...",
        "bench -f examples/quickstart -n 5",
        "fn < examples/krm/resource-list.yaml",
    ] {
        let output = shell(folder.path(), &format!("webtroller {command} | true"));
        assert!(!text(&output.stderr).contains("panicked"), "{command}: {}", text(&output.stderr));
        let full = Path::new("/dev/full");
        if full.exists() {
            let output = shell(folder.path(), &format!("webtroller {command} > /dev/full"));
            assert_eq!(output.status.code(), Some(1), "{command}: {}", text(&output.stderr));
        }
    }
}

/// The output of `gator test` for the same file, whose constraints have every criterion of a match block.
#[test]
fn objects_of_every_place_are_matched_as_gator_test_matches_them() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/gator/matching.yaml");
    let output = shell(Path::new("."), &format!("webtroller test -f {file}"));
    let said = text(&output.stdout);
    let without_place = |line: &str| line.rsplit_once(" (").unwrap().0.to_owned();
    let mut lines: Vec<_> =
        said.lines().map(without_place).filter(|line| !line.contains("gatekeeper.sh/")).collect();
    lines.sort();
    let expected: Vec<_> = include_str!("gator/matching.txt").lines().collect();
    assert_eq!(lines, expected);
    assert_eq!((output.status.code(), expected.len() > 80), (Some(1), true));
    // Who is not asked for want of a namespace is named.
    let warnings = text(&output.stderr);
    assert!(warnings.contains("this ClusterRole names no namespace"), "{warnings}");
    assert!(warnings.contains("Seen/scope-cluster") && !warnings.contains("Seen/everything"), "{warnings}");
    assert!(!warnings.contains("this Namespace "), "{warnings}");
}

/// The second opinion: regorus answers most example policies as the engine that decides. Of the others it lacks a function
/// (`re_match`, a width in `sprintf`), or it fails where OPA finds nothing (`some x in null`).
#[cfg(feature = "regorus")]
#[test]
fn a_second_engine_agrees_or_its_difference_is_found() {
    let folder = checkout();
    let suites = |engine: &str| {
        let output =
            shell(folder.path(), &format!("webtroller verify --engine {engine} examples/policies/..."));
        let printed = text(&output.stdout);
        let failed = printed.lines().filter_map(|line| line.strip_prefix("FAIL\texamples/policies/"));
        let failed: Vec<_> = failed.filter_map(|line| Some(line.split_once('/')?.0.to_owned())).collect();
        (
            output.status.code().unwrap(),
            printed.lines().filter(|line| line.starts_with("ok\t")).count(),
            failed,
        )
    };
    assert_eq!(suites("rego"), (0, 10, vec![]));
    let differing = ["container-limits", "image-digests", "required-labels", "required-probes"];
    assert_eq!(suites("regorus"), (1, 6, differing.map(str::to_owned).to_vec()));
}

#[test]
fn wrong_flags_exit_with_2() {
    let folder = checkout();
    for command in [
        "test --nope",
        "test -o xml",
        "bench --threshold -1",
        "bench -n 0",
        "verify",
        "coverage examples/quickstart --threshold NaN",
        "coverage examples/quickstart --threshold 101",
        "coverage examples/quickstart --threshold -5",
    ] {
        assert_eq!(
            shell(folder.path(), &format!("webtroller {command}")).status.code(),
            Some(2),
            "{command}"
        );
    }
}

/// Causes that repeat each other are said once.
#[test]
fn without_a_cluster_it_is_said_once_what_to_do() {
    let folder = checkout();
    for command in ["policy list", "audit", "migrate check", "uninstall"] {
        let output =
            shell(folder.path(), &format!("unset KUBECONFIG; HOME=/nonexistent webtroller {command}"));
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command}: {said}");
        assert!(said.contains("set KUBECONFIG"), "{command}: {said}");
        assert_eq!(said.matches("failed to read kubeconfig").count(), 1, "{command}: {said}");
    }
}

/// Nothing but a terminal gets escape sequences, unless it is asked for.
#[test]
fn colours_are_for_terminals() {
    let folder = checkout();
    let escapes = |line: &str| {
        let output = shell(folder.path(), line);
        text(&output.stdout).contains('\u{1b}') || text(&output.stderr).contains('\u{1b}')
    };
    for command in
        ["test examples/quickstart", "verify -v examples/quickstart", "explain examples/quickstart"]
    {
        assert!(!escapes(&format!("webtroller {command}")), "{command}");
        assert!(escapes(&format!("NO_COLOR=1 webtroller --color always {command}")), "{command}");
        assert!(!escapes(&format!("webtroller {command} --color never")), "{command}");
    }
}

/// A pipe with a name, as a shell makes of `<(command)`.
#[test]
fn a_pipe_that_is_named_is_read() {
    let folder = checkout();
    let line = "mkfifo pipe; cat examples/quickstart/review/two-replicas.yaml > pipe & webtroller test -f examples/quickstart/template.yaml -f examples/quickstart/constraint.yaml -f pipe";
    let output = shell(folder.path(), line);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("(pipe:1, deny)"), "{}", text(&output.stdout));
}

/// A pipe gives its text once: messages about what is in it must not wait for another one.
#[test]
fn errors_in_a_pipe_are_reported() {
    let folder = checkout();
    for command in ["test", "lint", "test -o sarif"] {
        let line = format!(
            "rm -f pipe; mkfifo pipe; sed 's/not within_limits/not wihtin_limits/' examples/quickstart/template.yaml > pipe & timeout 60 webtroller {command} pipe"
        );
        let output = shell(folder.path(), &line);
        assert_eq!(output.status.code(), Some(1), "{command}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("pipe:1: "), "{command}: {}", text(&output.stderr));
    }
}

/// Bodies of `violation`, in the language of each; the same for a Pod with the labels `x: yes` and `y: no`.
const BODIES: [(&str, &str); 18] = [
    ("v1", "some k, v in input.review.object.metadata.labels\n v == \"no\"\n msg := k"),
    ("v1", "some k, v in input.review.object.metadata.labels; v == \"zz\"; msg := k"),
    ("v1", "every v in input.review.object.metadata.labels { v == \"yes\" }\n msg := \"m\""),
    ("v1", "every k in [\"yes\"] { some v in input.review.object.metadata.labels; v == k }\n msg := \"m\""),
    (
        "v1",
        "xs := [v | some v in input.review.object.metadata.labels; v == \"zz\"]\n count(xs) > 0\n msg := \"m\"",
    ),
    (
        "v1",
        "xs := {v |\n  some v in input.review.object.metadata.labels\n } # }\n count(xs) == 2\n msg := \"m\"",
    ),
    ("v1", "some i\n [\"a\", \"b\"][i] == \"b\"\n i == 0\n msg := \"m\""),
    ("v1", "some i, j\n [\"a\", \"b\"][i] == \"b\"\n [\"a\", \"b\"][j] == \"a\"\n i > j\n msg := \"m\""),
    ("v1", "\"yes\" in input.review.object.metadata.labels\n msg := \"m\""),
    ("v1", "not helped\n msg := \"m\""),
    ("v1", "helped\n msg := \"m\""),
    ("v1", "x := input.review.object.nothing\n msg := sprintf(\"%v\", [x])"),
    (
        "v1",
        "input.review.object.metadata.name == \"z\" with input.review.object.metadata as {\"name\": \"z\"}\n msg := \"m\"",
    ),
    (
        "v0",
        "input.review.object.nothing; msg := \"m\" } { input.review.object.metadata.labels.x; msg := \"n\"",
    ),
    ("v0", "input.review.object.nothing; msg := \"m\" } { input.review.object.nothing; msg := \"n\""),
    ("v0", "any([input.review.object.metadata.labels.x == \"no\"]); msg := \"m\""),
    ("v0", "msg := input.review.object.metadata.labels[contains]; contains == \"y\""),
    ("v0", "msg := \"m\"; not helped"),
];

/// The constraints that a command says are violated, by their kinds.
fn violated(
    folder: &Path,
    command: &str,
    kind: &str,
    is_violated: impl Fn(&Value) -> bool,
) -> BTreeSet<String> {
    let output = shell(folder, &format!("webtroller {command} bodies.json -o json"));
    let list: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let list = list.as_array().unwrap_or_else(|| panic!("{command}: {}", text(&output.stderr)));
    let kind = |entry: &Value| entry.pointer(kind).and_then(Value::as_str).unwrap_or_default().to_owned();
    list.iter().filter(|entry| is_violated(entry)).map(kind).collect()
}

#[test]
fn what_is_explained_is_what_is_judged() {
    let folder = checkout();
    let mut documents = vec![
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"x": "yes", "y": "no"}}}),
    ];
    for (number, (version, body)) in BODIES.iter().enumerate() {
        let heads = if *version == "v1" {
            ["violation contains {\"msg\": msg} if", "helped if"]
        } else {
            ["violation[{\"msg\": msg}]", "helped"]
        };
        let rego = format!(
            "package p\n{} {{\n {body}\n}}\n{} {{ input.review.object.metadata.labels.x == \"no\" }}\n",
            heads[0], heads[1]
        );
        let (kind, name) = (format!("P{number}"), format!("p{number}"));
        documents.push(json!({"apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "metadata": {"name": name}, "spec": {
            "crd": {"spec": {"names": {"kind": kind}}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "code": [{"engine": "Rego", "source": {"version": version, "rego": rego}}]}],
        }}));
        documents.push(
            json!({"apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind, "metadata": {"name": "c"},
            "spec": {"match": {"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}]}}}),
        );
    }
    let lines: Vec<_> = documents.iter().map(ToString::to_string).collect();
    std::fs::write(folder.path().join("bodies.json"), lines.join("\n")).unwrap();
    let judged = violated(folder.path(), "test", "/constraint/kind", |_| true);
    let explained = violated(folder.path(), "explain", "/constraint", |entry| entry["violated"] == true);
    let explained: BTreeSet<_> = explained.iter().map(|id| id.trim_end_matches("/c").to_owned()).collect();
    assert_eq!(explained, judged);
    assert!((5..BODIES.len()).contains(&judged.len()), "{judged:?}");
}

#[test]
fn an_image_layout_may_be_called_oci() {
    let folder = checkout();
    let line = "mkdir oci; echo '{}' > oci/oci-layout; echo '{\"manifests\": []}' > oci/index.json; webtroller test -i oci:v1";
    let output = shell(folder.path(), line);
    let error = text(&output.stderr);
    assert!(error.contains("webtroller test: oci:v1: holds no image with layers\n"), "{error}");
}

/// Root and commands have examples.
#[test]
fn help_has_examples() {
    let folder = checkout();
    for command in [
        "",
        "serve",
        "test",
        "verify",
        "explain",
        "coverage",
        "lint",
        "expand",
        "sync test",
        "migrate check",
        "policy",
        "bench",
        "fn",
        "rego",
    ] {
        let help = text(&shell(folder.path(), &format!("webtroller {command} --help")).stdout);
        assert!(help.contains("Examples:\n  # "), "{command}: {help}");
        assert_eq!(help.contains("--log"), command == "serve", "{command}");
    }
}

#[test]
fn a_misspelt_log_level_is_refused() {
    let folder = checkout();
    for (filter, part) in [("waring", "waring"), ("info,webtroller=debgu", "webtroller=debgu"), ("", "")] {
        let output = shell(
            folder.path(),
            &format!("webtroller serve --standalone examples/quickstart --log '{filter}'"),
        );
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains(&format!(
                "write a level, or target=level, with off, error, warn, info, debug or trace, not {part:?}"
            )),
            "{said}"
        );
    }
}

#[test]
fn an_audit_of_a_dump_names_every_violation_and_what_could_not_be_audited() {
    let folder = checkout();
    let output = shell(folder.path(), "webtroller audit examples/quickstart");
    let (out, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(out.contains("K8sReplicaLimits/three-to-ten-replicas  deny    1\n"), "{out}");
    assert!(out.contains("deny: Deployment default/storefront: [three-to-ten-replicas] Deployment"), "{out}");
    let output = shell(folder.path(), "webtroller audit examples/quickstart -o json");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["constraints"][0]["totalViolations"], 1);
    let output = shell(folder.path(), "webtroller audit examples/quickstart -o sarif");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let place = &document["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "examples/quickstart/review/two-replicas.yaml");
    let output = shell(folder.path(), "webtroller audit no-such-folder");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no-such-folder"), "{}", text(&output.stderr));
}

const MIGRATION: &str = include_str!("../../../docs/migrate.md");

#[test]
fn the_page_on_replacing_gatekeeper_shows_what_the_check_prints() {
    let folder = checkout();
    let output = shell(folder.path(), "webtroller migrate check examples/migrate");
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(MIGRATION.contains(&format!("```text\n{printed}```")), "{printed}");
}

#[test]
fn a_check_says_by_its_exit_code_whether_there_is_something_to_do() {
    let folder = checkout();
    for (paths, code) in [("examples/quickstart", 0), ("examples/migrate", 1), ("no-such-folder", 2)] {
        let output = shell(folder.path(), &format!("webtroller migrate check {paths}"));
        assert_eq!(output.status.code(), Some(code), "{paths}: {}", text(&output.stdout));
    }
    let output = shell(folder.path(), "webtroller migrate check examples/migrate -o json");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = document["findings"].as_array().unwrap();
    let rules: Vec<_> = findings.iter().map(|finding| finding["rule"].as_str().unwrap()).collect();
    assert_eq!(
        rules,
        [
            "mutator",
            "template-reaches-outside",
            "flag-refused",
            "message-not-text",
            "numbers-in-messages",
            "webhook-settings",
            "webhook-settings",
            "flag-ignored"
        ]
    );
    assert_eq!(document["inUse"]["constraints"], 2);
    assert_eq!(findings[0]["place"], "examples/migrate/cluster.yaml:94");
    assert_eq!(findings[0]["level"], "unsupported");
}

#[test]
fn a_dump_may_come_from_standard_input() {
    let folder = checkout();
    let output = shell(folder.path(), "webtroller migrate check - < examples/migrate/cluster.yaml");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("Assign pull-always (<stdin>:94)\n"), "{}", text(&output.stdout));
    let output = shell(folder.path(), "webtroller migrate check - < /dev/null");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("<stdin> holds no object"), "{}", text(&output.stderr));
}

#[test]
fn what_a_dump_lacks_is_named_with_its_place() {
    let folder = checkout();
    let dump = "kind: List\napiVersion: v1\nitems:\n- 1\n\
                - {apiVersion: constraints.gatekeeper.sh/v1beta1, kind: Nope, metadata: {name: x}, spec: {}}\n";
    std::fs::write(folder.path().join("dump.yaml"), dump).unwrap();
    let output = shell(folder.path(), "webtroller migrate check dump.yaml");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(
        said,
        "webtroller migrate check: dump.yaml:5: Nope x: there is no template of this kind; dump the ConstraintTemplates, too\n\
         webtroller migrate check: dump.yaml:4: a Kubernetes object must be a JSON object\n"
    );
}

/// In another namespace than the one that is asked about, too.
#[test]
fn the_arguments_of_gatekeepers_deployments_are_read_in_whatever_namespace_they_are() {
    let folder = checkout();
    let deployment = |namespace: &str, labels: &str| {
        format!(
            "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: manager, namespace: {namespace}, labels: {labels}}}, spec: \
             {{template: {{spec: {{containers: [{{name: manager, image: example.com/gatekeeper:v1, args: [--enable-pprof]}}]}}}}}}}}\n"
        )
    };
    let dump = folder.path().join("dump.yaml");
    for (namespace, labels, code) in [
        ("gatekeeper-system", "{}", 1),
        ("policies", "{gatekeeper.sh/system: 'yes'}", 1),
        // Another program of this name.
        ("login", "{}", 2),
    ] {
        std::fs::write(&dump, deployment(namespace, labels)).unwrap();
        let output = shell(folder.path(), "webtroller migrate check dump.yaml");
        let (out, said) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{namespace}: {out}{said}");
        assert_eq!(out.contains("--enable-pprof: pprof is for programs in Go"), code == 1, "{out}");
        assert_eq!(said.contains("nothing of Gatekeeper"), code == 2, "{said}");
    }
}

const DEFINITION: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: k8sfoo.constraints.gatekeeper.sh}
spec: {group: constraints.gatekeeper.sh, names: {kind: K8sFoo, plural: k8sfoo}, scope: Cluster}
";

/// A template of Gatekeeper 3.14 with the oldest version of its API, in a list within a list.
const OLD: &str = "apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: List
  items:
  - apiVersion: templates.gatekeeper.sh/v1alpha1
    kind: ConstraintTemplate
    metadata: {name: k8sfoo}
    spec:
      crd: {spec: {names: {kind: K8sFoo}}}
      targets:
      - target: admission.k8s.gatekeeper.sh
        rego: |
          package k8sfoo
          violation[{\"msg\": \"no\"}] { input.review.object.metadata.labels.x }
- {apiVersion: constraints.gatekeeper.sh/v1alpha1, kind: K8sFoo, metadata: {name: a}, spec: {}}
";

/// A file that is not a dump of a Gatekeeper, or not all of one, is never said to have nothing to do.
#[test]
fn odd_dumps_are_checked_or_named() {
    let folder = checkout();
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir(path("empty")).unwrap();
    std::fs::write(path("pods.yaml"), "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: b}}")
        .unwrap();
    std::fs::write(path("crds.yaml"), DEFINITION).unwrap();
    std::fs::write(path("both.yaml"), format!("{OLD}---\n{DEFINITION}")).unwrap();
    std::fs::write(path("old.yaml"), OLD).unwrap();
    std::fs::write(path("twice.yaml"), format!("{OLD}---\n{OLD}")).unwrap();
    std::fs::write(path("differs.yaml"), format!("{OLD}---\n{}", OLD.replace("labels.x", "labels.y")))
        .unwrap();
    let object = |number: u32| {
        let label = if number.is_multiple_of(2) { ", labels: {x: one}" } else { "" };
        format!("- {{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{number}, namespace: b{label}}}}}\n")
    };
    let many: String = (0..10_000).map(object).collect();
    std::fs::write(path("many.yaml"), format!("{OLD}{many}")).unwrap();
    std::fs::write(path("text.yaml"), "just text").unwrap();
    std::fs::write(path("cut.yaml"), "a: [").unwrap();
    std::os::unix::fs::symlink("/nowhere", path("empty/link.yaml")).unwrap();
    for (name, code, expected) in [
        (
            "crds.yaml",
            2,
            "crds.yaml:1: CustomResourceDefinition k8sfoo.constraints.gatekeeper.sh: there is no template",
        ),
        ("pods.yaml", 2, "nothing of Gatekeeper is in what was given"),
        ("both.yaml", 0, "In use: 1 ConstraintTemplate, 1 constraints\n"),
        ("old.yaml", 0, "0 to look at; 2 objects of 2 kinds were judged"),
        ("twice.yaml", 0, "In use: 2 ConstraintTemplate, 2 constraints\n"),
        ("differs.yaml", 2, "ConstraintTemplate k8sfoo: differs from the one of this name before it"),
        ("many.yaml", 0, "10002 objects of 3 kinds were judged"),
        ("text.yaml", 2, "a Kubernetes object must be a JSON object"),
        ("cut.yaml", 2, "cut.yaml:2:1: is not YAML"),
        ("empty", 2, "empty/link.yaml: cannot be read"),
    ] {
        let output = shell(folder.path(), &format!("webtroller migrate check {name}"));
        let said = text(&output.stderr) + &text(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{name}: {said}");
        assert!(said.contains(expected), "{name}: {said}");
    }
}

/// Assets and a plan: Config Validator's policies, and the counts of a scorecard.
#[test]
fn assets_and_a_plan_are_judged_as_their_page_shows() {
    let folder = checkout();
    let line = RESOURCES.lines().find(|line| line.starts_with("webtroller test")).unwrap();
    let output = shell(folder.path(), line);
    let (out, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("8 objects, 3 constraints: 3 violations (2 deny, 1 warn) in "), "{said}");
    assert!(RESOURCES.contains(out.lines().next().unwrap()), "{out}");
    let tables = out.split_once("\n\n").unwrap().1;
    assert_eq!(
        tables,
        "3 of 8 objects violate a constraint\n\
         \n\
         constraint                                                action    severity  violations\n\
         ExampleBucketLocationConstraintV1/buckets-stay-in-europe  deny      high               1\n\
         TerraformReplacement/no-silent-replacement                warn      low                1\n\
         TerraformTags/buckets-have-owners                         deny      medium             1\n\
         \n\
         type                                                       objects  violating\n\
         aws_db_instance                                                  1          1\n\
         aws_s3_bucket                                                    3          1\n\
         cloudresourcemanager.googleapis.com/Project                      1          0\n\
         storage.googleapis.com/Bucket                                    3          1\n"
    );
    let parsed = |form: &str| -> serde_json::Value {
        let output = shell(folder.path(), &format!("{line} {form}"));
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
    };
    let (json, sarif) = (parsed("-o json --trace"), parsed("-o sarif"));
    let bucket = &json["results"][0];
    assert_eq!(bucket["target"], "validation.gcp.forsetisecurity.org");
    assert_eq!(bucket["metadata"]["details"]["location"], "us-central1");
    assert_eq!(bucket["source"], serde_json::json!({"file": "examples/gcp/assets.json", "line": 2}));
    assert!(bucket["trace"].as_str().unwrap().contains("is violated"), "{bucket}");
    let run = &sarif["runs"][0];
    assert_eq!(run["properties"]["scorecard"], json["scorecard"]);
    let levels: Vec<_> = run["results"].as_array().unwrap().iter().map(|found| &found["level"]).collect();
    assert_eq!(levels, ["error", "warning", "note"]);
}
