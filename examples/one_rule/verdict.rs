//! The outcome of a request, and the table of outcomes.

use std::fmt;

/// The answer of an enforcement point.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    Admitted,
    Warned(String),
    Denied(String),
    /// It is not asked about this.
    NotAsked,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Admitted => "admits",
            Self::Warned(_) => "warns",
            Self::Denied(_) => "DENIES",
            Self::NotAsked => "-",
        })
    }
}

/// Prints rows in columns that are as wide as their widest cell.
pub(crate) fn print_table(head: &[&str], rows: &[(String, Vec<Verdict>)]) {
    let rows = rows.iter().map(|(name, cells)| {
        let cells = cells.iter().map(ToString::to_string);
        std::iter::once(name.clone()).chain(cells).collect::<Vec<_>>()
    });
    let head = head.iter().map(|cell| (*cell).to_owned()).collect();
    let lines: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let width =
        |column: usize| lines.iter().filter_map(|line| line.get(column)).map(String::len).max().unwrap_or(0);
    for line in &lines {
        let cells =
            line.iter().enumerate().map(|(column, cell)| format!("{cell:width$}", width = width(column)));
        examples::print(format_args!("  {}", cells.collect::<Vec<_>>().join("  ").trim_end()));
    }
}
