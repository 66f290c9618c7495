//! Reports in the API server: what is there, what is written, what is deleted.

use std::collections::BTreeMap;

use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, Preconditions};
use kube::core::ApiResource;
use kube::{Api, ResourceExt};

use super::{MANAGED_BY, PolicyReport, Reach, ReportFormat, Row, definition, digest};
use crate::api_error::reason;
use crate::audit::FIELD_MANAGER;
use crate::established::until_established;
use crate::own_watch::crd_resource;
use crate::written::written_by;

/// Reports per page of a list.
const PAGE: u32 = 100;

/// Namespace and name of a report.
pub(in crate::audit) type Key = (Box<str>, String);

/// A report in the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::audit) struct Stored {
    pub(in crate::audit) digest: u64,
    /// Its resourceVersion: what is written later is written over this version and no other.
    version: String,
}

impl Stored {
    /// Its version, to compare with others.
    pub(in crate::audit) fn version(&self) -> u128 {
        number(&self.version)
    }
}

/// A resource version as the number that it is documented to be since Kubernetes 1.35; the highest if it is none.
pub(in crate::audit) fn number(version: &str) -> u128 {
    version.parse().unwrap_or(u128::MAX)
}

/// The reason why a report was not written.
#[derive(Debug)]
pub(in crate::audit) enum PutError {
    /// Another client has written it, such as the pod that audits now: it has to be read again.
    Conflict,
    /// The cause of the failure.
    Failed(String),
}

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

    /// Installs the CRDs that are missing, and returns the reports that are there.
    ///
    /// # Errors
    /// The cause of the failure.
    pub(in crate::audit) async fn open(self) -> Result<BTreeMap<Key, Stored>, String> {
        let mut found = BTreeMap::new();
        for reach in Reach::BOTH {
            self.install(reach).await?;
            self.list(reach, &mut found).await?;
        }
        Ok(found)
    }

    /// A CRD that is there belongs to the client that installed it.
    async fn install(&self, reach: Reach) -> Result<(), String> {
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &crd_resource());
        let name = format!("{}.{}", self.format.plural(reach), self.format.group());
        let failed = |why: String| format!("the CRD {name} cannot be installed: {why}");
        if api.get_opt(&name).await.map_err(|error| failed(reason(&error)))?.is_some() {
            return Ok(());
        }
        let manifest: DynamicObject = serde_json::from_value(definition(self.format, reach))
            .map_err(|error| failed(error.to_string()))?;
        let crd = api
            .create(&written_by(FIELD_MANAGER), &manifest)
            .await
            .map_err(|error| failed(reason(&error)))?;
        tracing::info!(crd = name, "installed, for the reports of the audit");
        match until_established(&self.client, &crd).await {
            true => Ok(()),
            false => Err(failed("it is not served: look at its conditions".to_owned())),
        }
    }

    async fn list(&self, reach: Reach, found: &mut BTreeMap<Key, Stored>) -> Result<(), String> {
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

    /// Stores the report over the version that is known; without a report, deletes that version.
    ///
    /// # Errors
    /// The stored version is not `known`, or the request failed.
    pub(in crate::audit) async fn put(
        &self,
        key: &Key,
        report: Option<&PolicyReport>,
        known: Option<&Stored>,
    ) -> Result<Option<Stored>, PutError> {
        let written = match (report, known) {
            (Some(report), known) => self.write(key, report, known).await.map(Some),
            (None, Some(known)) => self.delete(key, known).await.map(|()| None),
            (None, None) => Ok(None),
        };
        written.map_err(|error| match &error {
            kube::Error::Api(status) if status.is_conflict() || status.is_already_exists() => {
                PutError::Conflict
            }
            kube::Error::Api(status) if status.is_not_found() && known.is_some() => PutError::Conflict,
            error => PutError::Failed(reason(error)),
        })
    }

    async fn write(
        &self,
        (namespace, name): &Key,
        report: &PolicyReport,
        known: Option<&Stored>,
    ) -> kube::Result<Stored> {
        let api = self.api(namespace);
        let document = report.document(self.format, namespace, known.map(|known| known.version.as_str()));
        let object = match known {
            Some(_) => {
                let parameters = PatchParams::apply(FIELD_MANAGER).force();
                api.patch(name, &parameters, &Patch::Apply(&document)).await?
            }
            None => {
                let object = serde_json::from_value(document).map_err(kube::Error::SerdeError)?;
                api.create(&written_by(FIELD_MANAGER), &object).await?
            }
        };
        Ok(Stored { digest: report.digest(), version: object.resource_version().unwrap_or_default() })
    }

    async fn delete(&self, (namespace, name): &Key, known: &Stored) -> kube::Result<()> {
        let preconditions = Preconditions { resource_version: Some(known.version.clone()), uid: None };
        let parameters = DeleteParams::default().preconditions(preconditions);
        self.api(namespace).delete(name, &parameters).await.map(drop)
    }

    fn api(&self, namespace: &str) -> Api<DynamicObject> {
        let resource = self.resource(Reach::of(namespace));
        match namespace {
            "" => Api::all_with(self.client.clone(), &resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &resource),
        }
    }

    fn resource(&self, reach: Reach) -> ApiResource {
        ApiResource::from_gvk_with_plural(&self.format.gvk(reach), &self.format.plural(reach))
    }
}

/// One whose results are not as this operator writes them has a digest that no report has.
fn stored(object: &DynamicObject) -> (Key, Stored) {
    let results = object.data.get("results").cloned().unwrap_or_default();
    let rows: Vec<Row> = serde_json::from_value(results).unwrap_or_default();
    let version = object.resource_version().unwrap_or_default();
    let stored = Stored { digest: digest(&rows), version };
    ((object.namespace().unwrap_or_default().into(), object.name_any()), stored)
}
