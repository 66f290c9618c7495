//! `webtroller audit`: judges once everything in a cluster, or in a dump of one, as the audit in the cluster does.
//!
//! `live` reads a cluster, `dump` reads files; both hand manifests to [`Assembly`], and objects to [`Found`].

mod assembly;
mod dump;
mod live;
mod output;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::ValueEnum;
use constraint_framework::api::ConstraintRef;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use assembly::Assembly;

use crate::cli::write_errors;

/// Nothing is denied, and everything was audited.
const CLEAN: u8 = 0;
/// An object violates a constraint that denies.
const VIOLATED: u8 = 1;
/// Something could not be audited.
const INCOMPLETE: u8 = 2;

const EXAMPLES: &str = "\
Examples:
  # What in the cluster of the current kubeconfig violates its constraints?
  webtroller audit

  # The same of a dump: templates, constraints, Namespaces and objects in files
  kubectl get constrainttemplates,constraints,namespaces,pods -A -o yaml > dump.yaml
  webtroller audit dump.yaml

  # Which objects would violate policies that are not in the cluster yet?
  webtroller audit --policies new-policies/

  # For a code scanning service, or for a program
  webtroller audit -o sarif > audit.sarif
  webtroller audit -o jsonl | jq -r '[.kind, .namespace, .name, .message] | @tsv'";

/// Judge everything in a cluster, or in a dump of one, by the constraints in it.
///
/// Exits with 0 when no object violates a constraint that denies, with 1 when one does, and with 2 when something could not
/// be audited.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct OnceArgs {
    /// Files or folders with templates, constraints and objects, instead of a cluster.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Files or folders with templates and constraints to go by instead of those of the cluster; may be repeated.
    #[arg(long, value_name = "PATH", conflicts_with = "paths")]
    pub policies: Vec<PathBuf>,
    /// Output format of violations.
    #[arg(long, short, value_enum, default_value_t, ignore_case = true)]
    pub output: OnceFormat,
    /// Objects per page of a list; 0 for all at once.
    #[arg(long, value_name = "COUNT", default_value_t = 500)]
    pub chunk_size: u32,
    /// The operator's namespace, in which its Config is.
    #[arg(long, env = "POD_NAMESPACE", default_value = "gatekeeper-system")]
    pub namespace: String,
}

/// The format of printed violations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OnceFormat {
    /// A line per violation, and the number of each constraint.
    #[default]
    Table,
    /// A JSON document.
    Json,
    /// A JSON document per line and violation.
    Jsonl,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// A List of the reports of `openreports.io/v1alpha1` that the audit in the cluster would write.
    Openreports,
    /// The same of `wgpolicyk8s.io/v1alpha2`.
    Wgpolicy,
}

/// The result of the search.
#[derive(Debug, Default)]
struct Found {
    violations: BTreeMap<ConstraintRef, Vec<Violation>>,
    objects: usize,
    kinds: usize,
    /// The errors of what could not be audited.
    errors: Vec<String>,
}

/// One violation. Ordered as in the statuses of constraints.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Violation {
    object: Arc<Object>,
    message: String,
    /// The file and the line of the object, in a dump.
    place: Option<(PathBuf, u64)>,
}

/// The object that violates a constraint.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Object {
    group: String,
    version: String,
    kind: String,
    namespace: String,
    name: String,
}

/// The progress of an audit, on a terminal.
struct Progress(ProgressBar);

impl Progress {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {pos} objects, {msg} ({elapsed})") {
            bar.set_style(style);
        }
        Self(bar)
    }

    fn objects(&self, count: usize) {
        self.0.inc(u64::try_from(count).unwrap_or(u64::MAX));
    }

    fn kinds(&self, done: usize, all: usize) {
        self.0.set_message(format!("{done} of {all} kinds"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Audits once. Violations go to `out`, everything else to `err`.
///
/// `connect` makes the client, for a cluster.
///
/// # Errors
/// Errors of `connect`.
pub async fn audit_once<E>(
    args: &OnceArgs,
    connect: impl AsyncFnOnce() -> Result<kube::Client, E>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<u8, E> {
    let started = Instant::now();
    let progress = Progress::new();
    let read = if args.paths.is_empty() {
        live::audit(args, connect().await?, &progress).await
    } else {
        dump::audit(args, &progress)
    };
    drop(progress);
    let (assembly, found) = read;
    write_errors("audit", &found.errors, err);
    // Standard output itself writes line by line.
    let mut out = BufWriter::new(out);
    let written = output::write(args.output, &assembly, &found, &mut out).and_then(|()| out.flush());
    if args.output == OnceFormat::Table {
        let (objects, kinds, elapsed) = (found.objects, found.kinds, started.elapsed());
        let _ = writeln!(err, "{objects} objects of {kinds} kinds in {:.1} s", elapsed.as_secs_f64());
    }
    Ok(match written {
        // A reader that has seen enough: the verdict stands.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(err, "webtroller audit: cannot write: {error}");
            INCOMPLETE
        }
        _ => found.exit_code(&assembly),
    })
}

impl Found {
    fn exit_code(&self, assembly: &Assembly) -> u8 {
        if !self.errors.is_empty() {
            return INCOMPLETE;
        }
        let denied = |(id, violations): (&ConstraintRef, &Vec<Violation>)| {
            !violations.is_empty() && assembly.actions(id).contains(&"deny")
        };
        if self.violations.iter().any(denied) { VIOLATED } else { CLEAN }
    }

    fn take(&mut self, violations: Vec<(ConstraintRef, Violation)>) {
        for (id, violation) in violations {
            self.violations.entry(id).or_default().push(violation);
        }
    }

    fn sort(&mut self) {
        self.violations.values_mut().for_each(|violations| violations.sort());
    }
}
