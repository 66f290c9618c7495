//! A `kube::runtime::Controller` that is driven by a registrar.

use std::convert::Infallible;
use std::sync::Arc;

use futures::{Stream, StreamExt};
use kube::core::ApiResource;
use kube::runtime::controller::{Action, Controller};
use kube::runtime::reflector::ObjectRef;
use watch_manager::Verb;
use watch_manager::controller::{SharedObject, reconcile_on, shared_stream};

use crate::bench::{Bench, gvk, object};

fn resource() -> ApiResource {
    ApiResource::from_gvk_with_plural(&gvk("A"), "things")
}

async fn reconcile(_: Arc<SharedObject>, _: Arc<()>) -> Result<Action, Infallible> {
    Ok(Action::await_change())
}

fn never(_: Arc<SharedObject>, error: &Infallible, _: Arc<()>) -> Action {
    match *error {}
}

/// The names of the objects that the controller reconciles.
fn run(controller: Controller<SharedObject>) -> impl Stream<Item = String> {
    let outcomes = controller.run(reconcile, never, Arc::new(()));
    outcomes.filter_map(async |outcome| Some(outcome.ok()?.0.name))
}

#[tokio::test(start_paused = true)]
async fn a_controller_reconciles_what_a_registrar_receives_without_a_watch_of_its_own() {
    let bench = Bench::new();
    bench.api.serve(&gvk("A"), "things");
    for name in ["x", "y"] {
        bench.api.apply(&gvk("A"), object(name)).unwrap();
    }
    let registrar = bench.registrar("controller");
    let _ = registrar.add(gvk("A"));
    let (triggers, store) = shared_stream(registrar.events(), resource());
    let mut names =
        std::pin::pin!(run(Controller::for_shared_stream_with(triggers, store.clone(), resource())));
    let mut seen = vec![names.next().await.unwrap(), names.next().await.unwrap()];
    seen.sort();
    assert_eq!(seen, ["x", "y"]);

    bench.api.delete(&gvk("A"), Some("default"), "x");
    bench.api.apply(&gvk("A"), object("z")).unwrap();
    assert_eq!(names.next().await.unwrap(), "z");
    let reference = ObjectRef::<SharedObject>::new_with("x", resource()).within("default");
    assert!(store.get(&reference).is_none(), "a deleted object is in the controller's store");
    let (kept, stored) = (store.state(), bench.store("A").state());
    assert!(kept.iter().all(|kept| stored.iter().any(|object| Arc::ptr_eq(object, kept.object()))), "copied");
    assert_eq!((bench.api.calls(&gvk("A"), Verb::List), bench.api.calls(&gvk("A"), Verb::Watch)), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn changes_of_another_kind_trigger_the_objects_that_they_are_mapped_to() {
    let bench = Bench::new();
    for kind in ["A", "B"] {
        bench.api.serve(&gvk(kind), "things");
    }
    bench.api.apply(&gvk("A"), object("x")).unwrap();
    let (registrar, others) = (bench.registrar("controller"), bench.registrar("others"));
    let _ = registrar.add(gvk("A"));
    let (triggers, store) = shared_stream(registrar.events(), resource());
    let mapped = reconcile_on(others.events(), |event: &watch_manager::WatchedObject| {
        vec![ObjectRef::<SharedObject>::new_with(event.name(), resource()).within("default")]
    });
    let controller = Controller::for_shared_stream_with(triggers, store, resource()).reconcile_on(mapped);
    let mut names = std::pin::pin!(run(controller));
    assert_eq!(names.next().await.unwrap(), "x");
    // The kind is added while the controller runs.
    let _ = others.add(gvk("B"));
    bench.api.apply(&gvk("B"), object("x")).unwrap();
    assert_eq!(names.next().await.unwrap(), "x");
}
