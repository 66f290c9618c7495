//! Flags of OPA's commands that these commands know and refuse, so that unsupported flags are not silently ignored.

use clap::Args;

/// Flags that all three commands refuse.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Unsupported {
    #[arg(long, hide = true, value_name = "FILE")]
    capabilities: Option<String>,
    #[arg(short = 's', long, hide = true, value_name = "PATH")]
    schema: Option<String>,
    #[arg(short = 'S', long, hide = true)]
    strict: bool,
    #[arg(short = 't', long, hide = true, value_name = "TARGET")]
    target: Option<String>,
    #[arg(long, hide = true, value_name = "MODE")]
    explain: Option<String>,
    #[arg(long, hide = true)]
    var_values: bool,
    #[arg(long, hide = true)]
    count: Option<String>,
}

/// Flags that only `eval` has, and refuses.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct UnsupportedByEval {
    #[arg(short = 'b', long, hide = true, value_name = "PATH")]
    bundle: Option<String>,
    #[arg(short = 'p', long, hide = true)]
    partial: bool,
    #[arg(short = 'u', long, hide = true, value_name = "PATH")]
    unknowns: Option<String>,
    #[arg(long, hide = true)]
    strict_builtin_errors: bool,
    #[arg(long, hide = true)]
    show_builtin_errors: bool,
    #[arg(long, hide = true)]
    profile: bool,
    #[arg(long, hide = true)]
    metrics: bool,
    #[arg(long, hide = true)]
    instrument: bool,
    #[arg(long, hide = true)]
    coverage: bool,
    #[arg(short = 'e', long, hide = true, value_name = "PATH")]
    entrypoint: Option<String>,
    #[arg(short = 'O', long, hide = true, value_name = "LEVEL")]
    optimize: Option<String>,
}

/// Flags that only `test` has, and refuses.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct UnsupportedByTest {
    #[arg(long, hide = true)]
    bench: bool,
    #[arg(short = 'w', long, hide = true)]
    watch: bool,
    #[arg(short = 'b', long, hide = true)]
    bundle: bool,
}

impl Unsupported {
    /// Returns the first refused flag that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        first([
            (self.capabilities.is_some(), "--capabilities"),
            (self.schema.is_some(), "--schema"),
            (self.strict, "--strict"),
            (self.target.is_some(), "--target"),
            (self.explain.is_some(), "--explain"),
            (self.var_values, "--var-values"),
            (self.count.is_some(), "--count"),
        ])
    }
}

impl UnsupportedByEval {
    /// Returns the first refused flag that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        first([
            (self.bundle.is_some(), "--bundle"),
            (self.partial, "--partial"),
            (self.unknowns.is_some(), "--unknowns"),
            (self.strict_builtin_errors, "--strict-builtin-errors"),
            (self.show_builtin_errors, "--show-builtin-errors"),
            (self.profile, "--profile"),
            (self.metrics, "--metrics"),
            (self.instrument, "--instrument"),
            (self.coverage, "--coverage"),
            (self.entrypoint.is_some(), "--entrypoint"),
            (self.optimize.is_some(), "--optimize"),
        ])
    }
}

impl UnsupportedByTest {
    /// Returns the first refused flag that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        first([(self.bench, "--bench"), (self.watch, "--watch"), (self.bundle, "--bundle")])
    }
}

fn first<const N: usize>(flags: [(bool, &'static str); N]) -> Option<&'static str> {
    flags.into_iter().find(|(given, _)| *given).map(|(_, name)| name)
}

/// Returns the message about a refused flag.
pub(crate) fn message(command: &str, flag: &str) -> String {
    format!("webtroller rego {command}: {flag} is not supported; ask `opa {command}`\n")
}
