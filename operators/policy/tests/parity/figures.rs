//! Time, cores and memory of a large run, beside gator. Asserts nothing about speed.
//!
//! ```console
//! $ GATEKEEPER_LIBRARY=../gatekeeper-library cargo test --release -p webtroller --test parity -- --ignored --nocapture figures
//! ```
//!
//! `FIGURES_OBJECTS` (20,000) and `FIGURES_ROUNDS` (5) set the effort, `FIGURES_GATOR=0` leaves gator out. Rounds take
//! turns, so that a machine that gets slower does so for all. Needs GNU time, taskset, and 2 GB in `/dev/shm`: the kernel would write
//! files on a disk on the core that a run on one core leaves free.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::program::{GATOR, OURS};

/// The cost of one run that the system reports.
#[derive(Clone, Copy, Debug)]
struct Cost {
    wall: f64,
    processor: f64,
    /// The most memory it held, in MiB.
    memory: f64,
}

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The templates of the public library, each with the first constraint of its samples.
fn policies(library: &Path, folder: &Path) -> usize {
    let templates = walkdir::WalkDir::new(library.join("library")).sort_by_file_name();
    let is_template = |entry: &walkdir::DirEntry| entry.file_name() == "template.yaml";
    let mut count = 0;
    for template in templates.into_iter().filter_map(Result::ok).filter(is_template) {
        let samples =
            walkdir::WalkDir::new(template.path().parent().unwrap().join("samples")).sort_by_file_name();
        let mut entries = samples.into_iter().filter_map(Result::ok);
        let Some(constraint) = entries.find(|entry| entry.file_name() == "constraint.yaml") else { continue };
        count += 1;
        std::fs::copy(template.path(), folder.join(format!("{count}-template.yaml"))).unwrap();
        std::fs::copy(constraint.path(), folder.join(format!("{count}-constraint.yaml"))).unwrap();
    }
    count
}

/// Workloads as a cluster has them, no two alike.
fn objects(count: usize) -> String {
    let mut text = String::new();
    for number in 0..count {
        let namespace = number % 40;
        let metadata =
            format!("{{name: o{number}, namespace: n{namespace}, labels: {{app: a{}}}}}", number % 300);
        let containers = format!(
            "[{{name: web, image: 'registry.example.com/team{}/web:v{}', resources: {{limits: {{cpu: 500m, memory: 1Gi}}}}, ports: [{{containerPort: 8080}}], securityContext: {{privileged: {}}}}}, {{name: log, image: 'log:latest'}}]",
            number % 17,
            number % 90,
            number % 50 == 0
        );
        let _ = match number % 4 {
            0 | 1 => writeln!(
                text,
                "---\n{{apiVersion: v1, kind: Pod, metadata: {metadata}, spec: {{containers: {containers}}}}}"
            ),
            2 => writeln!(
                text,
                "---\n{{apiVersion: apps/v1, kind: Deployment, metadata: {metadata}, spec: {{replicas: {}, selector: {{matchLabels: {{app: a}}}}, template: {{metadata: {{labels: {{app: a}}}}, spec: {{containers: {containers}}}}}}}}}",
                number % 9
            ),
            _ => writeln!(
                text,
                "---\n{{apiVersion: v1, kind: Service, metadata: {metadata}, spec: {{type: ClusterIP, selector: {{app: a{number}}}, ports: [{{port: 80}}]}}}}"
            ),
        };
    }
    text
}

/// Runs a command that writes its violations to a file.
fn run(command: &[&str], output: &Path) -> Cost {
    let figures = output.with_extension("figures");
    let mut timed = Command::new("/usr/bin/time");
    timed.args(["-f", "%e %U %S %M", "-o", figures.to_str().unwrap()]).args(command).stdin(Stdio::null());
    let status = timed.stdout(std::fs::File::create(output).unwrap()).stderr(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(1), "{command:?}: some of the objects are denied");
    let text = std::fs::read_to_string(figures).unwrap();
    // A command that exits with 1 has a line about that in front.
    let figures: Vec<f64> =
        text.lines().last().unwrap().split(' ').map(|figure| figure.parse().unwrap()).collect();
    Cost { wall: figures[0], processor: figures[1] + figures[2], memory: figures[3] / 1024.0 }
}

fn violations(output: &Path) -> usize {
    std::fs::read_to_string(output).unwrap().matches("\"enforcementAction\":").count()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn report(name: &str, costs: &[Cost]) {
    let of = |figure: fn(&Cost) -> f64| median(costs.iter().map(figure).collect());
    let peak = costs.iter().map(|cost| cost.memory).fold(0.0, f64::max);
    println!(
        "{name:<24} {:>8.2} s wall {:>8.2} s fastest {:>8.2} s processor {peak:>8.0} MiB at most",
        of(|cost| cost.wall),
        fastest(costs),
        of(|cost| cost.processor)
    );
}

/// The wall time of the run that others disturbed least.
fn fastest(costs: &[Cost]) -> f64 {
    costs.iter().map(|cost| cost.wall).fold(f64::INFINITY, f64::min)
}

/// The ratios of paired runs: median, lowest and highest; and that of the fastest run of each, which is the one to read where
/// other programs use the machine.
fn ratio(name: &str, slow: &[Cost], fast: &[Cost]) {
    let ratios: Vec<f64> = slow.iter().zip(fast).map(|(slow, fast)| slow.wall / fast.wall).collect();
    let [low, high] = [f64::min, f64::max].map(|of| ratios.iter().copied().reduce(of).unwrap_or_default());
    let best = fastest(slow) / fastest(fast);
    println!("{name:<24} {:>7.2}x ({low:.2}x to {high:.2}x), fastest runs {best:.2}x", median(ratios));
}

#[test]
#[ignore = "takes minutes, and its times mean something on a quiet machine only: see docs/benchmarks.md"]
fn figures_of_a_large_run() {
    let library =
        std::env::var("GATEKEEPER_LIBRARY").expect("GATEKEEPER_LIBRARY names a checkout of the library");
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let inputs = folder.path().join("inputs");
    std::fs::create_dir(&inputs).unwrap();
    let policies = policies(Path::new(&library), &inputs);
    let count = number("FIGURES_OBJECTS", 20_000);
    std::fs::write(inputs.join("objects.yaml"), objects(count)).unwrap();
    let program = std::env::var("WEBTROLLER").unwrap_or_else(|_| OURS.to_owned());
    let input = inputs.to_str().unwrap();
    let ours = [program.as_str(), "test", "-q", "-o", "json", "-f", input];
    let one_core = [&["taskset", "-c", "0"][..], &ours].concat();
    let [whole, single, theirs] = ["ours", "single", "gator"].map(|name| folder.path().join(name));
    let mut costs: [Vec<Cost>; 3] = Default::default();
    for _ in 0..number("FIGURES_ROUNDS", 5) {
        costs[0].push(run(&ours, &whole));
        costs[1].push(run(&one_core, &single));
        if number("FIGURES_GATOR", 1) > 0 {
            let gator: &PathBuf = &GATOR;
            costs[2].push(run(&[gator.to_str().unwrap(), "test", "-o", "json", "-f", input], &theirs));
        }
    }
    println!("{count} objects, {policies} templates and constraints, {} violations", violations(&whole));
    report("webtroller", &costs[0]);
    report("webtroller, one core", &costs[1]);
    ratio("speed-up of all cores", &costs[1], &costs[0]);
    assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&single).unwrap(), "the order of threads shows");
    if !costs[2].is_empty() {
        report("gator", &costs[2]);
        ratio("gator / webtroller", &costs[2], &costs[0]);
        assert_eq!(violations(&theirs), violations(&whole), "both find the same number");
    }
}
