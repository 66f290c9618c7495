//! Every flag of Gatekeeper's manager is taken or refused, and the document says which.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use webtroller::runtime::{FLAGS, Flag, FlagSupport};

use super::program::ours;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gatekeeper-flags.md");

const HEAD: &str = "# Gatekeeper's container arguments

`webtroller serve` takes the arguments of a Gatekeeper Deployment as they are, with one dash or two, and so does `webtroller` without a command; `command: [/manager]` goes. A flag that has nothing to act on is
logged as a warning when it is set, and is silent when it is off. A flag that is refused ends the process with the reason; off, it is taken.

| flag of Gatekeeper 3.23's manager | `webtroller serve` |
|---|---|
";

fn row(flag: &Flag) -> String {
    let meaning = match flag.meaning {
        FlagSupport::Same | FlagSupport::SameSwitch => "the same".to_owned(),
        FlagSupport::SameBut { difference, .. } => format!("the same, but {difference}"),
        FlagSupport::Translated { flag: ours, .. } => format!("stands for `--{ours}`"),
        FlagSupport::NoEffect(reason) => format!("no effect: {reason}"),
        FlagSupport::OffOnly(reason) => format!("refused: {reason}"),
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

/// Name and type of each flag of Gatekeeper's manager; switches have no type.
fn of_the_manager() -> Vec<(String, Option<String>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/judge/manager");
    let package = "github.com/open-policy-agent/gatekeeper/v3";
    let manager =
        go_program::build(&folder.canonicalize().unwrap(), package, "conformance", "manager").unwrap();
    let help = Command::new(manager).arg("--help").output().unwrap();
    let help = String::from_utf8_lossy(&help.stderr).into_owned();
    let lines = help.lines().filter_map(|line| line.strip_prefix("  -"));
    // A short help text stands behind a tab in the line of a flag of one letter.
    let words = lines.map(|line| line.split('\t').next().unwrap_or_default().split_whitespace());
    let flags: Vec<_> =
        words.map(|mut words| (words.next().map(str::to_owned), words.next().map(str::to_owned))).collect();
    assert!(flags.len() > 60, "{help}");
    flags.into_iter().filter_map(|(name, kind)| Some((name?, kind))).collect()
}

#[test]
fn every_flag_of_gatekeepers_manager_is_in_the_table() {
    let theirs: BTreeSet<_> = of_the_manager().into_iter().map(|(name, _)| name).collect();
    let table: BTreeSet<_> = FLAGS.iter().map(|flag| flag.name.to_owned()).collect();
    assert_eq!(theirs, table);
}

#[test]
fn a_flag_takes_the_next_argument_where_it_does_in_gatekeepers_manager() {
    for (name, kind) in of_the_manager() {
        let flag = FLAGS.iter().find(|flag| flag.name == name).unwrap();
        assert_eq!(flag.takes_next(), kind.is_some(), "--{name} {kind:?}");
    }
}

#[test]
fn each_flag_that_is_taken_is_one_of_ours() {
    let help = ours(&["serve", "--help"], "").out;
    for flag in FLAGS {
        let name = match flag.meaning {
            FlagSupport::Same | FlagSupport::SameBut { .. } | FlagSupport::SameSwitch => flag.name,
            FlagSupport::Translated { flag, .. } => flag,
            _ => continue,
        };
        assert!(
            help.contains(&format!("--{name} ")) || help.contains(&format!("--{name}\n")),
            "--{name}:\n{help}"
        );
    }
}
