//! The tree for people, and the report for programs.
//!
//! ```text
//! Deployment shop/web (generation 1, observed 1; last written by kube-controller-manager at 2026-01-01T00:00:02Z)
//!   . Available=False MinimumReplicasUnavailable: …
//! └── owns ReplicaSet shop/web-5d8f (…)
//!       ! ReplicaFailure=True FailedCreate: pods "web-…" is forbidden: exceeded quota  <== first cause
//!       Event at 2026-01-01T00:00:02Z: Warning FailedCreate, 12 times: …
//!
//! First cause: ReplicaSet shop/web-5d8f: ReplicaFailure=True FailedCreate: …
//! ```

use serde_json::{Value, json};

use super::Report;
use super::cause::marked;
use super::diagnostic::{Diagnostic, Level};
use super::graph::{Node, Relation};
use super::managed::Write;

/// The tree with its marks, then the first cause once more.
pub(super) fn text(report: &Report) -> String {
    let mut lines = Vec::new();
    draw(&report.tree, ("", ""), &mut lines);
    lines.push(String::new());
    lines.push(match marked(&report.tree) {
        Some((node, diagnostic)) => format!("First cause: {}: {}", node.object, diagnostic.message),
        None if report.is_complete() => "Nothing holds it up.".to_owned(),
        None => "Nothing was found that holds it up, but not everything could be read.".to_owned(),
    });
    let lines: Vec<_> = lines.iter().map(|line| plain(line)).collect();
    lines.join("\n") + "\n"
}

/// One line, without the control characters that the writer of a status could send to a terminal.
fn plain(line: &str) -> String {
    line.replace(char::is_control, " ")
}

/// The report for programs. The key `problems`, which holds the errors, stays as programs read it.
pub(super) fn json(report: &Report) -> String {
    let cause = marked(&report.tree);
    let cause = cause.map(
        |(node, diagnostic)| json!({"object": node.object, "level": diagnostic.level, "message": diagnostic.message}),
    );
    let document = json!({
        "cause": cause, "tree": serde_json::to_value(&report.tree).unwrap_or(Value::Null),
        "problems": report.errors,
    });
    format!("{document:#}\n")
}

/// Draws a node behind `first`, and what is below it behind `rest`.
fn draw(node: &Node, (first, rest): (&str, &str), lines: &mut Vec<String>) {
    let relation = match &node.relation {
        Relation::Subject => String::new(),
        Relation::OwnedBy => "owned by ".to_owned(),
        Relation::Owns => "owns ".to_owned(),
        Relation::Contains => "contains ".to_owned(),
        Relation::Needs => "needs ".to_owned(),
        Relation::RefersTo(field) => format!("{field} is "),
    };
    lines.push(format!("{first}{relation}{}{}", node.object, facts(node)));
    let beside = if node.children.is_empty() && node.unread == 0 { "    " } else { "│   " };
    let margin = format!("{rest}{beside}");
    node.diagnostics.iter().for_each(|diagnostic| lines.push(format!("{margin}{}", sentence(diagnostic))));
    for event in &node.events {
        let times = if event.count > 1 { format!(", {} times", event.count) } else { String::new() };
        let (last, kind, reason, message) = (&event.last, &event.r#type, &event.reason, &event.message);
        lines.push(format!("{margin}Event at {last}: {kind} {reason}{times}: {message}"));
    }
    let mut left = node.children.len();
    for child in &node.children {
        left = left.saturating_sub(1);
        let is_last = left == 0 && node.unread == 0;
        let (first, below) = if is_last { ("└── ", "    ") } else { ("├── ", "│   ") };
        draw(child, (&format!("{rest}{first}"), &format!("{rest}{below}")), lines);
    }
    if node.unread > 0 {
        lines.push(format!("{rest}└── and {} more, which were not read", node.unread));
    }
}

fn sentence(diagnostic: &Diagnostic) -> String {
    let mark = match diagnostic.level {
        Level::Blocking => '!',
        Level::Waiting => '.',
        Level::Note => ' ',
    };
    format!(
        "{mark} {}{}",
        diagnostic.message,
        if diagnostic.is_first_cause { "  <== first cause" } else { "" }
    )
}

/// ` (generation 2, observed 1; last written by core at …; status by core at …)`
fn facts(node: &Node) -> String {
    let written = |before: &str, write: &Option<Write>| {
        write.as_ref().map(|Write { manager, time, .. }| format!("{before} {manager} at {time}"))
    };
    let generation = node.generation.map(|generation| match node.observed_generation {
        Some(observed) => format!("generation {generation}, observed {observed}"),
        None => format!("generation {generation}"),
    });
    let status = node.last_status_write.clone().filter(|write| Some(write) != node.last_write.as_ref());
    let parts = [generation, written("last written by", &node.last_write), written("status by", &status)];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_sends_nothing_to_the_terminal() {
        let line = plain("│   . Ready=False: a\u{1b}[31mred\r\nFirst cause:\u{7}\u{9b}2J");
        assert_eq!(line, "│   . Ready=False: a [31mred  First cause:  2J");
    }
}
