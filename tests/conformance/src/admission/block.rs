//! Match blocks with every field, well and badly filled. What a field means is not known here.

use serde_json::{Map, Value as Json, json};

use crate::random::Random;

/// A block of up to four criteria; once in a while a criterion is malformed.
pub fn match_block(random: &mut Random) -> Json {
    let mut block = Map::new();
    for _ in 0..random.below(5) {
        let (field, value) = criterion(random);
        block.insert(field.to_owned(), value);
    }
    block.into()
}

fn criterion(random: &mut Random) -> (&'static str, Json) {
    match random.below(9) {
        0 | 1 => ("kinds", kinds(random)),
        2 => ("scope", json!(scope(random))),
        3 => ("namespaces", globs(random)),
        4 => ("excludedNamespaces", globs(random)),
        5 => ("labelSelector", selector(random)),
        6 => ("namespaceSelector", selector(random)),
        7 => ("name", json!(glob(random))),
        _ => ("source", json!(source(random))),
    }
}

fn kinds(random: &mut Random) -> Json {
    if random.once_in(40) {
        return random.pick(&["Pod", ""]).into();
    }
    let entry = |random: &mut Random| {
        let mut entry = Map::new();
        if !random.once_in(5) {
            entry.insert("apiGroups".to_owned(), words(&["", "", "*", "apps", "example.com"], random));
        }
        if !random.once_in(5) {
            entry.insert(
                "kinds".to_owned(),
                words(&["Pod", "Pod", "*", "Namespace", "Deployment", "pod"], random),
            );
        }
        if random.once_in(40) {
            entry.insert("versions".to_owned(), json!(["v1"]));
        }
        Json::from(entry)
    };
    (0..random.below(3)).map(|_| entry(random)).collect()
}

fn words(all: &[&'static str], random: &mut Random) -> Json {
    (0..random.below(3)).map(|_| Json::from(random.pick(all))).collect()
}

fn scope(random: &mut Random) -> &'static str {
    if random.once_in(15) { "cluster" } else { random.pick(&["*", "Cluster", "Namespaced", ""]) }
}

fn source(random: &mut Random) -> &'static str {
    if random.once_in(15) { "original" } else { random.pick(&["All", "Generated", "Original", "Original"]) }
}

fn globs(random: &mut Random) -> Json {
    if random.once_in(40) {
        return json!("a");
    }
    (0..random.below(3)).map(|_| Json::from(glob(random))).collect()
}

fn glob(random: &mut Random) -> &'static str {
    if random.once_in(20) {
        return random.pick(&["a*b", "A", "a b", "***", "", "a/b"]);
    }
    random.pick(&[
        "*", "**", "a", "ab", "a*", "*b", "*a*", "ab-", "ab-*", "*-ab", "default", "kube-*", "*-system",
    ])
}

fn selector(random: &mut Random) -> Json {
    let mut selector = Map::new();
    if random.once_in(2) {
        let labels: Map<_, _> =
            (0..=random.below(2)).map(|_| (key(random).to_owned(), value(random).into())).collect();
        selector.insert("matchLabels".to_owned(), labels.into());
    }
    if random.once_in(2) {
        let expressions: Vec<_> = (0..=random.below(2)).map(|_| expression(random)).collect();
        selector.insert("matchExpressions".to_owned(), json!(expressions));
    }
    if random.once_in(40) {
        selector.insert("matchNames".to_owned(), json!(["a"]));
    }
    selector.into()
}

fn expression(random: &mut Random) -> Json {
    let operator = random.pick(&["In", "NotIn", "Exists", "DoesNotExist"]);
    let wants_values = matches!(operator, "In" | "NotIn") != random.once_in(30);
    let values: Vec<_> = (0..=random.below(2)).map(|_| value(random)).collect();
    let operator = if random.once_in(30) { random.pick(&["in", "Gt", ""]) } else { operator };
    let mut expression =
        Map::from_iter([("key".to_owned(), json!(key(random))), ("operator".to_owned(), json!(operator))]);
    if wants_values {
        expression.insert("values".to_owned(), json!(values));
    } else if random.once_in(4) {
        expression.insert("values".to_owned(), random.pick(&["[]", "null"]).parse().unwrap_or_default());
    }
    if random.once_in(60) {
        expression.remove("key");
    }
    expression.into()
}

fn key(random: &mut Random) -> &'static str {
    if random.once_in(40) {
        return random.pick(&["", "-bad", "not a key", "a/b/c", "-/x"]);
    }
    random.pick(&["app", "app", "tier", "example.com/team"])
}

fn value(random: &mut Random) -> &'static str {
    if random.once_in(40) {
        return random.pick(&["-bad", "not a value", "x/y"]);
    }
    random.pick(&["web", "web", "db", ""])
}
