//! Every flag of Gatekeeper's manager is taken or refused, and the document says which.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use webtroller::runtime::{FLAGS, Flag, Meaning};

use super::program::ours;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gatekeeper-flags.md");

const HEAD: &str = "# Gatekeeper's container arguments

`webtroller serve` takes the arguments of a Gatekeeper Deployment as they are, with one dash or two, and so does `webtroller` without a command. A flag that has nothing to act on is
logged as a warning when it is set, and is silent when it is off. A flag that is refused ends the process with the reason; off, it is taken.

| flag of Gatekeeper 3.23's manager | `webtroller serve` |
|---|---|
";

fn row(flag: &Flag) -> String {
    let meaning = match flag.meaning {
        Meaning::Same | Meaning::SameSwitch => "the same".to_owned(),
        Meaning::Translated { flag: ours, .. } => format!("stands for `--{ours}`"),
        Meaning::NoEffect(reason) => format!("no effect: {reason}"),
        Meaning::OffOnly(reason) => format!("refused: {reason}"),
    };
    format!("| `--{}` | {meaning} |\n", flag.name)
}

#[test]
fn the_table_in_the_document_is_the_table_of_the_program() {
    let page = format!("{HEAD}{}", FLAGS.iter().map(row).collect::<String>());
    if std::env::var_os("UPDATE_FLAGS").is_some() {
        std::fs::write(PAGE, &page).unwrap();
    }
    let written = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(
        written == page,
        "write docs/gatekeeper-flags.md anew: UPDATE_FLAGS=1 cargo test -p webtroller --test parity"
    );
}

#[test]
fn every_flag_of_gatekeepers_manager_is_in_the_table() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/judge/manager");
    let package = "github.com/open-policy-agent/gatekeeper/v3";
    let manager =
        go_program::build(&folder.canonicalize().unwrap(), package, "conformance", "manager").unwrap();
    let help = Command::new(manager).arg("--help").output().unwrap();
    let help = String::from_utf8_lossy(&help.stderr).into_owned();
    let lines = help.lines().filter_map(|line| line.strip_prefix("  -"));
    let theirs: BTreeSet<_> = lines.filter_map(|line| line.split_whitespace().next()).collect();
    let table: BTreeSet<_> = FLAGS.iter().map(|flag| flag.name).collect();
    assert!(theirs.len() > 60, "{help}");
    assert_eq!(theirs, table);
}

#[test]
fn each_flag_that_is_taken_is_one_of_ours() {
    let help = ours(&["serve", "--help"], "").out;
    for flag in FLAGS {
        let name = match flag.meaning {
            Meaning::Same | Meaning::SameSwitch => flag.name,
            Meaning::Translated { flag, .. } => flag,
            _ => continue,
        };
        assert!(
            help.contains(&format!("--{name} ")) || help.contains(&format!("--{name}\n")),
            "--{name}:\n{help}"
        );
    }
}
