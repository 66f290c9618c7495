//! The binary: reads the arguments, sets up logging, runs.

use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;
use webtroller::runtime::{Args, LogFormat, run};

fn main() -> ExitCode {
    let args = Args::parse();
    let filter = EnvFilter::try_new(&args.log).unwrap_or_else(|_| EnvFilter::new("info"));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match args.log_format {
        LogFormat::Text => logs.init(),
        LogFormat::Json => logs.json().init(),
    }
    match run(args) {
        Ok(code) => code,
        Err(error) => {
            let mut text = error.to_string();
            let mut source = std::error::Error::source(&error);
            while let Some(cause) = source {
                text = format!("{text}: {cause}");
                source = cause.source();
            }
            eprintln!("webtroller: {text}");
            ExitCode::from(2)
        }
    }
}
