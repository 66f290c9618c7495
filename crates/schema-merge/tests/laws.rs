//! The laws that merging, pruning, defaulting, structuralizing and comparing obey, on generated schemas.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::arithmetic_side_effects,
    reason = "a test says no by panicking, and its numbers are small"
)]

mod generate;

use generate::Random;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use proptest::prelude::*;
use schema_merge::{
    Diagnostic, Direction, Errors, Fragment, Impact, MergeError, Merged, Merger, MountPath,
    RequiredPropagation, Severity, Sharing, StructuralOptions, Style, check_structural, compare, defaulted,
    pruned, structuralize, validate_object,
};
use serde_json::{Value, json};

/// Mounts that often meet: few places, and schemas that are often the same.
fn fragments(r: &mut Random) -> Vec<Fragment> {
    let shared = generate::object(r, 2);
    (0..2 + r.below(3))
        .map(|number| {
            let origin = *r.pick(&["alice", "bob", "carol"]);
            let at = r.pick(&["/spec", "/spec/a", "/spec/a/b", "/spec/own", "/spec/other", ""]);
            let schema = match r.below(4) {
                0 => shared.clone(),
                1 => json!({"type": "object", "properties": {format!("p{number}"): {"type": "string"}}}),
                2 => json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": r.below(3), "maximum": 2 + r.below(3)}}}),
                _ => generate::object(r, 1),
            };
            let sharing = *r.pick(&[Sharing::Exclusive, Sharing::SharedStrict, Sharing::SharedIntersect, Sharing::SharedIntersect]);
            let required = *r.pick(&[RequiredPropagation::No, RequiredPropagation::Leaf, RequiredPropagation::Chain]);
            Fragment::new(origin, at.parse().unwrap(), schema).sharing(sharing).required(required).precedence(r.below(2) as i32)
        })
        .collect()
}

fn build(fragments: impl IntoIterator<Item = Fragment>) -> Result<Merged, Errors<MergeError>> {
    fragments.into_iter().fold(Merger::new(), Merger::mount).build()
}

/// The schema byte for byte, or the errors in their order.
fn outcome(result: &Result<Merged, Errors<MergeError>>) -> Result<String, Vec<String>> {
    match result {
        Ok(merged) => Ok(merged.schema().to_string()),
        Err(errors) => Err(errors.iter().map(ToString::to_string).collect()),
    }
}

fn shared(r: &mut Random, origin: &str) -> Fragment {
    let schema = match r.below(3) {
        0 => generate::object(r, 1),
        1 => {
            json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": r.below(3), "maximum": 2 + r.below(3)}}})
        }
        _ => {
            json!({"type": "object", "properties": {"s": {"type": "string", "pattern": *r.pick(&["^a", "b$"])}}, "required": ["s"]})
        }
    };
    Fragment::new(origin, MountPath::of(["spec"]), schema).sharing(Sharing::SharedIntersect)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_mounts_makes_no_difference(seed: u64, rotation in 0..5_usize) {
        let mut list = fragments(&mut Random::new(seed));
        let first = build(list.clone());
        let by = rotation % list.len();
        list.rotate_left(by);
        prop_assert_eq!(outcome(&first), outcome(&build(list.clone())));
        list.reverse();
        prop_assert_eq!(outcome(&first), outcome(&build(list)));
    }

    #[test]
    fn mounting_something_twice_is_mounting_it_once(seed: u64) {
        let list = fragments(&mut Random::new(seed));
        let twice = list.iter().chain(&list).cloned();
        prop_assert_eq!(outcome(&build(list.clone())), outcome(&build(twice)));
    }

    #[test]
    fn building_in_steps_is_building_at_once(seed: u64, cut in 0..4_usize) {
        let list = fragments(&mut Random::new(seed));
        let (left, right) = list.split_at(cut.min(list.len()));
        if let Ok(part) = build(left.to_vec()) {
            let rest = right.iter().cloned().fold(Merger::new().remount(&part), Merger::mount);
            let steps = rest.build();
            let at_once = build(list.clone());
            prop_assert_eq!(outcome(&steps), outcome(&at_once));
            prop_assert_eq!(steps.ok(), at_once.ok(), "with the same record of who contributed what");
        }
    }

    #[test]
    fn intersections_are_associative_without_any_record(seed: u64) {
        let r = &mut Random::new(seed);
        let [a, b, c] = ["a", "b", "c"].map(|origin| shared(r, origin));
        let at_once = build([a.clone(), b.clone(), c.clone()]);
        if let (Ok(part), Ok(all)) = (build([a, b]), at_once) {
            let spec = part.schema()["properties"]["spec"].clone();
            let plain = Fragment::new("ab", MountPath::of(["spec"]), spec).sharing(Sharing::SharedIntersect);
            let steps = build([plain, c]).unwrap();
            prop_assert_eq!(without_descriptions(steps.schema()), without_descriptions(all.schema()));
        }
    }

    #[test]
    fn a_frame_makes_of_a_fragment_what_its_merger_makes_of_it(seed: u64) {
        let r = &mut Random::new(seed);
        let at: MountPath = r.pick(&["/spec/own", "/spec/a/own", "/spec", "/spec/a"]).parse().unwrap();
        let merger = fragments(r).into_iter().skip(r.below(3)).fold(Merger::new().strip_descriptions(r.chance(30)), Merger::mount);
        let merger = merger.status_subresource(r.chance(50)).seal("/spec/own".parse().unwrap(), ["a", "b"]);
        let frame = merger.clone().frame(at.clone());
        for round in 0..4 {
            let schema = match round {
                0 => generate::mistaken(r),
                1 => generate::heap(r, 2),
                _ => generate::structural(r, 2),
            };
            let policy = Fragment::new(*r.pick(&["alice", "dave"]), at.clone(), schema);
            let fragment = if r.chance(80) { policy.any_type() } else { policy };
            let fragment = if r.chance(10) { fragment.required(RequiredPropagation::Leaf) } else { fragment };
            let fragment = Some(fragment).filter(|_| r.chance(90));
            let whole = fragment.clone().into_iter().fold(merger.clone(), Merger::mount).build();
            prop_assert_eq!(frame.check(fragment.as_ref()).is_ok(), whole.is_ok());
            let built = frame.build(fragment.as_ref());
            prop_assert_eq!(&built, &whole.map(Merged::into_schema));
            match built {
                Ok(schema) => {
                    let object = generate::sample(r, &schema);
                    prop_assert_eq!(frame.validate_object(fragment.as_ref(), &object), validate_object(&schema, &object));
                }
                Err(_) => {
                    let verdict = frame.validate_object(fragment.as_ref(), &json!({}));
                    prop_assert!(!verdict.is_valid());
                }
            }
        }
    }

    #[test]
    fn an_empty_fragment_adds_nothing(seed: u64) {
        let r = &mut Random::new(seed);
        let one = shared(r, "a");
        let empty = Fragment::new("z", MountPath::of(["spec"]), json!({})).sharing(Sharing::SharedIntersect);
        prop_assert_eq!(outcome(&build([one.clone()])), outcome(&build([one, empty])));
    }

    #[test]
    fn an_exclusive_mount_is_found_where_it_was_mounted_as_it_was(seed: u64) {
        if let Ok(merged) = build(fragments(&mut Random::new(seed))) {
            for fragment in merged.fragments().iter().filter(|fragment| fragment.policy.sharing == Sharing::Exclusive) {
                let pointer = fragment.at.schema_path().pointer();
                let found = merged.schema().pointer(&pointer).unwrap();
                if fragment.at.names().is_empty() { continue; }
                prop_assert_eq!(found, &fragment.schema);
                prop_assert_eq!(merged.blame(&format!("{pointer}/type")), vec![fragment.origin.as_str()]);
            }
        }
    }

    #[test]
    fn what_is_valid_under_the_whole_is_valid_under_each_exclusive_part(seed: u64) {
        let r = &mut Random::new(seed);
        if let Ok(merged) = build(fragments(r)) {
            let object = generate::sample(r, merged.schema());
            if !validate_object(merged.schema(), &object).is_valid() { return Ok(()); }
            for fragment in merged.fragments().iter().filter(|fragment| fragment.policy.sharing == Sharing::Exclusive) {
                let part = object.pointer(&fragment.at.to_string());
                if let Some(part) = part.filter(|part| !part.is_null()) {
                    let wrapped = json!({"type": "object", "properties": {"it": fragment.schema}});
                    prop_assert!(validate_object(&wrapped, &json!({"it": part})).is_valid(), "{part} under {}", fragment.schema);
                }
            }
        }
    }

    #[test]
    fn diagnostics_do_not_depend_on_the_order_of_keys(seed: u64) {
        let schema = generate::mistaken(&mut Random::new(seed));
        let shuffled: Value = serde_json::from_str(&reversed(&schema)).unwrap();
        prop_assert_eq!(check_structural(&schema, &StructuralOptions::default()), check_structural(&shuffled, &StructuralOptions::default()));
    }

    #[test]
    fn a_structural_schema_that_keeps_its_fields_stays_as_it_is(seed: u64) {
        let schema = generate::resource(&mut Random::new(seed), 3);
        let diagnostics = check_structural(&schema, &StructuralOptions::default());
        prop_assume!(!diagnostics.iter().any(Diagnostic::is_error));
        let done = structuralize(&schema, Style::default()).map_err(|errors| TestCaseError::fail(format!("{errors:?}")))?;
        prop_assert_eq!(done.schema, schema);
        prop_assert_eq!(done.losses, vec![]);
    }

    #[test]
    fn pruning_and_defaulting_settle_and_keep_objects_valid(seed: u64) {
        let r = &mut Random::new(seed);
        let schema = generate::resource(r, 3);
        prop_assume!(!check_structural(&schema, &StructuralOptions::default()).iter().any(Diagnostic::is_error));
        let mut object = generate::sample(r, &schema);
        object["extra"] = generate::any(r, 2);
        let filled = defaulted(&schema, &object);
        prop_assert_eq!(&defaulted(&schema, &filled), &filled);
        let kept = pruned(&schema, &filled).object;
        prop_assert_eq!(&pruned(&schema, &kept).object, &kept);
        let verdict = validate_object(&schema, &object);
        if verdict.is_valid() {
            prop_assert!(validate_object(&schema, &filled).is_valid());
            prop_assert!(validate_object(&schema, &verdict.stored).is_valid(), "{} as {}", object, verdict.stored);
            prop_assert_eq!(validate_object(&schema, &verdict.stored).stored, verdict.stored);
        }
    }

    #[test]
    fn nothing_changes_between_a_schema_and_itself(seed: u64) {
        let r = &mut Random::new(seed);
        let schema = if r.chance(50) { generate::resource(r, 3) } else { generate::mistaken(r) };
        prop_assume!(!check_structural(&schema, &StructuralOptions::default()).iter().any(|diagnostic| diagnostic.severity == Severity::Decode));
        prop_assert_eq!(compare(&schema, &schema), vec![]);
    }

    #[test]
    fn a_schema_survives_the_types_of_k8s_openapi(seed: u64) {
        let r = &mut Random::new(seed);
        let schema = if r.chance(50) { generate::resource(r, 3) } else { generate::mistaken(r) };
        let diagnostics = check_structural(&schema, &StructuralOptions::default());
        // Unknown keywords and undecodable `items` are what a typed value cannot hold.
        let lost = |diagnostic: &Diagnostic| diagnostic.is_error() || matches!(diagnostic.rule, "unknown-keyword" | "undecodable-items");
        prop_assume!(!diagnostics.iter().any(lost));
        let typed: JSONSchemaProps = serde_json::from_value(schema.clone()).map_err(|e| TestCaseError::fail(format!("{e}: {schema}")))?;
        let back = serde_json::to_value(&typed).unwrap();
        prop_assert_eq!(by_value(&back), by_value(&schema));
        prop_assert_eq!(check_structural(&back, &StructuralOptions::default()), diagnostics);
    }

    #[test]
    fn stored_objects_survive_what_is_said_to_be_safe(seed: u64) {
        let r = &mut Random::new(seed);
        let old = generate::resource(r, 2);
        let new = generate::evolved(r, &old);
        for schema in [&old, &new] {
            prop_assume!(!check_structural(schema, &StructuralOptions::default()).iter().any(Diagnostic::is_error));
        }
        let changes = compare(&old, &new);
        let unsafe_ = changes.iter().any(|change| change.direction == Direction::Stored && change.impact != Impact::Behaviour);
        if unsafe_ { return Ok(()); }
        for _ in 0..5 {
            let before = validate_object(&old, &generate::sample(r, &old));
            if before.is_valid() {
                let after = validate_object(&new, &before.stored);
                prop_assert!(after.is_valid(), "{}\n{:?}\nold {old}\nnew {new}", before.stored, after.errors);
                prop_assert_eq!(after.unknown_fields, Vec::<String>::new(), "{} old {} new {}", before.stored, old, new);
            }
        }
    }
}

/// Counts how often the comparison calls a change safe, and how often an unsafe one really breaks something.
#[test]
fn the_comparison_says_both_yes_and_no() {
    let (mut safe, mut broken, mut unsafe_) = (0, 0, 0);
    for seed in 0..600 {
        let r = &mut Random::new(seed);
        let old = generate::resource(r, 2);
        let new = generate::evolved(r, &old);
        let changes = compare(&old, &new);
        if changes
            .iter()
            .all(|change| change.direction != Direction::Stored || change.impact == Impact::Behaviour)
        {
            safe += 1;
            continue;
        }
        unsafe_ += 1;
        let breaks = (0..30).any(|_| {
            let before = validate_object(&old, &generate::sample(r, &old));
            let after = validate_object(&new, &before.stored);
            before.is_valid() && (!after.is_valid() || !after.unknown_fields.is_empty())
        });
        broken += usize::from(breaks);
    }
    assert!(safe > 100 && unsafe_ > 100, "{safe} safe, {unsafe_} unsafe");
    assert!(
        broken * 4 > unsafe_,
        "of {unsafe_} unsafe changes only {broken} break an object that was generated"
    );
}

/// Numbers in one spelling, and without what Go and Rust leave out of a typed value: nulls and flags that are off stay.
fn by_value(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(list) => list.iter().map(by_value).collect(),
        Value::Object(map) => {
            let kept = map.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key.clone(), by_value(value))).collect())
        }
        other => other.clone(),
    }
}

fn without_descriptions(schema: &Value) -> Value {
    let mut schema = schema.clone();
    fn strip(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.remove("description");
                map.values_mut().for_each(strip);
            }
            Value::Array(list) => list.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut schema);
    schema
}

fn reversed(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let entries: Vec<_> =
                map.iter().rev().map(|(key, value)| format!("{}:{}", json!(key), reversed(value))).collect();
            format!("{{{}}}", entries.join(","))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(reversed).collect::<Vec<_>>().join(",")),
        scalar => scalar.to_string(),
    }
}
