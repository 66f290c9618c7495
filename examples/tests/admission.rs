//! The admission controller of the examples, on a real API server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says no by panicking")]

use std::path::Path;
use std::time::Duration;

use control_plane::ControlPlane;
use tokio::process::Command;
use tokio::time::timeout;

#[tokio::test]
async fn the_webhooks_refuse_and_change_and_outlive_their_certificate() {
    let plane = ControlPlane::start().await.unwrap();
    let test = std::env::current_exe().unwrap();
    let program = test.parent().and_then(Path::parent).unwrap().join("examples/admission_server");
    let mut command = Command::new(program);
    command.env("KUBECONFIG", plane.kubeconfig()).kill_on_drop(true);
    let output = timeout(Duration::from_secs(120), command.output()).await.expect("it must end").unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<_> = said.lines().collect();
    let [refused, created, rotated] = lines.as_slice() else { panic!("{said}") };
    assert!(refused.contains("ConfigMap without-owner needs data.owner"), "{refused}");
    assert_eq!(*created, r#"created with-owner with {"app": "a", "team": "shop"}"#);
    assert_eq!(*rotated, r#"rotated: created after-rotation with {"app": "a", "team": "shop"}"#);
}
