//! The command from its inputs to its files; times are not asserted.

use super::*;

const POLICIES: &str = r#"
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: k8sany}
spec:
  crd: {spec: {names: {kind: K8sAny}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package any
      violation[{"msg": "hit"}] { input.review.object.metadata.name == "a" }
---
{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: K8sAny, metadata: {name: one}}
---
{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: K8sAny, metadata: {name: two}}
---
"#;
const OBJECTS: &str = "{apiVersion: v1, kind: Pod, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: b}}\n";

struct Ran {
    code: u8,
    out: String,
    err: String,
}

fn args() -> BenchArgs {
    BenchArgs {
        input: InputArgs::default(),
        iterations: 7,
        rounds: 3,
        warmup: 1,
        concurrency: 1,
        memory: false,
        stats: false,
        output: BenchFormat::Json,
        save: None,
        compare: None,
        threshold: 1e12,
        min_threshold: Duration::ZERO,
        engine: Engine::All,
    }
}

fn run(args: &BenchArgs, input: &str) -> Ran {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let standard = StandardInput { reader: &mut input.as_bytes(), is_terminal: false };
    let code = bench(args, standard, &mut out, &mut err);
    Ran { code, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
}

#[test]
fn policies_of_kubernetes_are_not_measured_and_named() {
    let policy = "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: p}, spec: {matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}, validations: [{expression: 'false'}]}}\n---\n{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: b}, spec: {policyName: p, validationActions: [Deny]}}\n---\n";
    let ran = run(&args(), &format!("{policy}{POLICIES}{OBJECTS}"));
    assert_eq!(Record::from_json(&ran.out).unwrap().constraints.len(), 2);
    assert!(ran.err.contains("warning: ValidatingAdmissionPolicies are not measured"), "{}", ran.err);
    assert_eq!(run(&args(), &format!("{policy}{OBJECTS}")).code, 1);
}

#[test]
fn every_constraint_and_the_whole_are_measured() {
    let ran = run(&args(), &format!("{POLICIES}{OBJECTS}"));
    let record = Record::from_json(&ran.out).unwrap();
    assert_eq!((ran.code, record.templates, record.objects, record.violations), (0, 1, 2, 2));
    assert_eq!(record.constraints.keys().collect::<Vec<_>>(), ["K8sAny/one", "K8sAny/two"]);
    for (name, latency) in record.rows() {
        assert_eq!((latency.reviews, latency.rounds.len()), (14, 3), "{name}");
        let ordered = [latency.min, latency.p50, latency.p95, latency.p99, latency.max];
        assert!(ordered.is_sorted() && latency.min > 0, "{name}: {ordered:?}");
    }
}

#[test]
fn threads_share_all_reviews() {
    let input = format!("{POLICIES}{OBJECTS}");
    let ran = run(&BenchArgs { concurrency: 3, ..args() }, &input);
    let record = Record::from_json(&ran.out).unwrap();
    assert_eq!((ran.code, record.threads, record.violations), (0, 3, 2));
    for (name, latency) in record.rows() {
        assert_eq!((latency.reviews, latency.rounds.len()), (14, 3), "{name}");
    }
    assert!(record.reviews_per_second > 0);
    // What was measured otherwise is compared with a caveat.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("before.json");
    std::fs::write(&file, ran.out).unwrap();
    let ran = run(&BenchArgs { compare: Some(file), output: BenchFormat::Table, ..args() }, &input);
    assert!(ran.out.contains("3 threads then, 1 now"), "{}", ran.out);
    let ran = run(&BenchArgs { concurrency: 2, output: BenchFormat::Table, ..args() }, &input);
    assert!(ran.out.contains(" on 2 threads: "), "{}", ran.out);
}

#[test]
fn a_record_of_an_earlier_version_is_one_of_one_thread() {
    let ran = run(&args(), &format!("{POLICIES}{OBJECTS}"));
    let mut record: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    for field in ["threads", "reviewsPerSecond"] {
        assert!(record.as_object_mut().unwrap().remove(field).is_some(), "{field}");
    }
    assert_eq!(Record::from_json(&record.to_string()).unwrap().threads, 1);
}

#[test]
fn a_measurement_is_saved_and_compared_with() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("before.json");
    let input = format!("{POLICIES}{OBJECTS}");
    let saved = run(&BenchArgs { save: Some(file.clone()), ..args() }, &input);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), saved.out);
    let compared = BenchArgs { compare: Some(file.clone()), output: BenchFormat::Table, ..args() };
    let ran = run(&compared, &input);
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(ran.out.contains("all constraints  ") && ran.out.contains("K8sAny/two  "), "{}", ran.out);
    // Everything is slower than a moment that is no time at all.
    let mut fast = Record::from_json(&saved.out).unwrap();
    fast.all = record::Latency { p50: 1, rounds: vec![1], ..fast.all };
    std::fs::write(&file, fast.to_json()).unwrap();
    let yaml = folder.path().join("saved.yaml");
    let saved = run(&BenchArgs { save: Some(yaml.clone()), output: BenchFormat::Yaml, ..args() }, &input);
    assert_eq!(std::fs::read_to_string(&yaml).unwrap(), saved.out);
    assert_eq!(run(&BenchArgs { compare: Some(yaml), ..args() }, &input).code, 0);
    let ran = run(&BenchArgs { threshold: 10.0, ..compared }, &input);
    assert!(ran.code == 1 && ran.out.contains("SLOWER"), "{}", ran.out);
    let ran = run(&BenchArgs { threshold: 10.0, compare: Some(file), ..args() }, &input);
    assert!(
        ran.code == 1 && ran.err.contains("SLOWER") && Record::from_json(&ran.out).is_ok(),
        "{}",
        ran.err
    );
}

#[test]
fn what_cannot_be_measured_is_said() {
    for (input, expected) in [
        (POLICIES, "there is no object to review"),
        (OBJECTS, "there is no constraint"),
        ("", "no input"),
        ("kind: Pod", "<stdin>:1: not a Kubernetes object"),
    ] {
        let ran = run(&args(), input);
        assert!(ran.code == 1 && ran.err.contains(expected), "{expected}: {}", ran.err);
        assert_eq!(ran.out, "");
    }
    let ran = run(&BenchArgs { compare: Some("no/such/file".into()), ..args() }, OBJECTS);
    assert!(ran.err.contains("no/such/file: is not a saved measurement"), "{}", ran.err);
}

#[test]
fn a_table_names_every_row_once() {
    let ran = run(&BenchArgs { output: BenchFormat::Table, ..args() }, &format!("{POLICIES}{OBJECTS}"));
    for name in ["all constraints ", "K8sAny/one ", "K8sAny/two "] {
        assert_eq!(ran.out.lines().filter(|line| line.starts_with(name)).count(), 1, "{}", ran.out);
    }
}

#[test]
fn durations_have_a_unit_or_are_microseconds() {
    for (text, nanoseconds) in
        [("50", 50_000), ("50us", 50_000), ("1.5ms", 1_500_000), ("7ns", 7), ("1h0.5s", 3_600_500_000_000)]
    {
        assert_eq!(duration(text).unwrap().as_nanos(), nanoseconds, "{text}");
    }
    for text in ["", "ms", "-1ms", "1 h", "x", "inf"] {
        assert!(duration(text).is_err(), "{text}");
    }
}

#[test]
fn one_engine_alone_can_be_measured() {
    let input = format!("{POLICIES}{OBJECTS}");
    assert_eq!(run(&BenchArgs { engine: Engine::Rego, ..args() }, &input).code, 0);
    let ran = run(&BenchArgs { engine: Engine::Cel, ..args() }, &input);
    assert!(ran.code == 1 && ran.err.contains("no code for a known engine"), "{}", ran.err);
}
