//! Tests of what modules find out about their own annotations, compared with OPA.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test says no by panicking"
)]

use conformance::ours::{Sources, evaluate};
use conformance::{Judge, Verdict};
use rego_compat::{Budget, Restrictions, Value};
use serde_json::json;

const MODULES: &[&str] = &[
    r#"# METADATA
# description: |
#   Two
#   lines
# authors:
# - Ann Other <ann@example.org>
# - name: " B "
#   email: b@example.org
# organizations: [X, 5]
# related_resources:
# - https://example.org/a b
# - ref: https://example.org/
#   description: more
package a.b

import data.c

# METADATA
# title: First
# custom:
#   level: 3
#   on: [yes, 1.50, {x: null}]
# labels:
#   team: blue

# METADATA
# scope: document
# title: All
p := 1 if {
	false
}

# METADATA
# title: Nearer
# METADATA
# title: Nearest
p := rego.metadata.chain() if {
	true
}

# a comment of its own

q := rego.metadata.rule()

# METADATA
# entrypoint: true
r contains rego.metadata.rule()

r contains rego.metadata.chain() if { 1 == 1 } # METADATA

s.t[x].u := rego.metadata.chain() if x := 1

# METADATA
# title: 7
e := 1 if { input.x } else := rego.metadata.chain()

g := [y | some link in rego.metadata.chain(); y := link.path]

default h := 5
# METADATA
# scope: rule
f(x) := rego.metadata.rule().scope if { x == 1 }

k := f(1)

l if { rego.metadata.rule() }

m := y if { rego.metadata.rule(y) }
"#,
    r#"# METADATA
# scope: subpackages
# title: Everything in a
package a

# METADATA
# title: [broken
v := 1
"#,
    "package a.b\n\nw := rego.metadata.chain()\n",
];

#[test]
fn modules_see_their_annotations_as_in_opa() {
    let mut judge = Judge::opa().expect("a judge");
    // OPA refuses a block that is not YAML, which is passed over here.
    let modules = MODULES.iter().enumerate();
    let modules: Vec<(String, String)> =
        modules.map(|(place, text)| (format!("m{place}.rego"), text.replace("[broken", "whole"))).collect();
    let sources = Sources { modules, v0: false };
    for name in ["p", "q", "r", "s", "e", "g", "k", "l", "m", "w"] {
        let query = format!("data.a.b.{name}");
        let question = json!({"op": "eval", "modules": sources.to_json(), "v0": false, "query": query});
        let opa = Verdict::of_judge(&judge.ask(&question).expect("an answer"));
        let ours = match sources.compile(&query, &Restrictions::default()) {
            Ok(program) => evaluate(&program, &Value::Undefined, &Value::new_object(), &Budget::default()),
            Err(refused) => refused,
        };
        assert!(ours.agrees(&opa), "{name}\n OPA  {opa:?}\n ours {ours:?}");
    }
}
