//! One attempt to bring a constraint CRD into the form that its template asks for.

use std::sync::Arc;

use kube::Api;
use kube::api::DynamicObject;
use kube::core::{ApiResource, PartialObjectMeta};

use crate::api_error::{is_permanent, reason};
use crate::controller::FIELD_MANAGER;
use crate::controller::kinds::TEMPLATE;
use crate::own_watch::crd_resource;
use crate::written::written_by;

use super::decision::{Decision, Template, decide};
use super::{Desired, Observed};

/// A write that loses to another pod's is decided anew this often before it counts as failed.
const CONFLICTS: usize = 4;

/// The outcome of an attempt.
#[derive(Debug)]
pub(in crate::controller) enum Placed {
    /// The CRD is as asked for; `true` when this attempt wrote it.
    Done(Box<Observed>, bool),
    /// Another version of the template is in charge.
    Superseded,
    /// Nothing can be done until a user acts.
    Refused(String),
    /// The API server refuses it by a missing right or an admission webhook.
    Forbidden(String),
    /// It may work later.
    Failed(String),
}

/// Reads the CRD and its template, decides, and writes at most once for each read.
///
/// Cancel-safe: a write that is under way when the future is dropped is conditional on the state it was decided from.
pub(in crate::controller) async fn place(
    client: kube::Client,
    desired: Arc<Desired>,
    accepted: Option<(String, String)>,
) -> Placed {
    let attempt = Attempt {
        crds: Api::all_with(client.clone(), &crd_resource()),
        templates: Api::all_with(
            client,
            &ApiResource::from_gvk_with_plural(&TEMPLATE, "constrainttemplates"),
        ),
        desired: &desired,
        accepted,
    };
    for _ in 0..CONFLICTS {
        match attempt.run().await {
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {}
            Err(error) if is_permanent(&error) => {
                return Placed::Refused(format!("the CRD {} was refused: {}", desired.name, reason(&error)));
            }
            Err(error) => {
                let text = format!("the CRD {} could not be written: {}", desired.name, reason(&error));
                let is_forbidden = matches!(&error, kube::Error::Api(status) if status.code == 403);
                return if is_forbidden { Placed::Forbidden(text) } else { Placed::Failed(text) };
            }
            Ok(placed) => return placed,
        }
    }
    Placed::Failed(format!("the CRD {} is being changed by other clients all the time", desired.name))
}

struct Attempt<'a> {
    crds: Api<DynamicObject>,
    templates: Api<DynamicObject>,
    desired: &'a Desired,
    accepted: Option<(String, String)>,
}

impl Attempt<'_> {
    async fn run(&self) -> kube::Result<Placed> {
        let name = &self.desired.name;
        let existing = self.crds.get_opt(name).await?;
        let template = self.templates.get_metadata_opt(&self.desired.template.reference.name).await?;
        let seen = existing.as_ref().map(Observed::of);
        let live = seen.as_ref().map(|seen| self.desired.live(seen, self.accepted.as_ref()));
        match (decide(&self.desired.kind, self.state(template.as_ref()), live.as_ref()), existing, seen) {
            (Decision::Keep, _, Some(seen)) => Ok(Placed::Done(Box::new(seen), false)),
            (Decision::Create, ..) => self.create().await,
            (Decision::Replace, Some(existing), _) => self.replace(existing).await,
            (Decision::Refuse(reason), ..) => Ok(Placed::Refused(format!("the CRD {name} exists: {reason}"))),
            (Decision::AwaitDeletion, ..) => Ok(Placed::Failed(format!(
                "the CRD {name} belongs to a deleted template or is being deleted; it is created again when it is gone"
            ))),
            _ => Ok(Placed::Superseded),
        }
    }

    fn state(&self, template: Option<&PartialObjectMeta<DynamicObject>>) -> Template {
        let is_current = template.is_some_and(|template| {
            let metadata = &template.metadata;
            metadata.uid.as_ref() == Some(&self.desired.template.uid)
                && metadata.generation == Some(self.desired.generation)
                && metadata.deletion_timestamp.is_none()
        });
        if is_current { Template::Current } else { Template::Superseded }
    }

    async fn create(&self) -> kube::Result<Placed> {
        let object = match self.desired.object() {
            Ok(object) => object,
            Err(error) => return Ok(Placed::Failed(error.to_string())),
        };
        let created = self.crds.create(&written_by(FIELD_MANAGER), &object).await?;
        Ok(Placed::Done(Box::new(Observed::of(&created)), true))
    }

    /// The resource version that was read goes with the object, so that the write fails where it has changed.
    async fn replace(&self, existing: DynamicObject) -> kube::Result<Placed> {
        let version = existing.metadata.resource_version.clone();
        let object = match self.desired.over(existing) {
            Ok(object) => object,
            Err(error) => return Ok(Placed::Failed(error.to_string())),
        };
        let replaced = self.crds.replace(&self.desired.name, &written_by(FIELD_MANAGER), &object).await?;
        let wrote = replaced.metadata.resource_version != version;
        Ok(Placed::Done(Box::new(Observed::of(&replaced)), wrote))
    }
}
