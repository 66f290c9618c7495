//! A Markdown page about controllers, with a Mermaid graph of how they depend on each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::{Declaration, DeclaredAccess};

/// Renders a page: the graph, and for each controller a table of what it does with each kind. The same declarations make the same text,
/// so that a test can compare it with a file.
#[must_use]
pub fn render_page(title: &str, all: &[Declaration]) -> String {
    let mut page = format!("# {title}\n\n```mermaid\n{}```\n", render_graph(all));
    for declaration in all {
        let (name, summary) = (declaration.name(), declaration.summary());
        page.push_str(&format!("\n## {name}\n\n{summary}\n\n{}", table(declaration)));
    }
    page
}

fn table(declaration: &Declaration) -> String {
    let mut table =
        "| kind | calls | acts when it changes | writes | waits for | reads |\n|---|---|---|---|---|---|\n"
            .to_owned();
    for access in declaration.all() {
        let wakes = if access.wakes { "yes" } else { "" };
        let waits = access.finalizers_awaited.iter().map(|name| match name.as_str() {
            "*" => "all other finalizers".to_owned(),
            name => format!("finalizer `{name}`"),
        });
        let cells = [
            format!("`{}`", access.kind()),
            calls(access),
            wakes.to_owned(),
            quoted(&access.fields),
            waits.collect::<Vec<_>>().join("<br>"),
            access
                .annotations_read
                .iter()
                .map(|key| format!("annotation `{key}`"))
                .collect::<Vec<_>>()
                .join("<br>"),
        ];
        table.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    table
}

/// The verbs of the resource, and behind them those of its subresources.
fn calls(access: &DeclaredAccess) -> String {
    let mut verbs = BTreeMap::<String, Vec<String>>::new();
    for call in access.calls() {
        let subresource = call.resource.split_once('/').map(|(_, subresource)| subresource.to_owned());
        verbs.entry(subresource.unwrap_or_default()).or_default().push(call.verb);
    }
    let written = |(subresource, verbs): (String, Vec<String>)| match subresource.as_str() {
        "" => verbs.join(", "),
        subresource => format!("{subresource}: {}", verbs.join(", ")),
    };
    let scope = if access.everywhere { " (everywhere)" } else { "" };
    format!("{}{scope}", verbs.into_iter().map(written).collect::<Vec<_>>().join("; "))
}

fn quoted(all: &BTreeSet<String>) -> String {
    all.iter().map(|field| format!("`{field}`")).collect::<Vec<_>>().join("<br>")
}

/// Renders the graph in Mermaid's language: a controller writes to a kind, a change of a kind wakes a controller, and a controller
/// waits for another one's finalizer.
///
/// ```text
/// graph LR
///   c0(["drain"])
///   k0["machines.example.com"]
///   k0 -- changes wake --> c0
///   c0 -- writes status --> k0
/// ```
#[must_use]
pub fn render_graph(all: &[Declaration]) -> String {
    let kinds: BTreeSet<String> = all.iter().flat_map(Declaration::all).map(DeclaredAccess::kind).collect();
    let kinds: Vec<String> = kinds.into_iter().collect();
    let mut graph = "graph LR\n".to_owned();
    for (index, declaration) in all.iter().enumerate() {
        line(&mut graph, format_args!("c{index}([\"{}\"])", declaration.name()));
    }
    for (index, kind) in kinds.iter().enumerate() {
        line(&mut graph, format_args!("k{index}[\"{kind}\"]"));
    }
    for (controller, declaration) in all.iter().enumerate() {
        for access in declaration.all() {
            let kind = kinds.iter().position(|kind| *kind == access.kind()).unwrap_or_default();
            edges(&mut graph, access, controller, kind);
            waits(&mut graph, access, controller, all);
        }
    }
    graph
}

fn edges(graph: &mut String, access: &DeclaredAccess, controller: usize, kind: usize) {
    let calls = access.calls();
    let makes = |verb: &str| calls.iter().any(|call| call.verb == verb);
    if access.wakes {
        line(graph, format_args!("k{kind} -- changes wake --> c{controller}"));
    } else if makes("get") || makes("list") || makes("watch") {
        line(graph, format_args!("k{kind} -. read by .-> c{controller}"));
    }
    // Parts of an object that a reader can distinguish: the status, the spec, one annotation.
    let part = |field: &String| match field.split('/').collect::<Vec<_>>().as_slice() {
        ["", "metadata", "finalizers", ..] => "a finalizer".to_owned(),
        ["", "metadata", "annotations", ..] => "an annotation".to_owned(),
        ["", "metadata", part, ..] => (*part).to_owned(),
        ["", part, ..] => (*part).to_owned(),
        _ => field.clone(),
    };
    let mut writes: BTreeSet<String> =
        access.fields.iter().map(part).map(|part| format!("writes {part}")).collect();
    writes.extend(["create", "delete"].into_iter().filter(|verb| makes(verb)).map(|verb| format!("{verb}s")));
    if !writes.is_empty() {
        let label = writes.into_iter().collect::<Vec<_>>().join(", ");
        line(graph, format_args!("c{controller} -- \"{label}\" --> k{kind}"));
    }
}

/// An edge from each controller whose finalizer is awaited.
fn waits(graph: &mut String, access: &DeclaredAccess, controller: usize, all: &[Declaration]) {
    for (other, declaration) in all.iter().enumerate().filter(|(other, _)| *other != controller) {
        let same =
            |theirs: &&DeclaredAccess| (&theirs.group, &theirs.resource) == (&access.group, &access.resource);
        for finalizer in declaration.all().iter().filter(same).flat_map(|theirs| &theirs.finalizers_added) {
            if access.finalizers_awaited.iter().any(|awaited| awaited == "*" || awaited == finalizer) {
                line(graph, format_args!("c{other} -. \"finalizer {finalizer}\" .-> c{controller}"));
            }
        }
    }
}

fn line(graph: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _written = writeln!(graph, "  {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_shows_what_each_does_and_the_graph_how_they_meet() {
        let machines = || DeclaredAccess::to("example.com", "machines").watches();
        let owner = Declaration::new("machine", "Owns Machines.").access(
            machines().adds_finalizer("x/instance").awaits_finalizer("*").writes(["/status/conditions"]),
        );
        let drain = Declaration::new("drain", "Drains Machines.")
            .access(machines().adds_finalizer("x/drain"))
            .access(DeclaredAccess::to("", "configmaps").everywhere().lists().deletes());
        assert_eq!(
            render_page("Two", &[owner, drain]),
            "# Two

```mermaid
graph LR
  c0([\"machine\"])
  c1([\"drain\"])
  k0[\"configmaps\"]
  k1[\"machines.example.com\"]
  k1 -- changes wake --> c0
  c0 -- \"writes a finalizer, writes status\" --> k1
  c1 -. \"finalizer x/drain\" .-> c0
  k1 -- changes wake --> c1
  c1 -- \"writes a finalizer\" --> k1
  k0 -. read by .-> c1
  c1 -- \"deletes\" --> k0
```

## machine

Owns Machines.

| kind | calls | acts when it changes | writes | waits for | reads |
|---|---|---|---|---|---|
| `machines.example.com` | list, patch, watch; status: patch | yes | `/metadata/finalizers/x~1instance`<br>`/status/conditions` | all other finalizers |  |

## drain

Drains Machines.

| kind | calls | acts when it changes | writes | waits for | reads |
|---|---|---|---|---|---|
| `machines.example.com` | list, patch, watch | yes | `/metadata/finalizers/x~1drain` |  |  |
| `configmaps` | delete, list (everywhere) |  |  |  |  |
"
        );
    }
}
