//! The scenarios: which policies, which objects, which requests, and the ratio that we want.
//!
//! `policy` writes templates, constraints and objects; `library` reads the public policy library. The groups B1 to
//! B11 are those that this project measures itself by; the web server's are not here.

mod library;
mod policy;

use serde_json::Value;

pub use library::library;

/// Manifests, the same for both sides.
#[derive(Clone, Debug, Default)]
pub struct Policies {
    /// Constraint templates.
    pub templates: Vec<Value>,
    /// Constraints of these templates.
    pub constraints: Vec<Value>,
    /// Objects that policies may refer to.
    pub inventory: Vec<Value>,
}

/// The measured quantity and its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Nanoseconds a request, from its bytes to the bytes of the answer.
    Review,
    /// Nanoseconds an item, from parsed manifests to policies in force.
    Ingest,
    /// Bytes on the heap an item, after a review.
    Memory,
}

/// One comparison.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The group, such as `B1`.
    pub group: &'static str,
    /// The name of what is special about it.
    pub name: String,
    /// The measured quantity.
    pub measure: Measure,
    /// The policies.
    pub policies: Policies,
    /// The requests of a pass, as JSON text.
    pub requests: Vec<String>,
    /// The ratio that we want.
    pub goal: Option<f64>,
}

impl Policies {
    /// Returns how many of what a scenario is about: whatever there is most of.
    pub fn items(&self, measure: Measure) -> usize {
        match measure {
            Measure::Review => 1,
            Measure::Ingest | Measure::Memory => {
                self.templates.len().max(self.constraints.len()).max(self.inventory.len())
            }
        }
    }
}

/// The size of the scenarios.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Divides every number of constraints, templates and objects; 1 for the real thing.
    pub divisor: usize,
    /// True to add those that take minutes and gigabytes.
    pub large: bool,
}

/// Every scenario that needs no files.
pub fn all(scale: Scale) -> Vec<Scenario> {
    let groups = [
        matching(scale),
        elsewhere(scale),
        templates(scale),
        sizes(scale),
        referential(scale),
        ingest(scale),
    ];
    groups.into_iter().flatten().collect()
}

const KB: usize = 1_000;

fn matching(scale: Scale) -> Vec<Scenario> {
    let mut scenarios = Vec::new();
    for (count, goal) in [(1, None), (10, None), (100, None), (1000, Some(15.0))] {
        for (what, label) in [("none violated", "app"), ("all violated", "owner")] {
            let policies = policy::labels(scale.of(count), label, &policy::everywhere());
            let name = format!("{count} matching, 1 KB, {what}");
            let requests = vec![policy::request(&policy::pod(KB))];
            let goal = goal.filter(|_| label == "app");
            scenarios.push(Scenario {
                group: "B1",
                name,
                measure: Measure::Review,
                policies,
                requests,
                goal,
            });
        }
    }
    scenarios
}

fn elsewhere(scale: Scale) -> Vec<Scenario> {
    let mut scenarios = Vec::new();
    for (what, block) in policy::elsewhere() {
        for count in [100, 1000] {
            let policies = policy::labels(scale.of(count), "owner", &block);
            let name = format!("{count} for another {what}, 1 KB");
            let requests = vec![policy::request(&policy::pod(KB))];
            scenarios.push(Scenario {
                group: "B2",
                name,
                measure: Measure::Review,
                policies,
                requests,
                goal: None,
            });
        }
    }
    for (what, block) in policy::elsewhere() {
        scenarios.push(Scenario {
            group: "B2",
            name: format!("1000 for another {what}, 200 KB"),
            measure: Measure::Review,
            policies: policy::labels(scale.of(1000), "owner", &block),
            requests: vec![policy::request(&policy::pod(200_000))],
            goal: (what == "kind").then_some(3000.0),
        });
    }
    scenarios
}

fn templates(scale: Scale) -> Vec<Scenario> {
    let scenario = |count: usize| Scenario {
        group: "B3",
        name: format!("{count} templates, one constraint each, 1 KB"),
        measure: Measure::Review,
        policies: policy::templates(scale.of(count)),
        requests: vec![policy::request(&policy::pod(KB))],
        goal: None,
    };
    [1, 50, 200, 500].map(scenario).into()
}

fn sizes(scale: Scale) -> Vec<Scenario> {
    let cells = [
        (20, 10, None),
        (200, 1, None),
        (200, 10, None),
        (200, 100, None),
        (200, 1000, Some(250.0)),
        (1200, 10, None),
    ];
    let scenario = |(size, count, goal): (usize, usize, Option<f64>)| Scenario {
        group: "B4",
        name: format!("{count} matching, {size} KB"),
        measure: Measure::Review,
        policies: policy::labels(scale.of(count), "app", &policy::everywhere()),
        requests: vec![policy::request(&policy::pod(size.saturating_mul(KB)))],
        goal,
    };
    cells.map(scenario).into()
}

fn referential(scale: Scale) -> Vec<Scenario> {
    let mut counts = vec![(1_000, None), (10_000, Some(1000.0))];
    if scale.large {
        counts.push((100_000, None));
    }
    let scenario = |(count, goal): (usize, Option<f64>)| Scenario {
        group: "B6",
        name: format!("unique host among {count} ingresses"),
        measure: Measure::Review,
        policies: policy::unique_host(scale.of(count)),
        requests: vec![
            policy::request(&policy::ingress(scale.of(count), "new")),
            policy::request(&policy::ingress(0, "taken")),
        ],
        goal,
    };
    counts.into_iter().map(scenario).collect()
}

fn ingest(scale: Scale) -> Vec<Scenario> {
    let requests = || vec![policy::request(&policy::pod(KB))];
    let scenario = |group, name: String, measure, policies, goal| Scenario {
        group,
        name,
        measure,
        policies,
        requests: requests(),
        goal: Some(goal),
    };
    let mut scenarios = vec![
        scenario(
            "B8",
            "ingest of 500 templates".to_owned(),
            Measure::Ingest,
            policy::templates(scale.of(500)),
            10.0,
        ),
        scenario(
            "B11",
            "memory of 500 templates".to_owned(),
            Measure::Memory,
            policy::templates(scale.of(500)),
            5.0,
        ),
    ];
    let counts = if scale.large { vec![10_000, 100_000] } else { vec![10_000] };
    for count in counts {
        let policies = policy::unique_label(scale.of(count));
        scenarios.push(scenario(
            "B11",
            format!("memory of {count} objects of 1 KB"),
            Measure::Memory,
            policies,
            5.0,
        ));
    }
    scenarios
}

impl Scale {
    /// A number at this scale, at least 1.
    pub fn of(self, count: usize) -> usize {
        count.checked_div(self.divisor).unwrap_or(count).max(1)
    }
}
