//! The output of policies, for `--verbose`: kept up to a limit, and taken out when it is reported.

use std::sync::{Mutex, PoisonError};

use constraint_framework::driver::PrintListener;

use crate::text::beginning;

/// The most that is kept, in bytes; that of gator.
const LIMIT: usize = 1 << 20;
const TRUNCATED: &str = "\n... additional print output truncated ...\n";

/// Lines in the order in which they were printed.
#[derive(Debug, Default)]
pub(super) struct Prints(Mutex<String>);

impl Prints {
    /// Everything printed since the last time, a newline behind each line.
    pub(super) fn take(&self) -> String {
        let mut text = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if text.len() > LIMIT {
            text.truncate(beginning(&text, LIMIT).len());
            text.push_str(TRUNCATED);
        }
        text
    }
}

impl PrintListener for Prints {
    fn on_print(&self, line: &str) {
        let mut text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What is beyond the limit only shows that something is.
        if text.len() <= LIMIT {
            text.push_str(line);
            text.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_once_and_end_at_the_limit() {
        let prints = Prints::default();
        prints.on_print("a");
        prints.on_print("b");
        assert_eq!((prints.take().as_str(), prints.take().as_str()), ("a\nb\n", ""));
        for _ in 0..300_000 {
            prints.on_print("\u{e9}\u{e9}\u{e9}");
        }
        let text = prints.take();
        assert!(text.len() <= LIMIT + TRUNCATED.len() && text.ends_with(TRUNCATED));
    }
}
