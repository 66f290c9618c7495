//! The files that shells and manuals read: made of the same declarations that parse it.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use super::Args;
use crate::cli::write_text;

/// Prints the completions of a shell, and returns the exit code.
pub(super) fn complete(shell: Shell, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "webtroller", &mut script);
    match write_text(&String::from_utf8_lossy(&script), out) {
        Ok(()) => 0,
        Err(message) => {
            // Ignore write errors: stderr is closed.
            let _ = writeln!(err, "webtroller completion: {message}");
            1
        }
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
    use clap::Command;

    use super::*;

    #[test]
    fn every_command_has_a_manual_page_and_is_completed() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(manual(folder.path(), &mut Vec::new()), ExitCode::SUCCESS);
        let mut script = Vec::new();
        assert_eq!(complete(Shell::Bash, &mut script, &mut Vec::new()), 0);
        let script = String::from_utf8(script).unwrap();
        for command in Args::command().get_subcommands() {
            let name = command.get_name();
            assert!(folder.path().join(format!("webtroller-{name}.1")).is_file(), "{name}");
            assert!(script.contains(&format!("webtroller,{name})")), "{name}");
        }
    }

    /// The commands without subcommands of their own, by their full names.
    fn leaves(command: &Command, names: &str, found: &mut Vec<(String, String)>) {
        let own: Vec<_> = command.get_subcommands().collect();
        if own.is_empty() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            found.push((names.trim().to_owned(), help));
        }
        own.into_iter().for_each(|sub| leaves(sub, &format!("{names} {}", sub.get_name()), found));
    }

    #[test]
    fn the_help_of_each_command_has_examples_that_are_commands() {
        let mut found = Vec::new();
        leaves(&Args::command(), "", &mut found);
        assert!(found.len() > 25, "{}", found.len());
        let mut examples = 0;
        for (names, help) in found {
            assert!(help.starts_with("Examples:\n"), "{names}: {help}");
            let lines = help.lines().map(str::trim).filter(|line| line.starts_with("webtroller "));
            for line in lines {
                let words = line.split([' ', '\'']).filter(|word| !word.is_empty());
                let words = words.take_while(|word| !["|", ">", "<"].contains(word));
                let parsed = Args::command().try_get_matches_from(words);
                assert!(parsed.is_ok(), "{names}: {line}: {}", parsed.unwrap_err());
                examples += 1;
            }
        }
        assert!(examples > 40, "{examples}");
    }
}
