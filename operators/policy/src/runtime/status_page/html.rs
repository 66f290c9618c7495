//! The page as HTML. Everything that is not written here is escaped.

use super::{Page, Pod, Policy};
use crate::enforce::{Cost, Denial};

/// The longest text in a cell, in characters.
const LONGEST: usize = 300;

const STYLE: &str = "body{font:14px/1.4 system-ui,sans-serif;margin:2em;max-width:80em}table{border-collapse:collapse;width:100%}\
th,td{text-align:left;vertical-align:top;padding:.2em .8em .2em 0;border-bottom:1px solid #ddd;overflow-wrap:anywhere}\
.numbers :is(th,td):not(:first-child){text-align:right;white-space:nowrap}h2{margin-top:1.5em}\
.good{color:#176f2c}.bad{color:#a40000}";

/// Renders the page.
pub(super) fn render(page: &Page) -> String {
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>webtroller: {pod}</title>\
         <style>{STYLE}</style></head>\n<body>\n<h1>webtroller {version}</h1>\n<p>Pod {pod}</p>\n",
        pod = text(&page.pod),
        version = env!("CARGO_PKG_VERSION"),
    );
    html.push_str(&state(page));
    html.push_str(&policies(page));
    html.push_str(&denials(&page.denials));
    html.push_str(&costs(&page.costs));
    html.push_str("</body>\n</html>\n");
    html
}

fn state(page: &Page) -> String {
    let suspension = page.suspension.as_ref();
    let suspension =
        suspension.map(|reason| format!("<p class=\"bad\">{}</p>\n", text(reason))).unwrap_or_default();
    if page.missing.is_empty() {
        return format!("<p class=\"good\">ready</p>\n{suspension}");
    }
    let items: String = page.missing.iter().map(|reason| format!("<li>{}</li>\n", text(reason))).collect();
    format!("<p class=\"bad\">not ready; waiting for:</p>\n<ul>\n{items}</ul>\n{suspension}")
}

fn policies(page: &Page) -> String {
    let rows = page.policies.iter().map(policy).collect();
    let more = match page.more {
        0 => String::new(),
        more => format!("<p>and {more} more</p>\n"),
    };
    let rollout = text(&page.rollout);
    let heads = ["Policy", "Action", "Enforced", "Violations", "By pod"];
    format!("<h2>Policies</h2>\n<p>{rollout}</p>\n{}{more}", table("", &heads, rows))
}

fn policy(policy: &Policy) -> String {
    let pods: Vec<_> = policy.pods.iter().map(pod).collect();
    let enforced = match policy.is_enforced {
        true => "<span class=\"good\">yes</span>".to_owned(),
        false => format!("<span class=\"bad\">no</span> {}", text(&policy.waiting)),
    };
    row(&[
        format!("{}/{}", text(&policy.kind), text(&policy.name)),
        text(&policy.action),
        enforced,
        text(&policy.violations),
        pods.join("<br>"),
    ])
}

fn pod(pod: &Pod) -> String {
    let (class, word) = if pod.is_enforced { ("good", "enforces") } else { ("bad", "does not enforce") };
    let errors: String = pod.errors.iter().map(|error| format!("<br>{}", text(error))).collect();
    format!("{} <span class=\"{class}\">{word}</span>{errors}", text(&pod.name))
}

fn denials(denials: &[Denial]) -> String {
    let rows = denials.iter().map(|denial| {
        let object = match denial.namespace.as_str() {
            "" => format!("{} {}", denial.kind, denial.name),
            namespace => format!("{} {namespace}/{}", denial.kind, denial.name),
        };
        let constraints = denial.constraints.join(", ");
        let at = format!("{:.0}", denial.at);
        row(&[&at, &denial.operation, &object, &constraints].map(|cell| text(cell)))
    });
    let table = table("", &["Time", "Operation", "Object", "Constraints"], rows.collect());
    format!("<h2>Last denials by this pod</h2>\n{table}")
}

fn costs(costs: &[(String, Cost)]) -> String {
    let rows = costs.iter().map(|(kind, cost)| {
        let mean = cost.total.checked_div(u32::try_from(cost.evaluations).unwrap_or(u32::MAX));
        row(&[
            text(kind),
            cost.evaluations.to_string(),
            cost.failures.to_string(),
            format!("{:.1?}", mean.unwrap_or_default()),
            format!("{:.1?}", cost.longest),
            format!("{:.1?}", cost.total),
        ])
    });
    let heads = ["Template", "Evaluations", "Undecided", "Mean", "Longest", "Total"];
    format!("<h2>Cost of templates in this pod</h2>\n{}", table("numbers", &heads, rows.collect()))
}

fn table(class: &str, heads: &[&str], rows: Vec<String>) -> String {
    if rows.is_empty() {
        return "<p>none</p>\n".to_owned();
    }
    let heads: String = heads.iter().map(|head| format!("<th>{head}</th>")).collect();
    format!("<table class=\"{class}\">\n<tr>{heads}</tr>\n{}</table>\n", rows.concat())
}

/// A row of cells that are HTML already.
fn row(cells: &[String]) -> String {
    let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
    format!("<tr>{cells}</tr>\n")
}

/// A text as HTML, cut when it is long.
fn text(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for (position, letter) in text.chars().enumerate() {
        if position == LONGEST {
            html.push('…');
            break;
        }
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            // Control characters and those that turn the direction of a text would disguise what follows.
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => html.push('�'),
            letter if letter.is_control() => html.push(' '),
            letter => html.push(letter),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use k8s_openapi::jiff::Timestamp;

    use super::*;

    const HOSTILE: &str = "<script>alert(\"1\")</script>&'\u{202e}";

    fn hostile() -> String {
        HOSTILE.to_owned()
    }

    /// A page with the same text in every place.
    fn page(word: &str) -> Page {
        let word = || word.to_owned();
        let pod = Pod { name: word(), is_enforced: false, errors: vec![word()] };
        let denial = Denial {
            at: Timestamp::UNIX_EPOCH,
            operation: word(),
            kind: word(),
            namespace: word(),
            name: word(),
            constraints: vec![word()],
        };
        Page {
            pod: word(),
            missing: vec![word()],
            suspension: Some(word()),
            rollout: word(),
            policies: vec![Policy {
                is_enforced: false,
                kind: word(),
                name: word(),
                action: word(),
                waiting: word(),
                violations: word(),
                pods: vec![pod],
            }],
            more: 1,
            denials: vec![denial],
            costs: vec![(
                word(),
                Cost { evaluations: 4, total: Duration::from_millis(8), ..Cost::default() },
            )],
        }
    }

    #[test]
    fn whatever_the_names_are_they_are_text() {
        let html = render(&page(&hostile()));
        assert_eq!(html.matches('<').count(), render(&page("name")).matches('<').count());
        assert!(!html.contains("<script") && !html.contains('\u{202e}'), "{html}");
        let shown = "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;�";
        assert_eq!(html.matches(shown).count(), render(&page("xyzzy")).matches("xyzzy").count());
    }

    #[test]
    fn a_long_text_is_cut_and_an_empty_table_says_so() {
        assert_eq!(text(&"<".repeat(400)), format!("{}…", "&lt;".repeat(LONGEST)));
        let html = render(&Page::default());
        assert_eq!(html.matches("<p>none</p>").count(), 3);
        assert!(html.contains("<p class=\"good\">ready</p>"), "{html}");
    }

    #[test]
    fn the_time_of_a_denial_has_no_fractions_of_a_second() {
        let mut page = page("a");
        page.denials[0].at = Timestamp::new(1_790_000_000, 777_311_706).unwrap();
        let html = render(&page);
        assert!(html.contains("<td>2026-09-21T14:13:20Z</td>"), "{html}");
    }

    #[test]
    fn costs_are_shown_with_their_mean() {
        assert!(render(&page("a")).contains("<td>4</td><td>0</td><td>2.0ms</td>"));
    }
}
