//! `webtroller rego check`: parses and compiles modules, and reports their errors.

use std::io;

use clap::{Args, ValueEnum};
use rego_compat::Suite;

use crate::command_error::{self, CommandError, MAX_ERRORS};
use crate::source::{Selection, Sources};
use crate::unsupported::{Unsupported, message};
use crate::{Language, Streams, restrictions};

/// The command `check`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  # Errors in all modules below a folder
  webtroller rego check policies/")]
pub struct CheckArgs {
    /// Modules, or folders with everything below them.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<String>,
    /// Output format of errors.
    #[arg(long, short, value_enum, default_value_t)]
    pub format: ErrorFormat,
    /// Leave out files and folders of these names.
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    pub ignore: Vec<String>,
    /// Stop after so many errors of the compilation; 0 shows all.
    #[arg(long, short, default_value_t = MAX_ERRORS)]
    pub max_errors: usize,
    /// The version of Rego.
    #[command(flatten)]
    pub language: Language,
    #[command(flatten)]
    unsupported: Unsupported,
}

/// The format of printed errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ErrorFormat {
    /// One error a line.
    #[default]
    Pretty,
    /// A JSON list.
    Json,
}

/// Runs the command; returns 0 without errors, otherwise 1. As `opa check`, it writes to standard error.
pub(crate) fn run(args: &CheckArgs, streams: &mut Streams<'_>) -> io::Result<u8> {
    if let Some(flag) = args.unsupported.given() {
        streams.err.write_all(message("check", flag).as_bytes())?;
        return Ok(1);
    }
    let (errors, when) = wrong(args, &Selection::ignoring(&args.ignore).only_modules());
    if errors.is_empty() {
        return Ok(0);
    }
    let text = match args.format {
        ErrorFormat::Pretty => command_error::for_people(&errors, when),
        ErrorFormat::Json => command_error::to_json(&errors),
    };
    streams.err.write_all(text.as_bytes())?;
    Ok(1)
}

fn wrong(args: &CheckArgs, selection: &Selection) -> (Vec<CommandError>, &'static str) {
    match Sources::load(&args.paths, args.language.version(), selection) {
        Err(errors) => (errors.0, " during loading"),
        Ok(sources) => match Suite::compile(&sources.modules(), &restrictions()) {
            Ok(_) => (Vec::new(), ""),
            Err(diagnostics) => (command_error::of_diagnostics(&diagnostics, args.max_errors), ""),
        },
    }
}
