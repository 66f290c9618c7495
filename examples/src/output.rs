//! Lines for a terminal that may be gone.
//!
//! `println!` panics when standard output is closed, as with `| head`. A demo goes on to its end then, and a controller does not end with
//! the program that reads its log.

use std::fmt::Display;
use std::io::Write;

/// Prints a line. Ignores write errors: standard output is closed.
pub fn print(line: impl Display) {
    let _closed = writeln!(std::io::stdout(), "{line}");
}

/// Prints a line to standard error. Ignores write errors: it is closed.
pub(crate) fn print_error(line: impl Display) {
    let _closed = writeln!(std::io::stderr(), "{line}");
}
