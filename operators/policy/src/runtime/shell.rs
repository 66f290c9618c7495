//! What shells and manuals read of the command line: made of the same declarations that parse it.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use super::Args;

/// Prints the completions of a shell.
pub(super) fn complete(shell: Shell, out: &mut dyn Write) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "webtroller", &mut script);
    match out.write_all(&script).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}

/// Writes `webtroller.1`, `webtroller-test.1` and so on to a folder.
pub(super) fn manual(folder: &Path, err: &mut dyn Write) -> ExitCode {
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Args::command().disable_help_subcommand(true), folder));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(err, "webtroller man: {}: cannot be written: {error}", folder.display());
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_manual_page_and_is_completed() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(manual(folder.path(), &mut Vec::new()), ExitCode::SUCCESS);
        let mut script = Vec::new();
        assert_eq!(complete(Shell::Bash, &mut script), ExitCode::SUCCESS);
        let script = String::from_utf8(script).unwrap();
        for command in Args::command().get_subcommands() {
            let name = command.get_name();
            assert!(folder.path().join(format!("webtroller-{name}.1")).is_file(), "{name}");
            assert!(script.contains(&format!("webtroller,{name})")), "{name}");
        }
    }
}
