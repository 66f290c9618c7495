//! Evaluates, checks and tests Rego as `opa eval`, `opa check` and `opa test` do: the command `webtroller rego`.
//!
//! ```
//! use clap::Parser;
//!
//! #[derive(Parser)]
//! struct Line {
//!     #[command(flatten)]
//!     rego: rego_cli::RegoArgs,
//! }
//!
//! let line = Line::try_parse_from(["webtroller", "eval", "--format", "raw", "1 + 2"])?;
//! let mut out = Vec::new();
//! let code = rego_cli::rego(&line.rego, &mut std::io::empty(), &mut out, &mut std::io::sink());
//! assert_eq!((code, out.as_slice()), (0, b"3\n".as_slice()));
//! # Ok::<(), clap::Error>(())
//! ```
//!
//! `source.rs` loads files; `eval.rs`, `check.rs` and `test.rs` run the commands; the other files print. Rego itself is in the
//! crate `rego-compat`. Nothing here talks to a cluster. Formats and exit codes are those of OPA v1.22.

mod check;
mod command_error;
mod coverage;
mod duration;
mod eval;
mod json;
mod junit;
mod merged;
mod report;
mod source;
mod table;
mod test;
mod unsupported;

use std::io::{Read, Write};

use clap::{Args, Subcommand};
use rego_compat::{Bounds, Budget, RegoVersion, Restrictions};

use check::CheckArgs;
use eval::EvalArgs;
use test::TestArgs;

/// Stack of the thread that evaluates: OPA's grows as long as it has to.
const STACK: usize = 256 << 20;

const EXAMPLES: &str = "\
Examples:
  # The value of a rule for an input
  webtroller rego eval --data policy.rego --input pod.json data.policy.violation

  # Errors, and unit tests
  webtroller rego check policy.rego
  webtroller rego test policy.rego policy_test.rego";

/// Evaluate, check and test Rego policies, as `opa eval`, `opa check` and `opa test` do.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RegoArgs {
    /// The command to run.
    #[command(subcommand)]
    pub command: RegoCommand,
}

/// The commands for Rego.
#[derive(Clone, Debug, Subcommand)]
pub enum RegoCommand {
    /// Evaluate a query and print the result.
    Eval(EvalArgs),
    /// Report the errors of policies.
    Check(CheckArgs),
    /// Run the rules whose names begin with `test_`.
    Test(TestArgs),
}

/// The version of Rego in files and queries.
#[derive(Clone, Copy, Debug, Args)]
pub struct Language {
    /// Read Rego as before OPA 1.0, which is how templates of Gatekeeper are written.
    #[arg(long)]
    pub v0_compatible: bool,
    /// Read Rego as of OPA 1.0, which is the default.
    #[arg(long)]
    pub v1_compatible: bool,
}

impl Language {
    /// As in OPA, `--v0-compatible` wins.
    const fn version(self) -> RegoVersion {
        if self.v0_compatible { RegoVersion::V0 } else { RegoVersion::V1 }
    }
}

/// The streams that a command reads and writes.
struct Streams<'a> {
    input: &'a mut (dyn Read + Send),
    out: &'a mut (dyn Write + Send),
    err: &'a mut (dyn Write + Send),
}

/// Runs the command and returns the exit code, which is OPA's. Standard input is read at most once.
pub fn rego(
    args: &RegoArgs,
    input: &mut (dyn Read + Send),
    out: &mut (dyn Write + Send),
    err: &mut (dyn Write + Send),
) -> u8 {
    let mut streams = Streams { input, out, err };
    std::thread::scope(|scope| {
        let work = || match &args.command {
            RegoCommand::Eval(args) => eval::run(args, &mut streams),
            RegoCommand::Check(args) => check::run(args, &mut streams),
            RegoCommand::Test(args) => test::run(args, &mut streams),
        };
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        // A closed standard output is not a failure of the command.
        thread.ok().and_then(|thread| thread.join().ok()).map_or(2, |ended| ended.unwrap_or(0))
    })
}

/// Returns the restrictions of a command line: OPA's, with bounds only on what one file may be.
fn restrictions() -> Restrictions {
    let mut bounds = Bounds::default();
    bounds.size = 16 << 20;
    bounds.rules = 1_000_000;
    bounds.columns = 1 << 20;
    Restrictions::default().with_print().with_bounds(bounds)
}

/// Returns the budget of a command: no limit on steps, which a user can interrupt, but on memory and stack.
fn budget(time: std::time::Duration) -> Budget {
    Budget::default()
        .with_time(time)
        .with_instructions(u64::MAX)
        .with_memory(4 << 30)
        .with_output(1 << 30)
        .with_stack(STACK.saturating_sub(16 << 20))
}

#[cfg(test)]
mod tests;
