//! Every flag of gator is in the table of docs/cli.md, with ours or the reason why there is none.

use super::program::{gator, ours};

const PAGE: &str = include_str!("../../../../docs/cli.md");

const COMMANDS: [&str; 12] = [
    "test",
    "verify",
    "expand",
    "bench",
    "sync test",
    "policy install",
    "policy uninstall",
    "policy list",
    "policy search",
    "policy update",
    "policy upgrade",
    "policy generate-catalog",
];

/// The flags in a help text: `--name` of each line that begins with a flag.
fn flags(help: &str) -> Vec<String> {
    let flag = |line: &str| {
        let line = line.trim_start();
        let long = line.split_whitespace().find(|word| word.starts_with("--"))?;
        line.starts_with('-').then(|| long.split([',', '[', '=']).next().unwrap_or_default().to_owned())
    };
    help.lines().filter_map(flag).filter(|flag| flag != "--help").collect()
}

/// The row of a flag: the command, gator's flag, ours.
fn row(command: &str, flag: &str) -> Option<Vec<String>> {
    let rows = PAGE.lines().filter(|line| line.starts_with("| `gator "));
    let cells = rows.map(|line| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>());
    cells.into_iter().find(|cells| {
        cells.get(1).is_some_and(|cell| *cell == format!("`gator {command}`"))
            && cells.get(2).is_some_and(|cell| {
                cell.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-')
                    .any(|word| word == flag)
            })
    })
}

#[test]
fn every_flag_of_gator_is_in_the_table_and_ours_exists() {
    let mut missing = Vec::new();
    let mut seen = 0;
    for command in COMMANDS {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let help = gator(&words, "");
        for flag in flags(&format!("{}{}", help.out, help.err)) {
            seen += 1;
            let Some(cells) = row(command, &flag) else {
                missing.push(format!("{command} {flag}"));
                continue;
            };
            let own = cells.get(3).cloned().unwrap_or_default();
            let Some(own) = own
                .split('`')
                .nth(1)
                .and_then(|text| text.split_whitespace().find(|word| word.starts_with("--")))
            else {
                assert!(own.starts_with("none: "), "{command} {flag}: {own}");
                continue;
            };
            let help = ours(&words, "");
            assert!(flags(&help.out).iter().any(|known| known == own), "{command} {own}: {}", help.out);
        }
    }
    assert!(missing.is_empty(), "not in docs/cli.md: {missing:#?}");
    assert!(seen > 50, "{seen} flags were found");
}
