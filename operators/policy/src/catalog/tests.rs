//! Commands that need no cluster, over folders made for them.

use std::fs;
use std::path::Path;

use clap::Parser;
use serde_json::{Value, json};

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: PolicyArgs,
}

struct Ran {
    code: u8,
    out: String,
    err: String,
}

/// Runs a command line. `@` stands for the folder; a command that asks for a cluster fails the test.
fn run(folder: &Path, line: &str) -> Ran {
    let words = line.split_whitespace().map(|word| word.replace('@', &folder.display().to_string()));
    let args = Line::parse_from(std::iter::once("policy".to_owned()).chain(words)).args;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let connect = async || -> Result<kube::Client, &str> { Err("asked for a cluster") };
    let code = runtime.block_on(policy(&args, connect, &mut out, &mut err)).unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(&folder.display().to_string(), "@");
    Ran { code, out: text(out), err: text(err) }
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn template(kind: &str, annotations: &str) -> String {
    let name = kind.to_lowercase();
    format!(
        "apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {{name: {name}, annotations: {{{annotations}}}}}
spec:
  crd: {{spec: {{names: {{kind: {kind}}}}}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package a
      violation[{{\"msg\": \"no\"}}] {{ input.review.object.metadata.name == \"bad\" }}
"
    )
}

fn constraint(kind: &str, name: &str) -> String {
    format!("apiVersion: constraints.gatekeeper.sh/v1beta1\nkind: {kind}\nmetadata: {{name: {name}}}\n")
}

/// A library of two policies, one of them in two bundles.
fn library() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let both = "description: Refuses privileges, metadata.gatekeeper.sh/version: 1.2.0, \
                metadata.gatekeeper.sh/bundle: \"pod-security-baseline, pod-security-restricted\"";
    let privileges = "library/pod-security-policy/privileges";
    write(folder.path(), &format!("{privileges}/template.yaml"), &template("K8sPrivileges", both));
    for sample in ["any", "of-restricted"] {
        write(
            folder.path(),
            &format!("{privileges}/samples/{sample}/constraint.yaml"),
            &constraint("K8sPrivileges", sample),
        );
    }
    write(
        folder.path(),
        "library/general/labels/template.yaml",
        &template("K8sLabels", "description: Wants Labels"),
    );
    write(folder.path(), "library/general/labels/README.md", "text");
    folder
}

/// The same, with its catalogue.
fn catalogued() -> tempfile::TempDir {
    let folder = library();
    let ran = run(folder.path(), "generate-catalog --library-path @ -o @/catalog.yaml");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(ran.out, "2 policies and 2 bundles written to @/catalog.yaml\n");
    folder
}

fn read(path: &Path) -> Value {
    crate::cli::load_file(path).unwrap().remove(0).object
}

#[test]
fn a_library_becomes_a_catalogue() {
    let folder = catalogued();
    let mut catalog = read(&folder.path().join("catalog.yaml"));
    assert!(catalog["metadata"]["updatedAt"].take().as_str().unwrap().ends_with('Z'));
    let privileges = "library/pod-security-policy/privileges";
    assert_eq!(
        catalog,
        json!({
            "apiVersion": "gator.gatekeeper.sh/v1alpha1", "kind": "PolicyCatalog",
            "metadata": {
                "name": "gatekeeper-library", "version": "v1.0.0", "updatedAt": null,
                "repository": "https://github.com/open-policy-agent/gatekeeper-library",
            },
            "bundles": [
                {"name": "pod-security-baseline", "description": catalog["bundles"][0]["description"], "policies": ["k8sprivileges"]},
                {"name": "pod-security-restricted", "description": catalog["bundles"][1]["description"], "policies": ["k8sprivileges"]},
            ],
            "policies": [
                {
                    "name": "k8slabels", "version": "v1.0.0", "description": "Wants Labels", "category": "general",
                    "templatePath": "library/general/labels/template.yaml",
                },
                {
                    "name": "k8sprivileges", "version": "v1.2.0", "description": "Refuses privileges", "category": "pod-security",
                    "templatePath": format!("{privileges}/template.yaml"),
                    "bundleConstraints": {
                        "pod-security-baseline": format!("{privileges}/samples/any/constraint.yaml"),
                        "pod-security-restricted": format!("{privileges}/samples/of-restricted/constraint.yaml"),
                    },
                    "bundles": ["pod-security-baseline", "pod-security-restricted"],
                },
            ],
        })
    );
}

#[test]
fn errors_are_all_named_and_nothing_is_written() {
    let folder = library();
    write(
        folder.path(),
        "library/general/again/template.yaml",
        &template("K8sLabels", "metadata.gatekeeper.sh/version: one"),
    );
    write(
        folder.path(),
        "bundles.yaml",
        "bundles:\n- {name: a, inherits: b, policies: [nope]}\n- {name: b, inherits: a}\n",
    );
    let line = "generate-catalog --library-path @ -o @/c.yaml --bundles @/bundles.yaml";
    let ran = run(folder.path(), line);
    assert_eq!(ran.code, 1);
    for part in
        ["several policies k8slabels", "not \"vone\"", "a inherits from itself", "there is no policy nope"]
    {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    assert!(!folder.path().join("c.yaml").exists());
    assert_eq!(run(folder.path(), &format!("{line} --validate=false")).code, 0);
    assert!(folder.path().join("c.yaml").exists());
    let ran = run(folder.path(), "generate-catalog --library-path @/library -o @/d.yaml");
    assert_eq!((ran.code, ran.err.contains("@/library/library: not a folder")), (1, true));
}

#[test]
fn policies_are_found_by_words_category_and_bundle() {
    let folder = catalogued();
    let names = |line: &str| {
        let ran = run(folder.path(), &format!("search --catalog @ -o json {line}"));
        let found: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
        let results = found["results"].as_array().unwrap();
        results.iter().map(|result| result["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(""), ["k8slabels", "k8sprivileges"]);
    assert_eq!(names("LABELS"), ["k8slabels"]);
    assert_eq!(names("privileges --category Pod-Security"), ["k8sprivileges"]);
    assert_eq!(names("--bundle pod-security-restricted"), ["k8sprivileges"]);
    assert!(names("nothing-like-it").is_empty());
    let ran = run(folder.path(), "search --catalog @/catalog.yaml wants");
    assert_eq!(
        ran.out,
        "NAME       VERSION  CATEGORY  DESCRIPTION\nk8slabels  v1.0.0   general   Wants Labels\n"
    );
    let ran = run(folder.path(), "search --catalog @ --bundle other");
    assert!(ran.code == 1 && ran.err.contains("the catalogue has pod-security-baseline, "), "{}", ran.err);
}

#[test]
fn a_dry_run_reads_and_checks_everything_and_asks_no_cluster() {
    let folder = catalogued();
    let ran = run(folder.path(), "install --catalog @ --dry-run --bundle pod-security-baseline k8slabels");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(ran.out, "(dry-run) k8sprivileges v1.2.0\n(dry-run) k8slabels v1.0.0\n");
    let ran = run(folder.path(), "install --catalog @ --dry-run -o json --bundle pod-security-baseline");
    let result: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        result["result"],
        json!({
            "installed": [{"name": "k8sprivileges", "version": "v1.2.0"}],
            "templatesInstalled": 1, "constraintsInstalled": 1, "dryRun": true,
        })
    );
    let ran = run(folder.path(), "install --catalog @ --dry-run --enforcement-action warn k8slabels nope");
    assert!(ran.code == 1 && ran.err.contains("policy not found: nope"), "{}", ran.err);
    let ran = run(folder.path(), "install --catalog @ --dry-run --enforcement-action warn k8slabels");
    assert!(ran.code == 0 && ran.err.contains("has no effect without --bundle"), "{}", ran.err);
}

#[test]
fn what_a_catalogue_names_is_beside_it_and_is_what_it_says() {
    let folder = catalogued();
    let refusal = |path: &str| {
        let text = fs::read_to_string(folder.path().join("catalog.yaml")).unwrap();
        write(folder.path(), "other.yaml", &text.replace("library/general/labels/template.yaml", path));
        let ran = run(folder.path(), "install --catalog @/other.yaml --dry-run k8slabels");
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{path}");
        ran.err
    };
    let samples = "library/pod-security-policy/privileges/samples";
    write(folder.path(), "two.yaml", "kind: A\n---\nkind: B\n");
    for (path, reason) in [
        ("../secret.yaml", "leads out of the catalogue's folder"),
        ("library/../../secret.yaml", "leads out of the catalogue's folder"),
        ("/etc/hostname", "leads out of the catalogue's folder"),
        ("https://example.com/template.yaml", "nothing is downloaded"),
        ("nothing.yaml", "cannot be read"),
        ("two.yaml", "must hold one object, and holds 2"),
        (&format!("{samples}/any/constraint.yaml"), "invalid template"),
        ("library/pod-security-policy/privileges/template.yaml", "its template is called k8sprivileges"),
    ] {
        let said = refusal(path);
        assert!(said.contains(reason), "{path}: {said}");
    }
    write(folder.path(), &format!("{samples}/any/constraint.yaml"), &constraint("K8sOther", "a"));
    let ran = run(folder.path(), "install --catalog @ --dry-run --bundle pod-security-baseline");
    assert!(ran.err.contains("its constraint is a K8sOther, and not a K8sPrivileges"), "{}", ran.err);
    let ran = run(folder.path(), "install --catalog @/library --dry-run k8slabels");
    assert!(ran.code == 1 && ran.err.contains("there is no catalogue"), "{}", ran.err);
    let ran = run(folder.path(), "search --catalog @/library/general/labels/template.yaml");
    assert!(ran.code == 1 && ran.err.contains("/kind must be PolicyCatalog"), "{}", ran.err);
}

/// An image layout with one layer of single files, as `oras push` makes it.
fn image(folder: &Path, files: &[&str]) {
    use sha2::{Digest, Sha256};
    let put = |content: &[u8]| {
        let hex: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
        write(folder, &format!("image/blobs/sha256/{hex}"), std::str::from_utf8(content).unwrap());
        format!("sha256:{hex}")
    };
    let layer = |file: &&str| {
        let digest = put(&fs::read(folder.join(file)).unwrap());
        json!({"mediaType": "text/yaml", "digest": digest, "annotations": {"org.opencontainers.image.title": file}})
    };
    let layers: Vec<_> = files.iter().map(layer).collect();
    let manifest = put(json!({ "layers": layers }).to_string().as_bytes());
    let annotations = json!({"org.opencontainers.image.ref.name": "v1"});
    let index = json!({"manifests": [{"digest": manifest, "annotations": annotations}]});
    write(folder, "image/index.json", &index.to_string());
    write(folder, "image/oci-layout", "{}");
}

#[test]
fn a_catalogue_in_an_image_is_one_in_a_folder() {
    let folder = catalogued();
    let privileges = "library/pod-security-policy/privileges";
    let (template, constraint) =
        (format!("{privileges}/template.yaml"), format!("{privileges}/samples/any/constraint.yaml"));
    image(folder.path(), &["catalog.yaml", &template, &constraint]);
    for name in ["@/image", "@/image:v1", "oci:@/image:v1"] {
        let ran =
            run(folder.path(), &format!("install --catalog {name} --dry-run --bundle pod-security-baseline"));
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (0, "(dry-run) k8sprivileges v1.2.0\n"),
            "{name}: {}",
            ran.err
        );
    }
    // The template of this one is not in the image.
    let ran = run(folder.path(), "install --catalog @/image --dry-run k8slabels");
    assert!(ran.code == 1 && ran.err.contains("must hold one object, and holds 0"), "{}", ran.err);
    let ran = run(folder.path(), "search --catalog @/image:v2");
    assert!(ran.code == 1 && ran.err.contains("holds no image v2, only v1"), "{}", ran.err);
}

#[test]
fn what_is_applied_is_marked_as_gator_marks_it() {
    let folder = catalogued();
    let library = library::Library::open(&folder.path().display().to_string()).unwrap();
    let bundles = ["pod-security-restricted".to_owned()];
    let wanted = plan::wanted(&library, &[], &bundles).unwrap();
    let steps =
        plan::steps(&library, &wanted, Some(EnforcementAction::Warn), "2026-01-02T03:04:05Z").unwrap();
    let constraint = steps[0].constraint.as_ref().unwrap();
    assert_eq!(constraint["spec"], json!({"enforcementAction": "warn"}));
    assert_eq!(
        constraint["metadata"],
        json!({
            "name": "of-restricted",
            "labels": {"gatekeeper.sh/managed-by": "gator", "gatekeeper.sh/bundle": "pod-security-restricted"},
            "annotations": {
                "gatekeeper.sh/policy-version": "v1.2.0",
                "gatekeeper.sh/policy-source": "https://github.com/open-policy-agent/gatekeeper-library",
                "gatekeeper.sh/installed-at": "2026-01-02T03:04:05Z",
            },
        })
    );
    assert_eq!(steps[0].template["metadata"]["labels"], constraint["metadata"]["labels"]);
}

#[test]
fn a_template_is_waited_for_until_all_pods_have_its_generation() {
    let template = |status: Value| -> kube::api::DynamicObject {
        let object = json!({
            "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
            "metadata": {"name": "a", "generation": 2}, "status": status,
        });
        serde_json::from_value(object).unwrap()
    };
    let progress = |status: Value| cluster::progress(&template(status));
    let pod = |generation: i64| json!({"observedGeneration": generation});
    let broken = |generation: i64| json!({"observedGeneration": generation, "errors": [{"message": "bad"}]});
    use cluster::Progress::{Refused, Taken, Waits};
    assert_eq!(progress(Value::Null), Waits("no pod reports on it".to_owned()));
    assert_eq!(
        progress(json!({"created": true, "byPod": [pod(1), pod(2)]})),
        Waits("1 of 2 pods have not taken it".to_owned())
    );
    assert_eq!(progress(json!({"byPod": [pod(2)]})), Waits("its kind is not created".to_owned()));
    assert_eq!(progress(json!({"created": true, "byPod": [pod(2), pod(3)]})), Taken);
    // What an earlier generation got wrong does not count.
    assert_eq!(
        progress(json!({"created": true, "byPod": [broken(1)]})),
        Waits("1 of 1 pods have not taken it".to_owned())
    );
    assert_eq!(
        progress(json!({"created": true, "byPod": [pod(1), broken(2)]})),
        Refused("the template is not in force: bad".to_owned())
    );
}
