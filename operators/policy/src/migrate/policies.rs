//! Templates and constraints: what is refused here, and what can be said without an object.

use std::collections::BTreeSet;
use std::sync::Arc;

use constraint_framework::IngestError;
use constraint_framework::api::{
    CONSTRAINTS_GROUP, Constraint, ConstraintRef, ConstraintTemplate, TEMPLATES_GROUP,
};
use constraint_framework::policyset::{Compiler, PolicySet, PolicySetBuilder};
use constraint_framework::review::{Document, EnforcementPoint};
use constraint_framework::target::{AdmissionTarget, KindFilter, KindRead};
use kube::core::GroupVersion;
use rego_compat::DISABLED_BUILTINS;
use serde_json::Value;

use crate::budget::without_deadline;
use crate::enforce;

use super::Entry;
use super::diagnostic::{Diagnostic, Rule};

/// The policies that can be used here.
#[derive(Debug)]
pub(super) struct Policies {
    builder: PolicySetBuilder,
    /// The kinds that Configs and SyncSets name: `apiVersion` and kind.
    pub(super) synced: Vec<(String, String)>,
    compiler: Compiler,
}

impl Policies {
    /// Reads templates, then constraints, then what they may refer to.
    pub(super) fn of(entries: &[Entry], diagnostics: &mut Vec<Diagnostic>) -> Self {
        let compiler = Compiler::default();
        let builder = PolicySetBuilder::new(compiler.clone());
        let mut policies = Self { builder, synced: Vec::new(), compiler };
        let of_group = |group| entries.iter().filter(move |entry| entry.group() == group);
        for entry in of_group(TEMPLATES_GROUP) {
            policies.template(entry, diagnostics);
        }
        for entry in of_group(CONSTRAINTS_GROUP) {
            policies.constraint(entry, diagnostics);
        }
        for entry in of_group("config.gatekeeper.sh").chain(of_group("syncset.gatekeeper.sh")) {
            policies.sync(&entry.object);
        }
        for entry in of_group(CONSTRAINTS_GROUP) {
            policies.references(entry, diagnostics);
        }
        policies
    }

    fn template(&mut self, entry: &Entry, diagnostics: &mut Vec<Diagnostic>) {
        let mut find = |rule, message| diagnostics.push(diagnostic(rule, entry, message));
        let code = entry.object.pointer("/spec/targets").map(Value::to_string).unwrap_or_default();
        let template = ConstraintTemplate::from_value(&entry.object).map_err(IngestError::Invalid);
        match template.and_then(|template| self.compiler.compile(&template)) {
            Ok(compiled) => {
                for warning in compiled.warnings() {
                    find(Rule::MessageExpression, warning.to_string());
                }
                self.builder.install(compiled);
            }
            Err(error) => find(rule_of(&error.to_string(), &code), error.to_string()),
        }
        if code.contains("yaml.unmarshal") {
            let message = "yes, no, on and off in the YAML that it reads are texts, and not booleans";
            find(Rule::YamlWords, message.to_owned());
        }
        if code.contains("\"generateVAP\":true") {
            let message = "no ValidatingAdmissionPolicy is generated: the webhook enforces its constraints, unless they are scoped \
                           to other enforcement points";
            find(Rule::AdmissionPolicy, message.to_owned());
        }
    }

    fn constraint(&mut self, entry: &Entry, diagnostics: &mut Vec<Diagnostic>) {
        let mut find = |rule, message| diagnostics.push(diagnostic(rule, entry, message));
        elsewhere(&entry.object).into_iter().for_each(|(rule, message)| find(rule, message));
        let constraint = match Constraint::from_value(&entry.object) {
            Ok(constraint) => constraint,
            Err(errors) => return find(Rule::ConstraintRefused, errors.to_string()),
        };
        // A constraint without a template of its own is reported with the template.
        let refused = self.builder.put_constraint(constraint.clone());
        if let Err(error) = refused.as_ref().or_else(|error| ignored(error)) {
            find(Rule::ConstraintRefused, error.to_string());
        }
        if refused.is_ok()
            && let Ok(alone) = self.builder.build().with_only(&constraint)
            && let Some(reason) = enforce::refused_as_lockout(&entry.object, &alone, &without_deadline())
        {
            find(Rule::Lockout, reason);
        }
    }

    /// Reports the kinds that a constraint's template refers to, and that are not synced.
    fn references(&self, entry: &Entry, diagnostics: &mut Vec<Diagnostic>) {
        let paths = self.builder.inventory_paths(entry.text("/kind"));
        let reads: BTreeSet<_> = paths.filter_map(AdmissionTarget::kind_read).collect();
        for KindRead { api_version, kind } in reads {
            let is_meant = |(version, name): &(String, String)| {
                *name == kind && api_version.as_ref().is_none_or(|wanted| wanted == version)
            };
            if self.synced.iter().any(is_meant) {
                continue;
            }
            let version = api_version.as_ref().map(|version| format!(" ({version})")).unwrap_or_default();
            let message = format!(
                "its template refers to {kind}{version}, which no SyncSet names, nor the Config: it stays Enforced=False until one does"
            );
            diagnostics.push(diagnostic(Rule::NotSynced, entry, message));
        }
    }

    fn sync(&mut self, manifest: &Value) {
        for list in ["/spec/gvks", "/spec/sync/syncOnly"] {
            for kind in manifest.pointer(list).and_then(Value::as_array).into_iter().flatten() {
                let part = |name: &str| kind.get(name).and_then(Value::as_str).unwrap_or_default();
                let api_version = GroupVersion::gv(part("group"), part("version")).api_version();
                self.synced.push((api_version, part("kind").to_owned()));
            }
        }
    }

    /// Takes an object that policies may refer to.
    pub(super) fn refer_to(&mut self, object: &Document) {
        let is =
            |(version, kind): &(String, String)| version == object.api_version() && kind == object.kind();
        if self.synced.iter().any(is) {
            // What has no place in the inventory is not referred to.
            let _ = self.builder.put_object(&AdmissionTarget, object.detached());
        }
    }

    /// The policies that can be used.
    pub(super) fn set(&self) -> Arc<PolicySet> {
        self.builder.build()
    }

    /// The kinds that constraints can match.
    pub(super) fn kinds(&self) -> Vec<KindFilter> {
        self.set().in_force().iter().flat_map(|constraint| constraint.kinds()).collect()
    }
}

/// The diagnostic about an object.
pub(super) fn diagnostic(rule: Rule, entry: &Entry, message: String) -> Diagnostic {
    Diagnostic { rule, object: entry.name(), message, place: entry.place.clone() }
}

/// The words of a constraint in diagnostics.
pub(super) fn name(constraint: &ConstraintRef) -> String {
    format!("{} {}", constraint.kind, constraint.name)
}

const fn ignored(error: &IngestError) -> Result<&(), &IngestError> {
    match error {
        IngestError::MissingTemplate { .. } => Ok(&()),
        other => Err(other),
    }
}

fn rule_of(error: &str, code: &str) -> Rule {
    match DISABLED_BUILTINS.iter().any(|function| error.contains(function)) {
        true => Rule::TemplateReachesOutside,
        false if error.contains("external_data") && code.contains("external_data") => Rule::Provider,
        false => Rule::TemplateRefused,
    }
}

/// Returns what is to be said of the enforcement points that no pod runs.
fn elsewhere(constraint: &Value) -> Vec<(Rule, String)> {
    let scoped = constraint.pointer("/spec/enforcementAction").is_some_and(|action| action == "scoped");
    let entries = constraint.pointer("/spec/scopedEnforcementActions").and_then(Value::as_array);
    let points =
        entries.into_iter().flatten().filter(|_| scoped).filter_map(|entry| entry.get("enforcementPoints"));
    let points = points.filter_map(Value::as_array).flatten();
    let names: BTreeSet<_> = points.filter_map(|point| point.get("name")?.as_str()).collect();
    let has = |point: EnforcementPoint| names.contains(point.name());
    let waits = "Enforced stays False until the point is taken out";
    let mut found = Vec::new();
    match EnforcementPoint::VAP.name() {
        point if names.len() == 1 && names.contains(point) => {
            let message =
                format!("its only enforcement point is {point}: nothing enforces it here, and {waits}");
            found.push((Rule::OnlyAdmissionPolicy, message));
        }
        point if names.contains(point) => {
            let message = format!("nothing enforces it at its enforcement point {point} here, and {waits}");
            found.push((Rule::AdmissionPolicyPoint, message));
        }
        _ => {}
    }
    if has(EnforcementPoint::GATOR) && names.len() == 1 {
        let message = format!(
            "its only enforcement point is the command line's, {}: nothing enforces it in the cluster, and Enforced stays False",
            EnforcementPoint::GATOR.name()
        );
        found.push((Rule::CommandLinePoint, message));
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const REGO: &str = "package p\nviolation[{\"msg\": \"m\"}] { data.inventory.namespace[_].v1.Secret[_] }";

    fn found(spec: Value, others: &[Value]) -> Vec<(Rule, String)> {
        let template = json!({
            "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "metadata": {"name": "kind"},
            "spec": {
                "crd": {"spec": {"names": {"kind": "Kind"}}},
                "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": REGO}]
            }
        });
        let constraint = json!({
            "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "Kind", "metadata": {"name": "a"}, "spec": spec
        });
        let objects = [template, constraint].into_iter().chain(others.iter().cloned());
        let entries: Vec<_> = objects.map(|object| Entry { object, place: None }).collect();
        let mut diagnostics = Vec::new();
        Policies::of(&entries, &mut diagnostics);
        diagnostics
            .into_iter()
            .map(|Diagnostic { rule, object, message, .. }| (rule, format!("{object}: {message}")))
            .collect()
    }

    fn rules(found: Vec<(Rule, String)>) -> Vec<Rule> {
        found.into_iter().map(|(rule, _)| rule).collect()
    }

    fn synced(version: &str, kind: &str) -> Value {
        json!({
            "apiVersion": "syncset.gatekeeper.sh/v1alpha1", "kind": "SyncSet", "metadata": {"name": "a"},
            "spec": {"gvks": [{"group": "", "version": version, "kind": kind}]}
        })
    }

    /// Deny in the webhook by its own, as Pods alone: nothing keeps the cluster from living.
    fn spec(points: &[&[&str]]) -> Value {
        let entries: Vec<_> = points
            .iter()
            .map(|names| {
                let names: Vec<_> = names.iter().map(|name| json!({"name": name})).collect();
                json!({"action": "deny", "enforcementPoints": names})
            })
            .collect();
        let action = if points.is_empty() { "deny" } else { "scoped" };
        json!({
            "enforcementAction": action, "scopedEnforcementActions": entries,
            "match": {"kinds": [{"apiGroups": ["*"], "kinds": ["Thing"]}]}
        })
    }

    #[test]
    fn a_kind_that_is_referred_to_and_not_synced_is_named() {
        let missing = found(spec(&[]), &[synced("v1", "Pod"), synced("v2", "Secret")]);
        assert_eq!(missing.len(), 1, "{missing:?}");
        assert_eq!(missing[0].0, Rule::NotSynced);
        assert!(
            missing[0].1.starts_with("Kind a: its template refers to Secret (v1), which no SyncSet names")
        );
        assert_eq!(found(spec(&[]), &[synced("v1", "Secret")]), []);
    }

    #[test]
    fn every_enforcement_point_that_no_pod_runs_is_named() {
        let of = |points: &[&[&str]]| rules(found(spec(points), &[synced("v1", "Secret")]));
        assert_eq!(of(&[&["vap.k8s.io"]]), [Rule::OnlyAdmissionPolicy]);
        assert_eq!(of(&[&["vap.k8s.io"], &["audit.gatekeeper.sh"]]), [Rule::AdmissionPolicyPoint]);
        assert_eq!(of(&[&["validation.gatekeeper.sh", "vap.k8s.io"]]), [Rule::AdmissionPolicyPoint]);
        assert_eq!(of(&[&["gator.gatekeeper.sh"]]), [Rule::CommandLinePoint]);
        for points in [
            &[][..],
            &[&["*"][..], &["gator.gatekeeper.sh"]][..],
            &[&["*"][..]],
            &[&["audit.gatekeeper.sh", "validation.gatekeeper.sh"]],
        ] {
            assert_eq!(of(points), [], "{points:?}");
        }
    }
}
