//! The choice of printing in colour, and the few colours there are.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU8, Ordering};

use clap::ValueEnum;

/// The choice of printing in colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On terminals.
    Auto,
    /// On everything, files too.
    Always,
    /// On nothing.
    Never,
}

/// A colour and what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Color {
    /// Refused, failed.
    Red,
    /// Warned of, skipped.
    Yellow,
    /// For what has passed.
    Green,
    /// Places, and what is less important.
    Dim,
}

/// The stream that text goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Out,
    Error,
}

const PLAIN: u8 = 0;
const OUT: u8 = 1;
const ERROR: u8 = 2;

/// The streams in colour, as bits. Nothing is coloured before the process has read its arguments: tests see plain text.
static COLORED: AtomicU8 = AtomicU8::new(PLAIN);

/// Decides once for the process which streams are coloured.
pub fn set_color(choice: Option<ColorChoice>) {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    let streams = match choice {
        Some(ColorChoice::Always) => OUT | ERROR,
        Some(ColorChoice::Never) => PLAIN,
        None if unwanted => PLAIN,
        None | Some(ColorChoice::Auto) if dumb => PLAIN,
        None | Some(ColorChoice::Auto) => {
            let bit = |is_terminal: bool, bit: u8| if is_terminal { bit } else { PLAIN };
            bit(std::io::stdout().is_terminal(), OUT) | bit(std::io::stderr().is_terminal(), ERROR)
        }
    };
    COLORED.store(streams, Ordering::Relaxed);
}

/// The text in a colour where its stream has any.
pub(super) fn paint(text: &str, color: Color, stream: Stream) -> String {
    let bit = if stream == Stream::Out { OUT } else { ERROR };
    if COLORED.load(Ordering::Relaxed) & bit == PLAIN {
        return text.to_owned();
    }
    let code = match color {
        Color::Red => 31,
        Color::Yellow => 33,
        Color::Green => 32,
        Color::Dim => 2,
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}
