//! `migrate`: the check with a cluster and the table of flags.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use clap::error::{ContextKind, ContextValue};

use crate::migrate::{FlagReport, MigrateCheckArgs};

use super::gatekeeper_flags::{Arguments, read};
use super::{Args, RunError, cluster};

/// `webtroller migrate check`, of the cluster of the current kubeconfig or of files.
pub(super) async fn check(args: &MigrateCheckArgs) -> Result<ExitCode, RunError> {
    let (mut standard, mut out, mut err) =
        (std::io::stdin().lock(), std::io::stdout().lock(), std::io::stderr());
    let checked =
        crate::migrate::check(args, cluster::connect, &flags, &mut standard, &mut out, &mut err).await;
    checked.map(ExitCode::from)
}

/// Returns what `serve` makes of the arguments of a Gatekeeper container.
fn flags(args: &[String]) -> FlagReport {
    let all = ["webtroller", "serve"].into_iter().chain(args.iter().map(String::as_str)).map(OsString::from);
    let (Arguments { args, notes, differences }, mut refused) = read(all);
    refused.extend(unparsed(args));
    FlagReport { refused, different: differences, ignored: notes }
}

/// Every error of the command line, and not only the first one: what an error names is left out, and the rest parsed again.
fn unparsed(mut args: Vec<OsString>) -> Vec<String> {
    let mut found = Vec::new();
    while let Err(error) = Args::try_parse_from(&args) {
        found.push(error.to_string().lines().next().unwrap_or_default().to_owned());
        let Some(position) = position(&error, &args) else { break };
        let removed = args.remove(position);
        let text = |arg: &OsString| arg.to_string_lossy().into_owned();
        let is_value = args.get(position).is_some_and(|next| !text(next).starts_with('-'));
        if is_value && text(&removed).starts_with('-') && !text(&removed).contains('=') {
            args.remove(position);
        }
    }
    found
}

/// The position of the argument that an error names, such as `--port` in `--port <PORT>`.
fn position(error: &clap::Error, args: &[OsString]) -> Option<usize> {
    let Some(ContextValue::String(named)) = error.get(ContextKind::InvalidArg) else { return None };
    let named = named.split(' ').next().unwrap_or_default();
    let is_it = |arg: &OsString| arg.to_str().is_some_and(|arg| arg.split('=').next() == Some(named));
    let begins = |arg: &OsString| arg.to_str().is_some_and(|arg| arg.starts_with(named));
    let behind_command = |is: &dyn Fn(&OsString) -> bool| args.iter().skip(2).position(is);
    behind_command(&is_it).or_else(|| behind_command(&begins)).and_then(|found| found.checked_add(2))
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

    #[test]
    fn everything_that_is_to_be_said_of_arguments_is_said_at_once() {
        let args = [
            "--logtostderr",
            "--enable-pprof",
            "--first-unknown=a",
            "-second-unknown",
            "value",
            "--port=none",
            "--third-unknown",
            "--audit-interval=0",
            "--log-file=a",
        ];
        let FlagReport { refused, different, ignored } = flags(&args.map(str::to_owned));
        let expected = ["--enable-pprof", "--log-file", "--first-unknown", "-s", "--port", "--third-unknown"];
        assert_eq!(refused.len(), expected.len(), "{refused:?}");
        assert!(expected.iter().zip(&refused).all(|(word, found)| found.contains(word)), "{refused:?}");
        assert_eq!((different.len(), ignored.len()), (1, 1), "{different:?} {ignored:?}");
    }
}
