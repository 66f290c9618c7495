//! Our side: manifests into a policy set, and requests from their bytes to the bytes of the answer.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use constraint_framework::api::Constraint;
use constraint_framework::driver::{Budget, Driver, RegoDriver};
use constraint_framework::policyset::{Compiler, PolicySet, PolicySetBuilder};
use constraint_framework::review::{Document, EnforcementPoint, Verdict, Violation};
use constraint_framework::target::{AdmissionTarget, Target};
use serde_json::Value;

use super::scenario::Policies;
use super::{Found, Ingest, Passes, details_text, message_text};

/// A policy set, filled.
#[derive(Debug)]
pub struct Ours {
    policies: Arc<PolicySet>,
    // Kept, because an operator keeps it too: its memory counts.
    _builder: PolicySetBuilder,
}

impl Ours {
    /// Takes in policies and inventory. `heap` says how many bytes are allocated at the moment.
    ///
    /// # Errors
    /// The first manifest that is refused.
    pub fn ingest(policies: &Policies, heap: &dyn Fn() -> usize) -> anyhow::Result<(Self, Ingest)> {
        let before = heap();
        let begun = Instant::now();
        let mut builder = PolicySetBuilder::new(rego_only());
        for template in &policies.templates {
            builder.put_template(template).with_context(|| name_of(template))?;
        }
        for constraint in &policies.constraints {
            builder
                .put_constraint(Constraint::from_value(constraint)?)
                .with_context(|| name_of(constraint))?;
        }
        for object in &policies.inventory {
            builder.put_object(&AdmissionTarget, Document::from_json_string(object.to_string())?)?;
        }
        let set = builder.build();
        let nanoseconds = nanoseconds(begun.elapsed());
        let bytes = heap() as f64 - before as f64;
        Ok((Self { policies: set, _builder: builder }, Ingest { nanoseconds, bytes }))
    }

    /// Reviews all requests again and again until the time is up; at least once.
    ///
    /// # Errors
    /// An invalid request.
    pub fn bench(&self, requests: &[String], time: Duration) -> anyhow::Result<Passes> {
        let mut passes = Passes::default();
        let mut verdicts = Vec::new();
        let started = Instant::now();
        while passes.nanoseconds.is_empty() || started.elapsed() < time {
            let begun = Instant::now();
            verdicts = requests.iter().map(|request| self.decide(request)).collect::<Result<Vec<_>, _>>()?;
            passes.nanoseconds.push(nanoseconds(begun.elapsed()));
        }
        passes.found = verdicts.iter().map(found).collect();
        Ok(passes)
    }

    fn decide(&self, request: &str) -> anyhow::Result<Verdict> {
        let review = AdmissionTarget.request(request)?;
        let verdict = self.policies.review(&review, EnforcementPoint::WEBHOOK, &Budget::default());
        black_box((verdict.denial(), serde_json::to_vec(&verdict.warnings())?));
        Ok(verdict)
    }
}

/// Gatekeeper prefers its other driver where a template has code for both; here both sides run Rego.
fn rego_only() -> Compiler {
    Compiler::new([Arc::new(AdmissionTarget) as Arc<dyn Target>], [Arc::new(RegoDriver) as Arc<dyn Driver>])
}

fn name_of(manifest: &Value) -> String {
    let field = |pointer| manifest.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    format!("{} {}", field("/kind"), field("/metadata/name"))
}

fn found(verdict: &Verdict) -> Vec<Found> {
    let mut all: Vec<Found> = verdict.violations().iter().map(found_one).collect();
    all.sort();
    all
}

fn found_one(violation: &Violation) -> Found {
    let actions: Vec<&str> = violation.actions.iter().map(|action| action.name()).collect();
    Found {
        constraint: format!("{}/{}", violation.constraint.kind, violation.constraint.name),
        message: message_text(&violation.message),
        details: details_text(violation.details.as_ref()),
        action: actions.join(","),
    }
}

fn nanoseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}
