//! A control plane for a developer at a terminal: `cargo run -p control-plane`, then the printed
//! `export KUBECONFIG=...` in another shell. It ends at Ctrl-C or when its standard input ends.
//!
//! With the argument `build` it only builds the programs and prints their folder, which is a step a CI
//! machine can cache. The tests of the harness kill it to see what survives.

use std::io::{Read, Write};
use std::process::ExitCode;

use control_plane::{Component, ControlPlane};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => serve().await,
        ["build"] => build(),
        _ => Err("usage: control-plane [build]".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(error.as_ref());
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), Box<dyn std::error::Error>> {
    let folder = ControlPlane::programs()?;
    Ok(writeln!(std::io::stdout(), "{}", folder.display())?)
}

async fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let plane = ControlPlane::start().await?;
    let mut out = std::io::stdout();
    for component in [Component::Etcd, Component::ApiServer, Component::ControllerManager] {
        writeln!(out, "# {component}: process {}", plane.process_id(component).unwrap_or_default())?;
    }
    writeln!(out, "export KUBECONFIG={}", plane.kubeconfig().display())?;
    out.flush()?;
    let waiting = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    waiting.await??;
    Ok(())
}

/// Prints an error and everything that caused it.
fn say(error: &dyn std::error::Error) {
    let causes: Vec<_> =
        std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string).collect();
    let _ignored = writeln!(std::io::stderr(), "control-plane: {}", causes.join(": "));
}
