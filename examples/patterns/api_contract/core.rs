//! The core: finds the provider of each Machine by the contract, and watches its kind as soon as a Machine refers to it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use controller_declaration::{Declaration, DeclaredAccess};
use duck_types::contract::{Contract, ContractVerdict, Provider};
use examples::cluster::bounded;
use examples::{Cluster, Condition, drive};
use futures::stream;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt;
use kube::api::{Api, DynamicObject};
use kube::runtime::controller::Action;
use kube::runtime::reflector::{ObjectRef, Store};
use watch_manager::controller::reconcile_on;
use watch_manager::{
    CancellationToken, GroupVersionKind, Interest, Registrar, StoreHandle, WatchManager, WatchedObject,
};

use crate::claim;
use crate::contract::{self, Failure, Infrastructure};
use crate::machine::{CONDITION, FORMER, Machine, MachineStatus, Reference};
use crate::provider::{BIG, SMALL};

/// No definition has such a kind.
const NOT_FOUND: &str = "KindNotFound";
/// A kind that is listed for the first time has this long to answer.
const LISTED: Duration = Duration::from_secs(10);

const AGAIN: Duration = Duration::from_secs(1);

struct Core {
    cluster: Cluster,
    contract: Contract<Infrastructure>,
    definitions: StoreHandle,
    /// Watches the kinds that Machines refer to, and no other.
    infrastructure: Registrar,
    machines: Store<Machine>,
}

/// The state of a Machine's infrastructure: `Err` is a reason and a message for its user.
type Outcome = Result<Infrastructure, (String, String)>;

/// The rights on the kinds of providers come with these: a core in production has them aggregated by a label of the providers'
/// ClusterRoles, see `duck_types::contract`.
pub(crate) fn declaration(namespace: &str) -> Declaration {
    let machines = DeclaredAccess::to("contract.example.com", "machines").watches().writes(["/status"]);
    let definitions =
        DeclaredAccess::to("apiextensions.k8s.io", "customresourcedefinitions").everywhere().watches();
    let core = "Finds the provider of each Machine by the contract, and watches its kind as soon as a Machine refers to it.";
    let declaration = Declaration::new("core", core).access(machines).access(definitions);
    let kinds =
        [SMALL, BIG].map(|cloud| claim::declared(cloud.objects(namespace).watches().gets().deletes()));
    kinds.into_iter().fold(declaration, Declaration::access)
}

pub(crate) async fn run(cluster: Cluster) -> Result<()> {
    let (watches, driver) = WatchManager::builder(cluster.client.clone()).build();
    tokio::select! {
        () = driver.run(CancellationToken::new()) => Err(anyhow!("the watches have ended")),
        ended = control(cluster, watches) => ended,
    }
}

async fn control(cluster: Cluster, watches: WatchManager) -> Result<()> {
    let definitions = watches.registrar("definitions")?;
    let crds = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let known = definitions.add(crds);
    known.ready().await?;
    let infrastructure = watches.registrar("infrastructure")?;
    let controller = examples::controller::<Machine>(&cluster, ());
    let machines = controller.store();
    // A definition or an object of a provider has changed: look again at the Machines that it is about.
    let (ofkind, ofobject) = (machines.clone(), machines.clone());
    let by_definition =
        reconcile_on(definitions.events(), move |crd| referring(&ofkind, |at| defines(crd, at)));
    let by_object = reconcile_on(infrastructure.events(), move |object| {
        let gvk = object.gvk();
        referring(&ofobject, |at| {
            at.api_group == gvk.group && at.kind == gvk.kind && at.name == object.name()
        })
    });
    let contract = contract::contract();
    let core = Core { cluster, contract, definitions: known.store(), infrastructure, machines };
    drive(controller.reconcile_on(stream::select(by_definition, by_object)), core, reconcile).await
}

fn referring(machines: &Store<Machine>, wanted: impl Fn(&Reference) -> bool) -> Vec<ObjectRef<Machine>> {
    let machines = machines.state().into_iter();
    let found = machines.filter(|machine| {
        let used = machine.status.as_ref().and_then(|status| status.infrastructure.as_ref());
        wanted(&machine.spec.infrastructure_ref) || used.is_some_and(&wanted)
    });
    found.map(|machine| ObjectRef::from_obj(machine.as_ref())).collect()
}

/// True if this is the definition of the kind that is referred to. Kinds have no other name that a user knows.
fn defines(crd: &WatchedObject, reference: &Reference) -> bool {
    let is_of = |crd: CustomResourceDefinition| {
        crd.spec.group == reference.api_group && crd.spec.names.kind == reference.kind
    };
    crd.parse().is_ok_and(is_of)
}

async fn reconcile(machine: Arc<Machine>, core: Arc<Core>) -> Result<Action> {
    core.watch_what_is_referred_to();
    // Something has changed the object: the watch brings it, or the time to look again.
    let Some(outcome) = core.infrastructure_of(&machine).await? else { return Ok(Action::requeue(AGAIN)) };
    let before = machine.status.clone().unwrap_or_default();
    let mut after = status(&machine, &before, outcome);
    let (api, machine, reference) = (core.cluster.api(), machine.as_ref(), &machine.spec.infrastructure_ref);
    let is_ready = after.conditions.iter().any(|condition| condition.status == "True");
    let former = after.infrastructure.clone().filter(|used| is_ready && used != reference);
    let former = former.map(|former| (core.deletable(&former), former));
    if let Some((Err((reason, message)), former)) = &former {
        let message = format!("{} {} is left behind: {message}", former.kind, former.name);
        let kept = (reason.as_str(), message.as_str());
        let generation = machine.metadata.generation;
        after.conditions.push(Condition::new(&before.conditions, FORMER, false, kept, generation));
    }
    // A core that does not see another's last write yet states nothing: the watch brings the Machine as it is now.
    if after != before {
        let line = after.conditions.iter().map(|now| format!("{}: {}", now.reason, now.message));
        let line = line.collect::<Vec<_>>().join("; ");
        if core.cluster.decide_status(&api, machine, &after).await? {
            core.cluster.say(format!("Machine {}: {line}", machine.name_any()));
        }
        return Ok(Action::await_change());
    }
    // The former object is forgotten only once it is deleted, so a core that is killed in between comes back to it.
    if let Some((Ok(provider), former)) = &former {
        if !core.delete(provider.as_ref(), former, machine).await? {
            return Ok(Action::requeue(AGAIN));
        }
        let moved = MachineStatus { infrastructure: Some(reference.clone()), ..after.clone() };
        core.cluster.decide_status(&api, machine, &moved).await?;
    }
    Ok(Action::await_change())
}

/// The status that an outcome means. What is in use stays in use until its successor is provisioned.
fn status(machine: &Machine, before: &MachineStatus, outcome: Outcome) -> MachineStatus {
    let mut after = before.clone();
    let generation = machine.metadata.generation;
    let condition = match outcome {
        Ok(infrastructure) => {
            let id = infrastructure.provider_id.unwrap_or_default();
            after.infrastructure.get_or_insert_with(|| machine.spec.infrastructure_ref.clone());
            after.provider_id = Some(id.clone());
            Condition::new(&before.conditions, CONDITION, true, ("Provisioned", &id), generation)
        }
        Err((reason, message)) => {
            Condition::new(&before.conditions, CONDITION, false, (&reason, &message), generation)
        }
    };
    after.conditions = vec![condition];
    after
}

// === impl Core ===

impl Core {
    fn watch_what_is_referred_to(&self) {
        let machines = self.machines.state();
        let providers = machines.iter().filter_map(|it| self.provider(&it.spec.infrastructure_ref).ok());
        self.infrastructure.replace(providers.map(|provider| self.interest(&provider)));
    }

    fn interest(&self, provider: &Provider) -> Interest {
        let kind = &provider.resource;
        let gvk = GroupVersionKind::gvk(&kind.group, &kind.version, &kind.kind);
        Interest::new(gvk).namespaces([self.cluster.namespace.as_str()])
    }

    /// The provider that a reference is about, or the reason why there is none.
    fn provider(&self, reference: &Reference) -> Result<Provider, (String, String)> {
        let refused = |reason: &str, message: String| Err((reason.to_owned(), message));
        let Some(crd) = self.definitions.find(|crd| defines(crd, reference)) else {
            let Reference { kind, api_group, .. } = reference;
            return refused(NOT_FOUND, format!("install the provider that defines {kind} in {api_group}"));
        };
        let crd = crd.to_value().unwrap_or_default();
        if let ContractVerdict::Violations(broken) = self.contract.spec().check_crd(&crd).verdict() {
            let broken: Vec<_> = broken.iter().map(ToString::to_string).collect();
            return refused("ContractBroken", broken.join("; "));
        }
        self.contract.spec().discover(&crd).or_else(|error| refused("ContractNotKept", error.to_string()))
    }

    /// `None` if another client has written to the object while it was claimed.
    async fn infrastructure_of(&self, machine: &Machine) -> Result<Option<Outcome>> {
        let reference = &machine.spec.infrastructure_ref;
        let provider = match self.provider(reference) {
            Ok(provider) => provider,
            Err(refused) => return Ok(Some(Err(refused))),
        };
        let watch = self.infrastructure.add(self.interest(&provider));
        watch.ready_within(LISTED).await?;
        let wait = |reason: &str, message: String| Ok(Some(Err((reason.to_owned(), message))));
        let (kind, name) = (&reference.kind, &reference.name);
        let Some(object) = watch.store().get(Some(&self.cluster.namespace), name) else {
            return wait("ObjectNotFound", format!("create {kind} {name}"));
        };
        let object = object.to_dynamic()?;
        if object.metadata.deletion_timestamp.is_some() {
            return wait("ObjectDeleted", format!("{kind} {name} is being deleted: create it anew then"));
        }
        match contract::view(&self.contract, &provider, &object) {
            Ok(Infrastructure { failure: Some(Failure { reason, message }), .. }) => {
                wait(&reason, format!("contract {}: {message}", provider.contract_version))
            }
            Ok(found) if found.provisioned => match self.user_besides(machine, &object) {
                Some(other) => wait("InUse", format!("{kind} {name} is used by Machine {other}")),
                None => Ok(self.claim(machine, &provider, &object).await?.then_some(Ok(found))),
            },
            Ok(_) => wait("Provisioning", format!("{kind} {name} is not provisioned yet")),
            Err(error) => wait("Unreadable", error.to_string()),
        }
    }

    /// The name of another Machine that has claimed the object and still refers to it, or has yet to leave it.
    fn user_besides(&self, machine: &Machine, object: &DynamicObject) -> Option<String> {
        let (uid, _) = claim::holder(object).filter(|(uid, _)| machine.uid().as_deref() != Some(*uid))?;
        let wanted = &machine.spec.infrastructure_ref;
        let users = referring(&self.machines, |reference| reference == wanted);
        let users = users.iter().filter_map(|user| self.machines.get(user));
        users.filter(|user| user.uid().as_deref() == Some(uid)).map(|user| user.name_any()).next()
    }

    /// False if the object has changed since it was read.
    async fn claim(&self, machine: &Machine, provider: &Provider, object: &DynamicObject) -> Result<bool> {
        match claim::fields(machine, object) {
            Some(fields) => self.cluster.decide(&self.objects(provider), object, fields).await,
            None => Ok(true),
        }
    }

    fn objects(&self, provider: &Provider) -> Api<DynamicObject> {
        let (client, namespace) = (self.cluster.client.clone(), &self.cluster.namespace);
        Api::namespaced_with(client, namespace, &provider.resource)
    }

    /// The provider of an object that is to be deleted, `None` when its objects went with its definition, or the reason why it
    /// has to stay.
    fn deletable(&self, former: &Reference) -> Result<Option<Provider>, (String, String)> {
        match self.provider(former) {
            Err((reason, _)) if reason == NOT_FOUND => Ok(None),
            found => found.map(Some),
        }
    }

    /// False if it has changed meanwhile: a core that was frozen must delete neither what was made anew under the name nor what the
    /// Machine has come back to. What another Machine has claimed is left to it.
    async fn delete(
        &self,
        provider: Option<&Provider>,
        former: &Reference,
        machine: &Machine,
    ) -> Result<bool> {
        let Some(provider) = provider else { return Ok(true) };
        let api = self.objects(provider);
        let Some(object) = bounded(api.get_opt(&former.name)).await? else { return Ok(true) };
        if let Some((uid, generation)) = claim::holder(&object) {
            if machine.uid().as_deref() != Some(uid) {
                return Ok(true);
            }
            if Some(generation) > machine.metadata.generation {
                return Ok(false);
            }
        }
        self.cluster.say(format!("deletes {} {}", former.kind, former.name));
        self.cluster.delete(&api, &object).await
    }
}
