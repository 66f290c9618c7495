//! A cluster: everything of Gatekeeper, and some objects of each kind that constraints can match.

use std::collections::BTreeSet;

use constraint_framework::review::Document;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::discovery::{Discovery, verbs};
use serde_json::Value;

use super::dump::namespaces;
use super::others::is_gatekeepers;
use super::samples::Judge;
use super::{Entry, Holdings, MigrateCheckArgs, ReadFlags, Report};
use crate::api_error::reason;

/// Objects of a page. Lists are read to their ends, except for samples.
const PAGE: u32 = 500;

pub(super) async fn check(args: &MigrateCheckArgs, client: kube::Client, flags: ReadFlags<'_>) -> Report {
    let mut holdings = Holdings::default();
    let kinds = match Discovery::new(client.clone()).run_aggregated().await {
        Ok(discovery) => listable(&discovery),
        Err(error) => {
            let reason = reason(&error);
            holdings.errors.push(format!("the kinds of the cluster are not known: {reason}"));
            Vec::new()
        }
    };
    let reader = Reader { client };
    for kind in kinds.iter().filter(|kind| is_of_interest(kind)) {
        let mut entries = reader.read(kind, None, &mut holdings.errors).await;
        // Deployments are read for Gatekeeper's own containers.
        entries.retain(|entry| kind.kind != "Deployment" || is_gatekeepers(entry, args));
        holdings.entries.extend(entries);
    }
    let (mut report, mut policies, entries) = Report::of(holdings, args, flags);
    let documents = entries.iter().filter_map(|entry| Document::from_value(&entry.object).ok());
    let namespaces = namespaces(documents);
    let is_selected = |kind: &&ApiResource| {
        let is =
            |wanted: &Option<String>, actual: &str| wanted.as_deref().is_none_or(|wanted| wanted == actual);
        policies.kinds().iter().any(|filter| is(&filter.group, &kind.group) && is(&filter.kind, &kind.kind))
    };
    let selected: Vec<_> = kinds.iter().filter(is_selected).collect();
    let synced = policies.synced.clone();
    let is_synced = |kind: &&ApiResource| {
        synced.iter().any(|(version, name)| *version == kind.api_version && *name == kind.kind)
    };
    let mut sampled = Vec::new();
    let needed = kinds.iter().filter(|kind| selected.contains(kind) || is_synced(kind));
    for kind in needed.filter(|_| args.sample > 0) {
        let entries = reader.read(kind, Some(args.sample), &mut report.errors).await;
        let documents = entries.iter().filter_map(|entry| Document::from_value(&entry.object).ok());
        documents.for_each(|object| policies.refer_to(&object));
        sampled.push((kind, entries));
    }
    let mut judge = Judge::new(policies.set(), namespaces);
    for (_, entries) in sampled.iter().filter(|(kind, _)| selected.contains(kind)) {
        report.judged.1 = report.judged.1.saturating_add(1);
        entries.iter().for_each(|entry| judge.judge(entry, &mut report));
    }
    report.end()
}

/// The kinds that can be listed, each in the version that the API server prefers.
fn listable(discovery: &Discovery) -> Vec<ApiResource> {
    let all = discovery.groups().flat_map(|group| group.recommended_resources());
    let listed = all.filter(|(_, capabilities)| capabilities.supports_operation(verbs::LIST));
    let mut seen = BTreeSet::new();
    let mut first = move |kind: &ApiResource| seen.insert((kind.group.clone(), kind.kind.clone()));
    listed.map(|(kind, _)| kind).filter(|kind| first(kind)).collect()
}

/// Returns true for what is read whole: Gatekeeper's kinds, Namespaces, and where its webhook and its containers are.
fn is_of_interest(kind: &ApiResource) -> bool {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Namespace") | ("apps", "Deployment") => true,
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration") => true,
        ("status.gatekeeper.sh", _) => false,
        (group, _) => group.ends_with(".gatekeeper.sh"),
    }
}

struct Reader {
    client: kube::Client,
}

impl Reader {
    /// The objects of a kind, at most `limit` of them. What cannot be read is an error.
    async fn read(&self, kind: &ApiResource, limit: Option<u32>, errors: &mut Vec<String>) -> Vec<Entry> {
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), kind);
        let mut params = ListParams::default().limit(limit.unwrap_or(PAGE));
        let mut entries = Vec::new();
        loop {
            let page = match api.list(&params).await {
                Ok(page) => page,
                Err(error) => {
                    let reason = reason(&error);
                    errors.push(format!("{} ({}) cannot be listed: {reason}", kind.kind, kind.api_version));
                    return entries;
                }
            };
            entries.extend(page.items.iter().map(|object| entry(kind, object)));
            match page.metadata.continue_.filter(|token| limit.is_none() && !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => return entries,
            }
        }
    }
}

/// The items of a list do not say what they are.
fn entry(kind: &ApiResource, object: &DynamicObject) -> Entry {
    let mut object = serde_json::to_value(object).unwrap_or_default();
    if let Value::Object(fields) = &mut object {
        fields.insert("apiVersion".to_owned(), Value::from(kind.api_version.as_str()));
        fields.insert("kind".to_owned(), Value::from(kind.kind.as_str()));
    }
    Entry { object, place: None }
}
