//! Policies, inventory and Namespaces put together, and objects judged by them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use constraint_framework::api::{CONSTRAINTS_GROUP, Constraint, ConstraintRef, TEMPLATES_GROUP};
use constraint_framework::policyset::{Compiler, ConstraintInForce, PolicySet, PolicySetBuilder};
use constraint_framework::review::{Document, EnforcementPoint};
use constraint_framework::target::{AdmissionTarget, KindFilter};
use kube::core::GroupVersion;
use serde_json::Value;

use super::{Object, Violation};
use crate::api_version::group;
use crate::audit::judge::Judge;
use crate::audit::ledger::{Epoch, Scope};
use crate::config::{ExcludedNamespaces, Process};

/// The name of the one Config that counts.
const CONFIG: &str = "config";

/// Puts policies in force.
#[derive(Debug)]
pub(super) struct Collector {
    policies: PolicySetBuilder,
    operator_namespace: String,
    synced: BTreeSet<(String, String)>,
    excluded: ExcludedNamespaces,
    namespaces: BTreeMap<String, Document>,
    pub(super) errors: Vec<String>,
}

/// Everything by which objects are judged. Shared by threads.
#[derive(Debug)]
pub(super) struct Assembly {
    judge: Judge,
    in_force: BTreeMap<ConstraintRef, ConstraintInForce>,
    namespaces: BTreeMap<String, Document>,
}

/// The role of a manifest in an audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Template,
    Constraint,
    Sync,
    Other,
}

pub(super) fn role(manifest: &Value) -> Role {
    match group(manifest) {
        TEMPLATES_GROUP => Role::Template,
        CONSTRAINTS_GROUP => Role::Constraint,
        "config.gatekeeper.sh" | "syncset.gatekeeper.sh" => Role::Sync,
        _ => Role::Other,
    }
}

impl Collector {
    pub(super) fn new(operator_namespace: &str) -> Self {
        Self {
            policies: PolicySetBuilder::new(Compiler::default()),
            operator_namespace: operator_namespace.to_owned(),
            synced: BTreeSet::new(),
            excluded: ExcludedNamespaces::default(),
            namespaces: BTreeMap::new(),
            errors: Vec::new(),
        }
    }

    /// Takes a template, a constraint, a SyncSet or a Config; templates before their constraints.
    pub(super) fn policy(&mut self, manifest: &Value) {
        let taken = match role(manifest) {
            Role::Template => self.policies.put_template(manifest).map_err(|error| error.to_string()),
            Role::Constraint => match Constraint::from_value(manifest) {
                Ok(constraint) => self.policies.put_constraint(constraint).map_err(|error| error.to_string()),
                Err(errors) => Err(errors.to_string()),
            },
            Role::Sync => self.sync(manifest),
            Role::Other => Ok(()),
        };
        if let Err(reason) = taken {
            let text = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            self.errors.push(format!("{} {}: {reason}", text("/kind"), text("/metadata/name")));
        }
    }

    fn sync(&mut self, manifest: &Value) -> Result<(), String> {
        let text = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        if text("/kind") == "Config" {
            if text("/metadata/name") != CONFIG || text("/metadata/namespace") != self.operator_namespace {
                return Ok(());
            }
            self.excluded = ExcludedNamespaces::from_config(manifest).map_err(|errors| errors.to_string())?;
        }
        for list in ["/spec/gvks", "/spec/sync/syncOnly"] {
            let kinds = manifest.pointer(list).and_then(Value::as_array).into_iter().flatten();
            for kind in kinds {
                let part = |name: &str| kind.get(name).and_then(Value::as_str).unwrap_or_default();
                let api_version = GroupVersion::gv(part("group"), part("version")).api_version();
                self.synced.insert((api_version, part("kind").to_owned()));
            }
        }
        Ok(())
    }

    /// The kinds whose objects policies may refer to: `apiVersion` and `kind`.
    pub(super) fn synced(&self) -> &BTreeSet<(String, String)> {
        &self.synced
    }

    /// Takes an object that others may depend on: a Namespace, or one of a synced kind.
    pub(super) fn object(&mut self, object: &Document) {
        if object.is_namespace() {
            self.namespaces.insert(object.name().to_owned(), object.clone());
        }
        let is_synced = self.synced.contains(&(object.api_version().to_owned(), object.kind().to_owned()));
        // One on its way out is as good as gone.
        let is_going = is_synced
            && object.json().is_ok_and(|json| json.pointer("/metadata/deletionTimestamp").is_some());
        if is_synced && !is_going && !self.excluded.contains_object(Process::Sync, object) {
            // What has no place in the inventory is not referred to.
            let _ = self.policies.put_object(&AdmissionTarget, object.detached());
        }
    }

    pub(super) fn assemble(self) -> Assembly {
        let policies: Arc<PolicySet> = self.policies.build();
        let in_force = policies.in_force().into_iter();
        Assembly {
            in_force: in_force.map(|constraint| (constraint.id().clone(), constraint)).collect(),
            judge: Judge {
                epoch: Epoch::default(),
                policies,
                keyed: Arc::default(),
                excluded: Arc::new(self.excluded),
            },
            namespaces: self.namespaces,
        }
    }
}

/// The message about an object that cannot be read.
pub(super) fn unreadable(error: impl std::fmt::Display) -> String {
    format!("an object cannot be read: {error}")
}

impl Assembly {
    /// The constraints that are audited.
    pub(super) fn constraints(&self) -> impl Iterator<Item = &ConstraintInForce> {
        self.in_force.values().filter(|constraint| constraint.applies(EnforcementPoint::AUDIT))
    }

    /// The kinds that they can match.
    pub(super) fn filters(&self) -> Vec<KindFilter> {
        self.constraints().flat_map(ConstraintInForce::kinds).collect()
    }

    /// The actions of a constraint in audits.
    pub(super) fn actions(&self, id: &ConstraintRef) -> Vec<&'static str> {
        let actions = self.in_force.get(id).map(|constraint| constraint.actions(EnforcementPoint::AUDIT));
        actions.into_iter().flatten().map(|action| action.name()).collect()
    }

    /// Judges an object.
    pub(super) fn judge(
        &self,
        text: String,
        place: Option<(PathBuf, u64)>,
    ) -> Result<Vec<(ConstraintRef, Violation)>, String> {
        let object = Document::from_json_string(text).map_err(unreadable)?;
        if self.judge.excluded.contains_object(Process::Audit, &object) {
            return Ok(Vec::new());
        }
        let around = self.namespaces.get(object.namespace()).map(Document::detached);
        let judged = self.judge.judge(object.clone(), around, Scope::All);
        let violating = Arc::new(Object {
            group: object.group().to_owned(),
            version: object.version().to_owned(),
            kind: object.kind().to_owned(),
            namespace: object.namespace().to_owned(),
            name: object.name().to_owned(),
        });
        let violation =
            |message: String| Violation { object: Arc::clone(&violating), message, place: place.clone() };
        Ok(judged.violations.into_iter().map(|(id, message)| (id, violation(message))).collect())
    }
}
