//! `migrate`: the check with a cluster and the table of flags.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::migrate::{CheckArgs, FlagReport};

use super::gatekeeper_flags::Arguments;
use super::{Args, RunError, cluster, translate};

/// `webtroller migrate check`, of the cluster of the current kubeconfig or of files.
pub(super) async fn check(args: &CheckArgs) -> Result<ExitCode, RunError> {
    let (mut out, mut err) = (std::io::stdout().lock(), std::io::stderr());
    crate::migrate::check(args, cluster::connect, &flags, &mut out, &mut err).await.map(ExitCode::from)
}

/// Returns what `serve` makes of the arguments of a Gatekeeper container.
fn flags(args: &[String]) -> FlagReport {
    let all = ["webtroller", "serve"].into_iter().chain(args.iter().map(String::as_str)).map(OsString::from);
    match translate(all) {
        Err(refused) => FlagReport { refused, ignored: Vec::new() },
        Ok(Arguments { args, notes: ignored }) => {
            let error = Args::try_parse_from(args).err();
            let first_line =
                |error: clap::Error| error.to_string().lines().next().unwrap_or_default().to_owned();
            FlagReport { refused: error.map(first_line).into_iter().collect(), ignored }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_refused_ignored_or_taken_as_by_serve() {
        let report = |args: &[&str]| flags(&args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>());
        assert_eq!(report(&["--port=8443", "--operation=audit"]), FlagReport::default());
        assert_eq!(
            report(&["--logtostderr"]).ignored,
            ["--logtostderr has no effect: logs go to standard error"]
        );
        assert_eq!(report(&["--enable-pprof"]).refused, ["--enable-pprof: pprof is for programs in Go"]);
        assert!(report(&["--of-another-version"]).refused[0].contains("--of-another-version"));
    }
}
