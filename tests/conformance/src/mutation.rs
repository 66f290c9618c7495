//! Damaged inputs: a field removed, retyped, nulled, emptied, duplicated or exchanged for another.
//!
//! A policy is written for objects as they should be; the differences between two engines show on the
//! others. The same seed damages the same way.

use serde_json::{Value as Json, json};

use crate::random::Random;

/// A copy of `input` with one to three places damaged.
#[must_use]
pub fn mutated(input: &Json, random: &mut Random) -> Json {
    let mut copy = input.clone();
    for _ in 0..=random.below(3) {
        mutate_once(&mut copy, random);
    }
    copy
}

fn mutate_once(document: &mut Json, random: &mut Random) {
    let mut places = Vec::new();
    list_places(document, &mut Vec::new(), &mut places);
    let Some(place) = places.get(random.below(places.len())).cloned() else {
        return;
    };
    let other = places.get(random.below(places.len())).and_then(|path| at(document, path)).cloned();
    match random.below(7) {
        0 => remove(document, &place),
        1 => duplicate(document, &place),
        2 => replace(document, &place, other.unwrap_or(Json::Null)),
        3 => replace(document, &place, Json::Null),
        4 => vary(document, &place, random),
        _ => replace(document, &place, any_value(random)),
    }
}

/// A step from a container to one of its children.
#[derive(Clone, Debug)]
enum Step {
    Field(String),
    Element(usize),
}

/// Lists the path of every value below the root.
fn list_places(value: &Json, path: &mut Vec<Step>, places: &mut Vec<Vec<Step>>) {
    let mut visit = |step: Step, child: &Json| {
        path.push(step);
        places.push(path.clone());
        list_places(child, path, places);
        path.pop();
    };
    match value {
        Json::Object(fields) => {
            fields.iter().for_each(|(name, child)| visit(Step::Field(name.clone()), child))
        }
        Json::Array(elements) => {
            elements.iter().enumerate().for_each(|(index, child)| visit(Step::Element(index), child));
        }
        _ => {}
    }
}

fn at<'a>(document: &'a Json, path: &[Step]) -> Option<&'a Json> {
    path.iter().try_fold(document, |value, step| match step {
        Step::Field(name) => value.get(name),
        Step::Element(index) => value.get(index),
    })
}

fn at_mut<'a>(document: &'a mut Json, path: &[Step]) -> Option<&'a mut Json> {
    path.iter().try_fold(document, |value, step| match step {
        Step::Field(name) => value.get_mut(name),
        Step::Element(index) => value.get_mut(index),
    })
}

fn replace(document: &mut Json, path: &[Step], value: Json) {
    if let Some(place) = at_mut(document, path) {
        *place = value;
    }
}

fn remove(document: &mut Json, path: &[Step]) {
    let Some((last, parent)) = path.split_last() else {
        return;
    };
    match (at_mut(document, parent), last) {
        (Some(Json::Object(fields)), Step::Field(name)) => drop(fields.remove(name)),
        (Some(Json::Array(elements)), Step::Element(index)) if *index < elements.len() => {
            drop(elements.remove(*index));
        }
        _ => {}
    }
}

/// Repeats an element of an array, or a field under another name.
fn duplicate(document: &mut Json, path: &[Step]) {
    let Some((last, parent)) = path.split_last() else {
        return;
    };
    let Some(copy) = at(document, path).cloned() else {
        return;
    };
    match (at_mut(document, parent), last) {
        (Some(Json::Object(fields)), Step::Field(name)) => drop(fields.insert(format!("{name}2"), copy)),
        (Some(Json::Array(elements)), _) => elements.push(copy),
        _ => {}
    }
}

/// Changes a value a little: what is still of the right type, and almost right.
fn vary(document: &mut Json, path: &[Step], random: &mut Random) {
    let Some(place) = at_mut(document, path) else {
        return;
    };
    *place = match &*place {
        Json::String(string) => json!(varied(string, random)),
        Json::Number(number) if number.is_i64() => {
            let number = number.as_i64().unwrap_or_default();
            random_of(
                random,
                vec![
                    json!(number.saturating_add(1)),
                    json!(number.saturating_neg()),
                    json!(0),
                    json!(number.to_string()),
                ],
            )
        }
        Json::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            random_of(random, vec![json!(number + 0.5), json!(-number), json!(0), json!(number.to_string())])
        }
        Json::Bool(bool) => random_of(random, vec![json!(!bool), json!(bool.to_string())]),
        Json::Array(elements) => json!([elements]),
        other => json!([other]),
    };
}

fn varied(string: &str, random: &mut Random) -> String {
    match random.below(6) {
        0 => string.to_uppercase(),
        1 => format!("{string}x"),
        2 => format!("{string}*"),
        3 => string.chars().skip(1).collect(),
        4 => string.chars().rev().collect(),
        _ => format!(" {string}\n"),
    }
}

fn any_value(random: &mut Random) -> Json {
    let values = vec![
        Json::Null,
        json!(true),
        json!(false),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(9_007_199_254_740_993_u64),
        json!(""),
        json!("a"),
        json!("100Mi"),
        json!("*"),
        json!("é\u{1F600}"),
        json!([]),
        json!({}),
        json!([null, 1, "a", [], {}]),
        json!({"a": {"b": null}, "name": "a"}),
        json!([{"name": "a"}, {"name": "a", "key": 1}]),
    ];
    random_of(random, values)
}

fn random_of(random: &mut Random, mut values: Vec<Json>) -> Json {
    let chosen = random.below(values.len());
    if chosen < values.len() { values.swap_remove(chosen) } else { Json::Null }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_damage_equally_and_different_ones_do_not() {
        let input = json!({"a": [1, {"b": "c"}], "d": {"e": null}});
        let damage = |seed| mutated(&input, &mut Random::new(seed));
        assert_eq!(damage(7), damage(7));
        let distinct: std::collections::BTreeSet<String> =
            (0..50).map(|seed| damage(seed).to_string()).collect();
        assert!(distinct.len() > 20, "{distinct:?}");
    }

    #[test]
    fn a_document_without_places_is_left_alone() {
        assert_eq!(mutated(&json!({}), &mut Random::new(1)), json!({}));
    }
}
