//! `webtroller rego check`: parses and compiles, and says what is wrong.

use std::io;

use clap::{Args, ValueEnum};
use rego_compat::Suite;

use super::problem::{self, MAX_ERRORS, Problem};
use super::source::{Selection, Sources};
use super::unsupported::{Unsupported, message};
use super::{Language, Streams, rules};

/// What to check.
#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// Modules, or folders with everything below them.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<String>,
    /// How to print errors.
    #[arg(long, short, value_enum, default_value_t)]
    pub format: ErrorFormat,
    /// Leave out files and folders of these names.
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    pub ignore: Vec<String>,
    /// Stop after so many errors of the compilation; 0 shows all.
    #[arg(long, short, default_value_t = MAX_ERRORS)]
    pub max_errors: usize,
    /// The language.
    #[command(flatten)]
    pub language: Language,
    #[command(flatten)]
    unsupported: Unsupported,
}

/// How errors are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ErrorFormat {
    /// One error a line.
    #[default]
    Pretty,
    /// A JSON list.
    Json,
}

/// 0 when nothing is wrong, 1 when something is. As `opa check`, it says so on standard error.
pub(super) fn run(args: &CheckArgs, streams: &mut Streams<'_>) -> io::Result<u8> {
    if let Some(flag) = args.unsupported.given() {
        streams.err.write_all(message("check", flag).as_bytes())?;
        return Ok(1);
    }
    let (problems, when) = match Selection::ignoring(&args.ignore) {
        Err(problem) => (vec![problem], ""),
        Ok(selection) => wrong(args, &selection.only_modules()),
    };
    if problems.is_empty() {
        return Ok(0);
    }
    let text = match args.format {
        ErrorFormat::Pretty => problem::for_people(&problems, when),
        ErrorFormat::Json => problem::to_json(&problems),
    };
    streams.err.write_all(text.as_bytes())?;
    Ok(1)
}

fn wrong(args: &CheckArgs, selection: &Selection) -> (Vec<Problem>, &'static str) {
    match Sources::load(&args.paths, args.language.version(), selection) {
        Err(problems) => (problems, " during loading"),
        Ok(sources) => match Suite::compile(&sources.modules(), &rules()) {
            Ok(_) => (Vec::new(), ""),
            Err(findings) => (problem::of_findings(&findings, args.max_errors), ""),
        },
    }
}
