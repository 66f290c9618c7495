//! An audit of a cluster: policies, inventory and Namespaces first, then every kind that a constraint can match, in pages.

use std::sync::Arc;

use constraint_framework::api::{CONSTRAINTS_GROUP, ConstraintRef};
use constraint_framework::review::Document;
use futures::{StreamExt, stream};
use kube::discovery::Discovery;
use serde_json::Value;
use watch_manager::source::{Page, SourceError, WatchTarget};
use watch_manager::{GroupVersionKind, KubeSource, Source};

use super::assembly::{Assembly, Collector};
use super::dump::collect;
use super::{Found, OnceArgs, Progress, Violation};
use crate::audit::kinds::{ServedKind, selected, served};
use crate::audit::source::Head;
use crate::cli::load;

/// Kinds that are listed at the same time.
const LISTS: usize = 4;
/// The number of times that a list begins anew whose pages have expired.
const ATTEMPTS: u32 = 3;

/// The means of a list.
struct Lister {
    source: KubeSource,
    chunk_size: Option<u32>,
}

/// Audits the cluster of `client`.
pub(super) async fn audit(args: &OnceArgs, client: kube::Client, progress: &Progress) -> (Assembly, Found) {
    let mut collector = Collector::new(&args.namespace);
    let kinds = match Discovery::new(client.clone()).run_aggregated().await {
        Ok(discovery) => discovery.groups().flat_map(served).collect(),
        Err(error) => {
            collector.problems.push(format!("the kinds of the cluster are not known: {error}"));
            Vec::new()
        }
    };
    let chunk_size = Some(args.chunk_size).filter(|count| *count > 0);
    let lister = Lister { source: KubeSource::new(client), chunk_size };
    prepare(args, &lister, &kinds, &mut collector).await;
    let mut found = Found { problems: std::mem::take(&mut collector.problems), ..Found::default() };
    let assembly = Arc::new(collector.assemble());
    let wanted = selected(&assembly.filters(), &kinds);
    let all = wanted.len();
    let mut judged =
        stream::iter(wanted).map(|kind| judge(&lister, &assembly, kind, progress)).buffer_unordered(LISTS);
    while let Some((objects, violations, problems)) = judged.next().await {
        found.kinds = found.kinds.saturating_add(1);
        progress.kinds(found.kinds, all);
        found.objects = found.objects.saturating_add(objects);
        found.take(violations);
        found.problems.extend(problems);
    }
    drop(judged);
    found.sort();
    let assembly = Arc::try_unwrap(assembly);
    // Every thread that judged has ended.
    (assembly.unwrap_or_else(|_| Collector::new("").assemble()), found)
}

/// Reads policies, Namespaces and what policies may refer to.
async fn prepare(args: &OnceArgs, lister: &Lister, kinds: &[ServedKind], collector: &mut Collector) {
    for path in &args.policies {
        let loaded = load(path);
        collector.problems.extend(loaded.problems(path));
        collect(collector, &loaded.manifests);
    }
    let of_group =
        |group: &'static str| kinds.iter().filter(move |kind| kind.group == group && kind.followable);
    let mut groups = vec!["config.gatekeeper.sh", "syncset.gatekeeper.sh"];
    if args.policies.is_empty() {
        groups.splice(0..0, ["templates.gatekeeper.sh", CONSTRAINTS_GROUP]);
    }
    for kind in groups.into_iter().flat_map(of_group) {
        for text in read(lister, kind, collector).await {
            let manifest: Value = serde_json::from_str(&text).unwrap_or_default();
            collector.policy(&manifest);
        }
    }
    let synced = collector.synced().clone();
    let is_needed = |kind: &&ServedKind| {
        let gvk = kind.gvk();
        synced.contains(&(gvk.api_version(), kind.kind.clone()))
            || (kind.group.is_empty() && kind.kind == "Namespace")
    };
    for kind in kinds.iter().filter(is_needed) {
        for text in read(lister, kind, collector).await {
            if let Ok(object) = Document::from_text(text) {
                collector.object(&object);
            }
        }
    }
}

/// All objects of a kind. What cannot be read is a problem.
async fn read(lister: &Lister, kind: &ServedKind, collector: &mut Collector) -> Vec<String> {
    let mut texts = Vec::new();
    let mut take = |page: Option<Vec<String>>| match page {
        Some(page) => texts.extend(page),
        None => texts.clear(),
    };
    let result = list(lister, kind, async |page| take(page)).await;
    if let Err(error) = result {
        collector.problems.push(format!("{} cannot be listed: {error}", name(kind)));
    }
    texts
}

type Judged = (usize, Vec<(ConstraintRef, Violation)>, Vec<String>);

/// Judges all objects of a kind, a page at a time.
async fn judge(lister: &Lister, assembly: &Arc<Assembly>, kind: ServedKind, progress: &Progress) -> Judged {
    let (mut objects, mut violations, mut problems) = (0_usize, Vec::new(), Vec::new());
    let result = list(lister, &kind, async |page| {
        let Some(page) = page else {
            (objects, violations, problems) = (0, Vec::new(), Vec::new());
            return;
        };
        objects = objects.saturating_add(page.len());
        progress.objects(page.len());
        let assembly = Arc::clone(assembly);
        let judged = tokio::task::spawn_blocking(move || {
            page.into_iter().map(|text| assembly.judge(text, None)).collect::<Vec<_>>()
        });
        for judged in judged.await.unwrap_or_else(|error| vec![Err(error.to_string())]) {
            match judged {
                Ok(found) => violations.extend(found),
                Err(reason) => problems.push(format!("{}: {reason}", name(&kind))),
            }
        }
    })
    .await;
    if let Err(error) = result {
        problems.push(format!("{} cannot be listed: {error}", name(&kind)));
    }
    (objects, violations, problems)
}

/// Hands each page to `take`, and nothing when the list begins anew because its pages have expired.
async fn list(
    lister: &Lister,
    kind: &ServedKind,
    mut take: impl AsyncFnMut(Option<Vec<String>>),
) -> Result<(), SourceError> {
    let (target, gvk) = (WatchTarget::all(kind.resource()), kind.gvk());
    let mut page = Page::first(lister.chunk_size);
    let mut attempts = 1;
    loop {
        match lister.source.list(&target, &page).await {
            Ok(listed) => {
                take(Some(listed.items.iter().filter_map(|raw| complete(&gvk, raw.get())).collect())).await;
                let Some(token) = listed.continue_token else { return Ok(()) };
                page.continue_token = Some(token);
            }
            Err(SourceError::Expired) if attempts < ATTEMPTS => {
                attempts = attempts.saturating_add(1);
                page = Page::first(lister.chunk_size);
                take(None).await;
            }
            // Withdrawn since the discovery.
            Err(SourceError::NotServed) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

fn complete(gvk: &GroupVersionKind, text: &str) -> Option<String> {
    let head: Head<'_> = serde_json::from_str(text).ok()?;
    Some(head.complete(gvk, text))
}

fn name(kind: &ServedKind) -> String {
    kind.audited(0).to_string()
}
