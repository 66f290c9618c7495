//! Laws that hold for every policy set, over generated templates, constraints, objects and reviews.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::api::{Constraint, ConstraintRef};
use crate::driver::Budget;
use crate::review::{Document, EnforcementPoint, Review, Verdict};
use crate::target::{AdmissionTarget, Target};

use super::generated::{block, object, review, word};
use crate::policyset::{Compiler, PolicySetBuilder};

/// Something that happens to the builder. What it puts, it puts under a name of its own.
#[derive(Clone, Debug)]
enum Event {
    Template(usize, &'static str),
    Constraint(Value),
    Object(Value),
}

/// Policies that say what they see; one of them does not compile, one fails when it runs.
const POLICIES: &[&str] = &[
    "violation[{\"msg\": msg}] { msg := input.review.object.metadata.name }",
    "violation[{\"msg\": msg}] { input.review.oldObject.metadata.labels[k]; msg := concat(\"\", [k, input.parameters.word]) }",
    "violation[{\"msg\": name}] {
        other := data.inventory.namespace[_][_][_][name]
        other.metadata.labels.k == input.review.object.metadata.labels.k
     }",
    "violation[{\"msg\": \"first\"}] { not data.inventory.namespace.a }",
    "violation[{\"msg\": x}] { x := f }\nf = \"1\" { true }\nf = \"2\" { input.review.object.metadata.name }",
    "violation[{\"msg\": input.parameters}] { true }",
    "violation[",
];

fn apply(policies: &mut PolicySetBuilder, event: &Event) {
    // What is refused is refused in any order; what waits for its template is put in force by it.
    let _refused_or_waiting = match event {
        Event::Template(number, rules) => policies.put_template(&template(*number, rules)),
        Event::Constraint(manifest) => policies.put_constraint(Constraint::from_value(manifest).unwrap()),
        Event::Object(object) => policies.put_object(&AdmissionTarget, Document::from_value(object).unwrap()),
    };
}

fn revert(policies: &mut PolicySetBuilder, event: &Event) {
    match event {
        Event::Template(number, _) => policies.remove_template(&format!("Kind{number}")),
        Event::Constraint(manifest) => {
            let text = |pointer: &str| manifest.pointer(pointer).unwrap().as_str().unwrap().to_owned();
            policies.remove_constraint(&ConstraintRef { kind: text("/kind"), name: text("/metadata/name") });
        }
        Event::Object(object) => {
            let object = Document::from_value(object).unwrap();
            let _was_never_put = policies.remove_object(&AdmissionTarget, &object);
        }
    }
}

fn template(number: usize, rules: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"word": {"type": "string"}}});
    json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
        "metadata": {"name": format!("kind{number}")},
        "spec": {
            "crd": {"spec": {"names": {"kind": format!("Kind{number}")}, "validation": {"openAPIV3Schema": schema}}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": format!("package p\n{rules}")}]
        }
    })
}

fn constraint(number: usize, kind: usize, match_block: &Value, action: &str) -> Value {
    json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": format!("Kind{kind}"),
        "metadata": {"name": format!("c{number}")},
        "spec": {"match": match_block, "enforcementAction": action, "parameters": {"word": "w"}}
    })
}

/// Events with names of their own, so that none replaces what another put.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let templates = prop::collection::vec(word(POLICIES), 1..4);
    let parts = (0_usize..4, block(), word(&["deny", "warn", "dryrun", "explode"]));
    let constraints = prop::collection::vec(parts, 1..6);
    let objects = prop::collection::vec(object(), 0..5);
    (templates, constraints, objects).prop_map(|(templates, constraints, mut objects)| {
        let templates =
            templates.into_iter().enumerate().map(|(number, rules)| Event::Template(number, rules));
        let constraints = constraints.into_iter().enumerate().map(|(number, (kind, block, action))| {
            Event::Constraint(constraint(number, kind, &block, action))
        });
        let place =
            |object: &Value| AdmissionTarget.inventory_path(&Document::from_value(object).unwrap()).ok();
        objects.sort_by_key(place);
        objects.dedup_by_key(|object| place(object));
        let objects = objects.into_iter().map(Event::Object);
        templates.chain(constraints).chain(objects).collect()
    })
}

fn after<'e>(events: impl IntoIterator<Item = &'e Event>) -> PolicySetBuilder {
    let mut policies = PolicySetBuilder::new(Compiler::default());
    events.into_iter().for_each(|event| apply(&mut policies, event));
    policies
}

fn verdict(policies: &PolicySetBuilder, review: &Review) -> Verdict {
    policies.build().review(review, EnforcementPoint::AUDIT, &Budget::default())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn the_order_of_events_does_not_matter(
        (events, shuffled) in events().prop_flat_map(|events| (Just(events.clone()), Just(events).prop_shuffle())),
        review in review(),
    ) {
        prop_assert_eq!(verdict(&after(&events), &review), verdict(&after(&shuffled), &review));
    }

    #[test]
    fn what_was_added_and_removed_was_never_there(
        events in events(), review in review(), index in any::<prop::sample::Index>(), at in any::<prop::sample::Index>()
    ) {
        let passing = index.index(events.len());
        let rest: Vec<_> =
            events.iter().enumerate().filter(|(position, _)| *position != passing).map(|(_, event)| event).collect();
        let mut policies = PolicySetBuilder::new(Compiler::default());
        let removed_after = at.index(events.len());
        let mut present = false;
        for (position, event) in events.iter().enumerate() {
            if position == passing {
                present = true;
            }
            apply(&mut policies, event);
            if present && position >= removed_after {
                revert(&mut policies, &events[passing]);
                present = false;
            }
        }
        if present {
            revert(&mut policies, &events[passing]);
        }
        prop_assert_eq!(verdict(&policies, &review), verdict(&after(rest), &review));
    }

    #[test]
    fn a_change_and_its_reversal_leave_earlier_snapshots_alone(events in events(), review in review()) {
        let mut policies = PolicySetBuilder::new(Compiler::default());
        let mut snapshots = Vec::new();
        for event in &events {
            apply(&mut policies, event);
            let snapshot = policies.build();
            let before = snapshot.review(&review, EnforcementPoint::AUDIT, &Budget::default());
            snapshots.push((snapshot, before));
        }
        events.iter().for_each(|event| revert(&mut policies, event));
        prop_assert_eq!(verdict(&policies, &review), Verdict::default());
        for (snapshot, before) in snapshots {
            prop_assert_eq!(snapshot.review(&review, EnforcementPoint::AUDIT, &Budget::default()), before);
        }
    }
}
