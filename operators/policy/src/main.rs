//! The binary: reads the arguments, sets up logging, runs.

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;
use webtroller::runtime::{Args, Command, LogFormat, run, translate};

/// A fifth of a review's processor time is allocation with glibc's allocator. The image is built with musl, whose allocator
/// has one lock for all threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Lines of the log that wait to be written. The queue has room for them from the start.
const LINES: usize = 16 * 1024;

fn main() -> ExitCode {
    let translated = match translate(std::env::args_os()) {
        Ok(translated) => translated,
        Err(errors) => {
            errors.into_iter().for_each(|error| eprintln!("webtroller: {error}"));
            return ExitCode::from(2);
        }
    };
    let args = match Args::try_parse_from(translated.args) {
        Ok(args) => args,
        Err(error) => return refuse(&error),
    };
    let _logging = match &args.command {
        Command::Serve(serve) => Some(start_logging(&serve.log, serve.log_format)),
        _ => None,
    };
    translated.notes.iter().chain(&translated.differences).for_each(|note| tracing::warn!("{note}"));
    match run(args) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("webtroller: {}", error.causes());
            ExitCode::from(2)
        }
    }
}

/// Logs go to standard error, without escape sequences unless it is a terminal that wants them.
///
/// A thread of its own writes them, and drops lines when it is far behind: a reader of the log that stalls must not stop
/// a process that answers requests. What is left is written when the guard is dropped.
fn start_logging(filter: &str, format: Option<LogFormat>) -> WorkerGuard {
    let filter = EnvFilter::new(filter);
    let wants_color = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let ansi = wants_color && std::io::stderr().is_terminal();
    let (writer, guard) = NonBlockingBuilder::default().buffered_lines_limit(LINES).finish(std::io::stderr());
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_ansi(ansi);
    match format.unwrap_or_else(default_format) {
        LogFormat::Text => logs.init(),
        LogFormat::Json => logs.json().init(),
    }
    guard
}

/// Every container in a cluster has this variable.
fn default_format() -> LogFormat {
    match std::env::var_os("KUBERNETES_SERVICE_HOST") {
        Some(_) => LogFormat::Json,
        None => LogFormat::Text,
    }
}

/// Says what is wrong with the command line, or gives the help it asks for. `rego` then ends with 1, as `opa` does.
fn refuse(error: &clap::Error) -> ExitCode {
    // Ignore write errors: stderr is closed.
    let _ = error.print();
    let is_rego = std::env::args_os().nth(1).is_some_and(|command| command == "rego");
    let code = if is_rego && error.use_stderr() { 1 } else { error.exit_code() };
    ExitCode::from(u8::try_from(code).unwrap_or(2))
}
