//! Templates and constraints: what is refused here, and what can be said without an object.

use std::sync::Arc;

use constraint_framework::IngestError;
use constraint_framework::api::{
    CONSTRAINTS_GROUP, Constraint, ConstraintRef, ConstraintTemplate, TEMPLATES_GROUP,
};
use constraint_framework::policyset::{Compiler, PolicySet, PolicySetBuilder};
use constraint_framework::review::Document;
use constraint_framework::target::{AdmissionTarget, KindFilter};
use serde_json::Value;

use crate::budget::unhurried;
use crate::enforce;

use super::Entry;
use super::finding::{Finding, Rule};

/// The functions that reach outside of a policy.
const OUTSIDE: [&str; 3] = ["http.send", "net.lookup_ip_addr", "opa.runtime"];
/// The enforcement point of admission policies that Gatekeeper generates.
const ADMISSION_POLICY: &str = "vap.k8s.io";

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
    pub(super) fn of(entries: &[Entry], findings: &mut Vec<Finding>) -> Self {
        let compiler = Compiler::default();
        let builder = PolicySetBuilder::new(compiler.clone());
        let mut policies = Self { builder, synced: Vec::new(), compiler };
        let of_group = |group| entries.iter().filter(move |entry| entry.group() == group);
        for entry in of_group(TEMPLATES_GROUP) {
            policies.template(entry, findings);
        }
        for entry in of_group(CONSTRAINTS_GROUP) {
            policies.constraint(entry, findings);
        }
        for entry in of_group("config.gatekeeper.sh").chain(of_group("syncset.gatekeeper.sh")) {
            policies.sync(&entry.object);
        }
        policies
    }

    fn template(&mut self, entry: &Entry, findings: &mut Vec<Finding>) {
        let mut find = |rule, message| findings.push(finding(rule, entry, message));
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
            let message = "no ValidatingAdmissionPolicy is generated: the webhook enforces it";
            find(Rule::AdmissionPolicy, message.to_owned());
        }
    }

    fn constraint(&mut self, entry: &Entry, findings: &mut Vec<Finding>) {
        let mut find = |rule, message| findings.push(finding(rule, entry, message));
        if is_for_admission_policies_alone(&entry.object) {
            let message =
                format!("its only enforcement point is {ADMISSION_POLICY}: nothing enforces it here");
            find(Rule::OnlyAdmissionPolicy, message);
        }
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
            && let Some(reason) = enforce::refused_as_lockout(&entry.object, &alone, &unhurried())
        {
            find(Rule::Lockout, reason);
        }
    }

    fn sync(&mut self, manifest: &Value) {
        for list in ["/spec/gvks", "/spec/sync/syncOnly"] {
            for kind in manifest.pointer(list).and_then(Value::as_array).into_iter().flatten() {
                let part = |name: &str| kind.get(name).and_then(Value::as_str).unwrap_or_default();
                let api_version = match part("group") {
                    "" => part("version").to_owned(),
                    group => format!("{group}/{}", part("version")),
                };
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

/// The finding about an object.
pub(super) fn finding(rule: Rule, entry: &Entry, message: String) -> Finding {
    Finding { rule, object: entry.name(), message, place: entry.place.clone() }
}

/// The words of a constraint in findings.
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
    match OUTSIDE.iter().any(|function| error.contains(function)) {
        true => Rule::TemplateReachesOutside,
        false if error.contains("external_data") && code.contains("external_data") => Rule::Provider,
        false => Rule::TemplateRefused,
    }
}

fn is_for_admission_policies_alone(constraint: &Value) -> bool {
    let scoped = constraint.pointer("/spec/enforcementAction").is_some_and(|action| action == "scoped");
    let entries = constraint.pointer("/spec/scopedEnforcementActions").and_then(Value::as_array);
    let points = entries.into_iter().flatten().filter_map(|entry| entry.get("enforcementPoints"));
    let mut names =
        points.filter_map(Value::as_array).flatten().filter_map(|point| point.get("name")).peekable();
    scoped && names.peek().is_some() && names.all(|name| name == ADMISSION_POLICY)
}
