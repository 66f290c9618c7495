//! Reports in the API server: what is there, what is written, what is deleted.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, ResourceExt};

use super::{MANAGED_BY, PolicyReport, Reach, ReportFormat, Row, definition, digest};
use crate::api_error::reason;
use crate::audit::FIELD_MANAGER;

/// An API server serves a CRD within a second; one that takes this long is not going to.
const ESTABLISH: Duration = Duration::from_secs(30);
/// Reports per page of a list.
const PAGE: u32 = 100;

/// Namespace and name of a report.
pub(in crate::audit) type Key = (Box<str>, String);

/// The reports of this operator. Requests have the deadline of the client.
#[derive(Clone)]
pub(in crate::audit) struct ReportStore {
    client: kube::Client,
    format: ReportFormat,
}

impl ReportStore {
    pub(in crate::audit) fn new(client: kube::Client, format: ReportFormat) -> Self {
        Self { client, format }
    }

    /// Installs the CRDs that are missing, and returns the digests of the reports that are there.
    ///
    /// # Errors
    /// What failed, in words.
    pub(in crate::audit) async fn open(self) -> Result<BTreeMap<Key, u64>, String> {
        let mut found = BTreeMap::new();
        for reach in Reach::BOTH {
            self.install(reach).await?;
            self.list(reach, &mut found).await?;
        }
        Ok(found)
    }

    /// A CRD that is there belongs to whoever installed it.
    async fn install(&self, reach: Reach) -> Result<(), String> {
        let api: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let name = format!("{}.{}", self.format.plural(reach), self.format.group());
        let failed = |why: String| format!("the CRD {name} cannot be installed: {why}");
        if api.get_opt(&name).await.map_err(|error| failed(reason(&error)))?.is_some() {
            return Ok(());
        }
        let manifest: CustomResourceDefinition = serde_json::from_value(definition(self.format, reach))
            .map_err(|error| failed(error.to_string()))?;
        let parameters =
            PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        api.create(&parameters, &manifest).await.map_err(|error| failed(reason(&error)))?;
        tracing::info!(crd = name, "installed, for the reports of the audit");
        let established = await_condition(api, &name, conditions::is_crd_established());
        match tokio::time::timeout(ESTABLISH, established).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Err(_) => Err(failed("it is not served: look at its conditions".to_owned())),
        }
    }

    async fn list(&self, reach: Reach, found: &mut BTreeMap<Key, u64>) -> Result<(), String> {
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &self.resource(reach));
        let (label, value) = MANAGED_BY;
        let mut parameters = ListParams::default().labels(&format!("{label}={value}")).limit(PAGE);
        loop {
            let failed = |error| format!("{} cannot be listed: {}", self.format.kind(reach), reason(&error));
            let page = api.list(&parameters).await.map_err(failed)?;
            found.extend(page.items.iter().map(stored));
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => parameters = parameters.continue_token(&token),
                None => return Ok(()),
            }
        }
    }

    /// Stores the report; without one, deletes what has this name.
    ///
    /// # Errors
    /// What failed, in words.
    pub(in crate::audit) async fn put(&self, key: &Key, report: Option<&PolicyReport>) -> Result<(), String> {
        let (namespace, name) = key;
        let resource = self.resource(Reach::of(namespace));
        let api: Api<DynamicObject> = match &**namespace {
            "" => Api::all_with(self.client.clone(), &resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &resource),
        };
        let written = match report {
            Some(report) => {
                let document = report.document(self.format, namespace);
                let parameters = PatchParams::apply(FIELD_MANAGER).force();
                api.patch(name, &parameters, &Patch::Apply(&document)).await.map(drop)
            }
            None => api.delete(name, &DeleteParams::default()).await.map(drop),
        };
        match written {
            Err(kube::Error::Api(status)) if report.is_none() && status.is_not_found() => Ok(()),
            written => written.map_err(|error| reason(&error)),
        }
    }

    fn resource(&self, reach: Reach) -> ApiResource {
        ApiResource::from_gvk_with_plural(&self.format.gvk(reach), &self.format.plural(reach))
    }
}

/// One whose results are not as this operator writes them has a digest that no report has.
fn stored(object: &DynamicObject) -> (Key, u64) {
    let results = object.data.get("results").cloned().unwrap_or_default();
    let rows: Vec<Row> = serde_json::from_value(results).unwrap_or_default();
    ((object.namespace().unwrap_or_default().into(), object.name_any()), digest(&rows))
}
