//! Compares the fields of a contract with one version of a CustomResourceDefinition.

use serde_json::Value;

use super::compare::Comparison;
use super::discovery::{labelled_versions, served};
use super::place::Place;
use super::report::{ContractViolation, Report, Unverified, ViolationKind};
use super::schema::{Additional, METADATA, Node};
use super::{ContractScope, ContractSpec, FieldShape, FieldSpec, FieldUse};
use crate::path::pointer;
use crate::{DuckPath, Endpoint};

/// Compares `version` of the CustomResourceDefinition `crd` (v1, as JSON) with `fields`, before an object ever
/// disagrees.
///
/// A field that is *read* must hold only values that the reader understands; a field that is *written* must accept
/// all values that the writer may send, and must not be pruned. Through `x-kubernetes-preserve-unknown-fields` and
/// validations that are not compared (`anyOf`, CEL rules) the verdict is unverified.
#[must_use]
pub fn check_crd(crd: &Value, version: &str, fields: &[FieldSpec]) -> Report {
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let served = served(crd);
    let name = |version: &Value| version.get("name").and_then(Value::as_str).map(str::to_owned);
    let found = versions.iter().position(|candidate| name(candidate).as_deref() == Some(version));
    let found = found.filter(|_| served.iter().any(|name| name == version));
    let Some((index, found)) = found.and_then(|index| Some((index, versions.get(index)?))) else {
        let kind = ViolationKind::NotServed { version: version.to_owned(), served };
        let (at, schema) = (String::new(), "/spec/versions".to_owned());
        let violation = ContractViolation { at, schema, field_use: None, kind };
        return Report { violations: vec![violation], unverified: Vec::new() };
    };
    let has_status = found.pointer("/subresources/status").is_some();
    let schema_at = format!("/spec/versions/{index}/schema/openAPIV3Schema");
    let schema = found.pointer("/schema/openAPIV3Schema");
    let mut report = Report::default();
    for field in fields {
        if field.write.is_some() && field.path.endpoint() == Endpoint::Status && !has_status {
            report.violations.push(ContractViolation {
                at: field.path.to_string(),
                schema: format!("/spec/versions/{index}/subresources"),
                field_use: Some(FieldUse::Write),
                kind: ViolationKind::NoStatusSubresource,
            });
        }
        let Some(schema) = schema else {
            let reason = "the version has no schema".to_owned();
            let at = field.path.to_string();
            report.unverified.push(Unverified { at, schema: schema_at.clone(), field_use: None, reason });
            continue;
        };
        report.extend(check_field(schema, &schema_at, field, fields));
    }
    report
}

impl ContractSpec {
    /// Compares a CustomResourceDefinition (v1, as JSON) with every contract version that its labels claim, in every
    /// API version that they name. For continuous integration: a label that is forgotten, names a version that is not
    /// served, or claims a shape that the schema does not have, is a violation.
    #[must_use]
    pub fn check_crd(&self, crd: &Value) -> Report {
        let mut report = Report::default();
        if let Err(error) = self.discover(crd) {
            let (at, schema) = (String::new(), "/metadata/labels".to_owned());
            report.unverified.push(Unverified { at, schema, field_use: None, reason: error.to_string() });
        }
        self.check_scope(crd, &mut report);
        let served = served(crd);
        for (contract, versions) in labelled_versions(self, crd) {
            let Some(contract) = self.versions.iter().find(|version| version.name == contract) else {
                continue;
            };
            for version in versions {
                if served.contains(&version) {
                    report.extend(check_crd(crd, &version, &contract.fields));
                } else {
                    let kind = ViolationKind::NotServed { version, served: served.clone() };
                    let schema = format!("/metadata/labels/{}~1{}", self.label_prefix, contract.name);
                    report.violations.push(ContractViolation {
                        at: String::new(),
                        schema,
                        field_use: None,
                        kind,
                    });
                }
            }
        }
        report
    }

    fn check_scope(&self, crd: &Value, report: &mut Report) {
        let found = crd.pointer("/spec/scope").and_then(Value::as_str).unwrap_or("not stated");
        let fits = match self.scope {
            ContractScope::Any => true,
            ContractScope::Namespaced => found == "Namespaced",
            ContractScope::Cluster => found == "Cluster",
        };
        if !fits {
            let kind = ViolationKind::Scope { wanted: self.scope, found: found.to_owned() };
            let (at, schema) = (String::new(), "/spec/scope".to_owned());
            report.violations.push(ContractViolation { at, schema, field_use: None, kind });
        }
    }
}

fn check_field(schema: &Value, schema_at: &str, field: &FieldSpec, all: &[FieldSpec]) -> Report {
    let directions = [(FieldUse::Read, &field.read), (FieldUse::Write, &field.write)];
    let mut report = Report::default();
    for (direction, shape) in directions {
        let Some(shape) = shape else { continue };
        let keys =
            |at: &str| field.list_maps.iter().find(|list| list.path == at).map(|list| list.keys.clone());
        let mut comparison = Comparison::new(direction, &keys);
        walk(&mut comparison, Node::enforced(schema), schema_at, field, shape);
        if direction == FieldUse::Write {
            parents(&mut comparison, Node::enforced(schema), schema_at, field, all);
        }
        report.extend(comparison.report);
    }
    report
}

/// One step of a path into a schema: the node, and the keyword that leads to it; nothing for what the API server
/// declares itself, the metadata of the object and of resources within it.
fn step<'a>(node: Node<'a>, segment: &str, is_root: bool) -> Option<(Node<'a>, Option<&'static str>)> {
    let resource = is_root || node.is_resource();
    if resource && segment == "metadata" {
        return Some((Node::root(&METADATA), None));
    }
    let declared = node.property(segment).map(|next| (next, Some("properties")));
    declared.or_else(|| match node.additional() {
        Additional::Each(next) => Some((next, Some("additionalProperties"))),
        _ => None,
    })
}

/// Walks from the root of the object to the field.
fn walk(to: &mut Comparison<'_>, root: Node<'_>, schema_at: &str, field: &FieldSpec, shape: &FieldShape) {
    let mut at = Place { schema: schema_at.to_owned(), ..Place::default() };
    let mut node = root;
    let mut rest = field.path.segments();
    while let Some(segment) = rest.next() {
        if to.direction == FieldUse::Write && node.text("x-kubernetes-map-type") == Some("atomic") {
            to.violate(&at, ViolationKind::Atomic);
        }
        let Some((next, keyword)) = step(node, &segment, at.object.is_empty()) else {
            let here = at.undeclared(&segment);
            return match node.additional() {
                Additional::Any(_) if rest.len() == 0 => to.any_value(Node::root(shape.schema()), &here),
                Additional::Any(_) if to.direction == FieldUse::Write => {
                    to.violate(&here, ViolationKind::Pruned)
                }
                _ if node.preserves() => {
                    let reason = "x-kubernetes-preserve-unknown-fields: the schema does not declare it";
                    to.unverified(&here, reason);
                }
                _ => undeclared(to, node, &at, &here, field),
            };
        };
        at.implicit |= keyword.is_none();
        at = at.member(&segment, keyword.unwrap_or("properties"));
        node = next;
    }
    at.field = String::new();
    to.node(node, Node::root(shape.schema()), &at, true);
}

/// Finds objects on the way to a written field that may not exist yet, and that the write cannot create because their
/// schema requires other members.
fn parents(to: &mut Comparison<'_>, root: Node<'_>, schema_at: &str, field: &FieldSpec, all: &[FieldSpec]) {
    let mut at = Place { schema: schema_at.to_owned(), ..Place::default() };
    let (mut node, mut exists) = (root, true);
    for segment in field.path.segments() {
        let here = at.object.clone();
        let written = |name: &str| {
            let path = format!("{here}{}", pointer([name])).parse::<DuckPath>().ok();
            path.is_none_or(|path| {
                all.iter().any(|other| other.write.is_some() && other.path.overlaps(&path))
            })
        };
        let needed: Vec<&str> =
            node.needed().into_iter().filter(|name| *name != &*segment && !written(name)).collect();
        if !exists && !needed.is_empty() {
            let names = needed.join(", ");
            let reason = "where it does not exist yet, it cannot be created without";
            to.unverified(&at, &format!("{reason} {names}, which the contract does not write"));
        }
        let Some((next, Some(keyword))) = step(node, &segment, here.is_empty()) else { return };
        let certain = node.strings("required").contains(&&*segment) || next.has("default");
        exists = exists && certain;
        at = at.member(&segment, keyword);
        node = next;
    }
}

fn undeclared(to: &mut Comparison<'_>, node: Node<'_>, at: &Place, here: &Place, field: &FieldSpec) {
    match node.types() {
        Some(types) if !types.contains("object") => {
            let schema = types.into_iter().collect::<Vec<_>>().join(" or ");
            to.violate(at, ViolationKind::Type { contract: "object".to_owned(), schema });
        }
        _ if to.direction == FieldUse::Read && field.optional => {}
        _ => to.violate(here, ViolationKind::Missing),
    }
}

#[cfg(test)]
mod tests;
