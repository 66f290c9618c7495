//! `serve --standalone` and `verify`: what a new user sees in the first minute, without any cluster.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;
use tokio::time::timeout;

use crate::cluster::workspace;
use crate::operator::{PATIENCE, webtroller};

/// Reads standard output up to the line that ends one showing of the verdicts.
async fn shown(lines: &mut tokio::io::Lines<BufReader<tokio::process::ChildStdout>>) -> String {
    let reading = async {
        let mut text = String::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            text.push_str(&line);
            text.push('\n');
            if line.starts_with("Watching ") {
                return text;
            }
        }
        panic!("the process ended: {text}")
    };
    timeout(PATIENCE, reading).await.expect("the verdicts must be shown")
}

fn serve(folder: &std::path::Path) -> Child {
    let mut command = webtroller();
    command.args(["serve", "--port", "0", "--standalone"]).arg(folder).stdout(Stdio::piped());
    command.spawn().unwrap()
}

#[tokio::test]
async fn the_denial_is_on_the_screen_and_the_curl_line_works() {
    let mut child = serve(&workspace("examples/quickstart"));
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let screen = shown(&mut lines).await;
    assert!(screen.contains("DENIED    Deployment default/storefront"), "{screen}");
    assert!(
        screen.contains("[three-to-ten-replicas] Deployment \"storefront\" asks for 2 replicas"),
        "{screen}"
    );
    assert!(screen.contains("ADMITTED  Deployment default/checkout"), "{screen}");
    let curl = screen.lines().find_map(|line| line.strip_prefix("Try ")).unwrap().trim();
    let authority = curl.split(' ').nth(2).unwrap();
    assert!(std::fs::read_to_string(authority).unwrap().contains("BEGIN CERTIFICATE"), "{curl}");
    assert!(curl.starts_with("curl --cacert ") && curl.contains("https://127.0.0.1:"), "{curl}");
}

#[tokio::test]
async fn a_changed_file_changes_the_verdict() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("review")).unwrap();
    for file in ["template.yaml", "constraint.yaml", "review/two-replicas.yaml"] {
        std::fs::copy(workspace("examples/quickstart").join(file), folder.path().join(file)).unwrap();
    }
    let mut child = serve(folder.path());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(shown(&mut lines).await.contains("DENIED    Deployment"));
    let constraint = folder.path().join("constraint.yaml");
    let wider = std::fs::read_to_string(&constraint).unwrap().replace("min_replicas: 3", "min_replicas: 1");
    std::fs::write(&constraint, wider).unwrap();
    assert!(shown(&mut lines).await.contains("ADMITTED  Deployment"));
    std::fs::write(&constraint, "a: [").unwrap();
    let screen = shown(&mut lines).await;
    assert!(
        screen.contains("problem") && screen.contains("constraint.yaml") && screen.contains("ADMITTED"),
        "{screen}"
    );
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_an_error_with_advice() {
    let output =
        webtroller().args(["serve", "--port", "0", "--standalone", "no/such/folder"]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("no/such/folder") && text.contains("name a folder"), "{text}");
}

#[tokio::test]
async fn the_suites_of_the_examples_pass() {
    let output = webtroller().arg("verify").arg(workspace("examples").join("...")).output().await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.matches("ok\t").count() >= 11, "{text}");
}
