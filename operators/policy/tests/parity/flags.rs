//! Every command and flag of gator is in the table of docs/cli.md, with ours or the reason why there is none.

use std::collections::BTreeSet;

use super::program::{gator, ours};

const PAGE: &str = include_str!("../../../../docs/cli.md");

/// Commands that come with the library of gator's command line, and that of the judge itself.
const FOREIGN: [&str; 3] = ["completion", "help", "yaml"];

/// The commands below one, at any depth, that have none below them.
fn commands(parent: &[String]) -> Vec<Vec<String>> {
    let words: Vec<&str> = parent.iter().map(String::as_str).chain(["--help"]).collect();
    let help = gator(&words, "").out;
    let Some((_, listed)) = help.split_once("Available Commands:\n") else { return vec![parent.to_vec()] };
    let listed = listed.split("\n\n").next().unwrap_or_default();
    let names = listed.lines().filter_map(|line| line.split_whitespace().next());
    let below = names.filter(|name| !FOREIGN.contains(name));
    below.flat_map(|name| commands(&[parent, &[name.to_owned()]].concat())).collect()
}

/// A flag in a help text: its letter, where it has one, and its name.
type Flag = (Option<char>, String);

/// The flags in a help text: `-l, --name` of each line that begins with a flag.
fn flags(help: &str) -> Vec<Flag> {
    let flag = |line: &str| {
        let line = line.trim_start();
        let long = line.split_whitespace().find(|word| word.starts_with("--"))?;
        let short =
            line.strip_prefix('-').and_then(|rest| rest.chars().next()).filter(|letter| *letter != '-');
        let long = long.split([',', '[', '=']).next().unwrap_or_default();
        line.starts_with('-').then(|| (short, long.to_owned()))
    };
    help.lines().filter_map(flag).filter(|(_, flag)| flag != "--help").collect()
}

/// A row of the table: the command, gator's flags, ours.
struct Row {
    command: &'static str,
    flags: Vec<&'static str>,
    own: &'static str,
}

fn rows() -> Vec<Row> {
    let row = |line: &'static str| {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let command = cells.next()?.trim_matches('`').strip_prefix("gator ")?;
        let flags = cells.next()?.split('`').filter(|text| text.starts_with("--")).collect();
        Some(Row { command, flags, own: cells.next()? })
    };
    PAGE.lines()
        .filter(|line| line.starts_with("| `gator "))
        .filter_map(row)
        .filter(|row| !row.flags.is_empty())
        .collect()
}

#[test]
fn the_table_has_every_flag_of_gator_and_no_other() {
    let in_table: BTreeSet<_> = rows()
        .into_iter()
        .flat_map(|row| row.flags.into_iter().map(move |flag| (row.command.to_owned(), flag.to_owned())))
        .collect();
    let mut of_gator = BTreeSet::new();
    for command in commands(&[]) {
        let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let help = gator(&words, "");
        let flags = flags(&help.out);
        of_gator.extend(flags.into_iter().map(|(_, flag)| (command.join(" "), flag)));
    }
    assert!(of_gator.len() > 50, "{of_gator:?}");
    let only = |one: &BTreeSet<_>, other| one.difference(other).cloned().collect::<Vec<(String, String)>>();
    assert_eq!((only(&of_gator, &in_table), only(&in_table, &of_gator)), (vec![], vec![]));
}

#[test]
fn each_flag_of_gator_is_one_of_ours_with_the_same_letter_or_has_a_reason() {
    for row in rows() {
        let words: Vec<&str> = row.command.split(' ').chain(["--help"]).collect();
        let own = row
            .own
            .split('`')
            .nth(1)
            .and_then(|text| text.split_whitespace().find(|word| word.starts_with("--")));
        let Some(own) = own else {
            assert!(row.own.starts_with("none: "), "{}: {}", row.command, row.own);
            continue;
        };
        let known = flags(&ours(&words, "").out);
        let found = known.iter().find(|(_, flag)| flag == own);
        let (letter, _) = found.unwrap_or_else(|| panic!("{} has no {own}: {known:?}", row.command));
        let theirs = flags(&gator(&words, "").out);
        for (wanted, flag) in
            theirs.iter().filter(|(wanted, flag)| wanted.is_some() && row.flags.contains(&flag.as_str()))
        {
            assert_eq!(letter, wanted, "{} {flag} and {own}", row.command);
        }
    }
}
