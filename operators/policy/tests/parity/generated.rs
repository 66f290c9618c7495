//! Generated match blocks, actions, expansions and objects.

use super::program::{both, difference};

/// A generator of small numbers, the same on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        // Knuth's constants for 64 bits.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn one_of<'a>(&mut self, options: &[&'a str]) -> &'a str {
        options[self.below(options.len())]
    }

    /// Some of the fields, each with one of its values.
    fn fields(&mut self, fields: &[(&str, &[&str])], chance: usize) -> String {
        let mut chosen = Vec::new();
        for (name, options) in fields {
            if self.below(chance) == 0 {
                chosen.push(format!("{name}: {}", self.one_of(options)));
            }
        }
        format!("{{{}}}", chosen.join(", "))
    }
}

const TEMPLATE: &str = r#"
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: seen}
spec:
  crd: {spec: {names: {kind: Seen}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package seen
      violation[{"msg": msg}] { msg := sprintf("%v in %v", [input.review.kind.kind, object.get(input.review, "namespace", "none")]) }
      violation[{"msg": msg}] { n := count(data.inventory.cluster["v1"].Namespace); n > 2; msg := sprintf("%v namespaces", [n]) }
"#;
const MATCH: &[(&str, &[&str])] = &[
    (
        "kinds",
        &[
            "[{apiGroups: ['*'], kinds: ['*']}]",
            "[{apiGroups: [''], kinds: [Pod]}]",
            "[{apiGroups: [apps], kinds: [Deployment]}, {apiGroups: [''], kinds: [Namespace]}]",
            "[{kinds: [Pod]}]",
            "[]",
        ],
    ),
    ("scope", &["Namespaced", "Cluster", "'*'"]),
    ("namespaces", &["[shop]", "['sh*', default]", "['*']", "['*ho*']"]),
    ("excludedNamespaces", &["[shop]", "['*op']", "[default]"]),
    (
        "labelSelector",
        &["{matchLabels: {a: x}}", "{matchExpressions: [{key: a, operator: NotIn, values: [x]}]}", "{}"],
    ),
    (
        "namespaceSelector",
        &["{matchLabels: {team: one}}", "{matchExpressions: [{key: team, operator: Exists}]}"],
    ),
    ("name", &["web", "w*", "'*b*'", "'*-pod'"]),
    ("source", &["All", "Original", "Generated"]),
];

fn constraint(dice: &mut Dice, number: usize) -> String {
    let block = dice.fields(MATCH, 3);
    let action = dice.one_of(&[
        "deny",
        "warn",
        "dryrun",
        "scoped, scopedEnforcementActions: [{action: deny, enforcementPoints: [{name: gator.gatekeeper.sh}]}]",
        "scoped, scopedEnforcementActions: [{action: deny, enforcementPoints: [{name: audit.gatekeeper.sh}]}]",
        "scoped, scopedEnforcementActions: [{action: warn, enforcementPoints: [{name: '*'}]}, {action: dryrun, enforcementPoints: [{name: gator.gatekeeper.sh}]}]",
    ]);
    format!(
        "---\n{{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: Seen, metadata: {{name: c{number}}}, spec: {{enforcementAction: {action}, match: {block}}}}}\n"
    )
}

fn object(dice: &mut Dice, number: usize) -> String {
    let labels = dice.one_of(&["{}", "{a: x}", "{a: z, b: x}"]);
    let namespace = dice.one_of(&["shop", "default", "other"]);
    let name = dice.one_of(&["web", "db", "worker"]);
    let placed = format!("{{name: {name}-{number}, namespace: {namespace}, labels: {labels}}}");
    match dice.below(5) {
        0 => format!("---\n{{apiVersion: v1, kind: Pod, metadata: {placed}}}\n"),
        1 => format!(
            "---\n{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}, labels: {{team: one}}}}}}\n"
        ),
        2 => format!(
            "---\n{{apiVersion: batch/v1, kind: CronJob, metadata: {placed}, spec: {{jobTemplate: {{spec: {{template: {{metadata: {{labels: {labels}}}}}}}}}}}}}\n"
        ),
        3 => format!(
            "---\n{{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {{name: {name}-{number}, labels: {labels}}}}}\n"
        ),
        _ => format!(
            "---\n{{apiVersion: apps/v1, kind: Deployment, metadata: {placed}, spec: {{template: {{metadata: {{labels: {labels}}}, spec: {{}}}}}}}}\n"
        ),
    }
}

/// Templates for Deployments, and a chain of two for CronJobs.
fn expansion(dice: &mut Dice) -> String {
    let version = dice.one_of(&["v1alpha1", "v1beta1"]);
    let action = dice.one_of(&["", ", enforcementAction: warn", ", enforcementAction: deny"]);
    let template = |name: &str, group: &str, kind: &str, source: &str, made: &str| {
        format!(
            "---\n{{apiVersion: expansion.gatekeeper.sh/{version}, kind: ExpansionTemplate, metadata: {{name: {name}}}, spec: {{applyTo: [{{groups: [{group}], versions: [v1], kinds: [{kind}]}}], templateSource: {source}, generatedGVK: {made}{action}}}}}\n"
        )
    };
    let pod = "{group: '', version: v1, kind: Pod}";
    let mut text = String::new();
    if dice.below(2) == 0 {
        text += &template("deployments", "apps", "Deployment", "spec.template", pod);
    }
    if dice.below(2) == 0 {
        text += &template(
            "cronjobs",
            "batch",
            "CronJob",
            "spec.jobTemplate",
            "{group: batch, version: v1, kind: Job}",
        );
        text += &template("jobs", "batch", "Job", "spec.template", pod);
    }
    text
}

/// An ExpansionTemplate that makes a warning of what a scoped constraint denies: gator prints the warning and exits with 1.
/// See docs/differences.md.
fn is_known(difference: &str, input: &str) -> bool {
    difference.starts_with("exit 1 and 0; only gator: []; only webtroller: []")
        && input.contains(", enforcementAction: warn}}")
        && input.contains("{action: deny, enforcementPoints: [{name: gator.gatekeeper.sh}]}")
}

#[test]
fn generated_inputs_are_judged_as_gator_judges_them() {
    let cases = std::env::var("PARITY_CASES").ok().and_then(|number| number.parse().ok()).unwrap_or(60);
    let mut differences = Vec::new();
    for case in 0..cases {
        let mut dice = Dice(case);
        let mut input = TEMPLATE.to_owned();
        (0..=dice.below(4)).for_each(|number| input += &constraint(&mut dice, number));
        input += &expansion(&mut dice);
        (0..=dice.below(8)).for_each(|number| input += &object(&mut dice, number));
        let found = difference(&both(&["test", "-o", "json"], &input));
        let found = found.filter(|difference| !is_known(difference, &input));
        differences.extend(found.map(|difference| format!("case {case}: {difference}\n{input}")));
    }
    assert!(differences.is_empty(), "{} of {cases} differ:\n{}", differences.len(), differences.join("\n"));
}
