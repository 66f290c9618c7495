//! The source of the audit's watches: hands the watch manager identities, and keeps the objects in [`ObjectBuffer`] until they
//! are judged.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use watch_manager::source::{
    Freshness, Listed, Page, Served, SourceError, SourceEvent, SourceEvents, WatchTarget,
};
use watch_manager::{GroupVersionKind, KubeSource, Source, StoreHandle, WatchManager};

use super::buffer::ObjectBuffer;

/// Lists and watches through another source.
#[derive(Clone)]
pub(super) struct IdentitySource {
    inner: Arc<dyn Source>,
    hold: ObjectBuffer,
    /// Tells what is known already: a list brings every object again, and no event follows for what has not changed.
    manager: Arc<OnceLock<WatchManager>>,
}

/// The fields that are read of an object's text.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Head<'a> {
    #[serde(borrow, default)]
    api_version: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) metadata: HeadMetadata<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HeadMetadata<'a> {
    #[serde(borrow)]
    pub(super) name: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) namespace: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) resource_version: Cow<'a, str>,
}

impl Head<'_> {
    /// The object's text with kind and version, which the API server leaves out of the items of lists.
    pub(super) fn complete(&self, gvk: &GroupVersionKind, text: &str) -> String {
        match text.trim_start().strip_prefix('{') {
            Some(rest) if self.api_version.is_none() && self.kind.is_none() => {
                format!("{{\"apiVersion\":{},\"kind\":{},{rest}", json!(gvk.api_version()), json!(gvk.kind))
            }
            _ => text.to_owned(),
        }
    }
}

impl IdentitySource {
    pub(super) fn new(client: kube::Client, hold: ObjectBuffer) -> Self {
        Self { inner: Arc::new(KubeSource::new(client)), hold, manager: Arc::default() }
    }

    /// Names the manager that watches through this source.
    pub(super) fn serves(&self, manager: &WatchManager) {
        // Named once, when both are made.
        let _ = self.manager.set(manager.clone());
    }

    /// The objects themselves, as they are in the API server.
    pub(super) fn objects(&self) -> Arc<dyn Source> {
        Arc::clone(&self.inner)
    }

    /// Holds an object, and gives its identity. What cannot be read is passed on: the watch manager counts it.
    fn keep(&self, gvk: &GroupVersionKind, raw: Box<RawValue>, store: Option<&StoreHandle>) -> Box<RawValue> {
        let Ok(head) = serde_json::from_str::<Head<'_>>(raw.get()) else { return raw };
        let metadata = &head.metadata;
        let namespace = Some(&*metadata.namespace).filter(|namespace| !namespace.is_empty());
        let known = store.and_then(|store| store.get(namespace, &metadata.name));
        if known.is_none_or(|known| known.resource_version() != metadata.resource_version) {
            let text = head.complete(gvk, raw.get());
            self.hold.put(gvk, &metadata.namespace, &metadata.name, &metadata.resource_version, text);
        }
        identity(metadata).unwrap_or(raw)
    }

    fn forget(&self, gvk: &GroupVersionKind, raw: Box<RawValue>) -> Box<RawValue> {
        let Ok(head) = serde_json::from_str::<Head<'_>>(raw.get()) else { return raw };
        self.hold.take(gvk, &head.metadata.namespace, &head.metadata.name);
        identity(&head.metadata).unwrap_or(raw)
    }
}

fn identity(metadata: &HeadMetadata<'_>) -> Option<Box<RawValue>> {
    let mut fields = json!({"name": metadata.name, "resourceVersion": metadata.resource_version});
    if let Some(fields) = fields.as_object_mut().filter(|_| !metadata.namespace.is_empty()) {
        fields.insert("namespace".to_owned(), json!(metadata.namespace));
    }
    serde_json::value::to_raw_value(&json!({ "metadata": fields })).ok()
}

fn gvk(target: &WatchTarget) -> GroupVersionKind {
    let resource = &target.resource;
    GroupVersionKind::gvk(&resource.group, &resource.version, &resource.kind)
}

impl Source for IdentitySource {
    fn resolve<'a>(
        &'a self,
        gvk: &'a GroupVersionKind,
        freshness: Freshness,
    ) -> BoxFuture<'a, Result<Served, SourceError>> {
        self.inner.resolve(gvk, freshness)
    }

    fn list<'a>(
        &'a self,
        target: &'a WatchTarget,
        page: &'a Page,
    ) -> BoxFuture<'a, Result<Listed, SourceError>> {
        async move {
            self.hold.room().await;
            let mut listed = self.inner.list(target, page).await?;
            let gvk = gvk(target);
            let store = self.manager.get().and_then(|manager| manager.store(&gvk));
            let items = std::mem::take(&mut listed.items).into_iter();
            listed.items = items.map(|item| self.keep(&gvk, item, store.as_ref())).collect();
            Ok(listed)
        }
        .boxed()
    }

    fn watch<'a>(
        &'a self,
        target: &'a WatchTarget,
        version: &'a str,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<SourceEvents, SourceError>> {
        async move {
            let events = self.inner.watch(target, version, timeout).await?;
            let (source, gvk) = (self.clone(), gvk(target));
            let kept = events.then(move |event| {
                let (source, gvk) = (source.clone(), gvk.clone());
                async move {
                    Ok(match event? {
                        SourceEvent::Applied(raw) => {
                            source.hold.room().await;
                            SourceEvent::Applied(source.keep(&gvk, raw, None))
                        }
                        SourceEvent::Deleted(raw) => SourceEvent::Deleted(source.forget(&gvk, raw)),
                        other => other,
                    })
                }
            });
            Ok(kept.boxed())
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_of_a_list_is_completed_and_leaves_its_identity_to_the_watch() {
        let pods = GroupVersionKind::gvk("", "v1", "Pod");
        let text = r#"{"metadata":{"name":"a","namespace":"n","resourceVersion":"7"},"spec":{}}"#;
        let head: Head<'_> = serde_json::from_str(text).unwrap();
        assert_eq!(
            head.complete(&pods, text),
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"n","resourceVersion":"7"},"spec":{}}"#
        );
        let identity = identity(&head.metadata).unwrap();
        assert_eq!(identity.get(), r#"{"metadata":{"name":"a","namespace":"n","resourceVersion":"7"}}"#);
        let own = r#"{"apiVersion":"x/v1","kind":"A","metadata":{"name":"a"}}"#;
        assert_eq!(serde_json::from_str::<Head<'_>>(own).unwrap().complete(&pods, own), own);
    }
}
