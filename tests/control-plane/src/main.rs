//! A control plane for a developer at a terminal: `cargo run -p control-plane`, then the printed
//! `export KUBECONFIG=...` in another shell. It ends at Ctrl-C or when its standard input ends.
//!
//! The tests of the harness kill it to see what survives.

use std::io::{Read, Write};

use control_plane::{Component, ControlPlane};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let plane = ControlPlane::start().await?;
    let mut out = std::io::stdout();
    for component in [
        Component::Etcd,
        Component::ApiServer,
        Component::ControllerManager,
    ] {
        writeln!(
            out,
            "# {component}: process {}",
            plane.process_id(component).unwrap_or_default()
        )?;
    }
    writeln!(out, "export KUBECONFIG={}", plane.kubeconfig().display())?;
    out.flush()?;
    let waiting = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    waiting.await??;
    Ok(())
}
