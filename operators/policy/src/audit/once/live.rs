//! An audit of a cluster: policies, inventory and Namespaces first, then every kind that a constraint can match, in pages.

use std::sync::Arc;

use constraint_framework::api::{CONSTRAINTS_GROUP, ConstraintRef, TEMPLATES_GROUP};
use constraint_framework::review::Document;
use futures::{StreamExt, stream};
use kube::discovery::Discovery;
use serde_json::Value;
use watch_manager::source::{Page, SourceError, WatchTarget};
use watch_manager::{GroupVersionKind, KubeSource, Source};

use super::assembly::{Assembly, Collector, unreadable};
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
pub(super) async fn audit(
    args: &OnceArgs,
    client: kube::Client,
    progress: &Progress,
) -> (Arc<Assembly>, Found) {
    let mut collector = Collector::new(&args.namespace);
    let kinds = match Discovery::new(client.clone()).run_aggregated().await {
        Ok(discovery) => discovery.groups().flat_map(served).collect(),
        Err(error) => {
            collector.errors.push(format!("the kinds of the cluster are not known: {error}"));
            Vec::new()
        }
    };
    let chunk_size = Some(args.chunk_size).filter(|count| *count > 0);
    let lister = Lister { source: KubeSource::new(client), chunk_size };
    prepare(args, &lister, &kinds, &mut collector).await;
    let mut found = Found { errors: std::mem::take(&mut collector.errors), ..Found::default() };
    let assembly = Arc::new(collector.assemble());
    let wanted = selected(&assembly.filters(), &kinds);
    let all = wanted.len();
    let mut judged =
        stream::iter(wanted).map(|kind| judge(&lister, &assembly, kind, progress)).buffer_unordered(LISTS);
    while let Some((objects, violations, errors)) = judged.next().await {
        found.kinds = found.kinds.saturating_add(1);
        progress.kinds(found.kinds, all);
        found.objects = found.objects.saturating_add(objects);
        found.take(violations);
        found.errors.extend(errors);
    }
    drop(judged);
    found.sort();
    (assembly, found)
}

/// Reads policies, Namespaces and what policies may refer to.
async fn prepare(args: &OnceArgs, lister: &Lister, kinds: &[ServedKind], collector: &mut Collector) {
    for path in &args.policies {
        let loaded = load(path);
        collector.errors.extend(loaded.read_errors(path));
        collect(collector, &loaded.manifests);
    }
    let of_group =
        |group: &'static str| kinds.iter().filter(move |kind| kind.group == group && kind.followable);
    let mut groups = vec!["config.gatekeeper.sh", "syncset.gatekeeper.sh"];
    if args.policies.is_empty() {
        groups.splice(0..0, [TEMPLATES_GROUP, CONSTRAINTS_GROUP]);
    }
    for kind in groups.into_iter().flat_map(of_group) {
        for text in read(lister, kind, collector).await {
            match Document::from_json_string(text).map_err(unreadable).and_then(whole) {
                Ok(manifest) => collector.policy(&manifest),
                Err(reason) => collector.errors.push(read_error(kind, &reason)),
            }
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
            match Document::from_json_string(text) {
                Ok(object) => collector.object(&object),
                Err(error) => collector.errors.push(read_error(kind, &unreadable(error))),
            }
        }
    }
}

/// All objects of a kind. What cannot be read is an error.
async fn read(lister: &Lister, kind: &ServedKind, collector: &mut Collector) -> Vec<String> {
    let mut items = Vec::new();
    let mut take = |page: Option<Items>| match page {
        Some(page) => items.extend(page),
        None => items.clear(),
    };
    let result = list(lister, kind, async |page| take(page)).await;
    if let Err(error) = result {
        collector.errors.push(format!("{} cannot be listed: {error}", name(kind)));
    }
    let readable = |item: Result<String, String>| {
        item.map_err(|reason| collector.errors.push(read_error(kind, &reason))).ok()
    };
    items.into_iter().filter_map(readable).collect()
}

/// The whole of an object, however deeply it is nested.
fn whole(object: Document) -> Result<Value, String> {
    object.body().parse().map_err(unreadable)
}

fn read_error(kind: &ServedKind, reason: &str) -> String {
    format!("{}: {reason}", name(kind))
}

/// The objects of a page, or why one cannot be read.
type Items = Vec<Result<String, String>>;
type Judged = (usize, Vec<(ConstraintRef, Violation)>, Vec<String>);

/// Judges all objects of a kind, a page at a time.
async fn judge(lister: &Lister, assembly: &Arc<Assembly>, kind: ServedKind, progress: &Progress) -> Judged {
    let (mut objects, mut violations, mut errors) = (0_usize, Vec::new(), Vec::new());
    let result = list(lister, &kind, async |page| {
        let Some(page) = page else {
            (objects, violations, errors) = (0, Vec::new(), Vec::new());
            return;
        };
        objects = objects.saturating_add(page.len());
        progress.objects(page.len());
        let assembly = Arc::clone(assembly);
        let judged = tokio::task::spawn_blocking(move || {
            page.into_iter().map(|text| assembly.judge(text?, None)).collect::<Vec<_>>()
        });
        for judged in judged.await.unwrap_or_else(|error| vec![Err(error.to_string())]) {
            match judged {
                Ok(found) => violations.extend(found),
                Err(reason) => errors.push(read_error(&kind, &reason)),
            }
        }
    })
    .await;
    if let Err(error) = result {
        errors.push(format!("{} cannot be listed: {error}", name(&kind)));
    }
    (objects, violations, errors)
}

/// Hands each page to `take`, and nothing when the list begins anew because its pages have expired.
async fn list(
    lister: &Lister,
    kind: &ServedKind,
    mut take: impl AsyncFnMut(Option<Items>),
) -> Result<(), SourceError> {
    let (target, gvk) = (WatchTarget::all(kind.resource()), kind.gvk());
    let mut page = Page::first(lister.chunk_size);
    let mut attempts = 1;
    loop {
        match lister.source.list(&target, &page).await {
            Ok(listed) => {
                take(Some(listed.items.iter().map(|raw| complete(&gvk, raw.get())).collect())).await;
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

fn complete(gvk: &GroupVersionKind, text: &str) -> Result<String, String> {
    let head: Head<'_> = serde_json::from_str(text).map_err(unreadable)?;
    Ok(head.complete(gvk, text))
}

fn name(kind: &ServedKind) -> String {
    kind.audited(0).to_string()
}

#[cfg(test)]
mod tests {
    use hyper::{Request, Response};
    use kube::client::Body;
    use tower::BoxError;

    use super::*;

    /// A client of an API server whose every list has this one item.
    fn client(item: &str) -> kube::Client {
        let list = format!(
            r#"{{"kind":"List","apiVersion":"v1","metadata":{{"resourceVersion":"1"}},"items":[{item}]}}"#
        );
        let service = tower::service_fn(move |_: Request<Body>| {
            let answer = Response::new(Body::from(list.clone().into_bytes()));
            async move { Ok::<_, BoxError>(answer) }
        });
        kube::Client::new(service, "default")
    }

    async fn errors(group: &str, kind: &str, item: &str) -> Vec<String> {
        let kind = ServedKind {
            group: group.to_owned(),
            version: "v1".to_owned(),
            kind: kind.to_owned(),
            plural: format!("{}s", kind.to_lowercase()),
            namespaced: false,
            followable: true,
        };
        let lister = Lister { source: KubeSource::new(client(item)), chunk_size: None };
        let mut collector = Collector::new("");
        prepare(&OnceArgs::default(), &lister, &[kind], &mut collector).await;
        collector.errors
    }

    fn nested(levels: usize) -> String {
        format!(r#"{{"metadata":{{"name":"a"}},"spec":{}{}}}"#, "[".repeat(levels), "]".repeat(levels))
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_an_error_also_before_anything_is_judged() {
        for (group, kind, item) in [
            (TEMPLATES_GROUP, "ConstraintTemplate", nested(1000)),
            (TEMPLATES_GROUP, "ConstraintTemplate", r#"{"metadata":{"name":1}}"#.to_owned()),
            ("", "Namespace", r#"{"metadata":{"name":1}}"#.to_owned()),
            ("", "Namespace", r#"{"metadata":{"name":"a","labels":{"a":1}}}"#.to_owned()),
        ] {
            let errors = errors(group, kind, &item).await;
            assert!(
                matches!(&*errors, [error] if error.contains("an object cannot be read: ")),
                "{errors:?}"
            );
        }
        // Deeper than serde_json reads, and as deep as reviews do.
        let errors = errors(TEMPLATES_GROUP, "ConstraintTemplate", &nested(200)).await;
        assert!(matches!(&*errors, [error] if error.starts_with("ConstraintTemplate a: ")), "{errors:?}");
    }
}
